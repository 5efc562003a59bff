package task

import (
	"context"
	"fmt"
	"time"

	"github.com/toolfold/toolfold"
)

// Update changes or pauses a schedule. The schedule then runs with the rights that all callers who
// submitted or changed it have in common.
func (s *Service) Update(ctx context.Context, in UpdateIn) (UpdateOut, error) {
	if in.Schedule == nil && in.Paused == nil && in.Name == nil && in.Description == nil && in.Input == nil && in.Priority == nil &&
		in.TimeoutMs == nil && in.MaxAttempts == nil {
		return UpdateOut{}, toolfold.Errorf(toolfold.InvalidInput, "task.update: nothing is to be changed").
			About(toolfold.ProblemMissing, "schedule").
			WithHint("send the fields to change, such as schedule or paused; task.status has the current ones")
	}
	before, err := s.find(ctx, in.TaskID)
	if err != nil {
		return UpdateOut{}, err
	}
	if in.Input != nil {
		if in.Input, err = compact(in.Input); err != nil {
			return UpdateOut{}, err
		}
		if before.Workspace != s.Workspace {
			return UpdateOut{}, toolfold.Errorf(InvalidState, "the task is of workspace %s; its agent or workflow there may take other input",
				before.Workspace).
				WithHint("change its input there")
		}
		changed := before
		changed.Input = in.Input
		if _, err := s.checkWork(ctx, changed); err != nil {
			return UpdateOut{}, together(err)
		}
	}
	now := s.now()
	after, found, err := s.Store.Change(ctx, before.ID, func(t *Task) error { return s.change(ctx, in, t, now) })
	if err != nil {
		return UpdateOut{}, fmt.Errorf("changing task: %w", err)
	}
	if !found {
		return UpdateOut{}, notFound(in.TaskID)
	}
	return UpdateOut{TaskID: after.ID, Status: after.Status, Schedule: after.Schedule, NextAt: maybe(after.NextAt)}, nil
}

// change applies the update to the stored schedule.
func (s *Service) change(ctx context.Context, in UpdateIn, t *Task, now time.Time) error {
	if t.Schedule == "" {
		return toolfold.Errorf(InvalidState, "the task has no schedule, and only schedules are changed").
			WithHint("task.cancel it and task.submit another; of a task that a schedule made, change the one of its scheduleId")
	}
	if Final(t.Status) {
		return toolfold.Errorf(InvalidState, "the schedule has ended, as %s", t.Status).WithHint("task.retry starts it again")
	}
	set(&t.Name, in.Name)
	set(&t.Description, in.Description)
	set(&t.Priority, in.Priority)
	set(&t.MaxAttempts, in.MaxAttempts)
	if in.Input != nil {
		t.Input = in.Input
	}
	if in.TimeoutMs != nil {
		t.Timeout = time.Duration(*in.TimeoutMs) * time.Millisecond
	}
	paused := t.Status == Paused
	if set(&paused, in.Paused); in.Paused != nil {
		t.Imported = false
	}
	resumed := t.Status == Paused && !paused
	if t.Status = Pending; paused {
		t.Status = Paused
	}
	if in.Schedule != nil || resumed {
		schedule := t.Schedule
		set(&schedule, in.Schedule)
		if err := t.setSchedule(schedule, now); err != nil {
			return err
		}
	}
	var err error
	t.Rights, err = s.rights(ctx).Narrow(t.Rights)
	return err
}

// set sets the field if value is not nil.
func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// Trigger submits an extra task for a schedule, or starts a waiting task before its time.
func (s *Service) Trigger(ctx context.Context, in TriggerIn) (TriggerOut, error) {
	t, err := s.find(ctx, in.TaskID)
	if err != nil {
		return TriggerOut{}, err
	}
	var made Submission
	if t.Workspace != "" && (t.Status == Pending || t.Schedule != "" && !Final(t.Status)) {
		if made, err = s.Store.Trigger(ctx, t.ID, s.now()); err != nil {
			return TriggerOut{}, fmt.Errorf("starting task: %w", err)
		}
	}
	switch {
	case made.Existing != "":
		return TriggerOut{TaskID: made.Existing, Status: made.Status, Existing: true}, nil
	case made.Status != "":
		return TriggerOut{TaskID: made.TaskID, Status: made.Status}, nil
	}
	waits, err := s.waitsFor(ctx, t)
	if err != nil {
		return TriggerOut{}, err
	}
	if waits != "" {
		return TriggerOut{}, toolfold.Errorf(InvalidState, "the task is %s; it waits for this: %s", t.Status, waits)
	}
	return TriggerOut{}, toolfold.Errorf(InvalidState, "the task is %s; only a task that waits for a time is triggered", t.Status).
		WithHint("task.retry runs one that ended again")
}
