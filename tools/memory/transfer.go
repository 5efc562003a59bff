package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Limits of a page of export without a limit.
const (
	exportEntries = 100
	exportBytes   = 24 << 10
	pageFrame     = 512 // bytes of a response without its entries
)

// Export returns whole entries in pages. A caller with enough room, such as the shell, gets all
// entries in one page. An entry that is too large for a response is included without its value and
// marked as omitted.
func (s *Service) Export(ctx context.Context, in ExportIn) (ExportOut, error) {
	out := ExportOut{ExportedAt: s.now(), Data: []ExportItem{}}
	own := s.own(ctx)
	parts := partsOf(Scope{Namespace: cmp.Or(in.Namespace, s.Namespace), Prefix: in.Prefix, Tags: tagSet(in.Tags),
		Workspace: s.workspace(ctx, in.Workspace, ""), Now: out.ExportedAt}, own)
	after, err := parsePosition(in.Cursor, "export")
	if err != nil {
		return ExportOut{}, err
	}
	largest := callctx.Room(ctx) - pageFrame
	limit, room := in.Limit, maxAnswer
	switch {
	case largest > maxAnswer: // the caller has room for everything
		limit, room = cmp.Or(limit, maxImport), largest
	case limit == 0:
		limit, room = exportEntries, exportBytes
	}
	if largest > 0 {
		room = min(room, largest)
	}
	// The sizes of the values determine how many are read.
	headings, err := s.headings(ctx, parts, byKey, after, limit+1)
	if err != nil {
		return ExportOut{}, fmt.Errorf("listing entries: %w", err)
	}
	fit, omitted := 0, map[int64]int{}
	for _, h := range headings[:min(limit, len(headings))] {
		size := h.Size + h.encodedLen()
		if largest > 0 && size > largest {
			omitted[h.ID] = h.Size
			size -= h.Size
		}
		if room -= size; room < 0 && fit > 0 {
			break
		}
		fit++
	}
	if fit == 0 {
		if in.Cursor == "" {
			out.Message = nothingThere
		}
		callctx.Notify(ctx, out.notice())
		return out, nil
	}
	entries := map[int64]Entry{}
	for part := range slices.Chunk(headings[:fit], maxMany) {
		var ids []int64
		for _, h := range part {
			ids = append(ids, h.ID)
		}
		loaded, err := s.store.Load(ctx, ids)
		if err != nil {
			return ExportOut{}, fmt.Errorf("exporting entries: %w", err)
		}
		maps.Copy(entries, loaded)
	}
	values := 0
	for i, h := range headings[:fit] {
		e, found := entries[h.ID]
		if !found {
			after = parts.position(h, byKey)
			continue // deleted in the meantime
		}
		x := ExportItem{Key: e.Key, Value: e.Value, Namespace: e.Namespace, Tags: e.Tags, ExpiresAt: maybe(e.ExpiresAt)}
		if in.IncludeMetadata {
			x.StoredAt = &e.StoredAt
		}
		if in.IncludeMetadata || e.Workspace != own {
			x.Workspace = e.Workspace
		}
		if bytes, is := omitted[h.ID]; is {
			x = ExportItem{Key: e.Key, Namespace: e.Namespace, Workspace: x.Workspace, Bytes: bytes, Omitted: true}
			out.Message = "omitted entries are too long for an answer: tools.call with saveTo, and toolfold call memory.export, have them whole"
		}
		if values += x.values(); values > maxValues && len(out.Data) > 0 {
			fit = i
			break
		}
		out.Data, after = append(out.Data, x), parts.position(h, byKey)
	}
	out.Count = len(out.Data)
	if fit < len(headings) {
		out.HasMore, out.NextCursor = true, after.cursor()
	}
	callctx.Notify(ctx, out.notice())
	return out, nil
}

// notice describes the number of entries in a result and how to continue.
func (out ExportOut) notice() string {
	text := "exported " + english.Grouped(out.Count) + " notes"
	if out.Count == 1 {
		text = "exported 1 note"
	}
	if out.HasMore {
		text += "; there are more: import these, and export again with cursor=" + out.NextCursor + " added to the same arguments"
	}
	return text
}

// values counts the JSON values of an exported entry, itself included.
func (x ExportItem) values() int {
	n := 3 // with key and namespace
	for _, has := range []bool{x.Workspace != "", x.StoredAt != nil, x.ExpiresAt != nil, x.Omitted, x.Omitted, len(x.Tags) > 0} {
		if has {
			n++
		}
	}
	if n += len(x.Tags); len(x.Value) > 0 {
		n += countValues(x.Value)
	}
	return n
}

// countValues counts a compact JSON value with the values inside it: each but the first of a list or object is behind a
// comma, and the first behind a bracket.
func countValues(value json.RawMessage) int {
	n, inText := 1, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == ',', (c == '[' || c == '{') && value[i+1] != ']' && value[i+1] != '}':
			n++
		}
	}
	return n
}

// entry declares an entry to import.
var entry = toolfold.Object{
	Required: toolfold.Fields{key, value},
	Optional: toolfold.Fields{namespace, storedAt, tags.With(toolfold.AtMost(maxTags)), expiresAt, project},
}

