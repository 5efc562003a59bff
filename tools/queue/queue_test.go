package queue_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/tools/queue"
	"github.com/toolfold/toolfold/tools/task"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func id(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// newService returns a service on a store in memory.
func newService(t *testing.T) *queue.Service {
	t.Helper()
	db := storagetest.Open(t, "memory:")
	ids := 0
	return queue.New(db.Queue(), func() time.Time { return noon }, func() string { ids++; return id(ids) })
}

func named(name string) queue.CreateIn {
	return queue.CreateIn{Name: name, Description: "d", MaxConcurrency: 3, DefaultPriority: task.Low}
}

func codeOf(err error) string {
	var failure *toolfold.Error
	if errors.As(err, &failure) {
		return failure.Code
	}
	return fmt.Sprint(err)
}

func TestCreate(t *testing.T) {
	t.Parallel()
	s := newService(t)
	got, err := s.Create(t.Context(), named("deploys"))
	want := queue.Queue{
		ID: id(1), Name: "deploys", Description: "d", MaxConcurrency: 3, DefaultPriority: task.Low, CreatedAt: noon,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatalf("%v (-want +got)\n%s", err, diff)
	}
	_, err = s.Create(t.Context(), named("deploys"))
	var failure *toolfold.Error
	if !errors.As(err, &failure) || failure.Code != queue.Exists ||
		failure.Message != `there is a queue "deploys" already, with queueId `+id(1) {
		t.Errorf("the name again: %v", err)
	}
	if _, err := s.Create(t.Context(), named(" ")); codeOf(err) != toolfold.InvalidInput {
		t.Errorf("no name: %v", err)
	}
	if _, err := s.Create(t.Context(), named(task.DefaultQueue)); codeOf(err) != queue.Exists {
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
	in := queue.ListIn{Page: toolfold.Page{Limit: 2}}
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
	if _, err := s.List(t.Context(), queue.ListIn{Page: toolfold.Page{Limit: 2, Cursor: "nonsense"}}); codeOf(err) != toolfold.InvalidInput {
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
		got, err := call(t.Context(), queue.QueueIn{QueueID: task.DefaultQueue})
		if err != nil || got.Paused != paused {
			t.Fatal(got, err)
		}
		out, err := s.List(t.Context(), queue.ListIn{Page: toolfold.Page{Limit: 1}})
		if err != nil || out.Queues[0].Paused != paused {
			t.Fatal(out, err)
		}
	}
	if _, err := s.Pause(t.Context(), queue.QueueIn{QueueID: "nowhere"}); codeOf(err) != queue.NotFound {
		t.Errorf("a queue that is not there: %v", err)
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	s := newService(t)
	if _, err := s.Create(t.Context(), named("deploys")); err != nil {
		t.Fatal(err)
	}
	got, err := s.Remove(t.Context(), queue.QueueIn{QueueID: "deploys"})
	if diff := cmp.Diff(queue.RemoveOut{QueueID: id(1), Name: "deploys", Removed: true}, got); diff != "" || err != nil {
		t.Fatalf("%v (-want +got)\n%s", err, diff)
	}
	for idOrName, code := range map[string]string{"deploys": queue.NotFound, id(1): queue.NotFound, task.DefaultQueue: queue.InUse} {
		if _, err := s.Remove(t.Context(), queue.QueueIn{QueueID: idOrName}); codeOf(err) != code {
			t.Errorf("%s: %v, want %s", idOrName, err, code)
		}
	}
}

func TestTooManyQueues(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for n := range queue.MaxQueues - 1 { // plus the default queue
		if _, err := s.Create(t.Context(), named(fmt.Sprint(n))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Create(t.Context(), named("more")); codeOf(err) != toolfold.LimitReached {
		t.Errorf("one more: %v", err)
	}
	if _, err := s.Create(t.Context(), named("7")); codeOf(err) != queue.Exists {
		t.Errorf("a name that is taken: %v", err)
	}
}

// An update changes only the given fields.
func TestUpdate(t *testing.T) {
	b := newService(t)
	made, err := b.Create(t.Context(), queue.CreateIn{Name: "deploys", Description: "d", MaxConcurrency: 1, DefaultPriority: task.High})
	if err != nil {
		t.Fatal(err)
	}
	want := made
	want.MaxConcurrency = 3
	got, err := b.Update(t.Context(), queue.UpdateIn{QueueID: "deploys", MaxConcurrency: new(3)})
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, (-want +got)\n%s", err, diff)
	}
	want.Description, want.PerProcess, want.DefaultPriority = "", true, task.Low
	got, err = b.Update(t.Context(), queue.UpdateIn{QueueID: made.ID, Description: new(""), PerProcess: new(true),
		DefaultPriority: new(task.Low)})
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, (-want +got)\n%s", err, diff)
	}
	_, err = b.Update(t.Context(), queue.UpdateIn{QueueID: "nowhere"})
	if err == nil || !strings.Contains(err.Error(), queue.NotFound) {
		t.Errorf("an unknown queue: %v", err)
	}
}
