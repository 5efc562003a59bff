package queue_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	engine "github.com/toolfold/toolfold/engine/queue"
	"github.com/toolfold/toolfold/storage"
	"github.com/toolfold/toolfold/tools"
	"github.com/toolfold/toolfold/tools/queue"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func id(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// newService is a service on a store in memory.
func newService(t *testing.T) *queue.Service {
	t.Helper()
	db, err := storage.Open(t.Context(), "memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	ids := 0
	return queue.New(db.Queue(), func() time.Time { return noon }, func() string { ids++; return id(ids) })
}

func named(name string) queue.CreateIn {
	return queue.CreateIn{Name: name, Description: "d", MaxConcurrency: 3, DefaultPriority: engine.Low}
}

func codeOf(err error) string {
	var told *tools.Error
	if errors.As(err, &told) {
		return told.Code
	}
	return fmt.Sprint(err)
}

func TestCreate(t *testing.T) {
	t.Parallel()
	s := newService(t)
	got, err := s.Create(t.Context(), named("deploys"))
	want := queue.Shown{
		QueueID: id(1), Name: "deploys", Description: "d", MaxConcurrency: 3, DefaultPriority: engine.Low, CreatedAt: noon,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatalf("%v (-want +got)\n%s", err, diff)
	}
	_, err = s.Create(t.Context(), named("deploys"))
	var told *tools.Error
	if !errors.As(err, &told) || told.Code != queue.Exists || told.Message != `there is a queue "deploys" already, with queueId `+id(1) {
		t.Errorf("the name again: %v", err)
	}
	if _, err := s.Create(t.Context(), named(engine.Default)); codeOf(err) != queue.Exists {
		t.Errorf("the name of the default queue: %v", err)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, name := range []string{"a", "b", "c"} {
		if _, err := s.Create(t.Context(), named(name)); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	in := queue.ListIn{Limit: 2}
	for range 2 {
		out, err := s.List(t.Context(), in)
		if err != nil || out.Total != 4 {
			t.Fatal(out.Total, err)
		}
		for _, q := range out.Queues {
			names = append(names, q.Name)
		}
		if out.HasMore != (in.Cursor == "") || out.HasMore != (out.NextCursor != "") {
			t.Fatalf("hasMore %v, cursor %q", out.HasMore, out.NextCursor)
		}
		in.Cursor = out.NextCursor
	}
	if len(names) != 4 {
		t.Errorf("queues %v, want 4", names)
	}
	if _, err := s.List(t.Context(), queue.ListIn{Limit: 2, Cursor: "nonsense"}); codeOf(err) != tools.InvalidInput {
		t.Errorf("a wrong cursor: %v", err)
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, paused := range []bool{true, true, false} {
		call := s.Resume
		if paused {
			call = s.Pause
		}
		got, err := call(t.Context(), queue.QueueIn{QueueID: engine.Default})
		if err != nil || got.IsPaused != paused {
			t.Fatal(got, err)
		}
		out, err := s.List(t.Context(), queue.ListIn{Limit: 1})
		if err != nil || out.Queues[0].IsPaused != paused {
			t.Fatal(out, err)
		}
	}
	if _, err := s.Pause(t.Context(), queue.QueueIn{QueueID: "nowhere"}); codeOf(err) != queue.NotFound {
		t.Errorf("a queue that is not there: %v", err)
	}
}
