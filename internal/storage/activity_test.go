package storage

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/toolfold/toolfold/tools/trace"
)

func TestActivityCountsByHourAndLabel(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		db := archiveStore(t, name)
		noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		now := noon.Add(2 * time.Hour)
		span := func(id string, label string, start time.Time, took time.Duration, status string) trace.Span {
			s := trace.Span{TraceID: id, ID: "0000000000000001", Root: true, Label: label, Kind: trace.Call, Status: status, Start: start,
				Arguments: trace.Size{Tokens: 3}, Result: trace.Size{Tokens: 5}}
			if status != trace.Running {
				s.End = start.Add(took)
			}
			return s
		}
		lastReport := noon.Add(time.Hour)
		for _, put := range []struct {
			at    time.Time
			spans []trace.Span
		}{
			{lastReport, []trace.Span{
				span("a1", "a", noon.Add(-time.Microsecond), time.Second, trace.Success), // before the time asked for
				span("a2", "a", noon, time.Second, trace.Success),
				span("a3", "a", noon.Add(59*time.Minute), 3*time.Second, trace.Failure),
				span("b1", "b", noon.Add(time.Minute), time.Millisecond, trace.Success),
				span("b2", "b", noon.Add(time.Hour), 0, trace.Running), // its process was silent since
			}},
			{now, []trace.Span{span("b3", "b", now, 0, trace.Running)}},
		} {
			if err := db.Trace().Put(t.Context(), put.spans, put.at); err != nil {
				t.Fatal(err)
			}
		}
		got, err := db.Activity(t.Context(), noon, time.Time{}, now)
		if err != nil {
			t.Fatal(err)
		}
		want := []Activity{
			{noon, "a", 2, 1, 2, 4 * time.Second, 3 * time.Second, 6, 10},
			{noon, "b", 1, 0, 1, time.Millisecond, time.Millisecond, 3, 5},
			{noon.Add(time.Hour), "b", 1, 1, 0, 0, 0, 0, 0},
			{now, "b", 1, 0, 0, 0, 0, 0, 0},
		}
		if !slices.Equal(got, want) {
			t.Errorf("the activity is %v, want %v", got, want)
		}

		got, err = db.Activity(t.Context(), noon, noon.Add(time.Minute), now)
		if want := []Activity{{noon, "a", 1, 0, 1, time.Second, time.Second, 3, 5}}; err != nil || !slices.Equal(got, want) {
			t.Errorf("the activity of a minute is %v %v, want %v", got, err, want)
		}

		// The tokens of a span that was stored when it began are counted when it ends.
		ended := span("b3", "b", now, time.Second, trace.Success)
		ended.Begun = true
		if err := db.Trace().Put(t.Context(), []trace.Span{ended}, now); err != nil {
			t.Fatal(err)
		}
		got, err = db.Activity(t.Context(), now, time.Time{}, now)
		if want := []Activity{{now, "b", 1, 0, 1, time.Second, time.Second, 3, 5}}; err != nil || !slices.Equal(got, want) {
			t.Errorf("the activity is %v %v, want %v", got, err, want)
		}
	})
}

// The first bytes of the steps of a task are read, without those within other steps.
// TestCalledHasTheLastCallOfEachLabel also covers a store without calls.
func TestCalledHasTheLastCallOfEachLabel(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		db := archiveStore(t, name)
		if got, err := db.Called(t.Context()); err != nil || !got.First.IsZero() || len(got.Last) > 0 {
			t.Errorf("without calls: %v, %v", got, err)
		}
		noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		want := Called{First: noon, Last: map[string]time.Time{}}
		var spans []trace.Span
		for i := range 9 {
			label, at := []string{"a", "b.c", "\xff"}[i%3], noon.Add(time.Duration(i)*time.Minute)
			spans = append(spans, trace.Span{TraceID: "t" + strconv.Itoa(i), ID: "1", Root: true, Label: label, Kind: trace.Call,
				Status: trace.Success, Start: at, End: at})
			want.Last[label] = at
		}
		if err := db.Trace().Put(t.Context(), spans, noon); err != nil {
			t.Fatal(err)
		}
		got, err := db.Called(t.Context())
		if err != nil || !got.First.Equal(want.First) || !maps.Equal(got.Last, want.Last) {
			t.Errorf("called %v, want %v, %v", got, want, err)
		}
	})
}

