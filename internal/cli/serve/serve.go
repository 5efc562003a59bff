// Package serve has the commands serve and worker.
package serve

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/heap"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/cli/workbench"
	"github.com/toolfold/toolfold/internal/text/tokens"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
)

// Site makes the site for users of a server over HTTP, see [serve.HTTP]. end ends it after the server, and before
// the workbench is closed.
type Site func(*cli.Context, *settings.Options, *workbench.Workbench) (site func(http.Handler, serve.Login) http.Handler, end func())

// Command returns the command serve.
func Command(site Site) *cli.Command {
	command := settings.ServeCommand()
	command.Action = func(c *cli.Context) error { return serveAction(c, site) }
	return command
}

func serveAction(c *cli.Context, makeSite Site) error {
	o, err := settings.Load(c)
	if err != nil {
		return err
	}
	o.ManyClients = o.HTTP != ""
	b, err := workbench.Open(c, o)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := settings.CheckPlaces(o.Options, b.RuleFamilies()); err != nil {
		return env.UsageError("%v", err)
	}
	if b.Mode == surface.Legacy {
		fmt.Fprintln(c.App.ErrWriter, "toolfold: --tool-mode=legacy is the old surface: toolfold migrate guide explains how callers move over, "+
			"toolfold doctor who still calls old names")
	}
	if found := settings.Definitions(o.Files.Workspace); found != "" && !o.Trusted() && !o.GatewayOnly() {
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
	grace, taskGrace := env.StopGrace, workbench.ServeGrace
	if o.HTTP != "" {
		grace = time.Duration(o.DrainMs) * time.Millisecond
		taskGrace = min(env.StopGrace, grace)
	}
	ctx, done := env.UntilSignal(c, grace)
	defer done()
	defer runtime.KeepAlive(heap.Reserve(env.Of(c).Garbage))
	b.Learn(ctx, time.Duration(o.UpstreamWaitMs)*time.Millisecond)
	if o.Worker {
		working, stop := context.WithCancel(ctx)
		var work sync.WaitGroup
		work.Go(func() { b.WorkWhileServing(working, o.Store, taskGrace) })
		defer func() { stop(); work.Wait() }()
	}
	server, err := b.NewServer(ctx, o)
	if err != nil {
		return err
	}
	if o.HTTP != "" {
		allowed := strings.FieldsFunc(o.AllowedHosts, func(r rune) bool { return r == ',' || r == ' ' })
		if own, err := url.Parse(o.HTTPLogin.URL); err == nil && own.Host != "" {
			allowed = append(allowed, own.Host)
		}
		ready := func(addr net.Addr) { announce(c.App.ErrWriter, b, addr, o) }
		site, end := makeSite(c, o, b)
		defer end()
		return server.HTTP(ctx, serve.HTTP{
			Addr: o.HTTP, TokenFile: o.HTTPTokenFile, Sets: o.Servable(), Hosts: allowed, Site: site, Ready: ready, Drain: grace,
			CertFile: o.HTTPTLS.Cert, KeyFile: o.HTTPTLS.Key, Connect: b.Connect(o), Prepare: b.Prepare(),
		})
	}
	if info, err := os.Stdin.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		fmt.Fprintln(c.App.ErrWriter, "waiting for an MCP client on standard input: clients start this command themselves; "+
			"--http 127.0.0.1:8137 serves a port; Ctrl-C ends")
	}
	in, restore := polledStdin()
	defer restore()
	return server.Stdio(ctx, in, env.Of(c).Out.Writer)
}

// reachable returns an address of this machine for one that stands for all its addresses.
func reachable(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if ip := net.ParseIP(host); err == nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return addr.String()
}

// announce prints the server's address and the cost of its list.
func announce(out io.Writer, b *workbench.Workbench, addr net.Addr, o *settings.Options) {
	at := "http://" + reachable(addr)
	if o.HTTPTLS.Cert != "" {
		at = "https://" + reachable(addr)
	}
	fmt.Fprintf(out, "serving MCP at %s/mcp\n", at)
	if len(o.Sets) > 0 {
		fmt.Fprintf(out, "sets of upstreams: /mcp/%s\n", strings.Join(slices.Sorted(maps.Keys(o.Sets)), ", /mcp/"))
	}
	if o.HTTPLogin.Issuer != "" {
		fmt.Fprintf(out, "callers log in at %s; clients reach this server at %s\n", o.HTTPLogin.Issuer, o.HTTPLogin.URL)
	}
	if o.HTTPTokenFile != "" {
		fmt.Fprintf(out, "callers need a token of %s; admins log in to the page at %s/\n", o.HTTPTokenFile, at)
	}
	served, err := b.SurfaceCost(o)
	tokens.Release()
	if err != nil {
		fmt.Fprintf(out, "toolfold: %v\n", err)
		return
	}
	fmt.Fprintf(out, "%s tools, %s listing: %s\n", b.Mode, b.Level, served)
	if advice := settings.ListAdvice(served.Tokens, b.Level); advice != "" {
		fmt.Fprintln(out, advice)
	}
}
