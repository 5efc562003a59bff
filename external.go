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

// foreign makes a handler for a tool declared elsewhere. Run gets arguments
// that satisfy the action's Input schema and returns a JSON value; one that is
// not an object is answered as the member "result" of one. An error that is a
// [*Error] reaches the caller as it is.
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

// External is a tool whose schema was written elsewhere, such as by another
// MCP server.
type External struct {
	Name        string
	Description string // its first sentence becomes the summary, where it is short enough
	Server      string // name of the server that has it, by which it is found too; empty = none
	InputSchema json.RawMessage
	Category    Category // as of [Family]
	Effect      Effect   // zero: not stated, which counts as Deletes and is described as not annotated

	// Run gets arguments that satisfy InputSchema and returns a JSON value.
	Run func(ctx context.Context, args json.RawMessage) (json.RawMessage, error)

	// Relay is in place of Run where the answer is that of another MCP server, which
	// clients get on one line, with the members that the protocol has for it.
	Relay func(ctx context.Context, args json.RawMessage) (Reply, error)

	// BecomesTask and Completes are those of the [Action]: Completes returns the arguments
	// whole. Nil asks nothing.
	BecomesTask bool
	Completes   func(ctx context.Context, args json.RawMessage) (json.RawMessage, error)

	// Lenient takes a schema that arguments cannot be checked with, as long as it is JSON:
	// they pass as they are, and tools.describe says so. The schema is compiled when it is used.
	Lenient bool

	// Definition, Hints, Aliases and Spelt are those of the [Action]. Beside a Definition the
	// InputSchema must be valid JSON.
	Definition json.RawMessage
	Hints      *Hints
	Aliases    []string
	Spelt      map[string]string
}

// Reply is the result of a call of another MCP server: its CallToolResult, as it
// came.
type Reply struct{ Result json.RawMessage }

// Family returns the tool as a bare family, mounted: it is listed, found,
// described and called like any other.
func (x External) Family() (*Family, error) {
	action, err := x.Action()
	if err != nil {
		return nil, err
	}
	return Mount(Family{
		Name: x.Name, Summary: shorten.To(action.Summary, maxFamilySummary-1), Category: x.Category,
		Words: x.Server, Tier: Extended, OpenWorld: true, Bare: true, Actions: []*Action{action},
	}, func(context.Context) (External, error) { return x, nil })
}

// Action returns the tool as an action, to be one of several in a family. It
// fails when its schema is not one that arguments can be checked with, unless it
// is Lenient.
func (x External) Action() (*Action, error) {
	input := x.InputSchema
	if len(input) == 0 {
		input = json.RawMessage(`{"type":"object"}`)
	}
	type read struct {
		Param
		whole, ok bool
	}
	members := sync.OnceValue(func() read {
		object, whole, ok := judge.Object(input)
		return read{readMembers(judge.Plain(object)), whole, ok}
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
	case x.Definition == nil && !json.Valid(input): // what a server has defined was decoded with its list
		return nil, fmt.Errorf("the schema of %s is no JSON", x.Name)
	}
	summary, rest := firstSentence(x.Description)
	brief := shorten.To(summary, maxActionSummary-1)
	if brief != summary {
		rest = strings.TrimSpace(x.Description) // what is cut is still described, and found
	}
	a := &Action{
		Name: x.Name, Summary: brief, Doc: rest, Input: input, Effect: x.Effect, Run: foreign(x.Run),
		Definition: x.Definition, Annotated: x.Hints, Aliases: x.Aliases, Spelt: x.Spelt, BecomesTask: x.BecomesTask,
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

// firstSentence cuts a description after its first sentence or line.
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

// namesOf returns the names of the members of an object of a schema, in the order in which
// [readMembers] has them.
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

// nameSet is a set of names, most often of few.
type nameSet struct {
	list []string
	at   map[string]bool // once there are many
}

// fewNames bounds the names that are compared one by one.
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

// namesIn returns a list of names as a set; an empty one for anything else.
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
