package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolfold/toolfold/tools/trace"
)

// Trace returns the store of the trace family.
func (db *DB) Trace() trace.Store { return traceStore{db} }

// traceStore implements [trace.Store].
type traceStore struct{ db *DB }

// spanRow is the JSON of a span, without members that have a column.
type spanRow struct {
	Parent      string            `json:"parent,omitempty"`
	Root        bool              `json:"root,omitempty"`
	Label       string            `json:"label"`
	Kind        string            `json:"kind"`
	Status      string            `json:"status"`
	Code        string            `json:"code,omitempty"`
	Message     string            `json:"message,omitempty"`
	Tolerated   bool              `json:"tolerated,omitempty"`
	Ended       int64             `json:"ended,omitempty"` // microseconds
	Arguments   [2]int            `json:"arguments"`       // bytes, tokens
	Result      [2]int            `json:"result"`
	Attempts    int               `json:"attempts,omitempty"`
	Attributes  map[string]string `json:"attributes,omitempty"`
	AnswerBytes int               `json:"answerBytes,omitempty"`
	Caller      string            `json:"caller,omitempty"`
	Workspace   string            `json:"workspace,omitempty"`
}

// spanOverhead is the approximate size of a span without its texts, in bytes.
const spanOverhead = 150

// traceRow sums the spans of a trace in one call of Put.
type traceRow struct {
	id, label, caller, workspace      string
	labelAt, started, ended           time.Time
	open, failed, spans, bytesOfSpans int
	tokensIn, tokensOut               int
}

func (s traceStore) Put(ctx context.Context, spans []trace.Span, now time.Time) error {
	var spanRows, errorRows, termRows [][]any
	terms := map[[2]string]bool{}
	traces := map[string]*traceRow{}
	for _, span := range spans {
		row := spanRow{
			Parent: span.Parent, Root: span.Root, Label: span.Label, Kind: span.Kind, Status: span.Status,
			Code: span.Code, Message: span.Message,
			Arguments: [2]int{span.Arguments.Bytes, span.Arguments.Tokens}, Result: [2]int{span.Result.Bytes, span.Result.Tokens},
			Attempts: span.Attempts, Attributes: span.Attributes, AnswerBytes: len(span.Answer),
			Tolerated: span.Tolerated, Caller: span.Caller, Workspace: span.Workspace,
		}
		if !span.End.IsZero() {
			row.Ended = span.End.UnixMicro()
		}
		text, err := json.Marshal(row)
		if err != nil {
			return fmt.Errorf("encoding span: %w", err)
		}
		spanRows = append(spanRows, []any{span.TraceID, span.ID, span.Start.UnixMicro(), text, maybeText(span.Answer)})
		if span.Status == trace.Failure {
			errorRows = append(errorRows, []any{span.TraceID, span.ID, []byte(strings.ToLower(span.Code + ": " + span.Message))})
		}
		for _, term := range termsOf(span) {
			if key := [2]string{term, span.TraceID}; !terms[key] {
				terms[key] = true
				termRows = append(termRows, []any{term, span.TraceID})
			}
		}
		t := traces[span.TraceID]
		if t == nil {
			t = &traceRow{id: span.TraceID, started: span.Start}
			traces[span.TraceID] = t
		}
		t.add(span, len(text))
	}
	var traceRows [][]any
	for _, t := range traces {
		traceRows = append(traceRows, []any{
			t.id, []byte(t.label), maybeMicros(t.labelAt), t.open, t.failed, t.started.UnixMicro(), maybeMicros(t.ended), now.UnixMicro(), t.spans,
			t.bytesOfSpans, []byte(t.caller), []byte(t.workspace), t.tokensIn, t.tokensOut,
		})
	}
	// Always in the same order: two processes may put spans of the same traces.
	slices.SortFunc(traceRows, func(a, b []any) int { return strings.Compare(a[0].(string), b[0].(string)) })
	return s.db.transact(ctx, func(e executor) error {
		if err := insertAll(ctx, e, `INSERT INTO traces
			(id, label, label_at, open, failed, started_at, ended_at, heard_at, spans, bytes, caller, workspace, tokens_in, tokens_out) VALUES`,
			`ON CONFLICT (id) DO UPDATE SET
			label = CASE WHEN excluded.label_at < COALESCE(traces.label_at, excluded.label_at + 1) THEN excluded.label ELSE traces.label END,
			label_at = CASE WHEN excluded.label_at < COALESCE(traces.label_at, excluded.label_at + 1)
		THEN excluded.label_at ELSE traces.label_at END,
			caller = CASE WHEN excluded.label_at < COALESCE(traces.label_at, excluded.label_at + 1) THEN excluded.caller ELSE traces.caller END,
			workspace = CASE WHEN excluded.label_at < COALESCE(traces.label_at, excluded.label_at + 1)
		THEN excluded.workspace ELSE traces.workspace END,
			open = traces.open + excluded.open, failed = traces.failed + excluded.failed,
			started_at = CASE WHEN excluded.started_at < traces.started_at THEN excluded.started_at ELSE traces.started_at END,
			ended_at = CASE WHEN excluded.ended_at > COALESCE(traces.ended_at, 0) THEN excluded.ended_at ELSE traces.ended_at END,
			heard_at = excluded.heard_at, spans = traces.spans + excluded.spans, bytes = traces.bytes + excluded.bytes,
			tokens_in = traces.tokens_in + excluded.tokens_in, tokens_out = traces.tokens_out + excluded.tokens_out`, traceRows); err != nil {
			return err
		}
		if err := insertAll(ctx, e, `INSERT INTO trace_errors (trace_id, span_id, error) VALUES`,
			`ON CONFLICT (trace_id, span_id) DO UPDATE SET error = excluded.error`, errorRows); err != nil {
			return err
		}
		if err := insertAll(ctx, e, `INSERT INTO trace_terms (term, trace_id) VALUES`, `ON CONFLICT DO NOTHING`, termRows); err != nil {
			return err
		}
		return insertAll(ctx, e, `INSERT INTO trace_spans (trace_id, id, started_at, span, answer) VALUES`,
			`ON CONFLICT (trace_id, id) DO UPDATE SET span = excluded.span, answer = excluded.answer`, spanRows)
	})
}

