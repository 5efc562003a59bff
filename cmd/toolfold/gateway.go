package main

import (
	"context"
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
	"github.com/toolfold/toolfold/cmd/toolfold/internal/app"
	"github.com/toolfold/toolfold/cmd/toolfold/internal/storage"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/hosts"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/tools/config"
	"github.com/toolfold/toolfold/upstream"
)

// upstreamsFlag names a file of a client, whose servers are folded as it is.
var upstreamsFlag = &cli.StringFlag{
	Name: "upstreams", Usage: "serve the tools of the servers in this file too, which is one of a client, with mcpServers or the like",
	EnvVars: []string{"TOOLFOLD_UPSTREAMS"}, TakesFile: true,
}

// firstAnswers bounds how long a first start waits for servers to list their tools.
const firstAnswers = 10 * time.Second

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
func upstreams(c *cli.Context, o *options) ([]gateway.Upstream, error) {
	if os.Getenv(asUpstream) != "" {
		return nil, nil
	}
	var list []gateway.Upstream
	names := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(o.Upstreams)) {
		u := o.Upstreams[name]
		server, err := serverOf(name, u, o.files.Workspace)
		if err != nil {
			fmt.Fprintf(stderr, "toolfold: upstream %s is left out: %v\n", name, err)
			continue
		}
		names[name] = true
		list = append(list, gatewayTo(name, u, server))
	}
	path := c.String(upstreamsFlag.Name)
	if path == "" {
		return list, nil
	}
	if err := trustsFile(path, o); err != nil {
		return nil, err
	}
	text, err := readClient(path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	h := hosts.Owner(path, text)
	if h == nil {
		return nil, fmt.Errorf("%s names no servers as any client does", path)
	}
	entries, err := h.Servers(text, o.files.Workspace)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	for _, e := range entries {
		filled := e.Filled(o.files.Workspace)
		switch {
		case isOwn(e):
			continue
		case filled.Problem != "":
			fmt.Fprintf(stderr, "toolfold: upstream %s is left out: %s\n", e.Name, filled.Problem)
		case names[e.Name]:
			fmt.Fprintf(stderr, "toolfold: upstream %s is left out: the settings have one of that name\n", e.Name)
		default:
			names[e.Name] = true
			include := e.Only
			if slices.Contains(include, "*") {
				include = nil
			}
			list = append(list, gatewayTo(e.Name, config.Upstream{Include: include, Exclude: e.Except}, serverAt(filled)))
		}
	}
	return list, nil
}

// gatewayTo returns an upstream of the settings as the gateway takes it.
func gatewayTo(name string, u config.Upstream, server upstream.Server) gateway.Upstream {
	server.Env, server.EnvOnly = slices.Concat(ownEnv(os.Environ()), server.Env, []string{asUpstream + "=1"}), true
	return gateway.Upstream{
		Name: name, Server: server, Include: u.Include, Exclude: u.Exclude, Timeout: time.Duration(u.TimeoutMs) * time.Millisecond,
		MaxConcurrency: u.MaxConcurrency, ResultLimit: u.ResultLimit, Changes: gateway.Changes(u.Changes), Alone: u.Fold == "none",
		Apart: u.Isolate == "session",
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
	o.Dir, o.Taken, o.Version = filepath.Join(dir, "upstreams"), ourNames(), version()
	return gateway.New(o)
}

// trustsFile refuses a file of a workspace that the user does not trust: what it names is
// started.
func trustsFile(path string, o *options) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	dir, err := filepath.EvalSymlinks(o.files.Workspace)
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
	if err == nil && filepath.IsLocal(inside) && !o.trusted() {
		return fmt.Errorf("%s names programs to start and is in a folder that is not trusted: toolfold trust %s", path, dir)
	}
	return nil
}

// openGateway makes the surface offer the tools of other servers: the tools that are
// known of them, and what changes.
func (b *workbench) openGateway(o *options) error {
	var err error
	b.gateway, err = newGateway(gateway.Options{Upstreams: o.upstreams, Log: b.log, Connect: sharing(b.log), OneClient: o.HTTP == ""})
	if err != nil {
		return err
	}
	b.Discovery.ListAbsent(func() (rows []lazy.Row) {
		absent := b.gateway.Absent()
		for _, name := range slices.Sorted(maps.Keys(absent)) {
			rows = append(rows, lazy.Row{Name: name, Summary: "Tools of another server.", Category: toolfold.Category(name), Reason: absent[name],
				Absent: true})
		}
		return rows
	})
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
	b.gateway.Follow(func(families []*toolfold.Family) {
		if err := put(families); err != nil {
			b.log.Error("offering the tools of upstreams", "err", err)
		}
	})
	return put(b.gateway.Families())
}

// learn asks the servers that are not known yet for their lists, and waits a while for them
// where no server is known.
func (b *workbench) learn(ctx context.Context) {
	if b.gateway == nil {
		return
	}
	wait := firstAnswers
	if len(b.gateway.Families()) > 0 { // there is something to offer meanwhile
		wait = 0
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if err := b.gateway.Learn(ctx); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			fmt.Fprintf(stderr, "toolfold: %s\n", line)
		}
	}
}

// ourNames returns what reports whether an action or a tool of ours has a name.
func ourNames() func(string) bool {
	ours := map[string]bool{}
	for _, f := range app.Families() {
		for _, a := range f.Actions {
			for _, name := range append(a.Names(), a.FullName(), f.Name, f.Name+"_write") {
				ours[name] = true
			}
		}
	}
	return func(name string) bool { return ours[name] }
}

// checkRules refuses a pattern of rights that matches no action, unless it begins with the
// name of a server that has not listed its tools yet.
func (b *workbench) checkRules(r permission.Rules) error {
	var unknown []string
	if b.gateway != nil {
		unknown = b.gateway.Unknown()
	}
	check := func(pattern string, alone permission.Rules) error {
		err := alone.Check(b.Families())
		if err != nil && slices.ContainsFunc(unknown, func(name string) bool { return strings.HasPrefix(pattern, name) }) {
			fmt.Fprintf(stderr, "toolfold: %v, as far as is known before the server lists its tools\n", err)
			return nil
		}
		return err
	}
	for _, pattern := range r.Allow {
		if err := check(pattern, permission.Rules{Allow: []string{pattern}}); err != nil {
			return err
		}
	}
	for _, pattern := range r.Deny {
		if err := check(pattern, permission.Rules{Deny: []string{pattern}}); err != nil {
			return err
		}
	}
	return nil
}

// rights returns what callers may see and call. Several sources allow only
// what each of them allows; of the tools of other servers it is not known beforehand which these are.
func (o *options) rights() *toolfold.Rights {
	rights := rules(o.Options).Rights()
	if _, lists := o.layers.Lists("allow"); len(o.upstreams) > 0 && len(o.Allow) > 0 && len(lists) > 1 {
		for _, allow := range lists {
			rights = rights.And(permission.Rules{Allow: allow}.Rights())
		}
	}
	return rights
}
