package call

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/call/judge"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/unseen"
)

// Bounds of the arguments of one call. A decoded value takes many times the
// bytes that it was written in.
const (
	maxDepth  = 200     // levels
	maxNames  = 1000    // arguments; no action takes a tenth of that
	maxValues = 100_000 // values, those inside others included
)

// arguments holds the arguments of a call twice: decoded, for validation, and
// as the bytes that came, which the action decodes unless something about them
// has to change. So what a caller stores keeps its order and its digits.
type arguments struct {
	raw    json.RawMessage   // the whole object
	names  []string          // of the members, in the order they came
	parts  []json.RawMessage // of each of names its bytes; nil where these are not its value any more
	values map[string]any    // numbers are [json.Number]

	// params is the object in the member params, nil when there is none, and
	// moved says of a name that the member came in it.
	params *arguments
	moved  map[string]bool

	emptied  bool               // params was there, but held nothing
	problems []toolfold.Problem // with the member params
	stripped bool               // a member that belongs to the call, not the action, was taken out
	changed  bool               // raw is no longer what the action gets
	count    int                // of the values read
}

// parseArguments reads arguments in one pass. Nothing and null are no
// arguments. What would be lost in decoding is refused: members given twice,
// numbers beyond 64-bit floating point, invalid UTF-8.
func parseArguments(raw json.RawMessage) (*arguments, *toolfold.Error) {
	a := &arguments{raw: raw, values: map[string]any{}}
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || string(trimmed) == "null" {
		a.raw = json.RawMessage("{}")
		return a, nil
	}
	dec := decoders.Get().(*jsontext.Decoder)
	defer decoders.Put(dec)
	dec.Reset(bytes.NewBuffer(raw))
	if kind := dec.PeekKind(); kind != '{' && kind != 0 {
		return nil, toolfold.Errorf(toolfold.InvalidInput, "arguments must be a JSON object, got %s", kindName(kind)).
			WithHint(`send an object such as {"action":"list"}`)
	}
	err := a.read(dec)
	if err == nil && len(bytes.TrimSpace(raw[dec.InputOffset():])) > 0 {
		err = errors.New("more than one JSON value")
	}
	var refused *toolfold.Error
	var syntax *jsontext.SyntacticError
	switch {
	case err == nil:
		return a, nil
	case errors.As(err, &refused):
		return nil, refused
	case errors.Is(err, jsontext.ErrDuplicateName):
		return nil, toolfold.Errorf(toolfold.InvalidInput, "%s is given twice", shorten.Quoted(string(dec.StackPointer()))).
			WithHint("give each member once")
	case errors.As(err, &syntax) && (!utf8.Valid(raw) || strings.HasPrefix(syntax.Err.Error(), "invalid surrogate pair")):
		at := shorten.To(string(syntax.JSONPointer), maxPath)
		problem := toolfold.Problem{Path: at, Kind: toolfold.ProblemFormat, Want: "text in UTF-8"}
		refused = toolfold.Errorf(toolfold.InvalidInput, "%s is not UTF-8 after byte %d", cmp.Or(problem.Name(), "a name"), syntax.ByteOffset).
			WithHint("send text in UTF-8, other bytes as base64")
		refused.Problems = []toolfold.Problem{problem}
		return nil, refused
	case errors.As(err, &syntax):
		return nil, toolfold.Errorf(toolfold.InvalidInput, "arguments are not valid JSON after byte %d: %v", syntax.ByteOffset, syntax.Err)
	}
	return nil, toolfold.Errorf(toolfold.InvalidInput, "arguments are not valid JSON: %v", err)
}

// decoders are used again for other calls: one is larger than most arguments.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

