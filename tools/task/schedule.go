package task

import (
	"errors"
	"strings"
	"time"

	"github.com/netresearch/go-cron"

	"github.com/toolfold/toolfold"
)

// cronSyntax is that of five fields, so that a schedule is due once a minute at
// most, and @daily and its like.
var cronSyntax = cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// Next returns the first time of a schedule after a time. Without CRON_TZ= in
// front its fields are UTC, whatever the zones of the machines are that share a
// store.
func Next(schedule string, after time.Time) (time.Time, error) {
	parsed, err := cronSyntax.Parse(schedule)
	if err != nil {
		return time.Time{}, err
	}
	next := parsed.Next(after.UTC())
	if next.IsZero() {
		return time.Time{}, errors.New("there is no such time")
	}
	return next.UTC(), nil
}

// applySchedule checks the arguments of a recurring task and sets its first
// time.
func applySchedule(in SubmitIn, t *Task) error {
	if in.Schedule == "" {
		return nil
	}
	const example = "five fields, minute hour day month weekday, in UTC or a zone in front: CRON_TZ=Europe/Berlin 0 9 * * 1-5"
	if in.Type == Wait || len(in.Dependencies) > 0 {
		return toolfold.Errorf(toolfold.InvalidInput, "a task with a schedule takes no dependencies and not type wait").
			About(toolfold.ProblemRefused, "schedule").
			WithHint("for steps that follow each other, have it run a workflow")
	}
	if strings.Contains(in.Schedule, "@every") {
		return toolfold.Errorf(toolfold.InvalidInput, "schedule does not take @every").
			About(toolfold.ProblemRefused, "schedule").
			WithHint("write it as %s; */15 * * * * is every 15 minutes", example)
	}
	start := t.CreatedAt
	if t.ScheduledAt.After(start) {
		start = t.ScheduledAt.Add(-time.Microsecond)
	}
	next, err := Next(in.Schedule, start)
	if err != nil {
		return toolfold.Errorf(toolfold.InvalidInput, "schedule %q: %s", toolfold.Shorten(in.Schedule), toolfold.Cut(err.Error(), 120)).
			About(toolfold.ProblemRefused, "schedule").WithHint("%s", example)
	}
	t.Schedule, t.NextAt = in.Schedule, next
	return nil
}