// termsOf returns the search terms that a span adds to its trace.
func termsOf(span trace.Span) (terms []string) {
	for _, id := range span.Sessions {
		terms = append(terms, sessionTerm+id)
	}
	if name := span.Attributes[trace.CallerAttribute]; name != "" {
		terms = append(terms, callerTerm+strconv.QuoteToASCII(name))
	}
	if span.Task != "" {
		terms = append(terms, taskTerm+span.Task)
	}
	return terms
}

// The prefixes of terms.
const (
	sessionTerm = "session "
	taskTerm    = "task "
	callerTerm  = "caller " // then the quoted name
)

func (t *traceRow) add(span trace.Span, size int) {
	if span.Start.Before(t.started) {
		t.started = span.Start
	}
	if span.End.After(t.ended) {
		t.ended = span.End
	}
	t.bytesOfSpans += size + len(span.Answer)
	if !span.Begun {
		t.spans++
		t.bytesOfSpans += spanOverhead
	}
	if !span.Root {
		return
	}
	if t.labelAt.IsZero() || span.Start.Before(t.labelAt) {
		t.label, t.labelAt = span.Label, span.Start
		t.caller, t.workspace = span.Caller, span.Workspace
	}
	switch {
	case span.Status == trace.Running:
		t.open++
	case span.Begun:
		t.open--
	}
	if span.Status == trace.Failure {
		t.failed++
	}
	if span.Status != trace.Running {
		t.tokensIn += span.Arguments.Tokens
		t.tokensOut += span.Result.Tokens
	}
}

