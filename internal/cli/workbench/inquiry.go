package workbench

import (
	"context"
	"encoding/json"

	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/tools/task"
)

// Inquiries lists the first limit tasks that wait for an answer of a person, longest wait first, as far as
// the caller may see their questions. It opens the store.
func (b *Workbench) Inquiries(ctx context.Context, limit int) (seen []storage.Inquiry, err error) {
	db, err := b.store.Open(ctx)
	if err != nil {
		return nil, err
	}
	all, err := db.Inquiries(ctx, limit)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		open, err := b.Questions(ctx, one.TaskID)
		if err != nil {
			return nil, err
		}
		if len(open) > 0 {
			seen = append(seen, one)
		}
	}
	return seen, nil
}

// Stuck lists the tasks that go on only if a person does something, at most limit of each kind, as far as the
// caller may see them. It opens the store.
func (b *Workbench) Stuck(ctx context.Context, limit int) (seen []storage.Stuck, err error) {
	db, err := b.store.Open(ctx)
	if err != nil {
		return nil, err
	}
	all, err := db.Stuck(ctx, limit)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		_, found, err := b.tasks.Find(ctx, one.TaskID)
		if err != nil {
			return nil, err
		}
		if found {
			seen = append(seen, one)
		}
	}
	return seen, nil
}

// Questions returns the open questions of a task, as its client gets them. There are none if the caller
// may not see the task.
func (b *Workbench) Questions(ctx context.Context, taskID string) (open []task.Question, err error) {
	t, _, err := b.tasks.Find(ctx, taskID)
	for _, asked := range t.Asks {
		open = append(open, task.Question{Key: asked.Key, Method: asked.Method, Params: asked.Params})
	}
	return open, err
}

// Answer stores the answer to a question of a task, as if its client had sent it. The first answer
// counts. The answer must fit the method and the schema of the question, else the call fails.
func (b *Workbench) Answer(ctx context.Context, taskID, key string, answer json.RawMessage) error {
	return b.tasks.Answer(ctx, taskID, map[string]json.RawMessage{key: answer})
}

// Definitions returns the agents and workflows that a task runs, by kind and id, as they were when it was
// submitted. It is empty for other tasks. It asks for no right: callers may have read the task by
// task.status.
func (b *Workbench) Definitions(ctx context.Context, taskID string) (map[string]json.RawMessage, error) {
	db, err := b.store.Open(ctx)
	if err != nil {
		return nil, err
	}
	t, _, err := db.Task().Get(ctx, taskID)
	if err != nil {
		return nil, err
	}
	return task.Pins(t.Definition)
}