// read reads the members of the object that the decoder is in front of.
func (a *arguments) read(dec *jsontext.Decoder) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		if len(a.names) == maxNames {
			return toolfold.Errorf(toolfold.InvalidInput, "there are more than %d arguments", maxNames)
		}
		start := dec.InputOffset()
		var value any
		if name == callctx.ArgParams && dec.PeekKind() == '{' && dec.StackDepth() == 1 {
			a.params = &arguments{raw: a.raw, values: map[string]any{}, count: a.count}
			err = a.params.read(dec)
			value, a.count = a.params.values, a.params.count
		} else {
			value, err = a.readValue(dec)
		}
		if err != nil {
			return err
		}
		a.names = append(a.names, name)
		a.parts = append(a.parts, bytes.TrimLeft(a.raw[start:dec.InputOffset()], " \t\r\n:"))
		a.values[name] = value
	}
	_, err := dec.ReadToken()
	return err
}

func (a *arguments) readValue(dec *jsontext.Decoder) (any, error) {
	if a.count++; a.count > maxValues {
		return nil, toolfold.Errorf(toolfold.InvalidInput, "the arguments hold more than %d values", maxValues).
			WithHint("send them in several calls")
	}
	if dec.StackDepth() > maxDepth {
		return nil, toolfold.Errorf(toolfold.InvalidInput, "arguments nest deeper than %d levels", maxDepth)
	}
	token, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return token.Bool(), nil
	case '"':
		return token.String(), nil
	case '0':
		number := json.Number(token.String())
		if _, err := number.Float64(); err != nil {
			return nil, toolfold.Errorf(toolfold.InvalidInput, "%s is a number beyond 64-bit floating point",
				shorten.Quoted(string(dec.StackPointer()))).WithHint("send it as a string, or smaller")
		}
		return number, nil
	case '[':
		list := []any{}
		for dec.PeekKind() != ']' {
			item, err := a.readValue(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err := dec.ReadToken()
		return list, err
	}
	object := map[string]any{}
	for dec.PeekKind() != '}' {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String()
		if object[name], err = a.readValue(dec); err != nil {
			return nil, err
		}
	}
	_, err = dec.ReadToken()
	return object, err
}

func kindName(kind jsontext.Kind) string {
	switch kind {
	case 't', 'f':
		return "boolean"
	case '"':
		return "string"
	case '0':
		return "number"
	case '[':
		return "array"
	}
	return "null"
}

// unfold moves the members of params, an object or JSON text of one, beside the
// others. A member that stands there already must say the same. Null, an empty
// text and an empty object are no params.
func (a *arguments) unfold() {
	value, present := a.values[callctx.ArgParams]
	if !present {
		return
	}
	problem := toolfold.Problem{Path: "/" + callctx.ArgParams, Kind: toolfold.ProblemType, Want: "object", Got: jsonx.TypeName(value)}
	inner := a.params
	switch text, isText := value.(string); {
	case value == nil, isText && strings.TrimSpace(text) == "":
		inner = &arguments{}
	case isText:
		var refused *toolfold.Error
		if inner, refused = parseArguments([]byte(text)); refused != nil {
			problem.Got = "text: " + refused.Message
			inner = nil
		}
	}
	a.drop(callctx.ArgParams)
	if inner == nil {
		a.problems = append(a.problems, problem)
		return
	}
	a.emptied = len(inner.values) == 0
	a.moved = map[string]bool{}
	for i, name := range inner.names {
		value := inner.values[name]
		before, twice := a.values[name]
		switch {
		case twice && value == nil:
			continue
		case twice && before != nil && !reflect.DeepEqual(before, value):
			if len(a.problems) < judge.MaxProblems {
				a.problems = append(a.problems, toolfold.Problem{Path: jsonx.Pointer("/"+callctx.ArgParams, name), Kind: toolfold.ProblemTwice})
			}
			continue
		}
		a.moved[name] = true
		a.set(name, value, inner.parts[i])
	}
}

// pointer returns where a problem is in the arguments as they came: in params
// holds what came in it, and what is missing where calls are shown with params,
// unless other parameters stand beside it.
func (a *arguments) pointer(p toolfold.Problem, e *entry.Entry) string {
	name, _, deeper := strings.Cut(strings.TrimPrefix(p.Path, "/"), "/")
	name = e.Spelling(jsonx.UnescapePointer(name))
	missing := p.Kind == toolfold.ProblemMissing && !deeper && e.Nested(name) && !a.flat()
	if missing || a.moved[name] && p.Kind != toolfold.ProblemTwice {
		return "/" + callctx.ArgParams + p.Path
	}
	return p.Path
}

// flat reports whether parameters of the action came beside params, and none in
// it.
func (a *arguments) flat() bool {
	beside := func(name string) bool {
		return name != callctx.ArgAction && name != callctx.ArgParams && name != callctx.ArgFields && name != callctx.ArgJQ
	}
	return len(a.moved) == 0 && slices.ContainsFunc(a.names, beside)
}

// take removes a member that belongs to the call, not to the action.
func (a *arguments) take(name string) (value any, present bool) {
	value, present = a.values[name]
	if present {
		delete(a.values, name)
		a.stripped = true
	}
	return value, present
}

// drop removes a member that the action does not get.
func (a *arguments) drop(name string) {
	delete(a.values, name)
	a.changed = true
}

// set gives a member a value, and the bytes that say it, nil where none do.
func (a *arguments) set(name string, value any, part json.RawMessage) {
	if !slices.Contains(a.names, name) { // it is there still if it was taken
		a.names, a.parts = append(a.names, name), append(a.parts, nil)
	}
	a.values[name] = value
	a.touch(name, part)
}

// respell replaces names and texts by their spellings in the action's schema, see [toolfold.Action.Spelt]. A name that
// comes in both spellings is a problem.
func (a *arguments) respell(spellings map[string]string) {
	if len(spellings) == 0 {
		return
	}
	for i, name := range slices.Clone(a.names) {
		value, present := a.values[name]
		if !present {
			continue
		}
		part := a.parts[i]
		if part == nil {
			part = ordered.MustJSON(value)
		}
		twice := false
		spelt := unseen.Respelt(part, spellings)
		if !bytes.Equal(spelt, part) {
			member, refused := parseArguments(slices.Concat([]byte(`{"":`), spelt, []byte("}")))
			if twice = refused != nil; !twice {
				a.set(name, member.values[""], spelt)
			}
		}
		if now := spellings[name]; now != "" && !twice {
			if _, twice = a.values[now]; !twice {
				a.set(now, a.values[name], spelt)
				a.drop(name)
				if a.moved[name] {
					a.moved[now] = true
				}
			}
		}
		if twice && len(a.problems) < judge.MaxProblems {
			a.problems = append(a.problems, toolfold.Problem{Path: jsonx.Pointer("", name), Kind: toolfold.ProblemTwice})
		}
	}
}

// touch says that the value of a member is no longer what its bytes say, but what part does,
// nil where no bytes do.
func (a *arguments) touch(name string, part json.RawMessage) {
	a.parts[slices.Index(a.names, name)] = part
	a.changed = true
}

// complete spells the names as the action does and fills in the defaults. What goes
// to a tool declared elsewhere stays as it came.
func (a *arguments) complete(t *target) {
	if t.Action.Input != nil {
		return
	}
	for i, name := range a.names {
		value, present := a.values[name]
		if now := t.Canonical(name); present && now != name {
			a.drop(name)
			a.names[i], a.values[now] = now, value
		}
	}
	for _, p := range t.today {
		value, present := a.values[p.Name]
		switch {
		case present:
			if completed, changed := completeValue(value, p); changed {
				a.set(p.Name, completed, nil)
			}
		case p.Default != nil:
			a.set(p.Name, p.Default, t.defaults[p.Name])
		}
	}
}

// encode returns what the action decodes: the bytes that came, or, where
// something has changed, an object put together of the bytes that have not.
// A tool from elsewhere gets nothing that it did not declare.
func (a *arguments) encode(e *entry.Entry) json.RawMessage {
	if !a.changed && !(a.stripped && e.Action.Input != nil) {
		return a.raw
	}
	out := make([]byte, 0, len(a.raw)+64)
	out = append(out, '{')
	for i, name := range a.names {
		value, present := a.values[name]
		if !present {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, name) // parsing has refused what is not valid UTF-8
		out = append(out, ':')
		if part := a.parts[i]; part != nil {
			out = append(out, part...)
		} else {
			out = append(out, ordered.MustJSON(value)...)
		}
	}
	return append(out, '}')
}
