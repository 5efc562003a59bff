package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/app/offer"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/heap"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/text/estimate"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
)

// instructions are for the model. They reach every client on every turn. Hosts of a kind
// that looks for tools are told which families there are; empty is no kind.
func instructions(s *surface.Surface, kind hosts.Kind, families []*toolfold.Family) string {
	if kind == hosts.Deferring || kind == hosts.Code {
		how := "Call a tool with action and " + callctx.ArgParams + "."
		if s.Fold == consolidate.None || s.Mode == surface.Legacy {
			how = "A tool is a family and an action: memory_get."
		}
		return subjects(families, maxSubjects) + " " + how
	}
	common := "A wrong call answers with usage and an example. "
	if s.Mode == surface.Legacy || s.Fold != consolidate.None || s.Level != lazy.Full {
		common += "Any call takes include_fields, a list of result fields to keep, and jq, a filter of its result."
	}
	unlisted := map[entry.Form]string{
		entry.FormObject: "Parameters that are not listed go into the object params. ",
		entry.FormText:   "Parameters that are not listed go into params, as JSON text. ",
	}[s.Params]
	if s.Mode == surface.Legacy {
		text := "Tools of an agent's workbench under their legacy names. "
		if s.Level == lazy.Full && s.Tier == toolfold.Extended {
			return text + common
		}
		return text + "tool_find finds tools by what they do, tool_describe describes them. " + unlisted + common
	}
	if s.Fold == consolidate.None {
		return "Tools of an agent's workbench. tools_find finds tools by what they do, tools_describe describes them, tool_call runs any. " +
			unlisted + common
	}
	named := "required ones are in its description. "
	if s.Level == lazy.Signature || s.Level == lazy.Full {
		named = "its description names them; a ? marks optional ones. "
	}
	return "Each tool is a family of actions: call it with action and " + map[entry.Form]string{
		entry.FormObject: "params, an object of that action's parameters; ",
		entry.FormText:   "params, that action's parameters as JSON text; ",
		entry.FormFlat:   "that action's parameters; ",
	}[s.Params] + named + "The tool tools finds actions and describes them, tool_call runs any. " + common
}

// maxSubjects is the most tokens, as estimated, of the families in instructions.
const maxSubjects = 80

// subjects says which families there are, each with its summary as far as there is
// room. Hosts show the beginning before a model has searched, so it has the names
// first that most is asked of: families in their order.
func subjects(families []*toolfold.Family, room int) string {
	names, left := make([]string, 0, len(families)), 0
	text := func() string {
		list := "Look here for: " + strings.Join(names, ", ")
		if left > 0 {
			list += fmt.Sprintf(" and %d more", left)
		}
		return list + "."
	}
	for _, f := range families {
		if f.Category == callctx.Discovery {
			continue
		}
		if names = append(names, f.Name); estimate.Tokens([]byte(text())) > room {
			names = names[:len(names)-1]
			left++
		}
	}
	for i, name := range names {
		f := families[slices.IndexFunc(families, func(f *toolfold.Family) bool { return f.Name == name })]
		if names[i] = name + " (" + lowerFirst(f.Summary) + ")"; estimate.Tokens([]byte(text())) > room {
			names[i] = name
		}
	}
	return text()
}

func lowerFirst(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToLower(r)) + text[size:]
}

// promptsWatched is the pause between looks for other workflows than before.
const promptsWatched = 5 * time.Second

func serveCommand() *cli.Command {
	return &cli.Command{
		Name:   "serve",
		Usage:  "serve MCP on standard input and output, or on --http",
		Flags:  settings.ServeFlags(),
		Action: serveAction,
	}
}

