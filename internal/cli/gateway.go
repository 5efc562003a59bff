package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/cli/clientfile"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/tools/config"
	"github.com/toolfold/toolfold/upstream"
)

// asUpstream is a variable of the environment of every program that is an upstream. A
// toolfold that is one, perhaps by way of a script, serves no upstreams: it would start
// itself again and again.
const asUpstream = "TOOLFOLD_AS_UPSTREAM"

// isOwn reports whether an entry of a client starts this program.
func isOwn(e hosts.Entry) bool {
	return e.Name == hosts.Server || len(e.Command) > 0 && strings.HasPrefix(filepath.Base(e.Command[0]), "toolfold")
}

// upstreams returns the servers whose tools are served too: those of the settings, and of
// the file that --upstreams names. What is left out is said on standard error.
func upstreams(c *cli.Context, o *settings.Options) ([]gateway.Upstream, error) {
	if os.Getenv(asUpstream) != "" {
		return nil, nil
	}
	all, problems, err := withFile(c, o, c.String(settings.UpstreamsFlag.Name))
	if err != nil {
		return nil, err
	}
	list := taken(o, all, problems)
	sayProblems(c, list)
	return list, nil
}

// taken returns upstreams as the gateway takes them: those of the settings first, in the order of their names.
// Problems has what keeps some from being used, by name.
func taken(o *settings.Options, all map[string]config.Upstream, problems map[string]string) (list []gateway.Upstream) {
	names := slices.Sorted(maps.Keys(o.Upstreams))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if _, known := o.Upstreams[name]; !known {
			names = append(names, name)
		}
	}
	for _, name := range names {
		u := upstreamFrom(name, all[name], o.Files.Workspace)
		u.Problem = cmp.Or(problems[name], u.Problem)
		list = append(list, u)
	}
	return list
}

// withFile returns the upstreams of the settings, and those of a client's file with the settings in their entries.
// An empty path is no file. Problems has the faults of entries, by name; those upstreams cannot be used. Names in
// the file need not be ones that the settings can have.
func withFile(c *cli.Context, o *settings.Options, path string) (all map[string]config.Upstream, problems map[string]string, err error) {
	all = maps.Clone(o.Upstreams)
	if path == "" {
		return all, nil, nil
	}
	if err := trustsFile(path, o); err != nil {
		return nil, nil, err
	}
	text, err := clientfile.Read(path)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", path, err)
	}
	h := hosts.Owner(path, text)
	if h == nil {
		return nil, nil, fmt.Errorf("%s names no servers as any client does", path)
	}
	entries, err := h.Servers(text, o.Files.Workspace)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if all == nil {
		all = map[string]config.Upstream{}
	}
	problems = map[string]string{}
	for _, e := range entries {
		if isOwn(e) {
			continue
		}
		if _, known := all[e.Name]; known {
			fmt.Fprintf(c.App.ErrWriter, "toolfold: upstream %s is left out: the settings have one of that name\n", e.Name)
			continue
		}
		u, others, err := upstreamOf(e)
		switch {
		case e.Problem != "":
			problems[e.Name] = e.Problem
		case err != nil:
			problems[e.Name] = fmt.Sprintf("in %s: %v", path, err)
		case len(others) > 0:
			fmt.Fprintf(c.App.ErrWriter, "toolfold: of upstream %s this is not read: %s\n", e.Name, strings.Join(others, ", "))
		}
		all[e.Name] = u
	}
	return all, problems, nil
}

// sayProblems says on standard error which upstreams cannot be started or reached.
func sayProblems(c *cli.Context, list []gateway.Upstream) {
	for _, u := range list {
		if u.Problem != "" {
			fmt.Fprintf(c.App.ErrWriter, "toolfold: upstream %s cannot be used: %s\n", u.Name, u.Problem)
		}
	}
}

// upstreamFrom returns an upstream of the settings as the gateway takes it, with what keeps it from
// being started or reached.
func upstreamFrom(name string, u config.Upstream, workspace string) gateway.Upstream {
	server, err := serverOf(name, u, workspace)
	to := gatewayTo(name, u, server)
	if err != nil {
		to.Problem = err.Error()
	}
	return to
}

// gatewayTo returns an upstream of the settings as the gateway takes it.
func gatewayTo(name string, u config.Upstream, server upstream.Server) gateway.Upstream {
	server.MessageLimit, server.ProbeTimeout = int64(u.MessageLimit), time.Duration(u.ProbeTimeoutMs)*time.Millisecond
	server.Env, server.EnvOnly = slices.Concat(ownEnv(), server.Env, []string{asUpstream + "=1"}), true
	return gateway.Upstream{
		Name: name, Server: server, Include: u.Include, Exclude: u.Exclude, Repeat: u.Repeat,
		Timeout:         time.Duration(u.TimeoutMs) * time.Millisecond,
		QuestionTimeout: time.Duration(u.QuestionTimeoutMs) * time.Millisecond,
		MaxConcurrency:  u.MaxConcurrency, ResultLimit: u.ResultLimit, Changes: gateway.Changes(u.Changes), Alone: u.Fold == "none",
		Apart: u.Isolate == "session", MaxSessions: u.MaxSessions, SessionIdle: time.Duration(u.SessionIdleMs) * time.Millisecond,
		FirstList: gateway.Changes(u.FirstList),
		Limits:    gateway.Limits{Tools: u.MaxTools, Schema: u.SchemaLimit, Instructions: u.InstructionsLimit},
	}
}

// connecting starts or reaches an upstream.
type connecting = func(context.Context, gateway.Upstream, upstream.Client) (gateway.Session, error)

