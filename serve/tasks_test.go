package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/ask"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/content"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
)

// oven is a service with one action, which takes until the test opens it.
type oven struct{ opened chan struct{} }

type bakeIn struct {
	Cake   string `json:"cake"`
	AtOnce bool   `json:"atOnce"`
	Burn   bool   `json:"burn"`
	For    string `json:"for"`
}

type bakeOut struct {
	Cake    string `json:"cake" doc:"What was baked."`
	Slices  []int  `json:"slices" doc:"Their sizes."`
	Success bool   `json:"success" doc:"Whether it can be eaten."`
}

func (o bakeOut) Failed() bool { return !o.Success }

func (o *oven) Bake(ctx context.Context, in bakeIn) (bakeOut, error) {
	if in.Cake == "wedding" {
		e := toolfold.Errorf(toolfold.ClientLacks, "that takes too long to wait for")
		e.Lacking = "extensions/io.modelcontextprotocol/tasks"
		return bakeOut{}, e
	}
	if in.Cake == "" {
		for i, form := range []ask.Form{cakes("cake"), cakes("glaze")} {
			filled, err := ask.User(ctx, form)
			if err != nil {
				return bakeOut{}, err
			}
			in.Cake += string(filled.Content)
			in.AtOnce = i == 1
		}
	}
	if !in.AtOnce {
		select {
		case <-o.opened:
		case <-ctx.Done():
			return bakeOut{}, ctx.Err()
		}
	}
	if in.Cake == "none" {
		return bakeOut{}, toolfold.Errorf("NO_CAKE", "there is no such cake")
	}
	return bakeOut{Cake: in.Cake, Slices: []int{1, 2}, Success: !in.Burn}, nil
}

