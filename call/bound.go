package call

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

const (
	forWarnings = 2000 // bytes of an answer reserved for warnings about cuts
	leastShare  = 300  // minimum size of a member of a cut object, unless it is shorter
	mostRuns    = 6    // runs of a list action, each with a smaller limit
)

// Bound limits the answers of a [Runner].
type Bound struct {
	Bytes int // of an answer; 0 = no limit

	// Keep stores the whole of an answer that is cut, and returns its id and the call that reads it.
	// Both are empty if it is not stored, for example if the caller cannot read it. The answer is in
	// the field [StoredField] of that call's result. again reports that the action only reads, so that the
	// caller can repeat the call. Nil = nothing is stored.
	Keep func(ctx context.Context, answer json.RawMessage, again bool) (id, usage string)

	// SaveUsage returns how the caller gets the whole result of a repeated call into a file; empty if
	// it cannot. Nil = no caller can.
	SaveUsage func(ctx context.Context) string
}

// codeTooLong is the code of an answer that exceeds the limit and must not be cut.
const codeTooLong = "RESULT_TOO_LONG"

// StoredField is the result field with a stored answer.
const StoredField = "answer"

// bounded returns the result of a call as an answer within its limit. A list action runs again with
// a smaller limit, so that its cursor continues where the answer ends. Other results are cut, and a
// warning names the fields to ask for.
func (r *Runner) bounded(ctx context.Context, c *Call, raw json.RawMessage) toolfold.Answer {
	if own := c.Entry.Action.Family.ResultLimit; own > 0 && c.bound.Bytes > 0 {
		c.bound.Bytes = own
	}
	if c.reply != nil && c.reply.failed { // fields and filters are for results; on an error they would drop its text
		c.input.fields, c.input.filter = nil, ""
	}
	content, changed, err := c.selected(ctx, raw)
	if err != nil {
		return r.fail(ctx, c, err)
	}
	limit := c.bound.Bytes
	if limit <= 0 || len(content) <= limit {
		return c.answerOf(content, changed)
	}
	filtered := c.input.filter != "" && !c.failed
	ranged := slices.ContainsFunc(c.input.fields, func(field string) bool { return strings.Contains(field, "[") })
	if c.target.pages && !ranged && !filtered {
		if raw, err = r.fewer(ctx, c, raw, limit-forWarnings); err != nil {
			return r.fail(ctx, c, err)
		}
		content = Project(raw, c.input.fields)
	}
	switch {
	case len(content) <= limit:
	case c.Entry.Typed:
		return r.fail(ctx, c, c.tooLong(ctx, content))
	default:
		content = c.cut(ctx, content)
	}
	return c.answerOf(content, true)
}

// selected returns the fields that a call selects in a result, or what its filter makes of them. It
// reports whether this may differ from the result.
func (c *Call) selected(ctx context.Context, raw json.RawMessage) (content json.RawMessage, changed bool, err error) {
	c.warnUnmatched(raw)
	content = Project(raw, c.input.fields)
	if c.input.filter == "" || c.failed {
		return content, len(c.input.fields) > 0, nil
	}
	content, err = c.filter(ctx, raw, content)
	return content, true, err
}

// answerOf returns the answer with this result. changed reports that it is not the action's own
// result any more.
func (c *Call) answerOf(content json.RawMessage, changed bool) toolfold.Answer {
	answer := toolfold.Answer{Content: withWarnings(content, c.input.warnings), Failed: c.failed, Typed: c.Entry.Typed, RestID: c.answerID}
	if c.reply == nil {
		return answer
	}
	if c.reply.failed {
		answer = c.reply.failure(c.Entry.Title()).Answer()
		answer.RestID = c.answerID
	}
	if answer.Reply = c.reply.withWarnings(c.input.warnings); changed {
		answer.Reply = c.reply.with(content, c.input.warnings)
	}
	return answer
}

// tooLong returns the error for an answer that would be cut although it has an output schema. Its
// hint shows how to read the answer.
func (c *Call) tooLong(ctx context.Context, whole json.RawMessage) *toolfold.Error {
	err := toolfold.Errorf(codeTooLong, "%s: the answer has %d bytes, the limit is %d", c.Entry.Title(), len(whole), c.bound.Bytes)
	if c.Entry.Action.Effect == toolfold.Reads {
		return err.WithHint("call %s by its full name or through tool_call, and choose parts with %s",
			c.Entry.Action.FullName(), callctx.ArgFields)
	}
	if c.bound.Keep != nil {
		if _, usage := c.bound.Keep(ctx, whole, false); usage != "" {
			return err.WithHint("the action has run; read its answer with %s", usage)
		}
	}
	return err.WithHint("the action has run; its answer was not stored")
}