// newGateway returns the gateway to servers, with what is kept of them on this machine.
func newGateway(o gateway.Options) (*gateway.Gateway, error) {
	dir, err := storage.DataDir()
	if err != nil {
		return nil, err
	}
	o.Dir, o.Ours, o.Version = filepath.Join(dir, "upstreams"), app.Families(), env.Version()
	return gateway.New(o)
}

// trustsFile refuses a file of a workspace that the user does not trust: what it names is
// started.
func trustsFile(path string, o *settings.Options) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	dir, err := filepath.EvalSymlinks(o.Files.Workspace)
	if err != nil {
		return err
	}
	real, err = filepath.Abs(real)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	inside, err := filepath.Rel(dir, real)
	if err == nil && filepath.IsLocal(inside) && !o.Trusted() {
		return fmt.Errorf("%s names programs to start and is in a folder that is not trusted: toolfold trust %s", path, dir)
	}
	return nil
}

// openGateway makes the surface offer the tools of other servers: the tools that are
// known of them, and what changes.
func (b *workbench) openGateway(o *settings.Options, others []gateway.Upstream) error {
	var err error
	b.gateway, err = newGateway(gateway.Options{Upstreams: others, Log: b.log, Connect: sharing(b.log), OneClient: !o.ManyClients,
		Memory: int64(o.UpstreamMegabytes) << 20, Rights: o.Rights(true), Unread: o.Resources == "none", Around: b.record})
	if err != nil {
		return err
	}
	b.Discovery.ListAbsent(func() (rows []lazy.Row) {
		absent := b.gateway.Absent()
		if b.server.Load() == nil { // only who serves asks servers for their first list
			for _, name := range b.gateway.Unknown() {
				absent[name] += ": toolfold upstream check " + name + " asks it"
			}
		}
		for _, name := range slices.Sorted(maps.Keys(absent)) {
			rows = append(rows, lazy.Row{Name: name, Summary: "Tools of another server.", Category: toolfold.Category(name), Reason: absent[name],
				Absent: true})
		}
		return rows
	}, b.gateway.Withheld)
	var offered []string
	put := func(families []*toolfold.Family) error {
		var names []string
		for _, f := range families {
			names = append(names, f.Name)
		}
		gone := slices.DeleteFunc(offered, func(name string) bool { return slices.Contains(names, name) })
		offered = names
		return errors.Join(b.Remove(gone...), b.Put(families...))
	}
	tell := func(what func(*serve.Server)) {
		if server := b.server.Load(); server != nil {
			what(server)
		}
	}
	b.gateway.Follow(gateway.Follower{
		Families: func(families []*toolfold.Family) {
			if err := put(families); err != nil {
				b.log.Error("offering the tools of upstreams", "err", err)
			}
			if b.server.Load() != nil {
				b.sayLapses(o)
			}
		},
		Prompts:   func() { tell((*serve.Server).PromptsChanged) },
		Resources: func() { tell((*serve.Server).ResourcesChanged) },
		Updated:   func(uri string) { tell(func(s *serve.Server) { s.Updated(uri) }) },
	})
	return put(b.gateway.Families())
}

// record runs a request of an upstream that no call makes, counted and traced as calls are.
func (b *workbench) record(ctx context.Context, a *toolfold.Action, params json.RawMessage, run gateway.Request) (json.RawMessage, error) {
	var result json.RawMessage
	var failed error
	request := func(ctx context.Context, _ *call.Call) toolfold.Answer {
		if result, failed = run(ctx); failed == nil {
			return toolfold.Answer{Content: result}
		}
		var known *toolfold.Error
		if !errors.As(failed, &known) {
			known = toolfold.Errorf(toolfold.UpstreamError, "%s: %s", a.FullName(), failed)
		}
		return known.Answer()
	}
	b.metrics.Calls(b.recordUpstreams(b.tracing.Calls(request)))(ctx, &call.Call{
		Name: a.FullName(), Raw: params, Entry: entry.New(a, a.FullName()), Origin: toolfold.OriginOf(ctx),
	})
	return result, failed
}

// learn asks the servers that are not known yet for their lists. It waits for them where they are
// listed, and there is nothing of others to offer meanwhile, since many clients ask for the list of
// tools once; who is served is told of what comes later.
func (b *workbench) learn(ctx context.Context, wait time.Duration) {
	if b.gateway == nil {
		return
	}
	unknown := b.gateway.Unknown()
	if len(unknown) == 0 {
		return
	}
	fmt.Fprintf(b.env.Err, "toolfold: asking for the first list of tools: upstream %s\n", strings.Join(unknown, ", "))
	if b.Level == lazy.Search || len(b.gateway.Families()) > 0 {
		wait = 0
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	_ = b.gateway.Learn(ctx) // what fails is in the log, and in tools.list
}

// ruled returns what rules can name.
func (b *workbench) ruled() []*toolfold.Family {
	if b.gateway == nil {
		return b.Families()
	}
	return slices.Concat(b.Families(), b.gateway.Named())
}

// checkRules refuses a pattern of rights that matches no action. What begins with the name of
// a server that has not listed its tools yet is let through, and said.
func (b *workbench) checkRules(r permission.Rules) error {
	if b.gateway != nil {
		for _, pattern := range slices.Concat(r.Allow, r.Deny) {
			if slices.ContainsFunc(b.gateway.Unknown(), func(name string) bool { return strings.HasPrefix(pattern, name) }) {
				fmt.Fprintf(b.env.Err, "toolfold: what %q matches is not known before the server lists its tools\n", pattern)
			}
		}
	}
	return r.Check(b.ruled())
}
