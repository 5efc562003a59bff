package page

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/cli/workbench"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/internal/text/estimate"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/tokens"
)

// toolbox has the tools that the user can try, see the methods of [workbench.Workbench].
type toolbox interface {
	Own() []*toolfold.Family
	Tool(name string) (workbench.Tool, bool)
	Refusal(ctx context.Context, name string, arguments json.RawMessage) *toolfold.Error
	Try(ctx context.Context, name string, arguments json.RawMessage) toolfold.Answer
}

// ownView is the data of the page of toolfold's own tools.
type ownView struct {
	Find string // what the user looks for; empty = nothing
	Tree []branch
}

// own shows toolfold's own tools.
func (p *Page) own(r *http.Request) (any, error) {
	tools, err := p.tools()
	if err != nil {
		return nil, err
	}
	v := ownView{Find: strings.TrimSpace(r.URL.Query().Get("find"))}
	v.Tree = branches(tools.Own(), v.Find)
	return v, nil
}

// trial is the data of the view of one tool, with the form that calls it.
type trial struct {
	workbench.Tool
	sheet
	Digest string // of the tool as it is shown; a form that calls it names it
	Left   int    // members of the schema without a field
	Listed size   // of the definition, as a list has it
	JSON   string // arguments that the user wrote in place of the fields

	Call   *preview  // nil = no call is previewed
	Answer *answered // nil = no call was made
}

// preview is a call that was not made yet.
type preview struct {
	Arguments string // compact JSON
	Once      string // of this preview, which confirms one call
	Digest    string // of Once, the tool and the arguments; a form that confirms the call names it
	Size      size
}

// answered is the answer to a call.
type answered struct {
	Arguments string // indented
	Asked     size   // of the arguments
	Failed    bool
	Took      time.Duration
	Size      size // of the whole answer, without images and sounds
	Parts     []part
	Left      int // parts that are not shown
}

// part is a part of an answer.
type part struct {
	Title string // empty for a text
	Text  string
	Cut   int // bytes of the text that are not shown
}

// size is the length of a text.
type size struct {
	Bytes, Tokens int
	About         bool // the tokens are estimated
}

const (
	mostFields  = 100      // of a form
	mostParts   = 50       // of an answer are shown
	mostText    = 20_000   // bytes of an answer are shown
	mostCounted = 64 << 10 // bytes whose tokens are counted; those of longer texts are estimated
)

// onces are texts that can each be taken one time, so that a form sent again does nothing again. The zero value is
// ready to use.
type onces struct {
	mu   sync.Mutex
	open []string // the oldest first
}

// mostOnces limits the texts that were not taken; the oldest are forgotten.
const mostOnces = 1000

// add returns a new text.
func (o *onces) add() string {
	text := rand.Text()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open = append(o.open, text)
	o.open = o.open[max(0, len(o.open)-mostOnces):]
	return text
}

// take reports whether a text can be taken, and takes it.
func (o *onces) take(text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.Index(o.open, text)
	if i >= 0 {
		o.open = slices.Delete(o.open, i, i+1)
	}
	return i >= 0
}

// String describes the size.
func (s size) String() string {
	about := ""
	if s.About {
		about = "about "
	}
	tokens := "tokens"
	if s.Tokens == 1 {
		tokens = "token"
	}
	return fmt.Sprintf("%s bytes, %s%s %s", english.Grouped(s.Bytes), about, english.Grouped(s.Tokens), tokens)
}

// sizeOf returns the size of a text.
func sizeOf(text string) (size, error) {
	if len(text) > mostCounted {
		return size{len(text), estimate.Tokens([]byte(text)), true}, nil
	}
	n, err := tokens.Count(text)
	return size{Bytes: len(text), Tokens: n}, err
}

// Confirms reports whether a call needs a second step, because it may destroy something.
func (t trial) Confirms() bool { return t.Hints().Destructive && !t.Hints().ReadOnly }

// trial returns the view of the tool in the path of a request.
func (p *Page) trial(r *http.Request) (t trial, tools toolbox, err error) {
	if tools, err = p.tools(); err != nil {
		return t, nil, err
	}
	found, ok := tools.Tool(r.PathValue("name"))
	if ok && found.Family.Server != "" {
		ok, err = p.lists(found)
	}
	if err == nil && !ok {
		err = conflict{fmt.Errorf("%s cannot be called here: it is held back, switched off or not permitted, "+
			"or its server was added or changed after this page was started", r.PathValue("name"))}
	}
	if err != nil {
		return t, nil, err
	}
	t.Tool = found
	sum := sha256.Sum256(ordered.MustJSON([]any{t.Name, t.Summary, t.Doc, t.Schema, t.Definition, t.Hints()}))
	t.Digest = hex.EncodeToString(sum[:])
	t.Fields = callFields(t.Schema)
	if t.Left = len(t.Fields) - mostFields; t.Left > 0 {
		t.Fields = t.Fields[:mostFields]
	}
	t.Listed, err = sizeOf(string(ordered.MustJSON(ordered.Map{{Key: "name", Value: t.Name}, {Key: "description", Value: t.Text()},
		{Key: "inputSchema", Value: t.Schema}})))
	return t, tools, err
}