// cakes is a form for a text.
func cakes(name string) ask.Form {
	return ask.Form{Name: name, Text: "Which " + name + "?", Schema: json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}}}`)}
}

// Complete asks whom the cake is for, if For is "?".
func (o *oven) Complete(ctx context.Context, in bakeIn) (bakeIn, error) {
	if in.For != "?" {
		return in, nil
	}
	filled, err := ask.User(ctx, cakes("guest"))
	in.Cake, in.AtOnce = in.Cake+string(filled.Content), true
	return in, err
}

var ovens = toolfold.Family{
	Name: "oven", Summary: "Bakes", Category: "kitchen", Tier: toolfold.Core,
	Actions: []*toolfold.Action{{
		Name: "bake", Legacy: toolfold.Was("oven_bake_cake"), Summary: "Bake a cake.",
		Required: toolfold.Fields{toolfold.String{Name: "cake", Doc: "Which."}},
		Optional: toolfold.Fields{toolfold.Bool{Name: "atOnce", Doc: "It is warm."}, toolfold.Bool{Name: "burn", Doc: "Too hot."},
			toolfold.String{Name: "for", Doc: "Whom."}},
		Effect: toolfold.Adds, Example: `{"cake": "plum"}`, BecomesTask: true,
		Completes: toolfold.Method((*oven).Complete), Run: toolfold.Method((*oven).Bake),
	}},
}

// kitchen keeps calls in memory.
type kitchen struct {
	runner *call.Runner
	refuse bool // Keep fails
	away   bool // Find fails

	mu      sync.Mutex
	tasks   map[string]*serve.Task
	stops   map[string]context.CancelFunc
	answers chan json.RawMessage
}

func (k *kitchen) Keep(_ context.Context, c serve.TaskCall) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.refuse {
		return "", errors.New("the book is full")
	}
	ctx := context.Background()
	if c.Client != nil {
		var err error
		if ctx, err = serve.WithClient(ctx, c.Client, k.ask); err != nil {
			return "", err
		}
	}
	ctx, stop := context.WithCancel(ctx)
	id := fmt.Sprintf("t%d", len(k.tasks)+1)
	t := &serve.Task{ID: id, Status: serve.TaskWorking, Created: time.Unix(1, 0), Updated: time.Unix(1, 0), Name: c.Name, Raw: c.Raw}
	k.tasks[id], k.stops[id] = t, stop
	go func() {
		answer := k.runner.Call(ctx, c.Action, c.Arguments)
		k.mu.Lock()
		defer k.mu.Unlock()
		t.Updated, t.Result, t.Failed = time.Unix(2, 0), answer.Content, answer.IsError()
		switch t.Status = serve.TaskCompleted; {
		case ctx.Err() != nil:
			t.Status = serve.TaskCancelled
		case strings.Contains(string(c.Arguments), "lost"):
			t.Status, t.Message = serve.TaskFailed, "it was lost"
		}
	}()
	return id, nil
}

// ask asks a question of the only task.
func (k *kitchen) ask(ctx context.Context, q serve.TaskQuestion) (json.RawMessage, error) {
	k.mu.Lock()
	k.tasks["t1"].Status, k.tasks["t1"].Asks = serve.TaskInputRequired, []serve.TaskQuestion{q}
	k.mu.Unlock()
	select {
	case answer := <-k.answers:
		return answer, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (k *kitchen) Answer(_ context.Context, id string, answers map[string]json.RawMessage) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.tasks[id]
	t.Status = serve.TaskWorking
	k.answers <- answers[t.Asks[0].Key]
	t.Asks = nil
	return nil
}

func (k *kitchen) Find(_ context.Context, id string) (serve.Task, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.away {
		return serve.Task{}, false, errors.New("the book is away")
	}
	if t, ok := k.tasks[id]; ok {
		return *t, true, nil
	}
	return serve.Task{}, false, nil
}

func (k *kitchen) Cancel(_ context.Context, id string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stops[id]()
	return nil
}

// baker is a client of a server that keeps calls.
type baker struct {
	*testing.T
	http *mcptest.HTTP
	*kitchen
	*oven
	server *serve.Server
}

// newBaker returns a client of a server that answers every task call with its task.
func newBaker(t *testing.T, level lazy.Level) *baker {
	t.Helper()
	return newBakerWith(t, level, -1)
}

// newBakerWith is newBaker with a TaskGrace.
func newBakerWith(t *testing.T, level lazy.Level, grace time.Duration) *baker {
	t.Helper()
	b := &baker{T: t, oven: &oven{make(chan struct{})}}
	family, err := toolfold.Mount(ovens, func(context.Context) (*oven, error) { return b.oven, nil })
	if err != nil {
		t.Fatal(err)
	}
	s := surface.New(surface.Options{Level: level, Log: quiet, ResultLimit: 2000})
	if err := s.Put(family, lazy.Mount(s.Discovery)); err != nil {
		t.Fatal(err)
	}
	b.kitchen = &kitchen{runner: s.Runner, tasks: map[string]*serve.Task{}, stops: map[string]context.CancelFunc{},
		answers: make(chan json.RawMessage, 1)}
	if b.server, err = serve.New(serve.Options{Surface: s, Log: quiet, Tasks: b.kitchen, TaskGrace: grace,
		AnswerLink: func(id string) content.Link { return content.Link{Name: "whole", URI: "kept:" + id} }}); err != nil {
		t.Fatal(err)
	}
	b.http = mcptest.Connect(t, b.server)
	return b
}

// taking is the metadata of a client that accepts tasks.
var taking = strings.Replace(mcptest.ModernMeta, `clientCapabilities":{}`,
	`clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, 1)

// ask sends a request of 2026-07-28 with the given metadata. It returns its answer, without the
// server's name, and its status.
func (b *baker) ask(meta, method, params, name string) (answer map[string]any, status int) {
	b.Helper()
	headers := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method}
	if name != "" {
		headers = append(headers, "Mcp-Name", name)
	}
	text, status := b.http.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,%s}}`, method, params, meta), headers...)
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		b.Fatalf("%s: %v", text, err)
	}
	if result, ok := answer["result"].(map[string]any); ok {
		delete(result, "_meta")
		return result, status
	}
	return answer["error"].(map[string]any), status
}

// bake calls the oven by one of its names.
func (b *baker) bake(meta, name, arguments string) map[string]any {
	b.Helper()
	result, _ := b.ask(meta, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, name, arguments), name)
	return result
}

func (b *baker) get(id string) map[string]any {
	b.Helper()
	result, _ := b.ask(taking, "tasks/get", fmt.Sprintf(`"taskId":%q`, id), id)
	return result
}

// ended waits for the end of a task.
func (b *baker) ended(id string) map[string]any {
	b.Helper()
	var task map[string]any
	testwait.Until(b, "task "+id+" ends", func() bool {
		task = b.get(id)
		return task["status"] != "working"
	})
	return task
}