// cut cuts the long parts of a result, and adds a warning that shows how to read the rest: by the
// same call if the action only reads, else from the stored answer.
func (c *Call) cut(ctx context.Context, whole json.RawMessage) json.RawMessage {
	room := max(c.bound.Bytes-forWarnings, c.bound.Bytes/2)
	warning := fmt.Sprintf("cut from %d bytes: ", len(whole))
	if c.Entry.Action.Effect == toolfold.Reads && c.reply == nil { // another server may answer differently next time
		k := cutter{}
		content := k.fit(whole, room, "", treeOf(c.input.fields))
		how := "; ask for it with " + callctx.ArgFields
		if c.input.filter != "" {
			how = "; have " + callctx.ArgJQ + " make less"
		}
		c.input.warnings = append(c.input.warnings, warning+k.summary()+how+c.orSave(ctx))
		if c.bound.Keep != nil {
			c.answerID, _ = c.bound.Keep(ctx, whole, true) // for clients that read resources
		}
		return content
	}
	k, usage := cutter{prefix: StoredField + "."}, ""
	content := k.fit(whole, room, "", nil)
	if c.bound.Keep != nil {
		c.answerID, usage = c.bound.Keep(ctx, whole, false)
	}
	if usage == "" {
		k.prefix = ""
		warning += k.summary() + "; the rest is not kept"
	} else {
		warning += k.summary() + "; " + usage + " has it for a while, ask with " + callctx.ArgFields + c.orSave(ctx)
	}
	c.input.warnings = append(c.input.warnings, warning)
	return content
}

// orSave returns the end of a warning about a cut: how a repeated call gets the whole result into a
// file. It is empty if the call may change something.
func (c *Call) orSave(ctx context.Context) string {
	if c.bound.SaveUsage == nil || !c.Entry.Action.Hints().ReadOnly {
		return ""
	}
	if usage := c.bound.SaveUsage(ctx); usage != "" {
		return "; or " + usage
	}
	return ""
}

// The result fields of a list that show how it continues.
const (
	hasMore    = "hasMore"
	nextCursor = "nextCursor"
)

// listMark returns the prefix of the cursors of a list. list is the action with all arguments that
// select entries.
func listMark(list string) string {
	sum := sha256.Sum256([]byte(list))
	return base64.RawURLEncoding.EncodeToString(sum[:6]) + "."
}

// fewer runs a list action again with smaller limits until the answer fits into room, or the limit
// is one.
func (r *Runner) fewer(ctx context.Context, c *Call, raw json.RawMessage, room int) (json.RawMessage, error) {
	all := longestList(raw)
	fitting := all
	for range mostRuns {
		size := len(Project(raw, c.input.fields))
		if size <= room || fitting <= 1 {
			break
		}
		fitting = max(1, min(fitting-1, int(int64(fitting)*int64(room)/int64(size)*9/10)))
		c.args.set(callctx.ArgLimit, json.Number(strconv.Itoa(fitting)), nil)
		var err error
		if raw, _, err = c.invoke(ctx); err != nil {
			return nil, err
		}
	}
	if fitting < all {
		if len(c.input.fields) > 0 {
			c.input.fields = append(slices.Clone(c.input.fields), hasMore, nextCursor)
		}
		c.input.warnings = append(c.input.warnings,
			fmt.Sprintf("%d of %d entries fit: continue with %s%s", fitting, all, nextCursor, c.orSave(ctx)))
	}
	return raw, nil
}

// longestList counts the items of the largest list in a result, or of the largest object if there
// is no list.
func longestList(raw json.RawMessage) int {
	var longest child
	for _, m := range children(raw) {
		opens, before := m.value[0], longest.value
		switch {
		case opens != '[' && opens != '{':
		case before == nil, opens == '[' && before[0] == '{', opens == before[0] && len(m.value) > len(before):
			longest = m
		}
	}
	return len(children(longest.value))
}

// child is a member of an object, or an item of a list, without a name.
type child struct {
	name  json.RawMessage
	value json.RawMessage
}

// children lists the members of an object or the items of a list that we encoded.
func children(raw json.RawMessage) []child {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	open, err := dec.ReadToken()
	var list []child
	for err == nil && dec.PeekKind() != '}' && dec.PeekKind() != ']' {
		var c child
		if open.Kind() == '{' {
			if c.name, err = readValue(dec); err != nil {
				break
			}
		}
		if c.value, err = readValue(dec); err != nil {
			break
		}
		list = append(list, c)
	}
	if err != nil {
		panic("call: cutting a result that is not JSON: " + err.Error())
	}
	return list
}

func readValue(dec *jsontext.Decoder) (json.RawMessage, error) {
	value, err := dec.ReadValue()
	return json.RawMessage(bytes.Clone(value)), err
}

// cutter cuts a result to size.
type cutter struct {
	prefix string   // of field paths
	cuts   []string // fields to ask for, with the amount of omitted data
	more   int      // number of cuts that are not in the list
}

