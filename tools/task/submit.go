package task

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/work"
)

// Limits of a task that the recorded legacy declaration lacks.
const (
	maxInput = 1 << 20 // bytes of compact JSON
	maxTag   = 100     // characters
)

// Submit accepts a task: once it answers, the task will run.
func (s *Service) Submit(ctx context.Context, in SubmitIn) (SubmitOut, error) {
	t, err := s.begin(ctx)
	if err != nil {
		return SubmitOut{}, err
	}
	t.QueueID, t.Name, t.Description, t.AgentID, t.WorkflowID = in.QueueID, in.Name, in.Description, in.AgentID, in.WorkflowID
	t.Priority, t.Type, t.Tags, t.Key = in.Priority, in.Type, distinct(in.Tags), in.Key
	t.Timeout = time.Duration(in.TimeoutMs) * time.Millisecond
	for _, tag := range t.Tags {
		if n := utf8.RuneCountInString(tag); n > maxTag {
			return SubmitOut{}, toolfold.Errorf(toolfold.InvalidInput, "a tag has %d characters, the limit is %d", n, maxTag).
				About(toolfold.ProblemRefused, "tags").
				WithHint("tags are labels; description takes longer texts")
		}
	}
	if t.QueueID == "" {
		t.QueueID = DefaultQueue
	}
	var ids []string
	for _, id := range in.Dependencies {
		ids = append(ids, strings.ToLower(id))
	}
	t.Dependencies = distinct(ids)
	if in.DelayMs > 0 {
		if !in.ScheduledAt.IsZero() {
			return SubmitOut{}, toolfold.Errorf(toolfold.InvalidInput, "a task takes one of delayMs and scheduledAt").
				About(toolfold.ProblemRefused, "delayMs").
				WithHint("leave one of them out")
		}
		in.ScheduledAt = t.CreatedAt.Add(time.Duration(in.DelayMs) * time.Millisecond)
	}
	if !in.ScheduledAt.IsZero() {
		t.ScheduledAt = in.ScheduledAt.UTC().Truncate(time.Microsecond)
	}
	if err := applySchedule(in, &t); err != nil {
		return SubmitOut{}, err
	}
	if t.Input, err = compact(in.Input); err != nil {
		return SubmitOut{}, err
	}
	if (t.AgentID != "" || t.WorkflowID != "") && t.Input == nil {
		t.Input = json.RawMessage(`{}`)
	}
	if err := applyKind(in, &t); err != nil {
		return SubmitOut{}, err
	}
	var refused []error
	if _, found, err := s.Store.QueueID(ctx, t.QueueID); err != nil {
		return SubmitOut{}, fmt.Errorf("looking for a queue: %w", err)
	} else if !found {
		refused = append(refused, queueNotFound(in.QueueID))
	}
	if in.Type != Wait {
		t.Definition, err = s.checkWork(ctx, t)
		refused = append(refused, err)
	}
	if err := together(refused...); err != nil {
		return SubmitOut{}, err
	}
	if t.Schedule != "" {
		t.Definition = "" // a schedule uses the current definition
	}
	submission, err := s.Store.Submit(ctx, t, t.CreatedAt, s.MaxOpen)
	switch {
	case err != nil:
		return SubmitOut{}, fmt.Errorf("submitting task: %w", err)
	case submission.QueueID == "":
		return SubmitOut{}, queueNotFound(in.QueueID)
	case submission.Full:
		return SubmitOut{}, toolfold.Errorf(toolfold.LimitReached, "%d tasks of this workspace have not ended, which is the most there may be",
			s.MaxOpen).
			WithHint("wait for some to end, or task.cancel those that are not needed; task.list shows them")
	case len(submission.Blocked) > 0:
		return SubmitOut{}, obstructed(submission.Blocked)
	}
	if submission.Existing != "" {
		return s.existing(ctx, in, t, submission)
	}
	return SubmitOut{
		TaskID: t.ID, QueueID: submission.QueueID, Status: submission.Status, Position: submission.Position, SubmittedAt: t.CreatedAt,
	}, nil
}

// maxTogether is the room for the messages of several refusals, and for their hints, in bytes: an
// error has about 200 tokens, with its problems and example.
const maxTogether = 250

