package upstream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// outline follows the braces, brackets and strings of a JSON object, to find its end and its id without
// decoding it. It also works for objects that are invalid or not stored. The zero value stands before
// the object's first brace.
type outline struct {
	depth    int
	inString bool
	escaped  bool
	inValue  bool   // after a colon, at depth 1
	word     []byte // current string or scalar at depth 1, cut at maxWord
	key      string // of the member at depth 1

	id    string // as written, with quotes; empty if there is no id
	isRPC bool   // the object has a member jsonrpc
}

// maxWord is how many bytes are read of a member's name or id.
const maxWord = 64

// feed reads more of the object. It returns the offset after its last brace, or -1 if it goes on.
func (o *outline) feed(text []byte) int {
	for i, c := range text {
		if o.depth == 1 && len(o.word) < maxWord && (o.inString || c > ' ' && c != ',' && c != '}' && c != ':') {
			o.word = append(o.word, c)
		}
		switch {
		case o.escaped:
			o.escaped = false
		case o.inString:
			o.escaped, o.inString = c == '\\', c != '"'
		case c == '"':
			o.inString = true
		case c == '{' || c == '[':
			o.depth++
		case c == ':' && o.depth == 1 && !o.inValue:
			o.key, o.inValue = string(o.word), true
			o.isRPC = o.isRPC || o.key == `"jsonrpc"`
			o.word = o.word[:0]
		case (c == ',' || c == '}') && o.depth == 1:
			o.member()
		}
		if !o.inString && (c == '}' || c == ']') {
			if o.depth--; o.depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// member ends a member at depth 1.
func (o *outline) member() {
	if o.inValue && o.key == `"id"` {
		o.id = string(o.word)
	}
	o.word, o.inValue = o.word[:0], false
}

// unit is a part of a stream that holds a message: a line, the data of an event, or a body. If it is
// longer than the limit, only its outline is known.
type unit struct {
	memory *Memory
	limit  int64
	bytes  int64 // bytes reserved in memory
	text   []byte
	size   int64
	shape  outline
	fault  error // why the text was dropped; nil if it was not
}

// Write adds text to the unit.
func (u *unit) Write(text []byte) (int, error) {
	u.size += int64(len(text))
	switch {
	case u.fault != nil:
		u.shape.feed(text)
		return len(text), nil
	case u.size > u.limit:
		u.fault = errTooLong
	default:
		u.fault = u.room(int64(len(u.text) + len(text)))
	}
	if u.fault == nil {
		if more := len(u.text) + len(text) - cap(u.text); more > 0 { // append grows large slices in smaller steps, and copies more
			u.text = slices.Grow(u.text, max(len(u.text)+len(text), 2*cap(u.text))-len(u.text))
		}
		u.text = append(u.text, text...)
		return len(text), nil
	}
	if i := bytes.IndexByte(u.text, '{'); i >= 0 {
		u.shape.feed(u.text[i:])
	}
	u.shape.feed(text)
	u.text = nil
	return len(text), nil
}

// room reserves memory for a text of that many bytes.
func (u *unit) room(bytes int64) error {
	if bytes <= max(u.bytes, uncounted) {
		return nil
	}
	more := max(bytes, min(2*u.bytes, u.limit)) - u.bytes
	if err := u.memory.hold(more); err != nil {
		u.memory.release(u.bytes)
		u.bytes = 0
		return err
	}
	u.bytes += more
	return nil
}

// take returns the text, and resets the unit. The memory of the text is released when the text becomes
// unreachable.
func (u *unit) take() []byte {
	text := u.text
	u.memory.releaseWith(text, u.bytes)
	*u = unit{memory: u.memory, limit: u.limit}
	return text
}

// errTooLong is the fault of a unit above the limit.
var errTooLong = errors.New("the message is longer than the limit")

// line reads the next line into a unit, without its line end. It returns io.EOF only if there is no
// line.
func (u *unit) line(r *bufio.Reader) error {
	for {
		part, err := r.ReadSlice('\n')
		ended := err == nil
		_, _ = u.Write(bytes.TrimSuffix(part, []byte("\n")))
		switch {
		case ended:
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && u.size > 0:
			return nil
		default:
			return err
		}
	}
}

// texts finds the messages in the output of a server. Other text may stand between them: banners and
// log lines. A message may span several lines, and a line may hold several messages.
type texts struct {
	limit   int64
	message func(text []byte)            // valid JSON: an object with the member jsonrpc, or a list
	broken  func(text []byte, id string) // an object meant as a message that is not valid JSON; id is as written, or empty
	other   func(text []byte)            // text that is not a message

	long func(size int64, id string) // an object over several lines that is above the limit; size in bytes

	open  []byte // unfinished object from earlier lines, up to the limit; nil if there is none
	size  int64  // of that object so far
	shape outline
}

var byteOrderMark = []byte("\ufeff")

// whole reads a complete text: the data of an event, or a body.
func (t *texts) whole(text []byte) {
	if text = clean(text); t.alone(text) {
		return
	}
	for line := range bytes.Lines(text) {
		t.line(line)
	}
	t.end()
}

// clean removes white space around a text and a byte order mark before it.
func clean(text []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(text), byteOrderMark))
}

// line reads a line. An open object ends at the latest before a line that is a whole message.
func (t *texts) line(line []byte) {
	text := clean(line)
	switch {
	case len(text) == 0:
		return
	case t.open == nil:
		t.fresh(text)
		return
	case isMessage(text):
		t.end()
		t.message(text)
		return
	}
	part, rest := line, []byte(nil)
	end := t.shape.feed(line)
	if end >= 0 {
		part, rest = line[:end], clean(line[end:])
	}
	if t.size += int64(len(part)) + 1; t.size <= t.limit {
		t.open = append(append(t.open, part...), '\n')
	}
	if end < 0 {
		return
	}
	t.pass()
	if len(rest) > 0 {
		t.fresh(rest)
	}
}

// end gives up an unfinished object.
func (t *texts) end() {
	if t.open == nil {
		return
	}
	t.shape.member() // the id may be the last member
	t.pass()
}

// pass passes on the open object.
func (t *texts) pass() {
	object, size, shape := t.open, t.size, t.shape
	t.open, t.size, t.shape = nil, 0, outline{}
	if size > t.limit && shape.isRPC {
		t.long(size, shape.id)
		return
	}
	t.object(object, shape)
}

// object passes on an object that was found by its outline.
func (t *texts) object(object []byte, shape outline) {
	switch {
	case !shape.isRPC:
		t.other(object)
	case json.Valid(object):
		t.message(object)
	default:
		t.broken(object, shape.id)
	}
}

// alone passes on a text that is a message or a list of messages, and reports whether it is one.
func (t *texts) alone(text []byte) bool {
	is := len(text) > 0 && (isMessage(text) || text[0] == '[' && bytes.Contains(text, []byte(`"jsonrpc"`)) && json.Valid(text))
	if is {
		t.message(text)
	}
	return is
}

// fresh reads a text while no object is open.
func (t *texts) fresh(text []byte) {
	if t.alone(text) {
		return
	}
	for len(text) > 0 {
		start := bytes.IndexByte(text, '{')
		if start < 0 {
			t.other(text)
			return
		}
		var shape outline
		object := text[start:]
		switch end := shape.feed(object); {
		case end > 0 && shape.isRPC:
			if before := bytes.TrimSpace(text[:start]); len(before) > 0 {
				t.other(before)
			}
			t.object(object[:end], shape)
			text = bytes.TrimSpace(object[end:])
		case end > 0:
			t.other(text[:start+end])
			text = bytes.TrimSpace(object[end:])
		case begins(object):
			if before := bytes.TrimSpace(text[:start]); len(before) > 0 {
				t.other(before)
			}
			t.open, t.size, t.shape = append(bytes.Clone(object), '\n'), int64(len(object))+1, shape
			return
		default:
			t.other(text)
			return
		}
	}
}

// begins reports whether a text that starts with a brace may be the start of a JSON object.
func begins(object []byte) bool {
	rest := bytes.TrimSpace(object[1:])
	return len(rest) == 0 || rest[0] == '"'
}

// isMessage reports whether a text is a JSON object with the member jsonrpc. Programs also log objects
// on standard output, as JSON or in the notation of their language.
func isMessage(text []byte) (is bool) {
	if text[0] != '{' || text[len(text)-1] != '}' || !bytes.Contains(text, []byte(`"jsonrpc"`)) || !json.Valid(text) {
		return false
	}
	ordered.Scan(text, func(name []byte, _, _ int) { is = is || string(name) == "jsonrpc" })
	return is
}

// number parses an id that is an integer, or a string with one, as some servers answer.
func number(id string) (int64, bool) {
	if unquoted, err := strconv.Unquote(id); err == nil {
		id = unquoted
	}
	const most = 1 << 53 // larger numbers are not exact everywhere
	f, err := strconv.ParseFloat(id, 64)
	return int64(f), err == nil && f > -most && f < most && f == float64(int64(f))
}

// compact returns valid JSON on one line, in valid UTF-8.
func compact(raw json.RawMessage) json.RawMessage {
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\ufffd"))
	}
	if !bytes.ContainsAny(raw, "\n\r") {
		return raw
	}
	var line bytes.Buffer
	line.Grow(len(raw))
	if json.Compact(&line, raw) != nil {
		return raw // unreachable: raw is valid JSON
	}
	return line.Bytes()
}
