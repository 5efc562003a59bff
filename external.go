package toolfold

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/toolfold/toolfold/internal/call/judge"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// foreign makes a handler for a tool declared elsewhere. Run gets arguments that satisfy the
// action's Input schema and returns a JSON value. A value that is not an object becomes the member
// "result" of one. A [*Error] reaches the caller unchanged.
func foreign(run func(ctx context.Context, args json.RawMessage) (json.RawMessage, error)) Handler {
	return Handler{run: func(ctx context.Context, _ any, args json.RawMessage) (any, error) {
		raw, err := run(ctx, args)
		if err != nil {
			return nil, err
		}
		if raw = json.RawMessage(strings.TrimSpace(string(raw))); len(raw) == 0 || raw[0] != '{' {
			return map[string]json.RawMessage{"result": raw}, nil
		}
		return raw, nil
	}}
}

// External is a tool with a schema from elsewhere, such as another MCP server.
type External struct {
	Name        string
	Description string // its first sentence becomes the summary, cut if it is too long
	Server      string // name of the tool's server, also a search word; empty = no server
	InputSchema json.RawMessage
	Category    Category // see [Family]
	Effect      Effect   // zero = unknown, which counts as Deletes and is described as not annotated

	// Run gets arguments that satisfy InputSchema and returns a JSON value.
	Run func(ctx context.Context, args json.RawMessage) (json.RawMessage, error)

	// Relay replaces Run for a tool of another MCP server. Clients get the Reply on one line, with
	// only the members that the protocol has for it.
	Relay func(ctx context.Context, args json.RawMessage) (Reply, error)

	// BecomesTask and Completes are as in [Action]. Completes returns the complete arguments. Nil =
	// nothing is asked.
	BecomesTask bool
	Completes   func(ctx context.Context, args json.RawMessage) (json.RawMessage, error)

	// Lenient accepts any schema that is JSON. If it does not compile, arguments are passed
	// unchecked, and tools.describe reports that. The schema is compiled at its first use.
	Lenient bool

	// Definition, Hints, Aliases and Spellings are as in [Action]. With a Definition, the InputSchema
	// must be valid JSON.
	Definition json.RawMessage
	Hints      *Hints
	Aliases    []string
	Spellings  map[string]string
}

// Reply is the CallToolResult of another MCP server, as received.
type Reply struct{ Result json.RawMessage }

// Family returns the tool as a mounted, bare family. It is listed, found, described and called like
// any other.
func (x External) Family() (*Family, error) {
	action, err := x.Action()
	if err != nil {
		return nil, err
	}
	return Mount(Family{
		Name: x.Name, Summary: shorten.To(action.Summary, maxFamilySummary-1), Category: x.Category, Server: x.Server,
		Words: x.Server, Tier: Extended, OpenWorld: true, Bare: true, Actions: []*Action{action},
	}, func(context.Context) (External, error) { return x, nil })
}

// Action returns the tool as an action for a family with several. It fails if its schema does not
// compile or is not an object's, unless it is Lenient.
func (x External) Action() (*Action, error) {
	input := x.InputSchema
	if len(input) == 0 {
		input = json.RawMessage(`{"type":"object"}`)
	}
	type objectSchema struct {
		Param
		whole, ok bool
	}
	members := sync.OnceValue(func() objectSchema {
		object, whole, ok := judge.Object(input)
		return objectSchema{readMembers(judge.Plain(object)), whole, ok}
	})
	compiled := sync.OnceValues(func() (patterns []string, err error) {
		schema, err := judge.CompileTool(x.Name, input)
		switch {
		case err != nil:
			return nil, err
		case !members().ok:
			return nil, fmt.Errorf("the schema of %s is not one of an object", x.Name)
		}
		return schema.Patterns, nil
	})
	switch {
	case !x.Lenient:
		if _, err := compiled(); err != nil {
			return nil, err
		}
	case x.Definition == nil && !json.Valid(input): // a Definition was decoded with its list
		return nil, fmt.Errorf("the schema of %s is no JSON", x.Name)
	}
	summary, rest := firstSentence(x.Description)
	brief := shorten.To(summary, maxActionSummary-1)
	if brief != summary {
		rest = strings.TrimSpace(x.Description) // the cut part is still described and found
	}
	a := &Action{
		Name: x.Name, Summary: brief, Doc: rest, Input: input, Effect: x.Effect, Run: foreign(x.Run),
		Definition: x.Definition, Annotations: x.Hints, Aliases: x.Aliases, Spellings: x.Spellings, BecomesTask: x.BecomesTask,
		unchecked: compiled,
		inputs:    func() (required, optional []Param) { return members().Required, members().Optional },
		names:     sync.OnceValues(func() (required, optional []string) { return namesOf(input) }),
		partial:   func() bool { return members().ok && !members().whole },
	}
	if x.Relay != nil {
		a.relays = true
		a.Run = Handler{run: func(ctx context.Context, _ any, args json.RawMessage) (any, error) { return x.Relay(ctx, args) }}
	}
	if x.Completes != nil {
		a.Completes = Handler{run: func(ctx context.Context, _ any, args json.RawMessage) (any, error) { return x.Completes(ctx, args) }}
	}
	if a.Effect == 0 {
		a.Effect, a.Unstated = Deletes, true // assume the worst
	}
	return a, nil
}

// firstSentence splits a description after its first sentence or line.
func firstSentence(text string) (first, rest string) {
	text = strings.TrimSpace(text)
	if line, below, ok := strings.Cut(text, "\n"); ok {
		text, rest = strings.TrimSpace(line), strings.TrimSpace(below)
	}
	if sentence, more, ok := strings.Cut(text, ". "); ok {
		return sentence + ".", strings.TrimSpace(more + " " + rest)
	}
	return text, rest
}

// namesOf returns the names of the members in a schema, in the order of [readMembers].
func namesOf(input json.RawMessage) (required, optional []string) {
	properties, needs := judge.Members(input)
	needed := namesIn(needs)
	var seen nameSet
	ordered.Scan(properties, func(member []byte, _, _ int) {
		if seen.has(member) {
			return
		}
		name := string(member)
		if seen.add(name); needed.has(member) {
			required = append(required, name)
		} else {
			optional = append(optional, name)
		}
	})
	return required, optional
}

// nameSet is a set of names, usually few.
type nameSet struct {
	list []string
	at   map[string]bool // nil for up to fewNames names
}

// fewNames is the size up to which names are compared one by one.
const fewNames = 16

func (s *nameSet) add(name string) {
	s.list = append(s.list, name)
	switch {
	case s.at != nil:
		s.at[name] = true
	case len(s.list) > fewNames:
		s.at = make(map[string]bool, 2*len(s.list))
		for _, name := range s.list {
			s.at[name] = true
		}
	}
}

func (s *nameSet) has(name []byte) bool {
	if s.at != nil {
		return s.at[string(name)]
	}
	for _, other := range s.list {
		if other == string(name) {
			return true
		}
	}
	return false
}

// namesIn returns a JSON list of names as a set; empty if list is not a list of texts.
func namesIn(list json.RawMessage) (set nameSet) {
	names, ok := ordered.Texts(list)
	if !ok {
		return nameSet{}
	}
	for _, name := range names {
		set.add(name)
	}
	return set
}
