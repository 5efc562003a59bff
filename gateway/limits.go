package gateway

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Limits limit a server's lists. Parts above a limit are left out and reported, with the setting that
// raises it. Zero means the default.
type Limits struct {
	Tools        int // tools
	Schema       int // bytes of the input schema of a tool, and of its output schema
	Instructions int // bytes
}

// DefaultLimits apply to an [Upstream] that sets none.
var DefaultLimits = Limits{Tools: 5000, Schema: 256 << 10, Instructions: 64 << 10}

func (l Limits) orDefault() Limits {
	return Limits{
		Tools:        cmp.Or(l.Tools, DefaultLimits.Tools),
		Schema:       cmp.Or(l.Schema, DefaultLimits.Schema),
		Instructions: cmp.Or(l.Instructions, DefaultLimits.Instructions),
	}
}

// mostNamed is how many of the left-out tools are named.
const mostNamed = 5

// limitTools leaves out tools with too large schemas, and the last tools if there are too many.
func (k *record) limitTools(limits Limits) {
	var large []string
	definitions, tools := k.definitions[:0:0], []json.RawMessage{}
	for _, d := range k.definitions {
		if max(len(d.InputSchema), len(d.OutputSchema)) > limits.Schema {
			large = append(large, shorten.Quoted(d.Name))
			continue
		}
		definitions, tools = append(definitions, d), append(tools, d.raw)
	}
	more := len(definitions) - limits.Tools
	if len(large) == 0 && more <= 0 {
		return
	}
	if len(large) > 0 {
		names := strings.Join(large[:min(len(large), mostNamed)], ", ")
		if len(large) > mostNamed {
			names += ", …"
		}
		k.LeftOut = append(k.LeftOut, fmt.Sprintf("%s left out: a schema has more than %d bytes (schemaLimit): %s",
			english.Count(len(large), "tool is", "tools are"), limits.Schema, names))
	}
	if more > 0 {
		k.LeftOut = append(k.LeftOut, fmt.Sprintf("the last %s left out: there are more than %d (maxTools)",
			english.Count(more, "tool is", "tools are"), limits.Tools))
		definitions, tools = definitions[:limits.Tools], tools[:limits.Tools]
	}
	k.definitions, k.Tools = definitions, tools
}

// limitInstructions cuts the instructions to limit bytes.
func (k *record) limitInstructions(limit int) {
	size := len(k.Instructions)
	if size <= limit {
		return
	}
	k.Instructions = strings.ToValidUTF8(k.Instructions[:limit], "")
	k.LeftOut = append(k.LeftOut, fmt.Sprintf("%d bytes of its instructions are left out: the limit is %d (instructionsLimit)",
		size-len(k.Instructions), limit))
}

// within encodes the record in at most limit bytes. If it is larger, these parts are left out in turn:
// instructions, templates, resources, prompts, former definitions. It fails if the rest is too large.
func (k *record) within(limit int) ([]byte, error) {
	text := k.encode()
	for _, part := range []struct {
		what string
		drop func() (some bool)
	}{
		{"its instructions are", func() bool { some := k.Instructions != ""; k.Instructions = ""; return some }},
		{"its resource templates are", func() bool { some := k.Templates != nil; k.Templates = nil; return some }},
		{"its resources are", func() bool { some := k.Resources != nil; k.Resources = nil; return some }},
		{"its prompts are", func() bool { some := k.Prompts != nil; k.Prompts = nil; return some }},
		{"former definitions of its tools are", func() bool { some := k.Before != nil; k.Before = nil; return some }},
	} {
		if len(text) <= limit {
			return text, nil
		}
		if part.drop() {
			k.LeftOut = append(k.LeftOut, fmt.Sprintf("%s left out: its record has more than %d bytes", part.what, limit))
			text = k.encode()
		}
	}
	if len(text) > limit {
		return nil, fmt.Errorf("its record has %d bytes, more than %d", len(text), limit)
	}
	return text, nil
}
