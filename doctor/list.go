package doctor

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/lazy"
)

// List holds the tools and instructions that a server gives at the start of a
// session.
type List struct {
	Server       string `json:"-"` // as the client calls it; hosts put it before the names of tools
	Source       string `json:"-"` // where the list comes from, without secrets
	Host         string `json:"-"` // whose settings name the server; empty = none
	Model        string `json:"-"` // that the host's settings name; empty = its default
	Problem      string `json:"-"` // why there is no list, without secrets
	Unlisted     int    `json:"-"` // tools that are found and called without being listed; 0 = none that are known
	Instructions string `json:"instructions,omitempty"`
	Tools        []Tool `json:"tools"`
}

// Tool is a tool of any server.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"` // compact; nil = the server has none
	Annotations *Annotations    `json:"annotations,omitempty"`

	// AlwaysLoad says that the tool asks hosts that defer definitions to send its own at once.
	AlwaysLoad bool `json:"-"`
}

// Annotations are the hints of a tool. Nil is for hints that are not given.
type Annotations struct {
	ReadOnly    *bool `json:"readOnlyHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
	Idempotent  *bool `json:"idempotentHint,omitempty"`
	OpenWorld   *bool `json:"openWorldHint,omitempty"`
}

// What is counted at most: more than a model of any window takes, and still counted in
// some seconds.
const (
	maxTools       = 5000
	maxDefinitions = 4 << 20 // bytes of the whole list
)

// errNoList refuses a text that is no list of tools.
var errNoList = errors.New(`not a list of tools: want the answer to tools/list, {"tools":[…]}, or the array in it`)

// ReadList reads an answer to tools/list, the response around it, or the array
// of tools in it, with the server's instructions where they stand beside the
// tools. What models are not shown is left out.
func ReadList(raw []byte) (List, error) {
	// Texts and numbers are spelt as JSON.stringify does, since hosts read a
	// list and write it again.
	text := jsontext.Value(raw)
	if err := text.Format(jsontext.AllowDuplicateNames(true), jsontext.CanonicalizeRawInts(true),
		jsontext.CanonicalizeRawFloats(true)); err != nil {
		return List{}, fmt.Errorf("not JSON: %w", err)
	}
	type list struct {
		Instructions string          `json:"instructions"`
		Tools        json.RawMessage `json:"tools"`
		NextCursor   string          `json:"nextCursor"`
	}
	var answer struct {
		list
		Result *list `json:"result"`
	}
	if text[0] == '[' {
		answer.Tools = json.RawMessage(text)
	} else if err := json.Unmarshal(text, &answer); err != nil {
		return List{}, errNoList
	}
	if answer.Tools == nil && answer.Result != nil {
		answer.list = *answer.Result
	}
	if answer.NextCursor != "" {
		return List{}, errors.New("the list goes on at its nextCursor: put the tools of all its pages into one list")
	}
	l := List{Instructions: answer.Instructions}
	if err := json.Unmarshal(answer.Tools, &l.Tools); err != nil || l.Tools == nil {
		return List{}, errNoList
	}
	var asks []struct {
		Meta struct {
			AlwaysLoad bool `json:"anthropic/alwaysLoad"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(answer.Tools, &asks) // a member of another type asks for nothing
	if len(l.Tools) > maxTools || len(text) > maxDefinitions {
		return List{}, fmt.Errorf("%d tools in %d bytes: lists of up to %d tools and %d MB are counted, which is more than a model takes",
			len(l.Tools), len(text), maxTools, maxDefinitions>>20)
	}
	for i, t := range l.Tools {
		if t.Name == "" {
			return List{}, fmt.Errorf("tool %d has no name", i+1)
		}
		if string(t.InputSchema) == "null" {
			l.Tools[i].InputSchema = nil
		}
		l.Tools[i].AlwaysLoad = asks[i].Meta.AlwaysLoad
	}
	return l, nil
}

// definition returns the part of a tool that a model sees, as compact JSON.
func (t Tool) definition() (string, error) {
	t.Annotations = nil
	raw, err := ordered.JSON(t)
	if err != nil {
		return "", fmt.Errorf("encoding %s: %w", t.Name, err)
	}
	return string(raw), nil
}

// CostOf is the cost of a list whose tools are shown as they are.
func CostOf(l List) (total Cost, err error) {
	for _, t := range l.Tools {
		cost, err := t.cost()
		if err != nil {
			return Cost{}, err
		}
		total = total.Add(cost)
	}
	return total, nil
}

// host returns the host whose settings name the server, as it serves the model of the settings; nil if there is none.
func (l List) host() *hosts.Host {
	h := hosts.Find(l.Host)
	if h == nil {
		return nil
	}
	return h.For(l.Model)
}

// TokensIn counts what the host of a name sends a model of the list at the start of a session: as it was seen to, or
// else the tools as they are.
func (l List) TokensIn(host string) (int, error) {
	h := hosts.Find(host)
	if h == nil || h.Sends == nil {
		cost, err := CostOf(l)
		return cost.Tokens, err
	}
	s, err := sentBy(h.For(l.Model), l)
	if s.Deferred != nil {
		return *s.Deferred, err
	}
	return s.Tokens, err
}

// ListOf returns the list of one of our own surfaces. Families counts the
// tools that the surface has at any level.
func ListOf(server, instructions string, listed []lazy.Listed, families int) List {
	l := List{Server: server, Instructions: instructions, Unlisted: max(0, families-len(listed))}
	for _, t := range listed {
		h := t.Hints
		l.Tools = append(l.Tools, Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema,
			Annotations: &Annotations{&h.ReadOnly, &h.Destructive, &h.Idempotent, &h.OpenWorld}})
	}
	return l
}