func TestStepsOfATask(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		db := archiveStore(t, name)
		fillRandom(t, db, rand.New(rand.NewPCG(3, 0)), 1, "tasks")
		id, err := scalar[string](t.Context(), db.reader(), sqlf(`SELECT id FROM tasks`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.writer().exec(t.Context(), `DELETE FROM task_steps`); err != nil {
			t.Fatal(err)
		}
		for path, record := range map[string][]byte{"/0": []byte("0123456789"), "/10": []byte("0123456789"), "/2": nil, "/2/3": []byte("0")} {
			insert := `INSERT INTO task_steps (task_id, path, record) VALUES (?, ?, ?)`
			if _, err := db.writer().exec(t.Context(), insert, id, []byte(path), record); err != nil {
				t.Fatal(err)
			}
		}
		steps, err := db.Steps(t.Context(), id, 4, "/0")
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, s := range steps {
			got[s.Path] = string(s.Record)
			if (s.Record == nil) != (s.Path == "/2") {
				t.Errorf("%s has the record %v", s.Path, s.Record)
			}
		}
		if want := map[string]string{"/0": "0123456789", "/10": "0123", "/2": ""}; !maps.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// A task is stuck while it has ended with a step that was begun, or while it is queued and workers gave it back.
func TestStuckTasks(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		db := archiveStore(t, name)
		fillRandom(t, db, rand.New(rand.NewPCG(3, 0)), 9, "tasks")
		run := func(statement string, args ...any) {
			t.Helper()
			if _, err := db.writer().exec(t.Context(), statement, args...); err != nil {
				t.Fatal(err)
			}
		}
		run(`DELETE FROM task_steps`)
		run(`DELETE FROM task_refusals`)
		run(`UPDATE queues SET paused = 0`)
		ids, err := all(t.Context(), db.reader(), sqlf(`SELECT id FROM tasks ORDER BY id LIMIT 7`), only[string])
		if err != nil || len(ids) < 7 {
			t.Fatalf("%v %v", ids, err)
		}
		for i, c := range []struct {
			status string
			record []byte
		}{
			{"failed", nil}, {"cancelled", nil}, {"timeout", nil}, {"failed", []byte("{}")}, {"running", nil}, {"queued", nil}, {"completed", nil},
		} {
			run(`UPDATE tasks SET status = ?, ended_at = ?, created_at = ?, name = ? WHERE id = ?`, c.status, i, i, []byte{byte('a' + i)}, ids[i])
			run(`INSERT INTO task_steps (task_id, path, record) VALUES (?, ?, ?)`, ids[i], []byte("/1"), c.record)
			run(`INSERT INTO task_steps (task_id, path, record) VALUES (?, ?, ?)`, ids[i], []byte("/1/2"), c.record)
		}
		run(`UPDATE tasks SET workspace = ?, queue_id = 'default'`, []byte("here"))
		run(`UPDATE tasks SET status = 'completed' WHERE id NOT IN (?, ?, ?, ?, ?, ?, ?)`, ids[0], ids[1], ids[2], ids[3], ids[4], ids[5], ids[6])
		run(`UPDATE tasks SET status = 'queued', workspace = ?, created_at = 9, name = ? WHERE id = ?`, []byte("away"), []byte("g"), ids[6])
		for _, worker := range []string{"w1", "w2"} {
			run(`INSERT INTO task_workers (id, expires_at, workspace) VALUES (?, ?, ?)`, worker, int64(1)<<60, []byte("here"))
			for _, id := range []string{ids[4], ids[5]} {
				run(`INSERT INTO task_refusals (task_id, worker_id, lacks, until) VALUES (?, ?, ?, 1)`, id, worker, []byte("workflow x"))
			}
		}
		run(`INSERT INTO task_workers (id, expires_at, workspace) VALUES ('w3', 1, ?)`, []byte("away")) // its lease has ended
		for limit, want := range map[int][]Stuck{
			9: {{ids[2], "c", "", ""}, {ids[1], "b", "", ""}, {ids[0], "a", "", ""}, {ids[5], "f", "workflow x", ""}, {ids[6], "g", "", "away"}},
			1: {{ids[2], "c", "", ""}, {ids[5], "f", "workflow x", ""}, {ids[6], "g", "", "away"}},
		} {
			if got, err := db.Stuck(t.Context(), limit); err != nil || !slices.Equal(got, want) {
				t.Errorf("of %d: %v %v, want %v", limit, got, err, want)
			}
		}
		run(`UPDATE queues SET paused = 1`) // paused tasks are listed as such
		if got, err := db.Stuck(t.Context(), 9); err != nil || len(got) != 3 {
			t.Errorf("with paused queues: %v %v", got, err)
		}
	})
}
