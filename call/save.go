package call

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// maxSaved limits a result that is saved, in bytes. It is in memory until it is written.
const maxSaved = 32 << 20

// saving returns a runner that passes the results of its calls to save.
func (r *Runner) saving(save callctx.Save) *Runner {
	other := *r
	other.save, other.inner = save, &other
	return &other
}

// saved passes the whole result of a call to its save function. A failure is an answer as usual, and
// so is a result that cannot be saved: the action has run.
func (r *Runner) saved(ctx context.Context, c *Call, raw json.RawMessage) toolfold.Answer {
	if c.failed || c.reply != nil && c.reply.failed {
		return r.bounded(ctx, c, raw)
	}
	cursor := c.args.values[toolfold.Cursor.Name]
	all, entries, err := c.allPages(ctx, raw)
	if err != nil {
		return r.fail(ctx, c, err)
	}
	earlier := len(c.input.warnings)
	content, changed, err := c.selected(ctx, all)
	if err != nil {
		return r.fail(ctx, c, err)
	}
	whole := c.whole(content, changed)
	whole.Items = max(whole.Items, entries)
	answer, err := any(nil), errTooLarge(len(whole.Data))
	if err == nil {
		answer, err = c.save(ctx, whole)
	}
	if err == nil {
		return toolfold.Answer{Content: withWarnings(ordered.MustJSON(answer), c.input.warnings)}
	}
	next := "the action has run, and this is its result: do not repeat it for the file"
	if c.Entry.Action.Effect == toolfold.Reads {
		next = "this is the result as usual"
	}
	c.input.warnings = append(c.input.warnings[:earlier], fmt.Sprintf("not saved: %s; %s", err, next))
	if c.save = nil; c.target.pages { // its first page, in the size of an answer
		if c.args.set(toolfold.Cursor.Name, cursor, nil); cursor == nil {
			c.args.drop(toolfold.Cursor.Name)
		}
		if raw, _, err = c.invoke(ctx); err != nil {
			return r.fail(ctx, c, err)
		}
	}
	return r.bounded(ctx, c, raw)
}

func errTooLarge(bytes int) error {
	if bytes <= maxSaved {
		return nil
	}
	return fmt.Errorf("it has %s bytes or more, and a file at most %d MiB; have less returned", english.Grouped(bytes), maxSaved>>20)
}

// countField is the result field of a list with the number of its entries on the page.
const countField = "count"

// allPages returns the result of a list with the entries of all its pages, from the page first on,
// and the number of entries. Other results, and pages of a size that the call chose, are returned
// unchanged. It stops when the pages have more bytes than maxSaved.
func (c *Call) allPages(ctx context.Context, first json.RawMessage) (all json.RawMessage, entries int, err error) {
	if !c.target.pages || c.input.sized {
		return first, 0, nil
	}
	list := pagedList{}
	for page, size := first, 0; ; {
		list.add(page)
		var p toolfold.Paged
		if err := json.Unmarshal(page, &p); err != nil {
			return nil, 0, fmt.Errorf("reading a page: %w", err)
		}
		if size += len(page); p.NextCursor == "" || size > maxSaved {
			all, entries = list.join()
			return all, entries, nil
		}
		c.args.set(toolfold.Cursor.Name, strings.TrimPrefix(p.NextCursor, listMark(listOf(c.Entry.Action, c.args))), nil)
		if page, _, err = c.invoke(ctx); err != nil {
			return nil, 0, err
		}
	}
}

// pagedList joins the pages of a list. Its lists are the members that the second page continues. All
// other members keep the values of the first page, such as the participants of a session beside its
// notes.
type pagedList struct {
	first json.RawMessage
	pages int
	lists map[string][]json.RawMessage // the value of each list, by page
	count int
}

func (l *pagedList) add(page json.RawMessage) {
	members, _ := ordered.Read(page)
	var p struct{ Count int }
	_ = json.Unmarshal(page, &p) // the first page shows whether it has a count
	l.count += p.Count
	switch l.pages++; l.pages {
	case 1:
		l.first = page
		return
	case 2:
		if l.lists = differing(l.first, members, '['); len(l.lists) == 0 {
			l.lists = differing(l.first, members, '{')
		}
	}
	for name, values := range l.lists {
		if value, ok := members.Get(name); ok {
			l.lists[name] = append(values, value.(json.RawMessage))
		}
	}
}

// differing returns the members of a kind of value that two pages have with different values, with
// their values in the first page.
func differing(first json.RawMessage, second ordered.Map, opens byte) map[string][]json.RawMessage {
	lists := map[string][]json.RawMessage{}
	members, _ := ordered.Read(first)
	for _, m := range members {
		before := m.Value.(json.RawMessage)
		value, _ := second.Get(m.Key)
		if after, _ := value.(json.RawMessage); len(after) > 0 && before[0] == opens && after[0] == opens && !bytes.Equal(before, after) {
			lists[m.Key] = []json.RawMessage{before}
		}
	}
	return lists
}

