// Command conformance serves the fixtures of the official MCP conformance suite with the packages
// that every author of a server has. No release contains it.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
)

func main() {
	addr := flag.String("http", "127.0.0.1:0", "serve on HTTP at this loopback address")
	flag.Parse()
	if err := run(*addr); err != nil {
		log.Fatal(err)
	}
}

// fixtures holds the server that the suite calls.
type fixtures struct {
	surface *surface.Surface
	server  *serve.Server
}

// run serves on addr and prints the address.
func run(addr string) error {
	f := &fixtures{surface: surface.New(surface.Options{Level: lazy.Full})}
	all := []*toolfold.Family{lazy.Mount(f.surface.Discovery)}
	for _, tool := range f.tools() {
		family, err := tool.Family()
		if err != nil {
			return err
		}
		all = append(all, family)
	}
	long, err := jobs()
	if err != nil {
		return err
	}
	all = append(all, long...)
	if err := f.surface.Put(all...); err != nil {
		return err
	}
	server, err := serve.New(serve.Options{
		Name: "conformance", Version: "1.0.0", Surface: f.surface, Prompts: prompts, Resources: resources, Skills: skills,
		Tasks: &memoryTasks{caller: f.surface.Runner}, TaskGrace: -1,
	})
	if err != nil {
		return err
	}
	f.server = server
	return server.HTTP(context.Background(), serve.HTTP{
		Addr: addr, Ready: func(at net.Addr) { fmt.Printf("http://%s/mcp\n", at) },
	})
}