// insertAll inserts rows, many with one statement: preparing and running one
// costs more than a row.
func insertAll(ctx context.Context, e executor, insert, conflict string, rows [][]any) error {
	for len(rows) > 0 {
		n := 1
		for _, many := range []int{64, 8} { // few different texts, because statements are cached
			if len(rows) >= many {
				n = many
				break
			}
		}
		row := "(?" + strings.Repeat(", ?", len(rows[0])-1) + ")"
		text := insert + " " + row + strings.Repeat(", "+row, n-1) + " " + conflict
		if _, err := e.exec(ctx, text, slices.Concat(rows[:n]...)...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

func (s traceStore) Hear(ctx context.Context, traceIDs []string, now time.Time) error {
	if len(traceIDs) == 0 {
		return nil
	}
	for ids := range slices.Chunk(traceIDs, 500) {
		update := sqlf(`UPDATE traces SET heard_at = ? WHERE`, now.UnixMicro()).with(among("id", ids))
		if _, err := s.db.writer().exec(ctx, update.text, update.args...); err != nil {
			return err
		}
	}
	return nil
}

func (s traceStore) List(ctx context.Context, q trace.Query) (page trace.Page, err error) {
	aliveSince := q.HeardFrom.UnixMicro()
	picked := sqlf(`WHERE true`)
	switch q.Status {
	case trace.Running:
		picked = picked.and(`AND failed = 0 AND open > 0 AND heard_at >= ?`, aliveSince)
	case trace.Failure:
		picked = picked.and(`AND (failed > 0 OR open > 0 AND heard_at < ?)`, aliveSince)
	case trace.Success:
		picked = picked.and(`AND failed = 0 AND open <= 0`)
	}
	has := bytesHave[s.db.dialect.name]
	var labels []any // nil = all, or too many to look for each
	if q.Label != "" {
		found, few, err := s.db.labels(ctx, q.Label)
		switch {
		case err != nil:
			return trace.Page{}, err
		case few && len(found) == 0:
			return trace.Page{}, nil
		case few:
			labels = found
		default:
			picked = picked.and(`AND (`+has("label")+` = 1 OR `+has("label")+` > 0)`, []byte(q.Label), []byte(" "+q.Label))
		}
	}
	if q.Caller != "" {
		picked = picked.and(`AND (caller = ? OR id IN (SELECT trace_id FROM trace_terms WHERE term = ?))`, []byte(q.Caller),
			callerTerm+strconv.QuoteToASCII(q.Caller))
	}
	if q.Workspace != "" {
		picked = picked.and(`AND workspace = ?`, []byte(q.Workspace))
	}
	for term, id := range map[string]string{sessionTerm: q.Session, taskTerm: q.Task} {
		if id != "" {
			picked = picked.and(`AND id IN (SELECT trace_id FROM trace_terms WHERE term = ?)`, term+id)
		}
	}
	if q.Error != "" {
		part := strings.ToLower(q.Error)
		picked = picked.and(`AND (EXISTS (SELECT 1 FROM trace_errors e WHERE e.trace_id = traces.id AND `+has("e.error")+` > 0)`, []byte(part))
		if strings.Contains(strings.ToLower(trace.Interrupted+": "+trace.InterruptedMessage), part) {
			picked = picked.and(`OR open > 0 AND heard_at < ?`, aliveSince)
		}
		picked = picked.and(`)`)
	}
	if q.MinDuration > 0 {
		now := q.Now.UnixMicro()
		picked = picked.and(`AND CASE WHEN failed > 0 OR open <= 0 THEN COALESCE(ended_at, ?) WHEN heard_at < ? THEN heard_at ELSE ? END
			- started_at >= ?`, now, aliveSince, now, q.MinDuration.Microseconds())
	}
	if !q.Since.IsZero() {
		picked = picked.and(`AND started_at >= ?`, q.Since.UnixMicro())
	}
	if !q.Until.IsZero() {
		picked = picked.and(`AND started_at < ?`, q.Until.UnixMicro())
	}
	if !q.Uncounted {
		counted := sqlf(`SELECT count(*) FROM traces`).with(picked)
		if labels != nil {
			counted = counted.and(`AND`).with(among("label", labels))
		}
		if page.Total, err = scalar[int](ctx, s.db.reader(), counted); err != nil {
			return trace.Page{}, err
		}
	}
	if q.After != nil {
		picked = picked.and(`AND (started_at, id) < (?, ?)`, q.After.CreatedAt.UnixMicro(), q.After.ID)
	}
	const columns = `SELECT id, label, open, failed, started_at, ended_at, heard_at, spans, caller, workspace FROM `
	newest := sqlf(`ORDER BY started_at DESC, id DESC LIMIT ?`, q.Limit)
	list := sqlf(columns + `traces`).with(picked).with(newest)
	if labels != nil { // the newest of each label, which an index has in this order
		list = sqlf(columns + `(`)
		for i, label := range labels {
			if i > 0 {
				list = list.and(`UNION ALL`)
			}
			list = list.and(`SELECT * FROM (`+columns+`traces`).with(picked).and(`AND label = ?`, label).with(newest).and(`) AS arm`)
		}
		list = list.and(`) AS arms`).with(newest)
	}
	page.Traces, err = all(ctx, s.db.reader(), list, func(rows *sql.Rows) (t trace.Trace, err error) {
		var open, failed, lastReport int64
		err = rows.Scan(&t.ID, &t.Label, &open, &failed, micros{&t.Start}, micros{&t.End}, &lastReport, &t.Spans, &t.Caller, &t.Workspace)
		t.Status = trace.Success
		switch {
		case failed > 0:
			t.Status = trace.Failure
		case open > 0 && lastReport < aliveSince:
			t.Status, t.End = trace.Failure, fromMicros(lastReport)
		case open > 0:
			t.Status = trace.Running
		}
		return t, err
	})
	return page, err
}

// mostArms limits the labels that a list looks for one by one, and mostLabels those that are compared.
const (
	mostArms   = 16
	mostLabels = 2000
)

// labels returns the labels of traces that begin with a text, or have a word that does, in the type that SQLite has
// stored: text by older versions, bytes now. ok is false if there are too many, of these or in all, to look for each.
func (db *DB) labels(ctx context.Context, text string) (found []any, ok bool, err error) {
	type one struct {
		label any
		n     int
	}
	has := bytesHave[db.dialect.name]
	list, err := all(ctx, db.reader(), everyLabel(mostLabels).and(`SELECT label, n FROM labels WHERE label IS NOT NULL
		AND (`+has("label")+` = 1 OR `+has("label")+` > 0 OR n = ?) LIMIT ?`, []byte(text), []byte(" "+text), mostLabels, mostArms+1),
		into(func(o *one) []any { return []any{&o.label, &o.n} }))
	for _, o := range list {
		found = append(found, o.label)
		if o.n == mostLabels {
			return nil, false, err
		}
	}
	return found, len(found) <= mostArms, err
}

// everyLabel begins a query of the table labels, which has the labels of traces, numbered from 1 to most. It reads one
// entry of their index for a label, not one for a trace.
func everyLabel(most int) query {
	return sqlf(`WITH RECURSIVE labels(label, n) AS (
		SELECT (SELECT label FROM traces ORDER BY label LIMIT 1), 1
		UNION ALL SELECT (SELECT t.label FROM traces t WHERE t.label > labels.label ORDER BY t.label LIMIT 1), n + 1
			FROM labels WHERE labels.label IS NOT NULL AND n < ?)`, most)
}

func (s traceStore) Spans(ctx context.Context, traceID string) (spans []trace.Span, lastReport time.Time, err error) {
	at, found, err := byKey(ctx, s.db, sqlf(`SELECT heard_at FROM traces WHERE id = ?`, traceID),
		only[int64])
	if err != nil || !found {
		return nil, lastReport, err
	}
	spans, err = all(ctx, s.db.reader(), sqlf(`SELECT id, started_at, span FROM trace_spans WHERE trace_id = ? ORDER BY started_at,`+
		` id LIMIT ?`, traceID, trace.MaxSpans),
		func(rows *sql.Rows) (span trace.Span, err error) {
			var row spanRow
			err = rows.Scan(&span.ID, micros{&span.Start}, fromJSON{&row})
			span.TraceID = traceID
			span.Parent, span.Root, span.Label, span.Kind = row.Parent, row.Root, row.Label, row.Kind
			span.Status, span.Code, span.Message, span.Attempts = row.Status, row.Code, row.Message, row.Attempts
			span.Arguments, span.Result = trace.Size{Bytes: row.Arguments[0], Tokens: row.Arguments[1]},
				trace.Size{Bytes: row.Result[0], Tokens: row.Result[1]}
			span.Attributes, span.AnswerBytes = row.Attributes, row.AnswerBytes
			span.Tolerated, span.Caller, span.Workspace = row.Tolerated, row.Caller, row.Workspace
			if row.Ended != 0 {
				span.End = fromMicros(row.Ended)
			}
			return span, err
		})
	return spans, fromMicros(at), err
}

func (s traceStore) Answers(ctx context.Context, traceID string, spanIDs []string) (map[string]json.RawMessage, error) {
	answers := map[string]json.RawMessage{}
	_, err := all(ctx, s.db.reader(), sqlf(`SELECT id, answer FROM trace_spans WHERE trace_id = ? AND answer IS NOT NULL AND`, traceID).
		with(among("id", spanIDs)),
		func(rows *sql.Rows) (id string, err error) {
			var answer []byte
			err = rows.Scan(&id, &answer)
			answers[id] = answer
			return id, err
		})
	return answers, err
}

func (s traceStore) Usual(ctx context.Context, label string, before time.Time) ([]trace.Trace, error) {
	return all(ctx, s.db.reader(), sqlf(`SELECT id, started_at, ended_at FROM traces
		WHERE label = ? AND started_at < ? AND open <= 0 AND failed = 0 AND ended_at IS NOT NULL ORDER BY started_at DESC LIMIT 100`,
		[]byte(label), before.UnixMicro()), func(rows *sql.Rows) (t trace.Trace, err error) {
		err = rows.Scan(&t.ID, micros{&t.Start}, micros{&t.End})
		return t, err
	})
}

// trimAtOnce limits the traces that one transaction deletes.
const trimAtOnce = 500

func (s traceStore) Trim(ctx context.Context, keep trace.Keep) (deleted int, err error) {
	type old struct {
		id             string
		started, bytes int64
	}
	excess := int64(0)
	if keep.Bytes > 0 {
		sum, err := scalar[int64](ctx, s.db.reader(), sqlf(`SELECT CAST(COALESCE(sum(bytes), 0) AS bigint) FROM traces`))
		if err != nil {
			return 0, err
		}
		excess = sum - keep.Bytes
	}
	for {
		oldest, err := all(ctx, s.db.reader(), sqlf(`SELECT id, started_at, bytes FROM traces ORDER BY started_at, id LIMIT ?`, trimAtOnce),
			into(func(o *old) []any { return []any{&o.id, &o.started, &o.bytes} }))
		if err != nil {
			return deleted, err
		}
		var ids []string
		for _, o := range oldest {
			if excess <= 0 && (keep.Since.IsZero() || o.started >= keep.Since.UnixMicro()) {
				break
			}
			ids = append(ids, o.id)
			excess -= o.bytes
		}
		if len(ids) == 0 {
			return deleted, nil
		}
		err = s.db.transact(ctx, func(e executor) error {
			for _, remove := range []query{
				sqlf(`DELETE FROM trace_spans WHERE`).with(among("trace_id", ids)),
				sqlf(`DELETE FROM trace_errors WHERE`).with(among("trace_id", ids)),
				sqlf(`DELETE FROM trace_terms WHERE`).with(among("trace_id", ids)), sqlf(`DELETE FROM traces WHERE`).with(among("id", ids)),
			} {
				if _, err := e.exec(ctx, remove.text, remove.args...); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return deleted, err
		}
		deleted += len(ids)
	}
}
