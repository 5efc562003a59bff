package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/cli/workbench"
	"github.com/toolfold/toolfold/tools/session"
)

// Command returns the command page.
func Command() *cli.Command {
	return &cli.Command{
		Name:  "page",
		Usage: "show costs, servers, held tools and calls in the browser",
		Description: "The page is served to this machine only, until Ctrl-C. Its link works once. It shows what the\n" +
			"settings, the records of your servers and the store have, whichever client wrote them.",
		Flags: append(settings.Flags(append(settings.RunSettings, "store", "workspaceName")...), settings.TrustFlag,
			&cli.IntFlag{Name: "port", Usage: "port of 127.0.0.1; 0 takes a free one"},
			&cli.BoolFlag{Name: "print", Usage: "only print the link, and open no browser"}),
		Action: pageAction,
	}
}

func pageAction(c *cli.Context) error {
	if port := c.Int("port"); port < 0 || port > 65535 {
		return env.UsageError("--port must be 0 to 65535, got %d", port)
	}
	o, err := settings.Load(c)
	if err != nil {
		return err
	}
	o = ofPage(o)
	b, err := workbench.Open(c, o)
	if err != nil {
		return err
	}
	defer b.Close()
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(c.Int("port"))))
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	p := &Page{
		access: newAccess(listener.Addr().String()), machine: newMachine(c, b.Records()), call: caller(b), version: env.Version(),
		log: env.Of(c).Log(), now: time.Now,
		stored: func() bool { return b.Holds(o.Store) }, activity: b.Activity, called: b.Called, asks: b, storeMark: b.Mark,
		definitions: b.Definitions, tools: func() (toolbox, error) { return b, nil },
		record: b.Change, scriptRun: b.ScriptRun, patience: patience, restart: servers.Restart, process: servers.Process, logIn: servers.LogIn,
	}
	p.live = newLive(p.log, p.mark)
	p.routes()
	defer p.machine.close()
	ctx, done := env.UntilSignal(c, env.StopGrace)
	defer done()
	fmt.Fprintf(c.App.Writer, "%s\n", p.access.address())
	fmt.Fprintln(c.App.ErrWriter, "the link works once, in one browser; Ctrl-C ends the page")
	if !c.Bool("print") {
		env.Browse(p.access.address())
	}
	web := &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	go func() {
		<-ctx.Done()
		p.live.close() // streams would last as long as the browser
		_ = web.Close()
	}()
	if err := web.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the page: %w", err)
	}
	return nil
}

// ofPage returns the options of the workbench that the page calls.
func ofPage(o *settings.Options) *settings.Options {
	own := *o
	own.Tier = toolfold.Extended.String() // the page reads with every action of the user
	own.TraceCalls = false                // its own calls are not what the user's agents called
	own.Worker = false
	return &own
}

// caller calls actions with the user's rights.
func caller(b *workbench.Workbench) func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return func(ctx context.Context, action string, arguments json.RawMessage) (json.RawMessage, error) {
		answer := b.Runner.Call(asUser(ctx), action, arguments)
		if answer.Err != nil {
			return nil, answer.Err
		}
		return answer.Content, nil
	}
}

// asUser returns the context of a call by the user of the page.
func asUser(ctx context.Context) context.Context {
	user := callctx.Of[visit](ctx).user
	return session.ByUser(callctx.With(ctx, toolfold.Origin{Client: strings.TrimSpace(user + " the page"), Caller: user}))
}
