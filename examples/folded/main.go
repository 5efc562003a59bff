// Command folded is an MCP server that offers the tools of another MCP server. It folds them by
// noun and by whether they only read:
//
//	folded npx -y @modelcontextprotocol/server-filesystem ~/notes
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/upstream"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run serves the tools of the server that argv starts until in ends.
func run(ctx context.Context, argv []string, in io.Reader, out io.Writer) error {
	if len(argv) == 0 {
		return errors.New("usage: folded PROGRAM [ARGUMENT...], a server on standard input and output")
	}
	others, err := gateway.New(gateway.Options{
		Upstreams: []gateway.Upstream{{Name: "other", Server: upstream.Server{Argv: argv}}},
	})
	if err != nil {
		return err
	}
	defer others.Close()
	if err := others.Learn(ctx); err != nil {
		return fmt.Errorf("asking %s for its tools: %w", argv[0], err)
	}
	server, err := serve.New(serve.Options{Name: "folded", Version: "1.0.0", Families: others.Families()})
	if err != nil {
		return err
	}
	return server.Stdio(ctx, in, out)
}
