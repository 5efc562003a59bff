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

// List holds the tools and instructions that a server sends at the start of a session.
type List struct {
	Server       string `json:"-"` // the client's name for it; hosts prefix tool names with it
	Source       string `json:"-"` // where the list comes from, without secrets
	Host         string `json:"-"` // the host whose settings name the server; may be empty
	Model        string `json:"-"` // the model in the host's settings; empty = its default
	Problem      string `json:"-"` // why there is no list, without secrets
	Unlisted     int    `json:"-"` // callable tools that are not listed; 0 = no such tool is known
	Instructions string `json:"instructions,omitempty"`
	Tools        []Tool `json:"tools"`
}

// Tool is a tool of any server.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"` // compact; nil = the server sends no schema
	Annotations *Annotations    `json:"annotations,omitempty"`

	// AlwaysLoad asks hosts that defer definitions to send this one at once.
	AlwaysLoad bool `json:"-"`
}

// Annotations are a tool's hints; nil if a hint is absent.
type Annotations struct {
	ReadOnly    *bool `json:"readOnlyHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
	Idempotent  *bool `json:"idempotentHint,omitempty"`
	OpenWorld   *bool `json:"openWorldHint,omitempty"`
}

// Limits of a list: more than the window of any model, and still counted within seconds.
const (
	maxTools       = 5000
	maxDefinitions = 4 << 20 // bytes of the whole list
)

// errNoList is the error for text that is not a list of tools.
var errNoList = errors.New(`not a list of tools: want the answer to tools/list, {"tools":[…]}, or the array in it`)

// ReadList reads a tools/list result, the response around it, or just the array of tools. It also
// reads the server's instructions if they are next to the tools. It leaves out members that models
// do not see.
func ReadList(raw []byte) (List, error) {
	// Strings and numbers are normalized like JSON.stringify does, because hosts parse and rewrite
	// lists.
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
	_ = json.Unmarshal(answer.Tools, &asks) // members of other types count as absent
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

// definition returns the part of a tool that models see, as compact JSON.
func (t Tool) definition() (string, error) {
	t.Annotations = nil
	raw, err := ordered.JSON(t)
	if err != nil {
		return "", fmt.Errorf("encoding %s: %w", t.Name, err)
	}
	return string(raw), nil
}

// CostOf returns the cost of a list whose definitions are sent unchanged.
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

// host returns the host whose settings name the server, with the settings' model, or nil.
func (l List) host() *hosts.Host {
	h := hosts.Find(l.Host)
	if h == nil {
		return nil
	}
	return h.For(l.Model)
}

// TokensIn counts the tokens of the list at the start of a session with a host. If the host's
// behaviour is unknown, it counts the definitions.
func (l List) TokensIn(host string) (int, error) {
	h := hosts.Find(host)
	if h == nil || h.Rewrite == nil {
		cost, err := CostOf(l)
		return cost.Tokens, err
	}
	s, err := countByHost(h.For(l.Model), l)
	if s.Deferred != nil {
		return *s.Deferred, err
	}
	return s.Tokens, err
}

// ListOf returns the list of one of our own surfaces. families is the number of tools that the
// surface has at any level.
func ListOf(server, instructions string, tools []lazy.ListedTool, families int) List {
	l := List{Server: server, Instructions: instructions, Unlisted: max(0, families-len(tools))}
	for _, t := range tools {
		h := t.Hints
		l.Tools = append(l.Tools, Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema,
			Annotations: &Annotations{&h.ReadOnly, &h.Destructive, &h.Idempotent, &h.OpenWorld}})
	}
	return l
}
