// Command notes is a tool server on toolfold's packages: one family, served as
// a folded tool or under the names its tools had before, with find and
// describe, on standard input and output or on HTTP.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"slices"
	"sync"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/serve"
)

var text = toolfold.String{Name: "text", Doc: "What to remember.", MinLen: 1, MaxLen: 500}

var family = toolfold.Family{
	Name: "note", Summary: "Short notes", Category: "notes", Tier: toolfold.Core,
	Actions: []*toolfold.Action{{
		Name: "add", Legacy: toolfold.Was("add_note"), Summary: "Add a note.", Effect: toolfold.Adds,
		Required: toolfold.Fields{text}, Example: `{"text": "Deploys freeze on Friday."}`,
		Run: toolfold.Method((*service).Add),
	}, {
		Name: "list", Legacy: toolfold.Was("list_notes"), Summary: "List all notes.", Effect: toolfold.Reads,
		Example: `{}`, Run: toolfold.Method((*service).List),
	}},
}

type service struct {
	mu    sync.Mutex
	notes []string
}

type note struct {
	Text string `json:"text"`
}

type notes struct {
	Notes []string `json:"notes" doc:"All notes, oldest first."`
}

func (s *service) Add(_ context.Context, in note) (notes, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, in.Text)
	return notes{slices.Clone(s.notes)}, nil
}

func (s *service) List(context.Context, struct{}) (notes, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return notes{append([]string{}, s.notes...)}, nil
}

func main() {
	mode := flag.String("mode", "consolidated", "consolidated or legacy")
	addr := flag.String("http", "", "serve on HTTP at this loopback address, not on standard input and output")
	flag.Parse()
	if err := run(*mode, *addr); err != nil {
		log.Fatal(err)
	}
}

func run(mode, addr string) error {
	notes, err := toolfold.Mount(family, func(context.Context) (*service, error) { return &service{}, nil })
	if err != nil {
		return err
	}
	server, err := serve.New(serve.Options{Name: "notes", Version: "1.0.0", Families: []*toolfold.Family{notes}, Mode: mode})
	if err != nil {
		return err
	}
	if addr != "" {
		return server.HTTP(context.Background(), serve.HTTP{Addr: addr})
	}
	return server.Stdio(context.Background(), os.Stdin, os.Stdout)
}
