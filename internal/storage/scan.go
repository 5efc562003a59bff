package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/code/scan"
)

// Scan returns the store of the families that scan code.
func (db *DB) Scan() scan.Store { return scanStore{db} }

// scanStore implements [scan.Store].
type scanStore struct{ db *DB }

// findingRow is the JSON of a finding.
type findingRow struct {
	Rule       string    `json:"rule"`
	Confidence float64   `json:"confidence"`
	File       string    `json:"file"`
	Line       int       `json:"line"`
	Column     int       `json:"column"`
	Message    string    `json:"message"`
	Advice     string    `json:"advice,omitempty"`
	Snippet    string    `json:"snippet"`
	Hash       string    `json:"hash"`
	Edits      []editRow `json:"edits,omitempty"`
	Again      []int     `json:"again,omitempty"`
}

type editRow struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Text  string `json:"text"`
}

// findingsAtOnce is the maximum number of findings that one statement inserts.
const findingsAtOnce = 200

const (
	insertScan   = `INSERT INTO scans (id, workspace, purpose, created_at) VALUES (?, ?, ?, ?)`
	newestScans  = `SELECT id FROM scans WHERE workspace = ? AND purpose = ? ORDER BY created_at DESC, id DESC LIMIT ?`
	selectInScan = `SELECT f.position, f.id, f.kind, f.level, f.data FROM findings f WHERE f.scan_id = ?`
	// The newest scan that has it.
	selectFinding = `SELECT f.position, f.id, f.kind, f.level, f.data FROM findings f JOIN scans s ON s.id = f.scan_id
		WHERE f.id = ? AND s.workspace = ? AND s.purpose = ? ORDER BY s.created_at DESC, s.id DESC LIMIT 1`
)

func (s scanStore) Put(ctx context.Context, r scan.Record, findings []scan.Finding) error {
	return s.db.transact(ctx, func(e executor) error {
		if _, err := e.exec(ctx, insertScan, r.ID, []byte(r.Workspace), string(r.Purpose), r.CreatedAt.UnixMicro()); err != nil {
			return err
		}
		position := 0
		for chunk := range slices.Chunk(findings, findingsAtOnce) {
			args := make([]any, 0, 6*len(chunk))
			for _, f := range chunk {
				data, err := findingData(f)
				if err != nil {
					return err
				}
				position++
				args = append(args, r.ID, position, f.ID, f.Kind, f.Level, data)
			}
			rows := strings.TrimSuffix(strings.Repeat("(?, ?, ?, ?, ?, ?), ", len(chunk)), ", ")
			if _, err := e.exec(ctx, `INSERT INTO findings (scan_id, position, id, kind, level, data) VALUES `+rows, args...); err != nil {
				return err
			}
		}
		_, err := e.exec(ctx, `DELETE FROM scans WHERE workspace = ? AND purpose = ? AND id NOT IN (`+newestScans+`)`,
			[]byte(r.Workspace), string(r.Purpose), []byte(r.Workspace), string(r.Purpose), scan.MaxScans)
		return err
	})
}

func findingData(f scan.Finding) ([]byte, error) {
	row := findingRow{
		Rule: f.Rule, Confidence: f.Confidence, File: f.File, Line: f.Line, Column: f.Column,
		Message: f.Message, Advice: f.Advice, Snippet: f.Snippet, Hash: f.Hash, Again: f.Again,
	}
	for _, e := range f.Edits {
		row.Edits = append(row.Edits, editRow(e))
	}
	data, err := json.Marshal(row)
	if err != nil {
		return nil, fmt.Errorf("encoding finding: %w", err)
	}
	return data, nil
}

// findingRecord is a finding, its position in its scan and, if requested, the scan.
type findingRecord struct {
	position int
	scan     string
	scan.Finding
}

func scanFinding(rows *sql.Rows) (findingRecord, error) { return scanRecord(rows) }

func scanWithScan(rows *sql.Rows) (f findingRecord, err error) {
	var id string
	f, err = scanRecord(rows, &id)
	f.scan = id
	return f, err
}

func scanRecord(rows *sql.Rows, more ...any) (f findingRecord, err error) {
	var row findingRow
	err = rows.Scan(append([]any{&f.position, &f.ID, &f.Kind, &f.Level, fromJSON{&row}}, more...)...)
	f.Rule, f.Confidence, f.File, f.Line, f.Column = row.Rule, row.Confidence, row.File, row.Line, row.Column
	f.Message, f.Advice, f.Snippet, f.Hash, f.Again = row.Message, row.Advice, row.Snippet, row.Hash, row.Again
	for _, e := range row.Edits {
		f.Edits = append(f.Edits, scan.Edit(e))
	}
	return f, err
}

func (s scanStore) Newest(ctx context.Context, workspace string, purpose scan.Purpose) (string, error) {
	id, _, err := first(ctx, s.db.reader(), sqlf(newestScans, []byte(workspace), string(purpose), 1), only[string])
	return id, err
}

func (s scanStore) List(ctx context.Context, q scan.Query) (page scan.Page, found bool, err error) {
	found, err = scalar[bool](ctx, s.db.reader(), sqlf(`SELECT EXISTS (SELECT 1 FROM scans WHERE id = ? AND workspace = ? AND purpose = ?)`,
		q.Scan, []byte(q.Workspace), string(q.Purpose)))
	if err != nil || !found {
		return scan.Page{}, false, err
	}
	count, list := sqlf(`SELECT count(*) FROM findings f WHERE f.scan_id = ?`, q.Scan), sqlf(selectInScan, q.Scan)
	if q.Kind != "" {
		count, list = count.and(`AND f.kind = ?`, q.Kind), list.and(`AND f.kind = ?`, q.Kind)
	}
	if q.Level != "" {
		count, list = count.and(`AND f.level = ?`, q.Level), list.and(`AND f.level = ?`, q.Level)
	}
	if page.Total, err = scalar[int](ctx, s.db.reader(), count); err != nil {
		return scan.Page{}, false, err
	}
	rows, err := all(ctx, s.db.reader(), list.and(`AND f.position > ? ORDER BY f.position LIMIT ?`, q.After, q.Limit+1), scanFinding)
	for i, row := range rows {
		if i == q.Limit {
			page.More = true
			break
		}
		page.Findings, page.Last = append(page.Findings, row.Finding), row.position
	}
	return page, true, err
}

func (s scanStore) Carry(ctx context.Context, workspace, hash string, carry func(scan.Finding) (scan.Finding, bool)) error {
	return s.db.transact(ctx, func(e executor) error {
		rows, err := all(ctx, e, sqlf(`SELECT f.position, f.id, f.kind, f.level, f.data, f.scan_id FROM findings f
			JOIN scans s ON s.id = f.scan_id
			WHERE s.workspace = ? AND `+bytesHave[s.db.dialect.name]("f.data")+` > 0`, []byte(workspace), []byte(hash)), scanWithScan)
		if err != nil {
			return err
		}
		for _, row := range rows {
			f, ok := carry(row.Finding)
			if !ok {
				continue
			}
			data, err := findingData(f)
			if err == nil {
				_, err = e.exec(ctx, `UPDATE findings SET data = ? WHERE scan_id = ? AND position = ?`, data, row.scan, row.position)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (s scanStore) Get(ctx context.Context, workspace string, purpose scan.Purpose, id string) (scan.Finding, bool, error) {
	row, found, err := byKey(ctx, s.db, sqlf(selectFinding, id, []byte(workspace), string(purpose)), scanFinding)
	return row.Finding, found, err
}
