package call

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/foreign"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// reply is the answer of another server's tool. Its content is read as a JSON value, so that it can
// be projected and cut like our own results. Images and sounds are excluded, and stay complete.
type reply struct {
	raw     json.RawMessage // the CallToolResult
	members ordered.Map
	form    form
	isList  bool              // value has the list that is the text as JSON
	media   []json.RawMessage // blocks
	failed  bool
}

// form is how a reply contains its value.
type form int

const (
	inBlocks     form = iota // {"content": blocks, "structuredContent": …}
	inText                   // {"text": …}, of one block
	inJSON                   // the object in one block, or {"result": …} with another JSON value
	inStructured             // structuredContent, repeated in the text
)

// readReply parses a CallToolResult. It returns false if raw is not an object.
func readReply(raw json.RawMessage) (*reply, bool) {
	r := &reply{raw: raw}
	if json.Valid(raw) {
		r.members, _ = ordered.Read(raw)
	}
	if r.members == nil {
		return nil, false
	}
	r.failed = string(r.member("isError")) == "true"
	return r, true
}

func (r *reply) member(name string) json.RawMessage {
	value, _ := r.members.Get(name)
	raw, _ := value.(json.RawMessage)
	return raw
}

// blocks returns the blocks of the reply; nil if content is not a list.
func (r *reply) blocks() (blocks []json.RawMessage) {
	ordered.Items(r.member("content"), func(block []byte) { blocks = append(blocks, block) })
	return blocks
}

// value returns the content of the reply as a JSON object. Replies may be large, so parts are not
// copied.
func (r *reply) value() json.RawMessage {
	var parts []json.RawMessage
	r.media, r.isList = nil, false
	for _, block := range r.blocks() {
		if isMedia(block) {
			r.media = append(r.media, block)
		} else {
			parts = append(parts, block)
		}
	}
	structured := r.member("structuredContent")
	text, single := soleText(parts)
	var inside json.RawMessage // the text as JSON; nil if it is not an object or a list
	if start := bytes.TrimLeft(text, " \t\r\n"); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		inside, _ = foreign.JSON(text)
	}
	switch {
	case structured != nil && structured[0] == '{' && (len(parts) == 0 || inside != nil && sameJSON(inside, structured)):
		r.form = inStructured
		return structured
	case structured == nil && bytes.HasPrefix(inside, []byte("{")):
		r.form = inJSON
		return inside
	case structured == nil && bytes.HasPrefix(inside, []byte("[")):
		r.form, r.isList = inJSON, true
		return slices.Concat([]byte(`{"result":`), inside, []byte("}"))
	case structured == nil && single:
		r.form = inText
		value, _ := jsontext.AppendQuote(slices.Grow([]byte(`{"text":`), len(text)+len(text)/16), text) // text is UTF-8
		return append(value, '}')
	}
	r.form = inBlocks
	value := ordered.Map{}
	if len(parts) > 0 {
		value.Set("content", parts)
	}
	if structured != nil {
		value.Set("structuredContent", structured)
	}
	return ordered.MustJSON(value)
}

// isMedia reports whether a block has encoded bytes, which cannot be cut.
func isMedia(block json.RawMessage) (is bool) {
	ordered.Scan(block, func(name []byte, start, end int) {
		switch value := block[start:end]; string(name) {
		case "type":
			is = is || string(value) == `"image"` || string(value) == `"audio"`
		case "resource":
			ordered.Scan(value, func(name []byte, start, end int) {
				is = is || string(name) == "blob" && value[start] == '"'
			})
		}
	})
	return is
}

// soleText returns the text of the only block. It returns false if there is another number of
// blocks, or the block is not a text, or has annotations or _meta.
func soleText(blocks []json.RawMessage) (text []byte, is bool) {
	if len(blocks) != 1 {
		return nil, false
	}
	var kind, quoted []byte
	more := false
	ordered.Scan(blocks[0], func(name []byte, start, end int) {
		switch value := blocks[0][start:end]; string(name) {
		case "type":
			kind = value
		case "text":
			quoted = value
		case "annotations", "_meta":
			more = more || string(value) != "null"
		}
	})
	if string(kind) != `"text"` || more || len(quoted) == 0 || quoted[0] != '"' {
		return nil, false
	}
	text, err := jsontext.AppendUnquote(make([]byte, 0, len(quoted)), quoted)
	return text, err == nil
}

func sameJSON(a, b []byte) bool {
	canonical := func(raw []byte) []byte {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		var v any
		if dec.Decode(&v) != nil {
			return nil
		}
		text, _ := json.Marshal(v) // sorts members
		return text
	}
	return bytes.Equal(canonical(a), canonical(b))
}

// with returns the result with another value in the same form, and with warnings in a separate
// block.
func (r *reply) with(value json.RawMessage, warnings []string) json.RawMessage {
	var blocks []json.RawMessage
	var whole struct {
		Text    *string
		Content []json.RawMessage
	}
	_ = json.Unmarshal(value, &whole)
	untyped := func(block json.RawMessage) bool {
		var b struct{ Type string }
		return json.Unmarshal(block, &b) != nil || b.Type == ""
	}
	structured := json.RawMessage(nil)
	switch {
	case r.form == inText && whole.Text != nil:
		blocks = append(blocks, textBlock(*whole.Text))
	case r.form == inBlocks && len(whole.Content) > 0 && !slices.ContainsFunc(whole.Content, untyped):
		blocks = append(blocks, whole.Content...)
		var members ordered.Map
		_ = json.Unmarshal(value, &members)
		if rest, ok := members.Get("structuredContent"); ok {
			structured = rest.(json.RawMessage)
		}
	case string(value) != "{}" || len(r.media) == 0:
		blocks = append(blocks, textBlock(string(value)))
	}
	blocks = append(blocks, r.media...)
	if len(warnings) > 0 {
		blocks = append(blocks, warningBlock(warnings))
	}
	result := ordered.Map{{Key: "content", Value: blocks}}
	if structured != nil {
		result.Set("structuredContent", structured)
	}
	for _, m := range r.members {
		if m.Key != "content" && m.Key != "structuredContent" {
			result.Set(m.Key, m.Value)
		}
	}
	return ordered.MustJSON(result)
}

// withWarnings returns the original result, with warnings in a further block.
func (r *reply) withWarnings(warnings []string) json.RawMessage {
	if len(warnings) == 0 {
		return r.raw
	}
	blocks := r.blocks()
	result := slices.Clone(r.members)
	result.Set("content", append(blocks, warningBlock(warnings)))
	return ordered.MustJSON(result)
}

func textBlock(text string) json.RawMessage {
	return ordered.MustJSON(ordered.Map{{Key: "type", Value: "text"}, {Key: "text", Value: text}})
}

func warningBlock(warnings []string) json.RawMessage {
	return textBlock(string(ordered.MustJSON(map[string][]string{warningsMember: warnings})))
}

// failure converts an isError reply to an Error. Clients still get the original.
func (r *reply) failure(name string) *toolfold.Error {
	text := ""
	for _, block := range r.blocks() {
		if content, ok := soleText([]json.RawMessage{block}); ok && text == "" {
			text = string(content)
		}
	}
	if text == "" {
		text = "it failed and gave no reason"
	}
	const most = 500 // characters
	return toolfold.Errorf(toolfold.UpstreamError, "%s: %s", name, shorten.To(text, most))
}
