// Package foreign takes over JSON that other MCP servers send, so that it can stand within
// messages of our own: whatever a server sends, a message that holds it is one line, valid JSON
// and UTF-8, has no member twice, and says nothing in the name of toolfold or of the protocol.
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

// ErrNoJSON is the error for a text that is not one JSON value, and ErrNoObject for another value.
var (
	ErrNoJSON   = errors.New("its message is not valid JSON")
	ErrNoObject = errors.New("its message is not a JSON object")
)

// known lists the members that the protocol has, in every revision, for the object that a method
// answers with or notifies of, besides _meta. Nil = objects of the method keep all members.
func known(method string) []string {
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

// connection lists the members of a result that are for the client of the server, which
// toolfold is. They are left out and not reported.
var connection = []string{"resultType", "ttlMs", "cacheScope"}

const complete = `"complete"`

// Object returns an object that a server sent under a method as clients may get it, see [JSON]:
// without members that the protocol does not know there, and without names in its _meta that
// only a neighbour on the connection can mean. An empty method stands for an entry of a list.
// Dropped names the members that are left out, a repeated one with its count.
func Object(method string, raw []byte) (object json.RawMessage, dropped []string, err error) {
	object, dropped, err = clean(raw)
	if err != nil {
		return nil, nil, err
	}
	type member struct{ name, value []byte }
	var left []member
	members, same := known(method), true
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

// withoutReserved returns a _meta without reserved names, nil where nothing is left, and which names
// are left out.
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
	serverInfo = "io." + protocol + "/serverInfo" // of a result: which server it was is said by the connection
	apps       = "io." + protocol + "/ui"         // the interface of a tool or a resource, which hosts show
)

// Reserved reports whether a name in _meta is the protocol's or toolfold's, so that another server
// cannot mean it for our client: its tasks, requests and subscriptions are unknown there. The protocol
// reserves prefixes whose second label is mcp or modelcontextprotocol, and did so for the label before
// the last.
func Reserved(name string) bool {
	prefix, _, prefixed := strings.Cut(name, "/")
	if !prefixed || name == apps {
		return false
	}
	labels := strings.Split(prefix, ".")
	ofProtocol := func(i int) bool { return i >= 0 && i < len(labels) && (labels[i] == protocol || labels[i] == "mcp") }
	return ofProtocol(1) || ofProtocol(len(labels)-2) || slices.Contains(labels, "toolfold")
}

// JSON returns a JSON value in one line, without space between its parts. Texts and numbers stay as
// they were written, but for what is not UTF-8, and halves of surrogate pairs, which become U+FFFD.
// Of members of one name the last stays.
func JSON(raw []byte) (json.RawMessage, error) {
	value, _, err := clean(raw)
	return value, err
}

// clean is JSON, and names the members that were there more than once.
func clean(raw []byte) (value json.RawMessage, repeated []string, err error) {
	if jsontext.Value(raw).IsValid() { // no name is there twice, and all is Unicode
		if spaced(raw) {
			raw, err = jsontext.AppendFormat(make([]byte, 0, len(raw)), raw, jsontext.PreserveRawStrings(true))
		}
		return raw[:len(raw):len(raw)], nil, err
	}
	r := rewriter{dec: jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	if r.value() != nil || !json.Valid(raw) { // there may be more behind the value
		return nil, nil, ErrNoJSON
	}
	return r.rest(), r.names(), nil
}

// spaced reports whether there is space between the parts of a valid value, or around it.
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

// rewriter writes a value anew that some readers would refuse.
type rewriter struct {
	dec      *jsontext.Decoder
	out      []byte
	repeats  []span // members in out, with the comma behind them, that another of the same name follows
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
		name, _ := jsontext.AppendUnquote(nil, quoted) // what is not UTF-8 is replaced
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

// close writes the end of an object or a list, in place of the comma behind its last part, which is
// no repeat of another.
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

// maxRepeated bounds the names of repeated members that are reported.
const maxRepeated = 16

// rest returns what was written without the repeats.
func (r *rewriter) rest() json.RawMessage {
	if len(r.repeats) == 0 {
		return r.out
	}
	slices.SortFunc(r.repeats, func(a, b span) int { return a.from - b.from })
	rest, at := make([]byte, 0, len(r.out)), 0
	for _, s := range r.repeats {
		if s.from >= at { // not within another
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

// text returns a quoted text as it was written, where it is Unicode.
func text(quoted jsontext.Value) jsontext.Value {
	if quoted.IsValid() {
		return quoted
	}
	plain, _ := jsontext.AppendUnquote(nil, quoted)
	again, _ := jsontext.AppendQuote(nil, plain)
	return again
}
