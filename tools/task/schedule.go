package task

import (
	"errors"
	"strings"
	"time"

	"github.com/netresearch/go-cron"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// cronSyntax accepts five fields, so that a schedule is due at most once a minute, and descriptors
// such as @daily.
var cronSyntax = cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// every is the prefix of an interval.
const every = "@every "

// Limits of an interval.
const (
	minEvery = time.Minute
	maxEvery = 366 * 24 * time.Hour
)

// Next returns the first time of a schedule after the time after. Without the prefix CRON_TZ= its
// fields are UTC, because machines in several zones may share a store. Intervals count from the
// time from.
func Next(schedule string, from, after time.Time) (time.Time, error) {
	if text, ok := strings.CutPrefix(schedule, every); ok {
		interval, err := time.ParseDuration(strings.TrimSpace(text))
		if err != nil || interval < minEvery || interval > maxEvery {
			return time.Time{}, errors.New("an interval is a number with h or m, such as @every 90m, and at least a minute")
		}
		return from.UTC().Add(interval * (max(0, after.Sub(from))/interval + 1)), nil
	}
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
	if in.Type == Wait || len(in.Dependencies) > 0 {
		return toolfold.Errorf(toolfold.InvalidInput, "a task with a schedule takes no dependencies and not type wait").
			About(toolfold.ProblemRefused, "schedule").
			WithHint("for steps that follow each other, have it run a workflow")
	}
	return t.setSchedule(in.Schedule, t.CreatedAt)
}

// setSchedule gives a task a schedule that begins now, or at its earliest time.
func (t *Task) setSchedule(schedule string, now time.Time) error {
	start, later := now, t.ScheduledAt.After(now)
	if later {
		start = t.ScheduledAt.Add(-time.Microsecond)
	}
	next, err := Next(schedule, start, start)
	if err != nil {
		return toolfold.Errorf(toolfold.InvalidInput, "schedule %q: %s", shorten.Quoted(schedule), shorten.To(err.Error(), 120)).
			About(toolfold.ProblemRefused, "schedule").
			WithHint("five fields, minute hour day month weekday, in UTC or a zone in front: CRON_TZ=Europe/Berlin 0 9 * * 1-5; " +
				"or an interval: @every 90m")
	}
	if later && strings.HasPrefix(schedule, every) {
		next = t.ScheduledAt
	}
	t.Schedule, t.NextAt = schedule, next
	return nil
}
