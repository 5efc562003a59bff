package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/estimate"
	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
)

// instructions are for the model. They reach every client on every turn.
func instructions(s *surface.Surface) string {
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

func serveCommand() *cli.Command {
	return &cli.Command{
		Name:  "serve",
		Usage: "serve MCP on standard input and output, or on --http",
		Flags: append(settingFlags(append(runSettings, "toolMode", "listing", "params", "tier", "fold", "structured", "resultLimit",
			"strictNames", "store", "http", "httpTokenFile",
			"allowedHosts", "maxBodyBytes", "maxSessions", "maxConnections", "maxCalls", "worker", "workspaceName")...), trustFlag, upstreamsFlag),
		Action: serveAction,
	}
}

func serveAction(c *cli.Context) error {
	o, err := loadOptions(c)
	if err != nil {
		return err
	}
	if o.upstreams, err = upstreams(c, o); err != nil {
		return err
	}
	b, err := newWorkbench(o)
	if err != nil {
		return err
	}
	defer b.close()
	if err := checkPlaces(o.Options, b.Families()); err != nil {
		return usageError("%v", err)
	}
	if b.Mode == surface.Legacy {
		fmt.Fprintln(stderr, "toolfold: --tool-mode=legacy is the old surface: toolfold migrate guide says how callers get over, toolfold "+
			"doctor who still calls old names")
	}
	if found := definitions(o.files.Workspace); found != "" && !o.trusted() {
		dir, _ := filepath.Abs(o.files.Workspace)
		fmt.Fprintf(stderr, "toolfold: %s is not trusted: %s left out; to use: toolfold trust %s\n", dir, found, dir)
	}
	tellReplaced(c, o.files.Workspace)
	path, from, err := workspaceOf(c)
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "toolfold %s: workspace %s (%s), store %v (%s), settings %s\n",
		version(), path, from, storeOf(o.layers), o.layers.From("store"), o.files.Global)
	ctx, done := untilSignal(c.Context)
	defer done()
	defer runtime.KeepAlive(reserve())
	b.learn(ctx)
	if o.Worker {
		working, stop := context.WithCancel(ctx)
		var work sync.WaitGroup
		work.Go(func() { b.workWhileServing(working, o.Store) })
		defer func() { stop(); work.Wait() }()
	}
	server, err := serve.New(serve.Options{
		Version: version(), Instructions: instructions(b.Surface), Surface: b.Surface, Metrics: b.metrics, Log: b.log, Structured: o.Structured,
		Limits: serve.Limits{Body: int64(o.MaxBodyBytes), Sessions: o.MaxSessions, Connections: o.MaxConnections, Calls: o.MaxCalls},
	})
	if err != nil {
		return err
	}
	if o.HTTP != "" {
		hosts := strings.FieldsFunc(o.AllowedHosts, func(r rune) bool { return r == ',' || r == ' ' })
		return server.HTTP(ctx, serve.HTTP{Addr: o.HTTP, TokenFile: o.HTTPTokenFile, Hosts: hosts, Ready: b.announce})
	}
	if info, err := os.Stdin.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		fmt.Fprintln(stderr, "waiting for an MCP client on standard input: clients start this command themselves; --http 127.0.0.1:8137 "+
			"serves a port; Ctrl-C ends")
	}
	in, restore := polledStdin()
	defer restore()
	return server.Stdio(ctx, in, os.Stdout)
}

// announce prints where the server is and what its list costs a model.
func (b *workbench) announce(addr net.Addr) {
	fmt.Fprintf(stderr, "serving MCP at http://%s/mcp\n", addr)
	tools := b.Discovery.List(context.Background())
	tokens := 0
	for _, l := range tools {
		tokens += estimate.Tokens(ordered.MustJSON(l))
	}
	// To count them would load a vocabulary, which is most of the memory of a server at rest.
	fmt.Fprintf(stderr, "%s tools, %s listing: %d tools, about %d tokens; toolfold doctor counts\n", b.Mode, b.Level, len(tools), tokens)
}
