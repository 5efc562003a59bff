// Command notes is an MCP server with one family of tools, note.
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

// A parameter has one name, one type and one text in the whole family.
var text = toolfold.String{Name: "text", Doc: "What to remember.", MinLen: 1, MaxLen: 500}

// A family is one tool. Clients call note with the action add or list.
var family = toolfold.Family{
	Name: "note", Summary: "Short notes",
	Actions: []*toolfold.Action{{
		Name: "add", Legacy: toolfold.Was("add_note"), Summary: "Add a note.", Effect: toolfold.Adds,
		Words: "jot, memo", Asks: []string{"remind me to call the dentist", "do not forget that deploys freeze on Friday"},
		Required: toolfold.Fields{text}, Example: `{"text": "Deploys freeze on Friday."}`,
		Run: toolfold.Method((*service).Add),
	}, {
		Name: "list", Legacy: toolfold.Was("list_notes"), Summary: "List all notes.", Effect: toolfold.Reads,
		Words: "read, show", Asks: []string{"what have I written down so far"},
		Example: `{}`, Run: toolfold.Method((*service).List),
	}},
}

type service struct {
	mu    sync.Mutex // many calls may run at once
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
	addr := flag.String("http", "", "serve HTTP at this loopback address, not standard input and output")
	client := flag.String("for", "", "serve the list that suits this client, such as cursor")
	mode := flag.String("mode", "", "consolidated, or legacy: the tools under their old names")
	flag.Parse()
	if err := run(*addr, serve.Options{Name: "notes", Version: "1.0.0", For: *client, Mode: *mode}); err != nil {
		log.Fatal(err)
	}
}

func run(addr string, options serve.Options) error {
	notes, err := toolfold.Mount(family, func(context.Context) (*service, error) { return &service{}, nil })
	if err != nil {
		return err
	}
	options.Families = []*toolfold.Family{notes}
	server, err := serve.New(options)
	if err != nil {
		return err
	}
	if addr != "" {
		return server.HTTP(context.Background(), serve.HTTP{Addr: addr})
	}
	return server.Stdio(context.Background(), os.Stdin, os.Stdout)
}
