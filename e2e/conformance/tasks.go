package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/ask"
	"github.com/toolfold/toolfold/content"
	"github.com/toolfold/toolfold/serve"
)

// jobs returns the tools of the suite that may become tasks.
func jobs() ([]*toolfold.Family, error) {
	var all []*toolfold.Family
	for _, job := range []toolfold.External{
		job("slow_compute", `{"seconds":{"type":"number"},"label":{"type":"string"}}`, func(ctx context.Context, args jobArgs) (string, error) {
			select {
			case <-time.After(time.Duration(args.Seconds * float64(time.Second))):
				return "Computed " + args.Label, nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}),
		job("failing_job", `{}`, func(ctx context.Context, _ jobArgs) (string, error) {
			if ctx.Value(asTask{}) == nil {
				e := toolfold.Errorf(toolfold.ClientLacks, "failing_job runs as a task only")
				e.Lacking = "extensions/io.modelcontextprotocol/tasks"
				return "", e
			}
			time.Sleep(time.Second)
			return "", toolfold.Errorf(toolfold.UpstreamError, "The job failed, as it always does")
		}),
		job("protocol_error_job", `{}`, func(context.Context, jobArgs) (string, error) {
			time.Sleep(time.Second)
			return "", toolfold.Errorf(toolfold.Internal, "The job broke the protocol, as it always does")
		}),
		job("confirm_delete", `{"filename":{"type":"string"}}`, func(ctx context.Context, args jobArgs) (string, error) {
			filled, err := ask.User(ctx, ask.Form{Text: "Delete " + args.Filename + "?", Schema: confirmation})
			return fmt.Sprintf("Deleting %s: %s", args.Filename, filled.Action), err
		}),
		job("multi_input", `{}`, func(ctx context.Context, _ jobArgs) (string, error) {
			var filled [2]ask.Filled
			var both errgroup.Group
			for i, form := range []ask.Form{textForm("name", "What is your name?", "name"), {Text: "Go on?", Schema: confirmation}} {
				both.Go(func() (err error) {
					filled[i], err = ask.User(ctx, form)
					return err
				})
			}
			err := both.Wait()
			return fmt.Sprintf("Name: %s, confirmation: %s", filled[0].Content, filled[1].Content), err
		}),
		asksFirst(job("test_tool_with_task", `{"name":{"type":"string"}}`, func(_ context.Context, args jobArgs) (string, error) {
			return "Hello, " + args.Name, nil
		})),
	} {
		family, err := job.Family()
		if err != nil {
			return nil, err
		}
		all = append(all, family)
	}
	greet, err := with("greet", "Greets.", "name", func(_ context.Context, name string) ([]content.Block, error) {
		return []content.Block{content.Text("Hello, " + name + "!")}, nil
	}).Family()
	return append(all, greet), err
}

// asTask is the context key of a running task.
type asTask struct{}

type jobArgs struct {
	Seconds  float64 `json:"seconds"`
	Label    string  `json:"label"`
	Filename string  `json:"filename"`
	Name     string  `json:"name"`
}

// confirmation is the schema of a yes/no form.
var confirmation = json.RawMessage(`{"type":"object","properties":{"confirm":{"type":"boolean"}},"required":["confirm"]}`)

// asksFirst returns a tool that asks for a name before it becomes a task.
func asksFirst(tool toolfold.External) toolfold.External {
	tool.Completes = func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		filled, err := ask.User(ctx, textForm("user_name", "What is your name?", "name"))
		return filled.Content, err
	}
	return tool
}

// job returns a slow tool.
func job(name, properties string, run func(ctx context.Context, args jobArgs) (string, error)) toolfold.External {
	return toolfold.External{
		Name: name, Description: "Takes its time.", Category: "conformance", Effect: toolfold.Reads, BecomesTask: true,
		InputSchema: json.RawMessage(`{"type":"object","properties":` + properties + `}`),
		Run: func(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
			var args jobArgs
			if err := json.Unmarshal(raw, &args); err != nil {
				return nil, err
			}
			text, err := run(ctx, args)
			if err != nil {
				return nil, err
			}
			return json.Marshal(map[string]string{"said": text})
		},
	}
}

// memoryTasks implements [serve.Tasks] in memory.
type memoryTasks struct {
	caller toolfold.Caller

	mu    sync.Mutex
	tasks map[string]*runningTask
}

// runningTask is a task and its open questions.
type runningTask struct {
	serve.Task
	stop    context.CancelFunc
	answers map[string]chan json.RawMessage // by question key
}

func (k *memoryTasks) Keep(_ context.Context, call serve.TaskCall) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.tasks == nil {
		k.tasks = map[string]*runningTask{}
	}
	ctx, stop := context.WithCancel(context.WithValue(context.Background(), asTask{}, true))
	id := fmt.Sprintf("task-%d", len(k.tasks)+1) // the suite does not guess ids
	t := &runningTask{stop: stop, answers: map[string]chan json.RawMessage{}, Task: serve.Task{
		ID: id, Status: serve.TaskWorking, Created: time.Now(), Updated: time.Now(), Name: call.Name, Raw: call.Raw,
	}}
	if call.Client != nil {
		var err error
		ctx, err = serve.WithClient(ctx, call.Client, func(ctx context.Context, q serve.TaskQuestion) (json.RawMessage, error) {
			return k.ask(ctx, t, q)
		})
		if err != nil {
			return "", err
		}
	}
	k.tasks[id] = t
	go func() {
		answer := k.caller.Call(ctx, call.Action, call.Arguments)
		k.mu.Lock()
		defer k.mu.Unlock()
		t.Updated, t.Result, t.Failed = time.Now(), answer.Content, answer.IsError()
		switch t.Status = serve.TaskCompleted; {
		case ctx.Err() != nil:
			t.Status = serve.TaskCancelled
		case strings.HasPrefix(call.Action, "protocol_error_job"):
			t.Status, t.Message = serve.TaskFailed, "The job broke the protocol, as it always does"
		}
	}()
	return id, nil
}

// ask waits for the client's answer to a question of a task.
func (k *memoryTasks) ask(ctx context.Context, t *runningTask, q serve.TaskQuestion) (json.RawMessage, error) {
	k.mu.Lock()
	q.Key = fmt.Sprintf("%s-%d", q.Key, len(t.answers)+1)
	answer := make(chan json.RawMessage, 1)
	t.answers[q.Key] = answer
	t.Status, t.Asks = serve.TaskInputRequired, append(t.Asks, q)
	k.mu.Unlock()
	select {
	case given := <-answer:
		return given, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (k *memoryTasks) Answer(_ context.Context, id string, answers map[string]json.RawMessage) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.tasks[id]
	for key, answer := range answers {
		t.answers[key] <- answer
	}
	t.Asks = slices.DeleteFunc(slices.Clone(t.Asks), func(q serve.TaskQuestion) bool { return answers[q.Key] != nil })
	if len(t.Asks) == 0 {
		t.Status = serve.TaskWorking
	}
	return nil
}

func (k *memoryTasks) Find(_ context.Context, id string) (serve.Task, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t, ok := k.tasks[id]; ok {
		return t.Task, true, nil
	}
	return serve.Task{}, false, nil
}

func (k *memoryTasks) Cancel(_ context.Context, id string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tasks[id].stop()
	return nil
}
