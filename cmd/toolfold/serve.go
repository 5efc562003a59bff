package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
)

// Instructions reach every client on every turn.
const (
	instructions = "Each tool is a family of actions: call it with \"action\" and that action's parameters, which its " +
		"description names; a ? marks optional ones. The tool \"tools\" finds actions by what they do and describes them. " +
		common
	legacyInstructions = "Tools of an agent's workbench under their legacy names. tool_find finds tools by what they do, " +
		"tool_describe describes them. " + common
	common = "A wrong call answers with usage and an example. Any call takes include_fields, a list of result fields to keep."
)

func serveCommand() *cli.Command {
	return &cli.Command{
		Name:         "serve",
		Usage:        "serve MCP on standard input and output, or on --http",
		Flags:        settingFlags("toolMode", "listing", "strictNames", "store", "http", "httpTokenFile", "worker"),
		OnUsageError: onUsageError,
		Action:       serveAction,
	}
}

func serveAction(c *cli.Context) error {
	o, err := loadOptions(c)
	if err != nil {
		return err
	}
	b, err := newWorkbench(o)
	if err != nil {
		return err
	}
	defer b.store.Close()
	token, err := readToken(o.text("httpTokenFile"))
	if err != nil {
		return err
	}
	stop := b.startWork(c.Context, o)
	defer stop()
	server := serve.New(serve.Options{Version: version(), Instructions: b.instructions(), Surface: b.Surface, Log: b.log})
	if addr := o.text("http"); addr != "" {
		return server.HTTP(c.Context, serve.HTTP{Addr: addr, Token: token, Ready: b.announce})
	}
	return server.Stdio(c.Context, os.Stdin, os.Stdout)
}

// startWork runs queued tasks in the background, unless the options say
// otherwise. Stop ends that and waits for it.
func (b *workbench) startWork(ctx context.Context, o *options) (stop func()) {
	if !o.yes("worker") {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { b.workWhileServing(ctx, o.text("store")) })
	return func() { cancel(); work.Wait() }
}

func (b *workbench) instructions() string {
	if b.Mode == surface.Legacy {
		return legacyInstructions
	}
	return instructions
}

// announce prints where the server is and what its list costs a model.
func (b *workbench) announce(addr net.Addr) {
	fmt.Fprintf(os.Stderr, "toolfold %s: http://%s/mcp\n", version(), addr)
	cost, err := doctor.Count(b.list())
	if err != nil {
		b.log.Warn("counting tokens", "err", err)
		return
	}
	fmt.Fprintf(os.Stderr, "%s tools, %s listing: %d tools, %d tokens (o200k)\n", b.Mode, b.Level, cost.Tools, cost.Tokens)
}

// readToken reads the bearer token from a file. No file means no token.
func readToken(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading bearer token: %w", err)
	}
	token := strings.TrimSpace(string(raw))
	if token == "" {
		return "", fmt.Errorf("reading bearer token: %s is empty", path)
	}
	return token, nil
}
