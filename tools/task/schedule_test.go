package task_test

import (
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/tools/task"
)

func TestNext(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ schedule, after, want string }{
		{"*/15 * * * *", "2026-01-31T12:00:00Z", "2026-01-31T12:15:00Z"},
		{"0 9 * * 1-5", "2026-01-31T12:00:00Z", "2026-02-02T09:00:00Z"}, // a Saturday
		{"CRON_TZ=Europe/Berlin 0 9 * * *", "2026-01-31T12:00:00Z", "2026-02-01T08:00:00Z"},
		{"CRON_TZ=Europe/Berlin 0 9 * * *", "2026-06-30T12:00:00Z", "2026-07-01T07:00:00Z"},
		{"CRON_TZ=America/New_York 0 12 * * *", "2026-03-07T17:30:00Z", "2026-03-08T16:00:00Z"}, // daylight saving time begins
		{"@daily", "2026-01-31T12:00:00+05:00", "2026-02-01T00:00:00Z"},
		{"0 0 29 2 *", "2026-01-31T12:00:00Z", "2028-02-29T00:00:00Z"},
	} {
		after, err := time.Parse(time.RFC3339, test.after)
		if err != nil {
			t.Fatal(err)
		}
		if next, err := task.Next(test.schedule, after, after); err != nil || next.Format(time.RFC3339) != test.want {
			t.Errorf("%s after %s is %s, %v; want %s", test.schedule, test.after, next, err, test.want)
		}
	}
}

// Intervals are counted from the last time that was due, so that they do not drift. Missed times
// are skipped.
func TestIntervals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		schedule   string
		late, want time.Duration // after noon
	}{
		{"@every 90m", 0, 90 * time.Minute}, {"@every 90m", time.Second, 90 * time.Minute},
		{"@every 90m", 90 * time.Minute, 3 * time.Hour}, {"@every 1h30m", 5 * time.Hour, 6 * time.Hour},
	} {
		if next, err := task.Next(test.schedule, noon, noon.Add(test.late)); err != nil || !next.Equal(noon.Add(test.want)) {
			t.Errorf("%s, %s late, is %s, %v, want %s later", test.schedule, test.late, next, err, test.want)
		}
	}
}

func TestSchedule(t *testing.T) {
	b := newBench(t)
	for schedule, words := range map[string]string{
		"daily": "five fields", "* * * * * *": "CRON_TZ", "61 * * * *": "minute hour", "0 0 30 2 *": "no such time",
		"@every 1s": "at least a minute", "@every soon": "@every 90m",
		"CRON_TZ=Mars/Base 0 9 * * *": "Europe/Berlin", "TZ=": "five fields", "CRON_TZ=UTC": "five fields",
		"@reboot": "five fields",
	} {
		in := storing()
		in.Schedule = schedule
		_, err := b.Submit(t.Context(), in)
		refused(t, err, toolfold.InvalidInput, words)
	}
	in := storing()
	in.Schedule, in.ScheduledAt = "0 9 * * *", noon.Add(48*time.Hour)
	b.submit(in)
	got, err := b.Wait(t.Context(), task.WaitIn{TaskID: id(11), TimeoutMs: 50_000})
	if err != nil || got.Status != task.Pending || got.NextAt == nil || !got.NextAt.Equal(time.Date(2026, 2, 3, 9, 0, 0, 0, time.UTC)) {
		t.Errorf("it is %s, next at %v (%v)", got.Status, got.NextAt, err)
	}
	in.Type, in.Input = task.Wait, nil
	_, err = b.Submit(t.Context(), in)
	refused(t, err, toolfold.InvalidInput, "workflow")
}