func serveAction(c *cli.Context) error {
	o, err := settings.Load(c)
	if err != nil {
		return err
	}
	o.ManyClients = o.HTTP != ""
	b, err := openWorkbench(c, o)
	if err != nil {
		return err
	}
	defer b.close()
	if err := settings.CheckPlaces(o.Options, b.ruled()); err != nil {
		return env.UsageError("%v", err)
	}
	if b.Mode == surface.Legacy {
		fmt.Fprintln(c.App.ErrWriter, "toolfold: --tool-mode=legacy is the old surface: toolfold migrate guide says how callers get over, "+
			"toolfold doctor who still calls old names")
	}
	if found := settings.Definitions(o.Files.Workspace); found != "" && !o.Trusted() {
		dir, _ := filepath.Abs(o.Files.Workspace)
		fmt.Fprintf(c.App.ErrWriter, "toolfold: %s is not trusted: %s left out; to use: toolfold trust %s\n", dir, found, dir)
	}
	settings.TellReplaced(c, o.Files.Workspace)
	path, from, err := settings.WorkspaceOf(c)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.App.ErrWriter, "toolfold %s: workspace %s (%s), store %v (%s), settings %s\n",
		env.Version(), path, from, settings.StoreOf(o.Layers), o.Layers.From("store"), o.Files.Global)
	grace, taskGrace := env.StopGrace, serveGrace
	if o.HTTP != "" {
		grace = time.Duration(o.DrainMs) * time.Millisecond
		taskGrace = min(env.StopGrace, grace)
	}
	ctx, done := env.UntilSignal(c, grace)
	defer done()
	defer runtime.KeepAlive(heap.Reserve(env.Of(c).Garbage))
	b.learn(ctx, time.Duration(o.UpstreamWaitMs)*time.Millisecond)
	if o.Worker {
		working, stop := context.WithCancel(ctx)
		var work sync.WaitGroup
		work.Go(func() { b.workWhileServing(working, o.Store, taskGrace) })
		defer func() { stop(); work.Wait() }()
	}
	served := serve.Options{
		Version: env.Version(), Instructions: b.instructions(o), Surface: b.Surface, Metrics: b.metrics, Log: b.log, Structured: o.Structured,
		Tasks: b.tasks, AlwaysLoad: serve.Loads(o.AlwaysLoad), SearchHints: o.Kind() == hosts.Deferring,
		Limits: serve.Limits{Body: int64(o.MaxBodyBytes), Sessions: o.MaxSessions, Connections: o.MaxConnections, Calls: o.MaxCalls},
	}
	if o.Files.Workspace != "" {
		served.Prompts = b.offer.Prompts
	}
	if b.gateway != nil {
		served.Others, served.SessionEnded = b.gateway, b.gateway.SessionEnded
		if served.Prompts == nil {
			served.Prompts = func(context.Context) ([]serve.Prompt, error) { return nil, nil }
		}
	}
	if o.Resources != "none" {
		served.Resources, served.Kept, served.Skills = b.offer.Resources, offer.Kept, b.offer.Skills
	}
	server, err := serve.New(served)
	if err != nil {
		return err
	}
	b.server.Store(server)
	b.sayLapses(o)
	go b.offer.Watch(ctx, promptsWatched, server.PromptsChanged)
	if o.HTTP != "" {
		allowed := strings.FieldsFunc(o.AllowedHosts, func(r rune) bool { return r == ',' || r == ' ' })
		ready := func(addr net.Addr) { b.announce(addr, o.HTTPTokenFile) }
		return server.HTTP(ctx, serve.HTTP{Addr: o.HTTP, TokenFile: o.HTTPTokenFile, Hosts: allowed, Ready: ready, Drain: grace})
	}
	if info, err := os.Stdin.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		fmt.Fprintln(c.App.ErrWriter, "waiting for an MCP client on standard input: clients start this command themselves; "+
			"--http 127.0.0.1:8137 serves a port; Ctrl-C ends")
	}
	in, restore := polledStdin()
	defer restore()
	return server.Stdio(ctx, in, env.Of(c).Out.Writer)
}

// instructions returns those for what the options permit.
func (b *workbench) instructions(o *settings.Options) string {
	return instructions(b.Surface, o.Kind(), settings.Rules(o.Options).Rights().Filter(b.Families()))
}

// announce prints where the server is and what its list costs a model. An empty settings.TokenFile
// asks callers for no token.
func (b *workbench) announce(addr net.Addr, tokenFile string) {
	fmt.Fprintf(b.env.Err, "serving MCP at http://%s/mcp\n", addr)
	if tokenFile != "" {
		fmt.Fprintf(b.env.Err, "callers need a token of %s\n", tokenFile)
	}
	tools := b.Discovery.List(context.Background())
	tokens := 0
	for _, l := range tools {
		tokens += estimate.Tokens(ordered.MustJSON(l))
	}
	// To count them would load a vocabulary, which is most of the memory of a server at rest.
	fmt.Fprintf(b.env.Err, "%s tools, %s listing: %d tools, about %d tokens; toolfold doctor counts\n", b.Mode, b.Level, len(tools), tokens)
}
