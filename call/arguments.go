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

// Limits for the arguments of one call. A decoded value takes many times its encoded bytes.
const (
	maxDepth  = 200     // levels
	maxNames  = 1000    // arguments; no action takes a tenth of that
	maxValues = 100_000 // values, including nested ones
)

// arguments holds the arguments of a call twice: decoded for validation, and as the original bytes.
// The action decodes the original bytes unless something has to change, so that stored values keep
// their order and digits.
type arguments struct {
	raw    json.RawMessage   // the whole object
	names  []string          // of the members, in order
	parts  []json.RawMessage // the bytes of each name's value; nil if they are outdated
	values map[string]any    // numbers are [json.Number]

	// params is the object in the member params, or nil. moved[name] is true if name was inside
	// params.
	params     *arguments
	fromParams map[string]bool

	emptyParams bool               // params was there, but empty
	problems    []toolfold.Problem // of the member params
	stripped    bool               // a member for the call, not the action, was removed
	changed     bool               // the action gets other bytes than raw
	count       int                // number of values read
}

// parseArguments parses arguments in one pass. Empty and null mean no arguments. It rejects
// everything that decoding would lose: duplicate members, numbers beyond 64-bit floating point,
// invalid UTF-8.
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

// decoders pools decoders: one is larger than most arguments.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

// read reads the object at the decoder's position.
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

// unfold moves the members of params, an object or its JSON text, to the top level. A member that
// is there already must have the same value. Null, an empty text and an empty object count as no
// params.
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
	a.emptyParams = len(inner.values) == 0
	a.fromParams = map[string]bool{}
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
		a.fromParams[name] = true
		a.set(name, value, inner.parts[i])
	}
}

// pointer returns the path of a problem in the original arguments. It starts with /params for
// arguments sent inside params, and for missing ones if the documented form uses params and the
// call is not flat.
func (a *arguments) pointer(p toolfold.Problem, e *entry.Entry) string {
	name, _, deeper := strings.Cut(strings.TrimPrefix(p.Path, "/"), "/")
	name = e.Spelling(jsonx.UnescapePointer(name))
	missing := p.Kind == toolfold.ProblemMissing && !deeper && e.Nested(name) && !a.flat()
	if missing || a.fromParams[name] && p.Kind != toolfold.ProblemTwice {
		return "/" + callctx.ArgParams + p.Path
	}
	return p.Path
}

// flat reports whether the action's parameters came outside params, and none inside.
func (a *arguments) flat() bool {
	beside := func(name string) bool {
		return name != callctx.ArgAction && name != callctx.ArgParams && name != callctx.ArgFields && name != callctx.ArgJQ
	}
	return len(a.fromParams) == 0 && slices.ContainsFunc(a.names, beside)
}

// take removes a member that is for the call, not the action.
func (a *arguments) take(name string) (value any, present bool) {
	value, present = a.values[name]
	if present {
		delete(a.values, name)
		a.stripped = true
	}
	return value, present
}

// drop removes a member that the action should not get.
func (a *arguments) drop(name string) {
	delete(a.values, name)
	a.changed = true
}

// set sets the value of a member and its bytes; nil = encode the value.
func (a *arguments) set(name string, value any, part json.RawMessage) {
	if !slices.Contains(a.names, name) { // it is still in names if it was taken
		a.names, a.parts = append(a.names, name), append(a.parts, nil)
	}
	a.values[name] = value
	a.touch(name, part)
}

// rename moves values that came under another name of their parameter to its own. A value under both is a
// problem, unless it is the same.
func (a *arguments) rename(params []toolfold.Param) {
	for _, p := range params {
		for _, other := range p.Also {
			value, given := a.values[other]
			if !given {
				continue
			}
			part := a.parts[slices.Index(a.names, other)]
			a.drop(other)
			own, both := a.values[p.Name]
			switch {
			case value == nil: // as absent
			case !both || own == nil:
				a.set(p.Name, value, part)
				if a.fromParams[other] {
					a.fromParams[p.Name] = true
				}
			case !bytes.Equal(ordered.MustJSON(own), ordered.MustJSON(value)) && len(a.problems) < judge.MaxProblems:
				a.problems = append(a.problems, toolfold.Problem{Path: jsonx.Pointer("", p.Name), Kind: toolfold.ProblemFormat,
					Want: "single value, not another one in " + other})
			}
		}
	}
}

// respell replaces names and texts by their spellings in the action's schema, see
// [toolfold.Action.Spellings]. A name that comes in both spellings is a problem.
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
				if a.fromParams[name] {
					a.fromParams[now] = true
				}
			}
		}
		if twice && len(a.problems) < judge.MaxProblems {
			a.problems = append(a.problems, toolfold.Problem{Path: jsonx.Pointer("", name), Kind: toolfold.ProblemTwice})
		}
	}
}

// touch replaces the bytes of a member whose value has changed; nil = encode the value.
func (a *arguments) touch(name string, part json.RawMessage) {
	a.parts[slices.Index(a.names, name)] = part
	a.changed = true
}

// complete converts names to the action's spelling and sets defaults. Arguments for a tool declared
// elsewhere are not changed.
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

// encode returns the bytes for the action: the original ones, or after a change an object assembled
// from the unchanged parts. A tool from elsewhere gets no members that are for the call.
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
		out, _ = jsontext.AppendQuote(out, name) // parsing has rejected invalid UTF-8
		out = append(out, ':')
		if part := a.parts[i]; part != nil {
			out = append(out, part...)
		} else {
			out = append(out, ordered.MustJSON(value)...)
		}
	}
	return append(out, '}')
}