// The result of a task is the answer that the call would have had, for all names, forms and
// outcomes.
func TestTasksAnswerLikeCalls(t *testing.T) {
	t.Parallel()
	for _, level := range []lazy.Level{lazy.Lazy, lazy.Full} {
		b := newBaker(t, level)
		calls := []struct{ name, arguments string }{
			{"oven", `{"action":"bake","cake":"plum"}`},
			{"oven", `{"action":"bake","params":{"cake":"plum"},"include_fields":["slices"]}`},
			{"oven", `{"action":"bake","params":{"cake":"plum","burn":true}}`},
			{"oven", `{"action":"bake","params":{"cake":"none"}}`},
			{"oven_bake_cake", `{"cake":"plum"}`},
			{"tool_call", `{"name":"oven.bake","arguments":{"cake":"plum"},"include_fields":["cake"]}`},
		}
		var ids []string
		for _, c := range calls {
			result := b.bake(taking, c.name, c.arguments)
			id, _ := result["taskId"].(string)
			delete(result, "taskId")
			want := map[string]any{"resultType": "task", "status": "working", "ttlMs": nil, "pollIntervalMs": 1000.0,
				"createdAt": "1970-01-01T00:00:01.000Z", "lastUpdatedAt": "1970-01-01T00:00:01.000Z"}
			if diff := cmp.Diff(want, result); id == "" || diff != "" {
				t.Errorf("%s: -want +got\n%s", c.arguments, diff)
			}
			ids = append(ids, id)
		}
		close(b.opened)
		for i, c := range calls {
			task := b.ended(ids[i])
			plain := b.bake(mcptest.ModernMeta, c.name, c.arguments)
			got, _ := task["result"].(map[string]any)
			delete(got, "_meta") // compared below
			if diff := cmp.Diff(plain, got); diff != "" || task["status"] != "completed" || task["resultType"] != "complete" {
				t.Errorf("%s %s: -call +task\n%s%v", c.name, c.arguments, diff, task)
			}
		}
	}
}

// A truncated answer links to the same resource at every request for its task.
func TestTasksLinkTruncatedAnswers(t *testing.T) {
	t.Parallel()
	b := newBaker(t, lazy.Lazy)
	call := `{"action":"bake","cake":"` + strings.Repeat("x", 5000) + `"}`
	id := b.bake(taking, "oven", call)["taskId"].(string)
	close(b.opened)
	first, again := b.ended(id), b.ended(id)
	blocks, _ := first["result"].(map[string]any)["content"].([]any)
	if len(blocks) != 2 || !strings.HasPrefix(blocks[1].(map[string]any)["uri"].(string), "kept:") {
		t.Errorf("it is answered %v", blocks)
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("-first +again\n%s", diff)
	}
	if diff := cmp.Diff(b.bake(mcptest.ModernMeta, "oven", call)["content"], any(blocks)); diff != "" {
		t.Errorf("-call +task\n%s", diff)
	}
}

// If the store cannot be read, a task call is still answered with its task, because it runs.
func TestKeptWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	b := newBaker(t, lazy.Lazy)
	b.away = true
	result := b.bake(taking, "oven", `{"action":"bake","cake":"plum"}`)
	if result["resultType"] != "task" || result["taskId"] != "t1" || result["status"] != "working" {
		t.Errorf("it is answered %v", result)
	}
	close(b.opened)
	b.mu.Lock()
	b.away = false
	b.mu.Unlock()
	if task := b.ended("t1"); task["status"] != "completed" {
		t.Errorf("it ended as %v", task)
	}
}

// The result of a task that was called by a legacy name reports the deprecation.
func TestTasksKeepDeprecation(t *testing.T) {
	t.Parallel()
	b := newBaker(t, lazy.Lazy)
	id := b.bake(taking, "oven_bake_cake", `{"cake":"plum"}`)["taskId"].(string)
	close(b.opened)
	result := b.ended(id)["result"].(map[string]any)
	want := map[string]any{"toolfold/deprecated": map[string]any{"tool": "oven", "action": "bake"}}
	if diff := cmp.Diff(want, result["_meta"]); diff != "" {
		t.Error(diff)
	}
}