// lists reports whether the views of servers show a tool as it would be called.
func (p *Page) lists(t workbench.Tool) (bool, error) {
	s, err := p.machine.read()
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(s.Servers, func(one server) bool {
		return one.Name == t.Family.Server && one.State != stateOff && slices.ContainsFunc(one.Families, func(f *toolfold.Family) bool {
			return slices.ContainsFunc(f.Actions, func(a *toolfold.Action) bool {
				return workbench.ToolName(a) == t.Name && bytes.Equal(a.Definition, t.Definition)
			})
		})
	}), nil
}

// Text returns the description of the tool, as its server has it.
func (t trial) Text() string {
	var definition struct{ Description string }
	if json.Unmarshal(t.Definition, &definition) == nil && definition.Description != "" {
		return definition.Description
	}
	return strings.TrimSpace(t.Summary + "\n" + t.Doc)
}

// callFields returns the fields for the arguments of a tool, required ones first. A default is described, and not
// filled in: it applies without being sent.
func callFields(schema json.RawMessage) (fields []field) {
	var object struct{ Properties ordered.Map }
	if json.Unmarshal(schema, &object) != nil {
		return nil
	}
	var plain ordered.Map
	for _, member := range object.Properties {
		raw, _ := member.Value.(json.RawMessage)
		plain.Set(member.Key, withoutNull(raw))
	}
	var required struct{ Required []string }
	_ = json.Unmarshal(schema, &required) // read as far as it is a list of names
	fields = fieldsOf(ordered.MustJSON(ordered.Map{{Key: "properties", Value: plain}, {Key: "required", Value: required.Required}}))
	for i := range fields {
		f := &fields[i]
		var p property
		raw, _ := plain[i].Value.(json.RawMessage)
		if json.Unmarshal(raw, &p) == nil && len(p.Default) > 0 && string(p.Default) != "null" {
			f.Description = strings.TrimSpace(f.Description + " Default: " + label(p.Default))
		}
		f.Value = ""
		f.choose(nil)
	}
	slices.SortStableFunc(fields, func(a, b field) int {
		switch {
		case a.Required == b.Required:
			return 0
		case a.Required:
			return -1
		}
		return 1
	})
	return fields
}

// withoutNull returns the schema of a value that may also be null, without that: an empty field stands for it.
func withoutNull(schema json.RawMessage) json.RawMessage {
	var members ordered.Map
	var s struct {
		Type         json.RawMessage
		AnyOf, OneOf []json.RawMessage
	}
	if json.Unmarshal(schema, &members) != nil || json.Unmarshal(schema, &s) != nil {
		return schema
	}
	isNull := func(raw json.RawMessage) bool {
		var one struct{ Type any }
		return json.Unmarshal(raw, &one) == nil && one.Type == "null"
	}
	var types []string
	if json.Unmarshal(s.Type, &types) == nil {
		if types = slices.DeleteFunc(types, func(name string) bool { return name == "null" }); len(types) == 1 {
			members.Set("type", types[0])
		}
		return ordered.MustJSON(members)
	}
	others := slices.DeleteFunc(slices.Concat(s.AnyOf, s.OneOf), isNull)
	var only ordered.Map
	if len(others) != 1 || json.Unmarshal(others[0], &only) != nil {
		return schema
	}
	for _, member := range members {
		if member.Key != "anyOf" && member.Key != "oneOf" {
			only.Set(member.Key, member.Value)
		}
	}
	return ordered.MustJSON(only)
}

// tool shows a tool with the form that calls it.
func (p *Page) tool(r *http.Request) (any, error) {
	t, _, err := p.trial(r)
	return t, err
}

// try previews a call of a tool, or makes it. A call that may destroy something is made only by the form of its preview.
func (p *Page) try(w http.ResponseWriter, r *http.Request) {
	t, tools, err := p.trial(r)
	if err == nil && r.PostFormValue("shown") != t.Digest {
		err = conflict{errors.New("nothing is called: the tool has changed since it was shown; look at it again")}
	}
	if err != nil {
		p.fail(w, r, err)
		return
	}
	ctx := asUser(r.Context())
	arguments, ok := t.arguments(r)
	if ok {
		if refusal := tools.Refusal(ctx, t.Name, arguments); refusal != nil {
			ok = false
			t.report(refusal.Problems)
			if len(refusal.Problems) == 0 || t.JSON != "" {
				t.Problem = refusal.Message
			}
		}
	}
	if !ok {
		p.write(w, r, http.StatusUnprocessableEntity, "tool", t)
		return
	}
	if err := t.make(ctx, p, tools, arguments, r); err != nil {
		p.fail(w, r, err)
		return
	}
	p.write(w, r, http.StatusOK, "tool", t)
}

