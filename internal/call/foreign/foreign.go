// Package foreign makes JSON from other MCP servers safe to embed in our own messages. The result
// is always one line of valid JSON in UTF-8 without duplicate members. [Object] also drops names
// that are reserved for toolfold or the protocol.
package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// ErrNoJSON is the error for a text that is not one JSON value, and ErrNoObject for other JSON
// values.
var (
	ErrNoJSON   = errors.New("its message is not valid JSON")
	ErrNoObject = errors.New("its message is not a JSON object")
)

// resultMembers lists the members, except _meta, of the result or notification of a method, in any
// revision of the protocol. Nil = all members of the method's objects are kept.
func resultMembers(method string) []string {
	switch method {
	case "tools/call":
		return []string{"content", "structuredContent", "isError"}
	case "prompts/get":
		return []string{"description", "messages"}
	case "resources/read":
		return []string{"contents"}
	case "completion/complete":
		return []string{"completion"}
	case "notifications/elicitation/complete":
		return []string{"elicitationId"}
	case "notifications/message":
		return []string{"level", "logger", "data"}
	}
	return nil
}

// connection lists the members of a result that are for the server's client, which is toolfold.
// They are dropped; only a resultType other than complete is reported.
var connection = []string{"resultType", "ttlMs", "cacheScope"}

const complete = `"complete"`

// Object returns an object that a server sent for a method in a form for clients, see [JSON]. It
// drops members that the protocol does not have there, and reserved names in _meta. An empty method
// means an entry of a list. dropped names the dropped members; duplicates have a count.
func Object(method string, raw []byte) (object json.RawMessage, dropped []string, err error) {
	object, dropped, err = clean(raw)
	if err != nil {
		return nil, nil, err
	}
	type member struct{ name, value []byte }
	var left []member
	members, same := resultMembers(method), true
	is := ordered.Scan(object, func(name []byte, start, end int) {
		value := object[start:end]
		switch {
		case string(name) == "_meta":
			inner, reserved := withoutReserved(value)
			dropped, same = append(dropped, reserved...), same && bytes.Equal(inner, value)
			value = inner
		case members == nil, slices.Contains(members, string(name)):
		default:
			same = false
			if !slices.Contains(connection, string(name)) || string(name) == "resultType" && string(value) != complete {
				dropped = append(dropped, string(name))
			}
			return
		}
		if value != nil {
			left = append(left, member{name, value})
		}
	})
	switch {
	case !is:
		return nil, nil, ErrNoObject
	case same:
		return object, dropped, nil
	}
	out := append(make([]byte, 0, len(object)), '{')
	for _, m := range left {
		out = appendMember(out, m.name, m.value)
	}
	return append(out, '}'), dropped, nil
}

// withoutReserved returns a _meta without reserved names, or nil if it is empty, and the names that
// it dropped.
func withoutReserved(meta []byte) (left json.RawMessage, dropped []string) {
	out, all := []byte("{"), true
	is := ordered.Scan(meta, func(name []byte, start, end int) {
		if !Reserved(string(name)) {
			out = appendMember(out, name, meta[start:end])
			return
		}
		if all = false; string(name) != serverInfo {
			dropped = append(dropped, `_meta["`+string(name)+`"]`)
		}
	})
	switch {
	case !is:
		return nil, []string{"_meta"}
	case all:
		return meta, nil
	case len(out) == len("{"):
		return nil, dropped
	}
	return append(out, '}'), dropped
}

func appendMember(out, name, value []byte) []byte {
	if out[len(out)-1] != '{' {
		out = append(out, ',')
	}
	out, _ = jsontext.AppendQuote(out, name)
	return append(append(out, ':'), value...)
}

const (
	protocol   = "modelcontextprotocol"
	serverInfo = "io." + protocol + "/serverInfo" // of a result: the server of this connection
	apps       = "io." + protocol + "/ui"         // the interface of a tool or a resource, which hosts show
)

// Reserved reports whether a name in _meta is reserved for the protocol or toolfold. Another server
// cannot use it for our client, which does not know the server's tasks, requests and subscriptions.
// The protocol reserves prefixes with mcp or modelcontextprotocol as the second label, and earlier
// reserved them as the label before the last.
func Reserved(name string) bool {
	prefix, _, prefixed := strings.Cut(name, "/")
	if !prefixed || name == apps {
		return false
	}
	labels := strings.Split(prefix, ".")
	ofProtocol := func(i int) bool { return i >= 0 && i < len(labels) && (labels[i] == protocol || labels[i] == "mcp") }
	return ofProtocol(1) || ofProtocol(len(labels)-2) || slices.Contains(labels, "toolfold")
}

