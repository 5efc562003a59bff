package task

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/toolfold/toolfold/engine/queue"
	"github.com/toolfold/toolfold/tools"
)

// noReason is what a task is cancelled for when nobody says why.
const noReason = "cancelled by request"

// Cancel ends a task. It waits for one that runs.
func (s *Service) Cancel(ctx context.Context, in CancelIn) (CancelOut, error) {
	c := Cancellation{
		TaskID: strings.ToLower(in.TaskID), Reason: cmp.Or(in.Reason, noReason), Force: in.Force, At: s.moment(),
	}
	before, found, err := s.Store.Cancel(ctx, c)
	switch {
	case err != nil:
		return CancelOut{}, fmt.Errorf("cancelling task: %w", err)
	case !found:
		return CancelOut{}, notFound(in.TaskID)
	case queue.Final(before):
		return CancelOut{}, tools.Errorf(InvalidState, "the task has ended already, as %s", before)
	case before == queue.Running && !in.Force:
		return s.awaitEnd(ctx, c)
	}
	return CancelOut{TaskID: c.TaskID, Status: queue.Cancelled, Reason: c.Reason, CancelledAt: c.At}, nil
}

// lookAgain is how often a task is looked at that is to stop.
const lookAgain = 100 * time.Millisecond

// awaitEnd waits for the worker of a task to stop it.
func (s *Service) awaitEnd(ctx context.Context, c Cancellation) (CancelOut, error) {
	limited, done := context.WithTimeout(ctx, s.CancelWait)
	defer done()
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		t, err := s.find(ctx, c.TaskID)
		if err != nil {
			return CancelOut{}, err
		}
		if queue.Final(t.Status) {
			return outcome(t, c)
		}
		select {
		case <-ticker.C:
		case <-limited.Done():
			return CancelOut{}, tools.Errorf(CancelFailed, "the task was told to stop and still runs").
				WithHint("look at task.status later, or cancel with force to record it without waiting")
		}
	}
}

func outcome(t queue.Task, c Cancellation) (CancelOut, error) {
	if t.Status != queue.Cancelled {
		return CancelOut{}, tools.Errorf(InvalidState, "the task ended as %s before it could be stopped", t.Status)
	}
	return CancelOut{TaskID: t.ID, Status: t.Status, Reason: c.Reason, CancelledAt: t.EndedAt}, nil
}
