package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/storage/queue"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/tools/task"
)

const yearly = "0 0 1 1 *"

// A schedule is triggered, and its tasks are listed by its id. While one is open, a trigger returns
// that one. A task that waits for its time can be started too.
func TestTrigger(t *testing.T) {
	eachStore(t, func(e env) {
		e.work(queue.Options{})
		stuck := make(chan struct{})
		e.on("held", func(context.Context, json.RawMessage) toolfold.Answer { <-stuck; return answer(`{}`) })
		id := e.submit("held", task.SubmitIn{Schedule: yearly})
		trigger := func(id string) task.TriggerOut {
			e.Helper()
			out, err := e.tasks.Trigger(e.Context(), task.TriggerIn{TaskID: id})
			if err != nil {
				e.Fatal(err)
			}
			return out
		}
		first := trigger(id)
		if again := trigger(id); first.Existing || !again.Existing || again.TaskID != first.TaskID {
			e.Errorf("it was run as %v and %v", first, again)
		}
		close(stuck)
		e.await(first.TaskID, task.Completed)
		second := trigger(id)
		e.await(second.TaskID, task.Completed)
		e.submit("other", task.SubmitIn{})
		list, err := e.tasks.List(e.Context(), task.ListIn{ScheduleID: strings.ToUpper(id), Page: toolfold.Page{Limit: 1}})
		if err != nil || list.Total != 2 || len(list.Tasks) != 1 || list.Tasks[0].TaskID != second.TaskID || list.Tasks[0].ScheduleID != id {
			e.Errorf("of the schedule there are %+v, %v", list, err)
		}
		later := e.submit("later", task.SubmitIn{DelayMs: 3_600_000})
		if got := e.status(later); got.NextAt == nil || time.Until(*got.NextAt) < 59*time.Minute || got.WaitsFor != "its time, nextAt" {
			e.Errorf("the delayed task is %+v", got)
		}
		trigger(later)
		e.await(later, task.Completed)
		_, err = e.tasks.Trigger(e.Context(), task.TriggerIn{TaskID: later})
		if err == nil || !strings.Contains(err.Error(), task.InvalidState) {
			e.Errorf("one that has ended is run: %v", err)
		}
	})
}

// A schedule is changed and paused. While it is paused, only trigger creates tasks of it. Its tasks
// have no more rights than any of the callers who changed it.
func TestUpdateSchedule(t *testing.T) {
	eachStore(t, func(e env) {
		e.work(queue.Options{})
		rights := make(chan string, 1)
		e.on("n", func(ctx context.Context, args json.RawMessage) toolfold.Answer {
			text := "all"
			if r := toolfold.OriginOf(ctx).Rights; r != nil {
				text = r.Text
			}
			rights <- string(args) + " " + text
			return answer(`{}`)
		})
		id := e.submit("n", task.SubmitIn{Schedule: yearly})
		update := func(ctx context.Context, in task.UpdateIn) task.UpdateOut {
			e.Helper()
			in.TaskID = id
			out, err := e.tasks.Update(ctx, in)
			if err != nil {
				e.Fatal(err)
			}
			return out
		}
		if out := update(e.Context(), task.UpdateIn{Paused: new(true)}); out.Status != task.Paused || out.NextAt != nil {
			e.Errorf("it is %+v", out)
		}
		if got := e.status(id); got.Status != task.Paused || got.NextAt != nil || got.WaitsFor != "task.update with paused: false" {
			e.Errorf("paused, it is %+v", got)
		}
		list, err := e.tasks.List(e.Context(), task.ListIn{Status: []string{task.Paused}, Page: toolfold.Page{Limit: 9}})
		if err != nil || list.Total != 1 {
			e.Errorf("%d paused tasks are listed, %v", list.Total, err)
		}
		ledger, _, err := openerOf(e.store)(e.Context())
		if err != nil {
			e.Fatal(err)
		}
		if n, err := ledger.Release(e.Context(), time.Now().AddDate(2, 0, 0)); n != 0 || err != nil {
			e.Errorf("%d tasks are released of a paused schedule, %v", n, err)
		}
		run := func(want string) {
			e.Helper()
			out, err := e.tasks.Trigger(e.Context(), task.TriggerIn{TaskID: id})
			if err != nil {
				e.Fatal(err)
			}
			if got := <-rights; got != want {
				e.Errorf("it ran with %s, want %s", got, want)
			}
			e.await(out.TaskID, task.Completed)
		}
		run("{} all")
		out := update(e.Context(), task.UpdateIn{Paused: new(false), Schedule: new("@every 90m")})
		if out.Status != task.Pending || out.Schedule != "@every 90m" ||
			out.NextAt == nil || time.Until(*out.NextAt).Round(time.Minute) != 90*time.Minute {
			e.Errorf("resumed, it is %+v", out)
		}
		ann, bob := permission.Rules{Deny: []string{"memory.*"}}.Rights(), permission.Rules{Deny: []string{"agent.*"}}.Rights()
		as := func(r *toolfold.Rights) context.Context { return callctx.With(e.Context(), toolfold.Origin{Rights: r}) }
		update(as(ann), task.UpdateIn{Input: json.RawMessage(`{"tool":"n","arguments":{"a":1}}`), Name: new("other")})
		run(`{"a":1} ` + ann.Text)
		update(as(bob), task.UpdateIn{Description: new("d")})
		update(as(ann), task.UpdateIn{Description: new("again")})
		update(as(ann.And(bob)), task.UpdateIn{Description: new("both")})
		run(`{"a":1} ` + ann.Text + "\n" + bob.Text)
		passing := &toolfold.Rights{Allows: func(*toolfold.Action) bool { return true }} // has no text
		_, err = e.tasks.Update(as(passing), task.UpdateIn{TaskID: id, Description: new("all")})
		if refused, ok := errors.AsType[*toolfold.Error](err); !ok || refused.Code != toolfold.PermissionDenied {
			e.Errorf("rights that cannot be kept answer %v", err)
		}
		run(`{"a":1} ` + ann.Text + "\n" + bob.Text)
		for _, other := range []string{e.submit("other", task.SubmitIn{DelayMs: 1000}), list.Tasks[0].TaskID[:35] + "x"} {
			if _, err := e.tasks.Update(e.Context(), task.UpdateIn{TaskID: other, Name: new("n")}); err == nil {
				e.Errorf("%s is changed", other)
			}
		}
	})
}