// Limits of the cuts that a warning names. Reading these parts reports further cuts.
const (
	maxCuts    = 4
	maxCutPath = 150 // bytes
)

// fit returns raw in at most room bytes, or little more. parts is the selection of the call in the
// value at path.
func (k *cutter) fit(raw json.RawMessage, room int, path string, parts *tree) json.RawMessage {
	if len(raw) <= room {
		return raw
	}
	switch raw[0] {
	case '"':
		return k.text(raw, room, path, parts)
	case '{':
		return k.members(raw, room, path, parts)
	case '[':
		return k.items(raw, room, path, parts)
	}
	return raw
}

func (k *cutter) text(raw json.RawMessage, room int, path string, parts *tree) json.RawMessage {
	text, _ := unquote(raw)
	chars := utf8.RuneCountInString(text)
	// Escapes take more room than characters, so the length that fits is found by bisection.
	limit := min(len(text), room)
	fitting := func(n int) json.RawMessage {
		quoted, _ := jsontext.AppendQuote(nil, shorten.Cut(extent{to: n}.of(text), chars-n))
		return quoted
	}
	low, high := 0, min(chars, limit)
	for low < high {
		if middle := (low + high + 1) / 2; len(fitting(middle)) <= room {
			low = middle
		} else {
			high = middle - 1
		}
	}
	k.note(path, parts.origin(low), chars-low, "characters")
	return fitting(low)
}

// items keeps as many of the first items of a list as fit, and omits the others: an item without
// some members could be mistaken for a complete one. If that would waste most of the room, the next
// item is cut.
func (k *cutter) items(raw json.RawMessage, room int, path string, parts *tree) json.RawMessage {
	all := children(raw)
	out, count := []byte{'['}, 0
	for _, c := range all {
		free := room - len(out) - 2
		at := parts.origin(count)
		value := c.value
		if len(value) > free {
			if free < room/2 {
				break
			}
			inside, _ := parts.child("", true, at)
			value = k.fit(value, free, fmt.Sprintf("%s[%d:%d]", path, at, at+1), inside)
		}
		if count > 0 {
			out = append(out, ',')
		}
		out = append(out, value...)
		count++
	}
	if count < len(all) {
		k.note(path, parts.origin(count), len(all)-count, "items")
	}
	return append(out, ']')
}

// members divides room among the members of an object. Short ones stay complete, long ones are cut,
// and if that is not enough, the last ones are omitted.
func (k *cutter) members(raw json.RawMessage, room int, path string, parts *tree) json.RawMessage {
	all := children(raw)
	sizes := make([]int, len(all))
	taken, count := 2, 0
	for i, c := range all {
		sizes[i] = len(c.value)
		taken += min(len(c.name), leastShare) + 2 + min(len(c.value), leastShare)
		if taken > room && i > 0 {
			break
		}
		count++
	}
	free := room - 2
	for _, c := range all[:count] {
		free -= min(len(c.name), leastShare) + 2
	}
	share := shareOf(sizes[:count], free)
	out := []byte{'{'}
	for i, c := range all[:count] {
		if i > 0 {
			out = append(out, ',')
		}
		at := parts.origin(i)
		name, _ := unquote(c.name)
		label, inner := c.name, fmt.Sprintf("%s[%d:%d]", path, at, at+1)
		if len(label) > leastShare {
			label, _ = jsontext.AppendQuote(nil, shorten.To(name, leastShare/6))
		}
		out = append(append(out, label...), ':')
		if name != "" && !strings.ContainsAny(name, ".[]") {
			inner = strings.TrimPrefix(path+"."+name, ".")
		}
		inside, _ := parts.child(name, false, at)
		out = append(out, k.fit(c.value, share, inner, inside)...)
	}
	if count < len(all) {
		k.note(path, parts.origin(count), len(all)-count, "members")
	}
	return append(out, '}')
}

// shareOf returns the maximum size of a part so that all parts fit into room. Room that short parts
// do not need goes to long ones.
func shareOf(sizes []int, room int) int {
	sorted := slices.Sorted(slices.Values(sizes))
	for i, size := range sorted {
		left := len(sorted) - i
		if size*left > room {
			return max(room/left, 16)
		}
		room -= size
	}
	return room
}

func (k *cutter) note(path string, from, left int, what string) {
	if len(k.cuts) == maxCuts || len(path) > maxCutPath {
		k.more++
		return
	}
	k.cuts = append(k.cuts, fmt.Sprintf(`%s%s[%d:] has %d more %s`, k.prefix, path, from, left, what))
}

// summary lists the cuts.
func (k *cutter) summary() string {
	cuts := strings.Join(k.cuts, ", ")
	if k.more > 0 {
		cuts += fmt.Sprintf(", and %d more", k.more)
	}
	return cuts
}
