package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/toolfold/toolfold"
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
	} {
		family, err := job.Family()
		if err != nil {
			return nil, err
		}
		family.Actions[0].BecomesTask = true
		all = append(all, family)
	}
	greet, err := with("greet", "Greets.", "name", func(_ context.Context, name string) ([]content.Block, error) {
		return []content.Block{content.Text("Hello, " + name + "!")}, nil
	}).Family()
	return append(all, greet), err
}

// asTask is the key of a context in which a task runs.
type asTask struct{}

type jobArgs struct {
	Seconds float64 `json:"seconds"`
	Label   string  `json:"label"`
}

// job returns a tool that takes its time.
func job(name, properties string, run func(ctx context.Context, args jobArgs) (string, error)) toolfold.External {
	return toolfold.External{
		Name: name, Description: "Takes its time.", Category: "conformance", Effect: toolfold.Reads,
		InputSchema: json.RawMessage(`{"type":"object","properties":` + properties + `}`),
		Run: func(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
			var args jobArgs
			if err := json.Unmarshal(raw, &args); err != nil {
				return nil, err
			}
			said, err := run(ctx, args)
			if err != nil {
				return nil, err
			}
			return json.Marshal(map[string]string{"said": said})
		},
	}
}

// kept implements [serve.Tasks] in memory.
type kept struct {
	caller toolfold.Caller

	mu    sync.Mutex
	tasks map[string]*serve.Task
	stops map[string]context.CancelFunc
}

func (k *kept) Keep(_ context.Context, call serve.KeptCall) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.tasks == nil {
		k.tasks, k.stops = map[string]*serve.Task{}, map[string]context.CancelFunc{}
	}
	ctx, stop := context.WithCancel(context.WithValue(context.Background(), asTask{}, true))
	id := fmt.Sprintf("task-%d", len(k.tasks)+1) // nobody guesses here
	t := &serve.Task{ID: id, Status: serve.TaskWorking, Created: time.Now(), Updated: time.Now(), Name: call.Name, Raw: call.Raw}
	k.tasks[id], k.stops[id] = t, stop
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

func (k *kept) Find(_ context.Context, id string) (serve.Task, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t, ok := k.tasks[id]; ok {
		return *t, true, nil
	}
	return serve.Task{}, false, nil
}

func (k *kept) Cancel(_ context.Context, id string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stops[id]()
	return nil
}