// join returns a page with the entries of all pages and without a cursor, and the number of entries.
// The number is zero if only one page was read and it is not clear which of its members is the list.
func (l *pagedList) join() (all json.RawMessage, entries int) {
	members, _ := ordered.Read(l.first)
	if l.pages == 1 {
		lists := slices.DeleteFunc(slices.Clone(members), func(m ordered.Member) bool { return m.Value.(json.RawMessage)[0] != '[' })
		if len(lists) == 1 {
			entries = len(children(lists[0].Value.(json.RawMessage)))
		}
		return l.first, entries
	}
	for i, m := range members {
		switch values, isList := l.lists[m.Key]; {
		case isList:
			var parts [][]byte
			number := 0
			for _, value := range values {
				if n := len(children(value)); n > 0 {
					number += n
					parts = append(parts, value[1:len(value)-1])
				}
			}
			entries = max(entries, number)
			brackets := values[0]
			members[i].Value = json.RawMessage(slices.Concat(brackets[:1], bytes.Join(parts, []byte{','}), brackets[len(brackets)-1:]))
		case m.Key == countField:
			members[i].Value = json.RawMessage(strconv.Itoa(l.count))
		case m.Key == hasMore:
			members[i].Value = json.RawMessage("false")
		}
	}
	members = slices.DeleteFunc(members, func(m ordered.Member) bool { return m.Key == nextCursor })
	return ordered.MustJSON(members), entries
}

// whole returns the result of a call as a file. changed reports that content is not the action's own
// result any more.
func (c *Call) whole(content json.RawMessage, changed bool) callctx.Whole {
	if c.reply == nil {
		return jsonFile(content)
	}
	came := c.reply
	if changed {
		came, _ = readReply(came.with(content, nil))
		content = came.value()
	}
	blocks := came.blocks()
	if len(blocks) == 1 && came.member("structuredContent") == nil {
		if file, is := encoded(blocks[0]); is {
			return file
		}
	}
	switch {
	case len(came.media) > 0:
		members := ordered.Map{{Key: "content", Value: blocks}}
		if structured := came.member("structuredContent"); structured != nil {
			members.Set("structuredContent", structured)
		}
		return jsonFile(ordered.MustJSON(members))
	case came.form == inText:
		text, _ := soleText(blocks)
		return callctx.Whole{MimeType: callctx.TypeText, Data: text}
	case came.isList:
		return jsonFile(children(content)[0].value)
	}
	return jsonFile(content)
}

// encoded returns the bytes of a block that has them in base64: an image, a sound or the contents of
// a resource. It returns false for other blocks.
func encoded(block json.RawMessage) (callctx.Whole, bool) {
	var b struct {
		Data, MimeType string
		Resource       struct{ Blob, MimeType string }
	}
	if !isMedia(block) || json.Unmarshal(block, &b) != nil {
		return callctx.Whole{}, false
	}
	if b.Resource.Blob != "" {
		b.Data, b.MimeType = b.Resource.Blob, b.Resource.MimeType
	}
	data, err := base64.StdEncoding.DecodeString(b.Data)
	return callctx.Whole{MimeType: b.MimeType, Data: data}, err == nil && len(data) > 0
}

// jsonFile returns a JSON value with one line for each member of its object and each item of its
// lists, for programs that read and search lines.
func jsonFile(value json.RawMessage) callctx.Whole {
	file := callctx.Whole{MimeType: callctx.TypeJSON}
	if len(value) > maxSaved { // too large in any form
		file.Data = value
		return file
	}
	if value[0] == '[' {
		file.Items = len(children(value))
	}
	file.Data = append(appendLines(make([]byte, 0, len(value)+len(value)/16), value, true), '\n')
	return file
}

// appendLines appends a list, or an object if it is the whole, with a line for each part.
func appendLines(out []byte, value json.RawMessage, isWhole bool) []byte {
	opens := value[0]
	var parts []child
	if opens == '[' || opens == '{' && isWhole {
		parts = children(value)
	}
	if len(parts) == 0 {
		return append(out, value...)
	}
	for i, part := range parts {
		if i == 0 {
			out = append(out, opens)
		} else {
			out = append(out, ',')
		}
		if out = append(out, '\n'); part.name != nil {
			out = append(append(out, part.name...), ':')
			out = appendLines(out, part.value, false)
			continue
		}
		out = append(out, part.value...)
	}
	return append(out, '\n', opens+2) // ']' and '}' follow their opening brackets by two
}