// arguments returns the arguments that a form has. ok is false if they cannot be read: the view then has the problem.
func (t *trial) arguments(r *http.Request) (arguments json.RawMessage, ok bool) {
	text := strings.TrimSpace(r.PostFormValue("arguments"))
	if text == "" {
		return t.read(r.PostForm)
	}
	t.JSON = text
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) != nil || object == nil {
		t.Problem = "the arguments must be a JSON object"
		return nil, false
	}
	return json.RawMessage(compact(json.RawMessage(text))), true
}

// make previews a call, or makes it.
func (t *trial) make(ctx context.Context, p *Page, tools toolbox, arguments json.RawMessage, r *http.Request) error {
	asked, err := sizeOf(string(arguments))
	if err != nil {
		return err
	}
	confirms := func(once string) string {
		sum := sha256.Sum256([]byte(t.Digest + once + string(arguments)))
		return hex.EncodeToString(sum[:])
	}
	once := r.PostFormValue("once")
	confirmed := func() bool { return r.PostFormValue("confirmed") == confirms(once) && p.previews.take(once) }
	if r.PostFormValue("action") != "call" || t.Confirms() && !confirmed() {
		once = p.previews.add()
		t.Call = &preview{string(arguments), once, confirms(once), asked}
		return nil
	}
	began := p.now()
	answer := tools.Try(ctx, t.Name, arguments)
	t.Answer = &answered{Arguments: indented(arguments), Asked: asked, Took: p.now().Sub(began)}
	return t.Answer.take(answer)
}

// take takes the parts of an answer.
func (a *answered) take(answer toolfold.Answer) error {
	a.Failed = answer.IsError()
	var parts []part
	if answer.Reply == nil {
		parts = []part{{Text: indented(answer.Content)}}
	} else {
		var reply struct {
			Content           []json.RawMessage
			StructuredContent json.RawMessage
			IsError           bool
		}
		if err := json.Unmarshal(answer.Reply, &reply); err != nil {
			return fmt.Errorf("reading the answer: %w", err)
		}
		a.Failed = a.Failed || reply.IsError
		for _, block := range reply.Content {
			parts = append(parts, partOf(block))
		}
		if len(reply.StructuredContent) > 0 {
			parts = append(parts, part{Title: "structured content", Text: indented(reply.StructuredContent)})
		}
	}
	room := mostText
	for _, one := range parts {
		whole, err := sizeOf(one.Text)
		if err != nil {
			return err
		}
		a.Size.Bytes += whole.Bytes
		a.Size.Tokens += whole.Tokens
		a.Size.About = a.Size.About || whole.About
		if len(a.Parts) == mostParts {
			a.Left++
			continue
		}
		if len(one.Text) > room {
			shown := strings.ToValidUTF8(one.Text[:room], "")
			one.Text, one.Cut = shown, len(one.Text)-len(shown)
		}
		room -= len(one.Text)
		a.Parts = append(a.Parts, one)
	}
	return nil
}

// partOf returns the part for a block of an answer. The policy of the page lets it load no images from an answer.
func partOf(block json.RawMessage) part {
	var b struct {
		Type, Text, MimeType, Data, URI, Name, Description string
		Resource                                           struct{ URI, MimeType, Text, Blob string }
	}
	_ = json.Unmarshal(block, &b) // members of other types are shown as JSON
	media := func(what, mime, data string) string {
		return fmt.Sprintf("%s, %s, %s bytes", what, mime, english.Grouped(base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(data, "=")))))
	}
	switch {
	case b.Type == "text":
		return part{Text: b.Text}
	case b.Type == "image" || b.Type == "audio":
		return part{Title: media(b.Type, b.MimeType, b.Data)}
	case b.Type == "resource" && b.Resource.Blob != "":
		return part{Title: media("contents of "+b.Resource.URI, b.Resource.MimeType, b.Resource.Blob)}
	case b.Type == "resource":
		return part{Title: "contents of " + b.Resource.URI, Text: b.Resource.Text}
	case b.Type == "resource_link":
		return part{Title: "link to " + b.URI, Text: strings.TrimSpace(b.Name + "\n" + b.Description)}
	}
	return part{Title: "content of an unknown type", Text: indented(block)}
}
