package task

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
)

// cancelAtOnce is the maximum number of tasks that one transaction cancels.
const cancelAtOnce = 500

// cancelAll ends the tasks of the workspace that match the filters, except schedules. Tasks
// submitted meanwhile stay.
func (s *Service) cancelAll(ctx context.Context, in CancelIn) (CancelOut, error) {
	if i := slices.IndexFunc(in.Status, Final); i >= 0 {
		return CancelOut{}, toolfold.Errorf(InvalidState, "tasks that are %s have ended", in.Status[i]).
			WithHint("give any of pending, queued, running and paused as status")
	}
	picks := Query{Workspace: &s.Workspace, ScheduleID: strings.ToLower(in.ScheduleID), Statuses: in.Status, Tags: in.Tags}
	if in.QueueID != "" {
		id, found, err := s.Store.QueueID(ctx, in.QueueID)
		if err != nil {
			return CancelOut{}, fmt.Errorf("reading queue: %w", err)
		}
		if !found {
			return CancelOut{}, queueNotFound(in.QueueID)
		}
		picks.QueueID = id
	}
	ids, err := s.Store.Open(ctx, picks)
	if err != nil {
		return CancelOut{}, fmt.Errorf("picking tasks: %w", err)
	}
	if in.DryRun {
		counts, err := s.countEnds(ctx, ids)
		return CancelOut{Tasks: counts}, err
	}
	c := Cancellation{Reason: cmp.Or(in.Reason, "cancelled by request"), Force: in.Force, At: s.now()}
	count := 0
	for chunk := range slices.Chunk(ids, cancelAtOnce) {
		if err := s.Store.CancelAll(ctx, chunk, c); err != nil {
			return CancelOut{}, s.partly(ctx, ids[:count], len(ids), fmt.Errorf("cancelling tasks: %w", err))
		}
		count += len(chunk)
	}
	counts, err := s.awaitEnds(ctx, ids)
	if err != nil {
		return CancelOut{}, s.partly(ctx, ids, len(ids), err)
	}
	out := CancelOut{Reason: c.Reason, Tasks: counts}
	switch {
	case counts.Matched == 0:
		out.Message = "no open task matches; task.list shows the tasks"
	case counts.Running > 0:
		out.Message = "those that run stop when their step does; call again to count, or with force: true not to wait"
	}
	return out, nil
}

// partly is the error of a call that was cut off after it had tasks end, with what became of these.
func (s *Service) partly(ctx context.Context, ids []string, matched int, cause error) error {
	if len(ids) == 0 {
		return cause
	}
	counting, done := context.WithTimeout(context.WithoutCancel(ctx), partlyWait)
	defer done()
	text := fmt.Sprintf("%d of the %d tasks that match were cancelled or asked to stop before an error", len(ids), matched)
	if counts, err := s.countEnds(counting, ids); err == nil {
		text += fmt.Sprintf(": %d are cancelled, %d still run, %d had ended", counts.Cancelled, counts.Running, counts.Ended)
	}
	return fmt.Errorf("%w (%w)", toolfold.Errorf(CancelFailed, "%s", text).WithHint("call again for the others; dryRun counts them"), cause)
}

// partlyWait bounds how long a call that was cut off counts what it did.
const partlyWait = 5 * time.Second

// awaitEnds waits until no task is running, or the wait is over, and counts the tasks by outcome.
func (s *Service) awaitEnds(ctx context.Context, ids []string) (*CancelCounts, error) {
	limited, done := context.WithTimeout(ctx, s.CancelWait)
	defer done()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		counts, err := s.countEnds(ctx, ids)
		if err != nil || counts.Running == 0 || limited.Err() != nil {
			return counts, err
		}
		select {
		case <-limited.Done():
		case <-ticker.C:
		}
	}
}

// countEnds counts tasks by outcome.
func (s *Service) countEnds(ctx context.Context, ids []string) (*CancelCounts, error) {
	counts := &CancelCounts{Matched: len(ids)}
	for chunk := range slices.Chunk(ids, cancelAtOnce) {
		states, err := s.Store.States(ctx, chunk)
		if err != nil {
			return nil, fmt.Errorf("counting tasks: %w", err)
		}
		for state, n := range states {
			switch {
			case state == Running:
				counts.Running += n
			case state == Cancelled:
				counts.Cancelled += n
			case Final(state):
				counts.Ended += n
			default:
				counts.Open += n
			}
		}
	}
	return counts, nil
}