// together makes one error of all refusals, also of those that [errors.Join] joined; nil if there
// are none. It counts the messages without room. An error that is no refusal goes first.
func together(all ...error) error {
	var whole *toolfold.Error
	more := 0
	for _, err := range flat(errors.Join(all...)) {
		e, refusal := errors.AsType[*toolfold.Error](err)
		if !refusal {
			return err
		}
		if whole == nil {
			whole = new(*e)
			continue
		}
		if whole.Message = cmp.Or(whole.Message, problemTexts(whole)); e.Code != whole.Code {
			whole.Code = toolfold.InvalidInput
		}
		whole.Problems = slices.Concat(whole.Problems, e.Problems)
		message := cmp.Or(e.Message, problemTexts(e))
		if more > 0 || len(whole.Message)+len(message) > maxTogether {
			more++
			continue
		}
		whole.Message += "; " + message
		switch {
		case strings.Contains(whole.Hint, e.Hint) || len(whole.Hint)+len(e.Hint) > maxTogether: // one for all, or no room
		case whole.Hint == "":
			whole.Hint = e.Hint
		default:
			whole.Hint += "; " + e.Hint
		}
	}
	if whole == nil {
		return nil
	}
	if more > 0 {
		whole.Message += fmt.Sprintf("; … and %d more", more)
	}
	return whole
}

// flat returns the errors that [errors.Join] joined.
func flat(err error) []error {
	joined, is := err.(interface{ Unwrap() []error })
	if !is {
		return []error{err}
	}
	var list []error
	for _, inner := range joined.Unwrap() {
		list = append(list, flat(inner)...)
	}
	return list
}

func problemTexts(e *toolfold.Error) string {
	var texts []string
	for _, p := range e.Problems {
		texts = append(texts, p.Text())
	}
	return strings.Join(texts, "; ")
}

// begin returns a new task with the rights of the caller.
func (s *Service) begin(ctx context.Context) (Task, error) {
	t := Task{
		ID: s.NewID(), Type: Sequential, Attempt: 1, MaxAttempts: 1, CreatedAt: s.now(), Workspace: s.Workspace,
		MaxInterruptions: s.MaxInterruptions, Sessions: work.Sessions(ctx), Tags: []string{}, Dependencies: []string{},
	}
	var err error
	if t.Rights, err = s.rights(ctx).Narrow(""); err != nil {
		return Task{}, err
	}
	if t.Depth = int(callctx.Of[submissionDepth](ctx)); t.Depth > MaxDepth {
		return Task{}, toolfold.Errorf(TooDeep, "tasks that submit tasks may lead to each other %d times at most", MaxDepth).
			WithHint("do the work in the task that runs, or submit it from outside of a task")
	}
	return t, nil
}

// existing returns the answer for an open task with the same key, with its differences from the
// submitted one.
func (s *Service) existing(ctx context.Context, in SubmitIn, submitted Task, submission Submission) (SubmitOut, error) {
	out := SubmitOut{TaskID: submission.Existing, QueueID: submission.QueueID, Status: submission.Status, SubmittedAt: submission.CreatedAt,
		Existing: true}
	open, err := s.find(ctx, submission.Existing)
	if err != nil {
		return SubmitOut{}, err
	}
	var differ []string
	for _, member := range []struct {
		name   string
		differ bool
	}{
		{"name", submitted.Name != open.Name},
		{"agentId", submitted.AgentID != open.AgentID},
		{"workflowId", submitted.WorkflowID != open.WorkflowID},
		{"input", !bytes.Equal(submitted.Input, open.Input)},
		{"schedule", submitted.Schedule != open.Schedule},
		{"scheduledAt", in.DelayMs == 0 && !submitted.ScheduledAt.Equal(open.ScheduledAt)},
		{"dependencies", !slices.Equal(submitted.Dependencies, open.Dependencies)},
		{"type", submitted.Type != open.Type},
		{"timeoutMs", submitted.Timeout != open.Timeout},
		{"maxAttempts", in.MaxAttempts != 0 && submitted.MaxAttempts != open.MaxAttempts},
		{"priority", submitted.Priority != "" && submitted.Priority != open.Priority},
	} {
		if member.differ {
			differ = append(differ, member.name)
		}
	}
	if len(differ) > 0 {
		out.Message = "nothing was submitted: the open task with this key has another " + strings.Join(differ, ", ") +
			"; task.cancel it first to replace it"
	}
	return out, nil
}

// compact removes white space from an input and checks its size. It returns nil for no input.
func compact(input json.RawMessage) (json.RawMessage, error) {
	if len(input) == 0 {
		return nil, nil
	}
	var buf bytes.Buffer
	if err := json.Compact(&buf, input); err != nil {
		return nil, toolfold.Errorf(toolfold.InvalidInput, "input is not JSON").About(toolfold.ProblemRefused, "input")
	}
	if buf.Len() > maxInput {
		return nil, toolfold.Errorf(toolfold.InvalidInput, "input has %d bytes of compact JSON, the limit is %d", buf.Len(), maxInput).
			About(toolfold.ProblemRefused, "input").
			WithHint("keep large data elsewhere, such as in a file or with memory.store, and pass its name")
	}
	return buf.Bytes(), nil
}

// distinct removes duplicates. The result is never nil.
func distinct(texts []string) []string {
	list := []string{}
	for _, text := range texts {
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}