// JSON returns a JSON value on one line without spaces. Texts and numbers keep their spelling,
// except invalid UTF-8 and unpaired surrogates, which become U+FFFD. Of duplicate members the last
// is kept.
func JSON(raw []byte) (json.RawMessage, error) {
	value, _, err := clean(raw)
	return value, err
}

// clean is JSON, and returns the names of duplicate members.
func clean(raw []byte) (value json.RawMessage, repeated []string, err error) {
	if jsontext.Value(raw).IsValid() { // no duplicates, and valid Unicode
		if spaced(raw) {
			raw, err = jsontext.AppendFormat(make([]byte, 0, len(raw)), raw, jsontext.PreserveRawStrings(true))
		}
		return raw[:len(raw):len(raw)], nil, err
	}
	r := rewriter{dec: jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	if r.value() != nil || !json.Valid(raw) { // there may be more text after the value
		return nil, nil, ErrNoJSON
	}
	return r.rest(), r.names(), nil
}

// spaced reports whether a valid value has spaces between its parts or around it.
func spaced(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		switch {
		case raw[i] <= ' ':
			return true
		case raw[i] == '"':
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		}
	}
	return false
}

// rewriter writes a value that some readers would reject.
type rewriter struct {
	dec      *jsontext.Decoder
	out      []byte
	repeats  []span // members in out, with the following comma, that a later duplicate replaces
	repeated map[string]int
}

type span struct{ from, to int }

// value writes the next value.
func (r *rewriter) value() error {
	switch kind := r.dec.PeekKind(); kind {
	case '{':
		return r.object()
	case '[':
		return r.list()
	default:
		raw, err := r.dec.ReadValue()
		if err == nil && kind == '"' {
			raw = text(raw)
		}
		r.out = append(r.out, raw...)
		return err
	}
}

func (r *rewriter) object() error {
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	r.out = append(r.out, '{')
	last := map[string]span{} // by name
	for r.dec.PeekKind() == '"' {
		from := len(r.out)
		quoted, err := r.dec.ReadValue()
		if err != nil {
			return err
		}
		name, _ := jsontext.AppendUnquote(nil, quoted) // invalid UTF-8 is replaced
		r.out = append(append(r.out, text(quoted)...), ':')
		if err := r.value(); err != nil {
			return err
		}
		r.out = append(r.out, ',')
		if before, is := last[string(name)]; is {
			r.repeat(string(name), before)
		}
		last[string(name)] = span{from, len(r.out)}
	}
	return r.close('}')
}

func (r *rewriter) list() error {
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	r.out = append(r.out, '[')
	for kind := r.dec.PeekKind(); kind != ']' && kind != 0; kind = r.dec.PeekKind() {
		if err := r.value(); err != nil {
			return err
		}
		r.out = append(r.out, ',')
	}
	return r.close(']')
}

// close writes the end of an object or a list over the comma after its last part, which is never
// one of the repeats.
func (r *rewriter) close(end byte) error {
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	if last := len(r.out) - 1; r.out[last] == ',' {
		r.out[last] = end
	} else {
		r.out = append(r.out, end)
	}
	return nil
}

func (r *rewriter) repeat(name string, before span) {
	r.repeats = append(r.repeats, before)
	if r.repeated == nil {
		r.repeated = map[string]int{}
	}
	if r.repeated[name] > 0 || len(r.repeated) < maxRepeated {
		r.repeated[name]++
	}
}

// maxRepeated limits the duplicate members that are reported.
const maxRepeated = 16

// rest returns the output without the repeats.
func (r *rewriter) rest() json.RawMessage {
	if len(r.repeats) == 0 {
		return r.out
	}
	slices.SortFunc(r.repeats, func(a, b span) int { return a.from - b.from })
	rest, at := make([]byte, 0, len(r.out)), 0
	for _, s := range r.repeats {
		if s.from >= at { // not inside another one
			rest, at = append(rest, r.out[at:s.from]...), s.to
		}
	}
	return append(rest, r.out[at:]...)
}

func (r *rewriter) names() (all []string) {
	for name, n := range r.repeated {
		all = append(all, name+" (repeated "+strconv.Itoa(n)+"×)")
	}
	slices.Sort(all)
	return all
}

// text returns a quoted text as written, if it is valid Unicode.
func text(quoted jsontext.Value) jsontext.Value {
	if quoted.IsValid() {
		return quoted
	}
	plain, _ := jsontext.AppendUnquote(nil, quoted)
	again, _ := jsontext.AppendQuote(nil, plain)
	return again
}