// Import stores the valid entries of a list. Of a file it stores all entries that have not expired, or
// none if one of them is invalid.
func (s *Service) Import(ctx context.Context, in ImportIn) (ImportOut, error) {
	out := ImportOut{ImportedAt: s.now()}
	switch {
	case in.Data == nil && in.Path == "":
		return out, (&toolfold.Error{Code: toolfold.InvalidInput, Problems: []toolfold.Problem{
			{Path: "/" + dataName, Kind: toolfold.ProblemMissing},
		}}).WithHint("give data, or path to import a file of the workspace")
	case in.Data != nil && in.Path != "":
		return out, toolfold.Errorf(toolfold.InvalidInput, "data and path are both given; nothing was stored").
			About(toolfold.ProblemRefused, dataName, file.Name).WithHint("give one of them")
	}
	var from importFile
	if in.Path != "" {
		var err error
		if from, err = s.readFile(in.Path); err != nil {
			return out, err
		}
		in.Data, in.HasMore = from.entries, from.hasMore
	}
	reject := func(index int, reason string) {
		if out.Failed++; out.Failed <= maxNamed {
			out.Errors = append(out.Errors, ImportProblem{index, reason})
		}
	}
	var entries []Entry
	for i, raw := range in.Data {
		e, err := readEntry(raw)
		if err != nil && in.Path != "" {
			from.invalid = append(from.invalid, ImportProblem{i, err.Message})
			continue
		}
		if err != nil {
			reject(i, err.Message)
			continue
		}
		e.Namespace = cmp.Or(in.Namespace, e.Namespace, s.Namespace, defaultNamespace)
		e.Workspace = s.workspace(ctx, e.Workspace, s.own(ctx))
		if e.StoredAt.IsZero() {
			e.StoredAt = out.ImportedAt
		}
		if !e.ExpiresAt.IsZero() && !e.ExpiresAt.After(out.ImportedAt) {
			reject(i, "it has expired")
			continue
		}
		e.Words = IndexText(e)
		entries = append(entries, e)
	}
	if len(from.invalid) > 0 {
		return ImportOut{}, from.refusal(in.Path)
	}
	for part := range slices.Chunk(entries, maxMany) { // other writers can run between two transactions
		stored, err := s.store.Import(ctx, part, in.Overwrite, out.ImportedAt)
		if err != nil {
			return ImportOut{}, fmt.Errorf("importing entries, after %d were stored: %w", out.Imported, err)
		}
		out.Imported += stored
		out.Skipped += len(part) - stored
	}
	if in.HasMore {
		out.Message = "the export has more pages: export from its nextCursor on, and import them too"
	}
	s.complete.Store(false)
	s.makeVectors()
	s.expire(ctx, out.ImportedAt)
	return out, nil
}

// readEntry decodes an entry and checks it against its declaration. Null counts as absent, as in
// parameters. A missing storedAt is the zero time.
func readEntry(raw json.RawMessage) (Entry, *toolfold.Error) {
	var members map[string]any
	if jsonx.Decode(raw, &members) != nil || members == nil {
		return Entry{}, toolfold.Errorf(toolfold.InvalidInput, "an entry must be an object with key and value")
	}
	if members["omitted"] == true {
		return Entry{}, toolfold.Errorf(toolfold.InvalidInput, "the entry was too long for the answer of export and is not here: "+
			"export it by tools.call with saveTo, or with toolfold call memory.export")
	}
	if reason := fault(members["value"], 0); reason != "" {
		return Entry{}, toolfold.Errorf(toolfold.InvalidInput, "value %s", reason)
	}
	maps.DeleteFunc(members, func(_ string, member any) bool { return member == nil })
	if problems := entry.Param().Check(members); len(problems) > 0 {
		return Entry{}, toolfold.Errorf(toolfold.InvalidInput, "%s", problems[0].Text())
	}
	var e struct {
		Key, Namespace      string
		Value               json.RawMessage
		Tags                []string
		Workspace           string
		StoredAt, ExpiresAt time.Time
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return Entry{}, toolfold.Errorf(toolfold.InvalidInput, "storedAt and expiresAt must be times such as 2026-01-31T12:00:00Z")
	}
	value, err := compact(e.Value)
	if err != nil {
		return Entry{}, err.(*toolfold.Error)
	}
	return Entry{
		Namespace: e.Namespace, Key: e.Key, Value: value, Tags: tagSet(e.Tags), Workspace: e.Workspace,
		StoredAt: e.StoredAt.UTC().Truncate(time.Microsecond), ExpiresAt: e.ExpiresAt.UTC().Truncate(time.Microsecond),
	}, nil
}

// fault returns why a value cannot be imported; empty if it can. The arguments of a call cannot nest
// deeper or have greater numbers either, but files can.
func fault(value any, depth int) string {
	if depth > maxDepth {
		return fmt.Sprintf("nests deeper than %d levels", maxDepth)
	}
	reason := ""
	switch v := value.(type) {
	case string:
		if shorten.IsCut(v) {
			return "was cut to fit into an answer: it is not whole"
		}
	case json.Number:
		if _, err := v.Float64(); err != nil {
			return "has a number beyond 64-bit floating point"
		}
	case []any:
		for _, item := range v {
			reason = cmp.Or(reason, fault(item, depth+1))
		}
	case map[string]any:
		for _, member := range v {
			reason = cmp.Or(reason, fault(member, depth+1))
		}
	}
	return reason
}