// A call becomes a task only if its action allows it, its client accepts tasks, and it does not end
// soon.
func TestPlainCallsStayPlain(t *testing.T) {
	t.Parallel()
	b := newBakerWith(t, lazy.Lazy, testwait.Limit)
	plain := func(result map[string]any) {
		t.Helper()
		if result["resultType"] != "complete" || result["content"] == nil {
			t.Errorf("it is answered %v", result)
		}
	}
	plain(b.bake(taking, "oven", `{"action":"bake","cake":"plum","atOnce":true}`))
	plain(b.bake(taking, "oven", `{"action":"bake"}`))
	plain(b.bake(taking, "tools", `{"action":"list"}`))
	if len(b.tasks) != 1 {
		t.Errorf("%d calls were kept, not the first alone", len(b.tasks))
	}
	time.AfterFunc(100*time.Millisecond, func() { close(b.opened) })
	plain(b.bake(mcptest.ModernMeta, "oven", `{"action":"bake","cake":"plum"}`))
	b.refuse = true
	plain(b.bake(taking, "oven", `{"action":"bake","cake":"plum"}`))
	if len(b.tasks) != 1 {
		t.Errorf("%d calls were kept", len(b.tasks))
	}
	old := mcptest.Stdio(t, b.server, mcptest.Initialize,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"oven","arguments":{"action":"bake","cake":"x"},"task":{"ttl":1000}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tasks/get","params":{"taskId":"t1"}}`)
	if !strings.Contains(old[1], `"content"`) || !strings.Contains(old[2], "-32601") {
		t.Errorf("a client of 2025-11-25 is answered %s", old)
	}
	if strings.Contains(old[0], `"tasks":{"`) {
		t.Errorf("tasks of 2025-11-25 are announced: %s", old[0])
	}
}

// A task call is answered with its task if it exceeds the grace, or always if the grace is
// negative.
func TestTaskGrace(t *testing.T) {
	t.Parallel()
	for grace, want := range map[time.Duration]string{-1: "task", time.Minute: "complete"} {
		b := newBakerWith(t, lazy.Lazy, grace)
		if result := b.bake(taking, "oven", `{"action":"bake","cake":"plum","atOnce":true}`); result["resultType"] != want {
			t.Errorf("with %s it is answered %v", grace, result)
		}
	}
	b := newBakerWith(t, lazy.Lazy, time.Millisecond)
	if result := b.bake(taking, "oven", `{"action":"bake","cake":"plum"}`); result["resultType"] != "task" {
		t.Errorf("after its grace it is answered %v", result)
	}
}

// A tool that runs only as a task names the capability that the client lacks.
func TestNeedsTasks(t *testing.T) {
	t.Parallel()
	b := newBaker(t, lazy.Lazy)
	answer, status := b.ask(mcptest.ModernMeta, "tools/call", `"name":"oven","arguments":{"action":"bake","cake":"wedding"}`, "oven")
	want := map[string]any{"requiredCapabilities": map[string]any{
		"extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}}}
	if diff := cmp.Diff(want, answer["data"]); answer["code"] != -32021.0 || status != 400 || diff != "" {
		t.Errorf("it is answered %d %v %s", status, answer, diff)
	}
}

// A cancelled or lost task has no result.
func TestTasksWithoutResult(t *testing.T) {
	t.Parallel()
	b := newBaker(t, lazy.Lazy)
	id := b.bake(taking, "oven", `{"action":"bake","cake":"plum"}`)["taskId"].(string)
	lost := b.bake(taking, "oven", `{"action":"bake","cake":"lost"}`)["taskId"].(string)
	for range 2 { // a task that has ended is answered like one that ends
		if ack, status := b.ask(taking, "tasks/cancel", fmt.Sprintf(`"taskId":%q`, id), id); status != 200 || len(ack) != 1 {
			t.Errorf("cancelling is answered %d %v", status, ack)
		}
	}
	if task := b.ended(id); task["status"] != "cancelled" || task["result"] != nil {
		t.Errorf("cancelled: %v", task)
	}
	close(b.opened)
	soon := newBakerWith(t, lazy.Lazy, testwait.Limit).bake(taking, "oven", `{"action":"bake","cake":"lost","atOnce":true}`)
	if text, _ := json.Marshal(soon["content"]); soon["isError"] != true || !strings.Contains(string(text), `\"code\":\"INTERNAL_ERROR\"`) ||
		!strings.Contains(string(text), "it was lost") {
		t.Errorf("lost soon: %v", soon)
	}
	want := map[string]any{"code": -32603.0, "message": "it was lost"}
	task := b.ended(lost)
	if task["status"] != "failed" || task["statusMessage"] != "it was lost" || cmp.Diff(want, task["error"]) != "" {
		t.Errorf("lost: %v", task)
	}
	ack, status := b.ask(taking, "tasks/update", `"taskId":"t1","inputResponses":{"x":{"action":"accept"}}`, "t1")
	if status != 200 || len(ack) != 1 {
		t.Errorf("an update is answered %d %v", status, ack)
	}
}

// Invalid requests about tasks have the code and the status of 2026-07-28.
func TestTaskRequestsAreRefused(t *testing.T) {
	t.Parallel()
	b := newBaker(t, lazy.Lazy)
	b.bake(taking, "oven", `{"action":"bake","cake":"plum","atOnce":true}`)
	needs := map[string]any{"requiredCapabilities": map[string]any{
		"extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}}}
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		for _, c := range []struct {
			meta, params, name string
			code, status       int
			data               any
		}{
			{mcptest.ModernMeta, `"taskId":"t1"`, "t1", -32021, 400, needs},
			{taking, `"taskId":"t2"`, "t2", -32602, 400, nil},
			{taking, `"taskId":7`, "", -32602, 400, nil},
			{taking, `"taskId":"t1"`, "t2", -32020, 400, nil},
			{taking, `"taskId":"t1"`, "=?base64?dDE=?=", 0, 200, nil},
			{taking, `"taskId":"t1"`, "", 0, 200, nil},
		} {
			answer, status := b.ask(c.meta, method, c.params, c.name)
			code, _ := answer["code"].(float64)
			if int(code) != c.code || status != c.status || cmp.Diff(c.data, answer["data"]) != "" {
				t.Errorf("%s %s %s is answered %d %v", method, c.params, c.name, status, answer)
			}
		}
	}
	for _, method := range []string{"tasks/list", "tasks/result"} {
		if answer, status := b.ask(taking, method, `"taskId":"t1"`, "t1"); answer["code"] != -32601.0 || status != 404 {
			t.Errorf("%s is answered %d %v", method, status, answer)
		}
	}
	listen := `"notifications":{"taskIds":["t1"]}`
	if answer, status := b.ask(mcptest.ModernMeta, "subscriptions/listen", listen, ""); answer["code"] != -32021.0 || status != 400 {
		t.Errorf("to listen is answered %d %v", status, answer)
	}
	without, _ := newServer(t, lazy.Lazy)
	if answer, _ := mcptest.Connect(t, without).Modern("1", "tasks/get", `"taskId":"t1",`); !strings.Contains(answer, "-32601") {
		t.Errorf("a server without tasks answers %s", answer)
	}
}

// Only servers with tasks announce them.
func TestTasksAreAnnounced(t *testing.T) {
	t.Parallel()
	b := newBaker(t, lazy.Lazy)
	without, _ := newServer(t, lazy.Lazy)
	with, _ := b.http.Modern("1", "server/discover", "")
	other, _ := mcptest.Connect(t, without).Modern("1", "server/discover", "")
	if !strings.Contains(with, `"io.modelcontextprotocol/tasks":{}`) || strings.Contains(other, "modelcontextprotocol/tasks") {
		t.Errorf("with tasks: %s\nwithout: %s", with, other)
	}
	if strings.Contains(with, `"tasks":{`) {
		t.Errorf("tasks of 2025-11-25 are announced: %s", with)
	}
}

// A client that follows a task is notified of it until its end, and of no other task.
func TestFollowTasks(t *testing.T) {
	t.Parallel()
	b := newBaker(t, lazy.Lazy)
	id := b.bake(taking, "oven", `{"action":"bake","cake":"plum"}`)["taskId"].(string)
	in, write := io.Pipe()
	read, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- b.server.Stdio(t.Context(), in, out) }()
	lines := bufio.NewScanner(read)
	var told []string
	next := func() string {
		if !lines.Scan() {
			t.Fatal(lines.Err())
		}
		told = append(told, lines.Text())
		return lines.Text()
	}
	fmt.Fprintf(write, `{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{`+
		`"notifications":{"taskIds":[%q,"other"]},%s}}`+"\n",
		id, taking)
	if ack := next(); !strings.Contains(ack, "acknowledged") || !strings.Contains(ack, `"taskIds":["`+id+`"]`) {
		t.Errorf("acknowledged by %s", ack)
	}
	if now := next(); !strings.Contains(now, `"notifications/tasks"`) || !strings.Contains(now, `"working"`) {
		t.Errorf("first told %s", now)
	}
	close(b.opened)
	if end := next(); !strings.Contains(end, `"completed"`) || !strings.Contains(end, `plum`) {
		t.Errorf("at the end told %s", end)
	}
	if last := next(); !strings.Contains(last, `"id":"s","result":{"resultType":"complete"`) {
		t.Errorf("the last line is %s", last)
	}
	for _, line := range told {
		if !strings.Contains(line, `"io.modelcontextprotocol/subscriptionId":"s"`) {
			t.Errorf("of no subscription: %s", line)
		}
	}
	write.Close()
	mcptest.Ends(t, "the server", done)
}

// The stream of followed tasks ends with the last of them.
func TestFollowEndsWithTheTasks(t *testing.T) {
	t.Parallel()
	b := newBaker(t, lazy.Lazy)
	b.bake(taking, "oven", `{"action":"bake","cake":"plum","atOnce":true}`)
	synctest.Test(t, func(t *testing.T) {
		in, write := io.Pipe()
		read, out := io.Pipe()
		done := make(chan error, 1)
		go func() { done <- b.server.Stdio(t.Context(), in, out) }()
		fmt.Fprintln(write, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"taskIds":["t1"]},`+taking+`}}`)
		var completed time.Time
		for lines := bufio.NewScanner(read); lines.Scan() && !strings.Contains(lines.Text(), `"id":1`); {
			if strings.Contains(lines.Text(), `"completed"`) {
				completed = time.Now()
			}
		}
		if took := time.Since(completed); took > 0 { // only waiting takes time in this bubble
			t.Errorf("it ends %s after the task", took)
		}
		write.Close()
		mcptest.Ends(t, "the server", done)
	})
}

// A call that is cancelled before the client knows its task is ended.
func TestCancelledBeforeItIsATask(t *testing.T) {
	t.Parallel()
	b := newBakerWith(t, lazy.Lazy, testwait.Limit)
	in, write := io.Pipe()
	_, out := io.Pipe()
	go func() { _ = b.server.Stdio(t.Context(), in, out) }()
	fmt.Fprintf(write, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{`+
		`"name":"oven","arguments":{"action":"bake","cake":"x"},%s}}`+"\n",
		taking)
	testwait.Until(t, "the call becomes a task", func() bool {
		_, found, _ := b.Find(t.Context(), "t1")
		return found
	})
	fmt.Fprintln(write, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)
	if task := b.ended("t1"); task["status"] != "cancelled" {
		t.Errorf("it is %v", task)
	}
}

// askingToo is the metadata of a client that accepts tasks and can ask its user.
var askingToo = strings.Replace(taking, `"extensions"`, `"elicitation":{},"extensions"`, 1)

// asks waits until a task asks a question, and returns its questions.
func (b *baker) asks(id, key string) map[string]any {
	b.Helper()
	var requests map[string]any
	testwait.Until(b, "task "+id+" asks for "+key, func() bool {
		task := b.get(id)
		requests, _ = task["inputRequests"].(map[string]any)
		return task["status"] == "input_required" && requests[key] != nil
	})
	return requests
}

// A task that asks its client shows the question at once, and continues with each valid answer. Invalid
// answers are rejected, and answers to other questions are ignored.
func TestTasksAsk(t *testing.T) {
	t.Parallel()
	b := newBakerWith(t, lazy.Lazy, testwait.Limit)
	created := b.bake(askingToo, "oven", `{"action":"bake","cake":""}`)
	id, _ := created["taskId"].(string)
	if created["resultType"] != "task" || created["status"] != "input_required" || created["inputRequests"] != nil {
		t.Fatalf("it is answered %v", created)
	}
	want := map[string]any{"cake": map[string]any{"method": "elicitation/create", "params": map[string]any{"message": "Which cake?",
		"requestedSchema": map[string]any{"type": "object", "properties": map[string]any{"x": map[string]any{"type": "string"}}}}}}
	if diff := cmp.Diff(want, b.asks(id, "cake")); diff != "" {
		t.Error(diff)
	}
	update := func(responses string) (map[string]any, int) {
		return b.ask(askingToo, "tasks/update", fmt.Sprintf(`"taskId":%q,"inputResponses":%s`, id, responses), id)
	}
	for _, responses := range []string{`7`, `{"cake":7}`, `{"cake":{"roots":[]}}`} {
		if answer, status := update(responses); answer["code"] != -32602.0 || status != 400 {
			t.Errorf("%s is answered %d %v", responses, status, answer)
		}
	}
	for _, responses := range []string{`{}`, `{"glaze":{"action":"accept"}}`, `{"cake":{"action":"accept","content":{"x":"plum"}}}`} {
		if answer, status := update(responses); status != 200 || answer["resultType"] != "complete" || len(answer) != 1 {
			t.Errorf("%s is answered %d %v", responses, status, answer)
		}
	}
	if questions := b.asks(id, "glaze"); len(questions) != 1 {
		t.Errorf("it asks %v", questions)
	}
	update(`{"glaze":{"action":"accept","content":{"x":"sugar"}}}`)
	if done, _ := json.Marshal(b.ended(id)["result"]); !strings.Contains(string(done), "plum") || !strings.Contains(string(done), "sugar") {
		t.Errorf("it ended as %s", done)
	}
}

// Clients that follow a task are notified of its questions and its end. A task that asks can be
// cancelled.
func TestFollowQuestionsOfTasks(t *testing.T) {
	t.Parallel()
	b := newBaker(t, lazy.Lazy)
	b.bake(askingToo, "oven", `{"action":"bake","cake":""}`)
	in, write := io.Pipe()
	read, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- b.server.Stdio(t.Context(), in, out) }()
	fmt.Fprintln(write, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"taskIds":["t1"]},`+askingToo+`}}`)
	var told []string
	for lines := bufio.NewScanner(read); lines.Scan() && !strings.Contains(lines.Text(), `"id":1`); {
		if strings.Contains(lines.Text(), `"status":"working"`) {
			continue // may come before and between the questions
		}
		told = append(told, lines.Text())
		switch len(told) {
		case 2:
			b.ask(askingToo, "tasks/update", `"taskId":"t1","inputResponses":{"cake":{"action":"accept","content":{"x":"plum"}}}`, "t1")
		case 3:
			b.ask(askingToo, "tasks/cancel", `"taskId":"t1"`, "t1")
		}
	}
	write.Close()
	mcptest.Ends(t, "the server", done)
	want := []string{"acknowledged", `"inputRequests":{"cake"`, `"inputRequests":{"glaze"`, `"cancelled"`}
	for i := range want {
		if i >= len(told) || !strings.Contains(told[i], want[i]) {
			t.Fatalf("told %q, want %q", told, want)
		}
	}
}

// Questions that a call asks before it becomes a task are asked in the call. Their answers are part
// of the task's arguments.
func TestCallsAskBeforeTheyAreTasks(t *testing.T) {
	t.Parallel()
	b := newBakerWith(t, lazy.Lazy, -1)
	const arguments = `"name":"oven","arguments":{"action":"bake","cake":"plum","for":"?"}`
	asks, _ := b.ask(askingToo, "tools/call", arguments, "oven")
	if asks["resultType"] != "input_required" || asks["taskId"] != nil || len(b.tasks) != 0 {
		t.Fatalf("it is answered %v", asks)
	}
	created, _ := b.ask(askingToo, "tools/call", arguments+fmt.Sprintf(
		`,"requestState":%q,"inputResponses":{"guest":{"action":"accept","content":{"x":"Eve"}}}`, asks["requestState"]), "oven")
	id, _ := created["taskId"].(string)
	if created["resultType"] != "task" || created["requestState"] != nil {
		t.Fatalf("then it is answered %v", created)
	}
	if done, _ := json.Marshal(b.ended(id)["result"]); !strings.Contains(string(done), "Eve") {
		t.Errorf("it ended as %s", done)
	}
	refused := b.bake(taking, "oven", `{"action":"bake","cake":"plum","for":"?"}`)
	if code := refused["code"]; code != -32021.0 && refused["isError"] != true || len(b.tasks) != 1 {
		t.Errorf("a client without a user is answered %v", refused)
	}
}
