package workbench

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/storage/queue"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/tools/task"
)

// inMemory returns a workbench over a store in memory, with default settings.
func inMemory(t *testing.T) (b *Workbench) {
	t.Helper()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, t.TempDir())
	}
	t.Chdir(t.TempDir())
	app := env.New().App()
	app.Commands = []*cli.Command{{
		Name: "open", Flags: append(settings.Flags(append(settings.RunSettings, "store", "workspaceName")...), settings.TrustFlag),
		Action: func(c *cli.Context) error {
			o, err := settings.Load(c)
			if err != nil {
				return err
			}
			b, err = New(o, nil)
			return err
		},
	}}
	if err := app.RunContext(t.Context(), []string{"toolfold", "open", "--store", "memory:"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// TestInquiries keeps a call that asks its client, and answers it in place of the client.
func TestInquiries(t *testing.T) {
	b := inMemory(t)
	ctx := t.Context()
	db, err := b.store.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ledger, _, err := db.Work()
	if err != nil {
		t.Fatal(err)
	}
	if err := ledger.Enter(ctx, "worker", b.Workspace, time.Hour); err != nil {
		t.Fatal(err)
	}
	arguments := json.RawMessage(`{"key":"plan"}`)
	id, err := b.tasks.Keep(ctx, serve.TaskCall{Action: "memory.delete", Arguments: arguments, Name: "memory.delete", Raw: arguments,
		Client: json.RawMessage(`{"elicitation":{}}`)})
	if err != nil || id == "" {
		t.Fatalf("the call is kept as %q, %v", id, err)
	}
	claimed, err := ledger.Claim(ctx, "worker", b.Workspace, 1, time.Now())
	if err != nil || len(claimed) != 1 {
		t.Fatalf("claimed %v, %v", claimed, err)
	}
	question := task.Question{Key: "confirm", Method: callctx.MethodElicit, AskedAt: time.Now(),
		Params: json.RawMessage(`{"message":"Delete it?"}`)}
	if saved, err := ledger.KeepQuestion(ctx, queue.Run{TaskID: id, Turn: claimed[0].Turn}, question); err != nil || !saved {
		t.Fatalf("the question is stored: %t, %v", saved, err)
	}

	// Callers without the right to the call and to task.status do not see it; only the former may answer.
	limited := func(patterns ...string) context.Context {
		rights := permission.Rules{Deny: patterns}.Rights()
		return callctx.With(ctx, toolfold.Origin{Rights: rights})
	}
	for _, caller := range []struct {
		name    string
		ctx     context.Context
		sees    bool
		answers bool
	}{
		{"neither", limited("memory.delete", "task.status"), false, false},
		{"task.status", limited("memory.delete"), true, false},
		{"all", ctx, true, true},
	} {
		inquiries, err := b.Inquiries(caller.ctx, 10)
		if err != nil || (len(inquiries) == 1 && inquiries[0].TaskID == id) != caller.sees {
			t.Errorf("%s: listed %v, %v", caller.name, inquiries, err)
		}
		open, err := b.Questions(caller.ctx, id)
		if err != nil || (len(open) == 1 && open[0].Key == "confirm" && strings.Contains(string(open[0].Params), "Delete it?")) != caller.sees {
			t.Errorf("%s: open %v, %v", caller.name, open, err)
		}
		err = b.Answer(caller.ctx, id, "confirm", json.RawMessage(`{"action":"decline"}`))
		if (err == nil) != caller.answers {
			t.Errorf("%s: answering %v", caller.name, err)
		}
	}
	questions, err := ledger.Questions(ctx, id)
	if err != nil || len(questions) != 1 || string(questions[0].Answer) != `{"action":"decline"}` {
		t.Errorf("the answer is %v, %v", questions, err)
	}
	if inquiries, err := b.Inquiries(ctx, 10); err != nil || len(inquiries) > 0 {
		t.Errorf("an answered task is listed: %v %v", inquiries, err)
	}
}
