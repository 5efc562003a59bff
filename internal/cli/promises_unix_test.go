//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// client is a client of a server on standard input and output.
type client struct {
	process
	lastID  int
	isError bool // of the last answer
}

func (m sandbox) client(t *testing.T, args ...string) *client {
	t.Helper()
	c := &client{process: start(t, m.command(t, append([]string{"serve", "--trust"}, args...)...), nil), lastID: 1}
	_, _ = io.WriteString(c.in, hello+`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return c
}

// call returns the text of the answer to a call. A truncated answer has a link to the whole after its
// text, and nothing else.
func (c *client) call(t *testing.T, name, args string) string {
	t.Helper()
	id := c.send(name, args)
	var answer struct {
		Result struct {
			Content []struct{ Type, Text string }
			IsError bool
		}
		Error any
	}
	testwait.Until(t, name+" "+args+" is answered", func() bool {
		_, rest, _ := strings.Cut(c.stdout.String(), fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,`, id))
		line, _, whole := strings.Cut(rest, "\n")
		return whole && json.Unmarshal([]byte("{"+line), &answer) == nil
	})
	if n := len(answer.Result.Content); n != 1 && (n != 2 || answer.Result.Content[1].Type != "resource_link") {
		t.Fatalf("%s %s answered %+v", name, args, answer)
	}
	c.isError = answer.Result.IsError
	t.Logf("%s %s\n  %s", name, shorten.Quoted(args), shorten.To(answer.Result.Content[0].Text, 400))
	return answer.Result.Content[0].Text
}

// send makes a call without waiting, and returns the request's id.
func (c *client) send(name, args string) int {
	c.lastID++
	fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", c.lastID, name, args)
	return c.lastID
}

// expect makes a call, and checks that the answer contains all texts. Without texts it expects a
// success.
func (c *client) expect(t *testing.T, name, args string, want ...string) string {
	t.Helper()
	answer := c.call(t, name, args)
	for _, w := range want {
		if !strings.Contains(answer, w) {
			t.Errorf("%s %s answered %s, want %s", name, args, shorten.To(answer, 2000), w)
		}
	}
	if want == nil && strings.HasPrefix(answer, `{"error"`) {
		t.Errorf("%s %s answered %s", name, args, answer)
	}
	return answer
}

var taskID = regexp.MustCompile(`"taskId":"([^"]+)"`)

// submit returns the id of a new task.
func (c *client) submit(t *testing.T, args string) string {
	t.Helper()
	found := taskID.FindStringSubmatch(c.call(t, "task.submit", args))
	if found == nil {
		t.Fatal("it was not submitted")
	}
	return found[1]
}

// wait checks the end of a task.
func (c *client) wait(t *testing.T, id string, want ...string) {
	t.Helper()
	c.expect(t, "task.wait", fmt.Sprintf(`{"taskId":%q,"timeoutMs":50000}`, id), want...)
}

// models is an endpoint of models with typical failures.
func models(t *testing.T) string {
	t.Helper()
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, reason := "whole", "stop"
		switch r.URL.Path {
		case "/cut/chat/completions":
			answer, reason = "half an ans", "length"
		case "/empty/chat/completions":
			answer = ""
		case "/busy/chat/completions":
			if requests.Add(1) == 1 {
				w.Header().Set("Retry-After", "1")
				http.Error(w, `{"error":{"message":"slow down"}}`, http.StatusTooManyRequests)
				return
			}
		}
		fmt.Fprintf(w, `{"choices":[{"finish_reason":%q,"message":{"role":"assistant","content":%q}}]}`, reason, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// place returns a sandbox with the workflows and models for the promises.
func place(t *testing.T, store string) sandbox {
	t.Helper()
	m := newSandbox(t)
	m.store = store
	url := models(t)
	m.write(t, filepath.Join(m.home, "config", "toolfold", "config.json"), fmt.Sprintf(`{"providers":{
		"cat":{"type":"command","command":["cat"]}, "sh":{"type":"command","command":["sh"]},
		"cut":{"type":"openai","baseURL":"%[1]s/cut","model":"m"},
		"empty":{"type":"openai","baseURL":"%[1]s/empty","model":"m"}, "busy":{"type":"openai","baseURL":"%[1]s/busy","model":"m"}}}`, url))
	for name, text := range map[string]string{
		"fail": "name: F\nsteps: [{stepId: gone, type: tool, config: {tool: session.status, arguments: {sessionId: " +
			"00000000-0000-4000-8000-000000000000}}}]\n",
		"typed": "name: T\ninputSchema: {type: object, properties: {n: {type: integer}}, required: [n]}\nsteps: [{stepId: keep, type: " +
			"tool, config: {tool: memory.store, arguments: {key: typed, value: \"{{ input.n }}\"}}}]\n",
		"sum": "name: S\nsteps: [{stepId: keep, type: tool, config: {tool: memory.store, arguments: {key: sum, value: " +
			"\"{{ input.n + 1 }}\"}}}]\n",
		"nothing": "name: N\nsteps: [{stepId: a, type: conditional, config: {condition: input.n > 3, then: [{stepId: b, type: tool, config: " +
			"{tool: memory.stats}}]}}]\n",
		"loop": `name: L
steps:
  - stepId: rounds
    type: loop
    config: {items: [1, 2, 3, 4], steps: [
    {stepId: ask, type: prompt, config: {provider: sh, prompt: "echo answer {{ item }}; [ {{ item }} -lt 4 ]"}}]}
`,
		"branches": `name: B
steps:
  - stepId: all
    type: parallel
    config:
      maxConcurrency: 1
      steps:
        - {stepId: good, type: prompt, config: {provider: sh, prompt: echo paid}}
        - {stepId: bad, type: prompt, dependsOn: [good], config: {provider: sh, prompt: exit 1}}
`,
		"on": `name: O
steps:
  - {stepId: bad, type: prompt, continueOnError: true, config: {provider: sh, prompt: exit 1}}
  - {stepId: next, type: prompt, config: {provider: sh, prompt: "echo after {{ errors.bad.code }}"}}
`,
	} {
		m.write(t, filepath.Join(m.workspace, ".toolfold", "workflows", name+".yaml"), text)
	}
	return m
}

// promises are properties that users rely on and that distant changes can easily break. They are called
// like by a model.
var promises = []struct {
	name string
	keep func(*testing.T, *client)
}{
	{"a run that failed is a failed task", func(t *testing.T, c *client) {
		c.call(t, "agent.register", `{"agentId":"fails","description":"d","workflow":[{"stepId":"gone","type":"tool",`+
			`"config":{"tool":"session.status","arguments":{"sessionId":"00000000-0000-4000-8000-000000000000"}}}]}`)
		var failing, after []string
		for _, work := range []string{
			`"input":{"tool":"workflow.run","arguments":{"workflowId":"fail"}}`, `"workflowId":"fail"`,
			`"input":{"tool":"agent.run","arguments":{"agentId":"fails"}}`, `"agentId":"fails"`,
			`"input":{"tool":"agent","arguments":{"action":"run","params":{"agentId":"fails"}}}`,
			`"input":{"tool":"agent","arguments":{"action":"run","agentId":"fails"}}`,
		} {
			id := c.submit(t, `{"name":"f","type":"retry","maxAttempts":2,`+work+`}`)
			failing = append(failing, id)
			after = append(after, c.submit(t, `{"name":"after","input":{"tool":"memory.stats"},"dependencies":["`+id+`"]}`))
		}
		for run, args := range map[string]string{"workflow.run": `{"workflowId":"fail"}`, "agent.run": `{"agentId":"fails"}`} {
			answer := c.expect(t, run, args,
				`{"error":{"code":"TOOL_EXECUTION_ERROR","message":"session.status: SESSION_NOT_FOUND`, `"success":false`)
			if !c.isError || strings.Count(answer, "SESSION_NOT_FOUND") != 1 {
				t.Errorf("%s says with isError %t: %s", run, c.isError, answer)
			}
		}
		for i, id := range failing {
			c.wait(t, id, `"status":"failed"`, `"attempt":2`, "SESSION_NOT_FOUND")
			if !c.isError {
				t.Error("waiting for a task that fails has not failed")
			}
			if c.status(t, id, `"status":"failed"`); c.isError {
				t.Error("looking at a task that failed has failed")
			}
			c.wait(t, after[i], `"status":"failed"`)
		}
		c.expect(t, "task.retry", `{"taskId":"`+failing[0]+`"}`)
		c.wait(t, failing[0], `"status":"failed"`)
	}},
	{"a client cannot stop or redirect the server", func(t *testing.T, c *client) {
		for _, setting := range []string{
			`"path":"store","value":"mysql://x"`, `"path":"store","value":"sqlite:///nonexistent/dir/x.db"`,
			`"path":"store","value":"postgres://127.0.0.1/x"`,
			`"path":"http","value":"notanaddr"`, `"path":"http","value":"0.0.0.0:21151"`,
			`"path":"providers.x","value":{"type":"command","command":["x"]}`, `"path":"defaultProvider","value":"cat"`,
		} {
			c.expect(t, "config.set", `{`+setting+`}`, "PERMISSION_DENIED", "toolfold call config.set")
			c.expect(t, "agent.register", `{"agentId":"setter","description":"d","workflow":[{"stepId":"s","type":"tool",`+
				`"config":{"tool":"config.set","arguments":{`+setting+`}}}]}`)
			c.expect(t, "agent.run", `{"agentId":"setter"}`, `"success":false`, "may only be set by the user")
			c.call(t, "agent.remove", `{"agentId":"setter"}`)
		}
	}},
	{"the best note is found among many, with words too many", func(t *testing.T, c *client) {
		var list []string
		note := func(key, text string) {
			list = append(list, fmt.Sprintf(`{"key":%q,"value":%q,"namespace":"many"}`, key, text))
		}
		note("rule", "invoice rounding: half up per line")
		for n := range 700 {
			note(fmt.Sprintf("i%d", n), fmt.Sprintf("invoice %d was sent", n))
			note(fmt.Sprintf("r%d", n), fmt.Sprintf("rounding of number %d", n))
		}
		for part := 0; part < len(list); part += 500 {
			c.expect(t, "memory.import", `{"data":[`+strings.Join(list[part:min(part+500, len(list))], ",")+`]}`)
		}
		for _, question := range []string{
			"invoice rounding", "invoice rounding rules", "how is invoice rounding done",
			"please tell me what the team once agreed upon so that nobody has to ask again and again about rounding in an invoice per line",
		} {
			c.expect(t, "memory.search", `{"namespace":"many","limit":1,"query":"`+question+`"}`, `"key":"rule"`)
		}
	}},
	{"answers have a bound", func(t *testing.T, c *client) {
		big := strings.Repeat("long words of a note ", 5000)
		for n := range 10 {
			c.expect(t, "memory.store", fmt.Sprintf(`{"namespace":"big","key":"big%d","value":%q}`, n, big))
		}
		id := ""
		for range 20 {
			id = c.submit(t, `{"name":"big","input":{"tool":"memory.get","arguments":{"namespace":"big","key":"big1"}}}`)
		}
		c.wait(t, id, `"status":"completed"`)
		for _, call := range [][2]string{
			{"task.list", `{}`}, {"memory.search", `{"namespace":"big","query":"words of a note"}`}, {"memory.export", `{"namespace":"big"}`},
			{"memory.get", `{"namespace":"big","key":"big1"}`},
		} {
			if answer := c.expect(t, call[0], call[1]); len(answer) > callctx.DefaultRoom {
				t.Errorf("%s %s answered %d bytes", call[0], call[1], len(answer))
			}
		}
	}},
	{"a task that cannot run is refused", func(t *testing.T, c *client) {
		c.call(t, "agent.register", `{"agentId":"idle","description":"d"}`)
		for work, want := range map[string]string{
			`"input":{"tool":"memory.store","arguments":"x"}`:                             `"/input/arguments"`,
			`"input":{"tool":"memory.store"}`:                                             `"/input/arguments/key"`,
			`"input":{"tool":"memory.store","arguments":{"key":"k","value":1,"vlaue":2}}`: `"/input/arguments/vlaue"`,
			`"input":{"tool":"memory.export","args":{"namespace":"only-this"}}`:           `"/input/args"`,
			`"input":{"tool":"memory.export","argumetns":{"namespace":"only-this"}}`:      `"/input/argumetns"`,
			`"agentId":"idle","input":{"tool":"memory.export"}`:                           `INVALID_INPUT`,
			`"agentId":"idle","workflowId":"fail"`:                                        `INVALID_INPUT`,
			`"workflowId":"typed","input":{"n":"many"}`:                                   `"/input/n"`,
			`"input":{"tool":"memory.stats"},"scheduledAt":"2030-01-01T00:00:00"`:         `zone`,
		} {
			c.expect(t, "task.submit", `{"name":"x",`+work+`}`, "INVALID_INPUT", want)
		}
		c.expect(t, "queue.create", `{"name":""}`, "INVALID_INPUT")
	}},
	{"what was done before a failure is answered", func(t *testing.T, c *client) {
		c.expect(t, "workflow.run", `{"workflowId":"loop"}`, `"success":false`, "answer 1", "answer 2", "answer 3")
		c.expect(t, "workflow.run", `{"workflowId":"branches"}`, `"success":false`, "paid")
		c.call(t, "agent.register", `{"agentId":"halves","description":"d","workflow":[{"stepId":"first","type":"prompt",`+
			`"config":{"provider":"cat","prompt":"first done"}},{"stepId":"bad","type":"prompt","config":{"provider":"sh","prompt":"exit 1"}}]}`)
		c.call(t, "agent.register", `{"agentId":"sends","description":"d","workflow":[{"stepId":"on","type":"delegate",`+
			`"config":{"agentId":"halves"}}]}`)
		c.expect(t, "agent.run", `{"agentId":"sends"}`, `"success":false`, "first done")
		c.expect(t, "workflow.run", `{"workflowId":"on"}`, `"success":true`, "after STEP_FAILED")
	}},
	{"abilities follow the task", func(t *testing.T, c *client) {
		for id, text := range map[string]string{
			"go-concurrency":    "Goroutines have an owner that waits for them. Run the tests with the race detector.",
			"data-privacy":      "Personal data is kept in the European Union and removed on request.",
			"accessible-forms":  "Label every field. Test with a screen reader and the keyboard alone.",
			"responsive-layout": "Build pages with flexbox and grid, from small screens to large.",
			"incident-response": "Page the person on call, open a channel, write down the times.",
			"python3-style":     "Format with black, use type hints.",
			"oauth2":            "Use the code flow with PKCE; refresh tokens rotate.",
			"api-v2-rules":      "Paths are plural nouns, errors follow problem details.",
		} {
			c.expect(t, "ability.register", fmt.Sprintf(`{"abilityId":%q,"content":%q}`, id, text))
		}
		for task, want := range map[string]string{
			"there is a data race between two goroutines":         "go-concurrency",
			"make the dialog usable with a screen reader":         "accessible-forms",
			"make the page responsive with flexbox":               "responsive-layout",
			"a token was leaked, do oauth2 refresh tokens rotate": "oauth2",
			"write 3 haikus about rain":                           "",
			"translate these 2 sentences":                         "",
		} {
			answer := c.call(t, "ability.inject", fmt.Sprintf(`{"agentId":"none","task":%q}`, task))
			if first := regexp.MustCompile(`"injectedAbilities":\[(?:\{"abilityId":)?"?([a-z0-9-]*)`).FindStringSubmatch(answer); first == nil ||
				first[1] != want {
				t.Errorf("for %q %s was injected, want %q", task, answer, want)
			}
		}
		c.expect(t, "ability.inject", `{"agentId":"none","task":"there is a data race between two goroutines"}`, `"score"`, `"reason"`)
		c.call(t, "agent.register", `{"agentId":"coder","description":"d","workflow":[{"stepId":"ask","type":"prompt",`+
			`"config":{"provider":"cat","prompt":"there is a data race between two goroutines"}}]}`)
		c.expect(t, "agent.run", `{"agentId":"coder"}`, `"success":true`, `go-concurrency`, "race detector")
	}},
	{"what is wrong with a step is said in the words of its type", func(t *testing.T, c *client) {
		c.expect(t, "agent.register", `{"agentId":"wrong","description":"d","workflow":[{"stepId":"l","type":"loop","config":{"itmes":"x",`+
			`"steps":[]}}]}`, "maxIterations", "items")
		c.expect(t, "agent.register", `{"agentId":"wrong","description":"d","workflow":[{"stepId":"a","type":"tool","dependsOn":["zz"],`+
			`"config":{"tool":"memory.stats"}}]}`, `zz`, "dependsOn")
		c.expect(t, "workflow.run", `{"workflowId":"nothing","input":{}}`, `"success":false`, "??")
		c.call(t, "agent.register", `{"agentId":"modelless","description":"d","workflow":[{"stepId":"p","type":"prompt",`+
			`"config":{"prompt":"x"}}]}`)
		c.expect(t, "agent.run", `{"agentId":"modelless"}`, `"success":false`, "PROVIDER_NOT_CONFIGURED", "name one in the step")
	}},
	{"settings that apply are shown with their source", func(t *testing.T, c *client) {
		c.expect(t, "config.get", `{"path":"listing"}`, `"found":true`, `"source":"flag"`, `"signature"`)
		c.expect(t, "config.get", `{"path":"toolMode"}`, `"found":true`, `"source":"default"`)
		c.expect(t, "config.get", `{"path":"store"}`, `"found":true`)
		c.expect(t, "config.set", `{"path":"tier","value":"core"}`)
		c.expect(t, "config.unset", `{"path":"tier"}`, `"removed":true`)
	}},
	{"a model's answer that is cut or empty is a failure, and a busy one is asked again", func(t *testing.T, c *client) {
		for provider, want := range map[string]string{"cut": "cut", "empty": "empty", "busy": "whole"} {
			c.call(t, "agent.register", fmt.Sprintf(`{"agentId":"%s-one","description":"d","workflow":[{"stepId":"p","type":"prompt",`+
				`"config":{"provider":%[1]q,"prompt":"x"}}]}`, provider))
			c.expect(t, "agent.run", fmt.Sprintf(`{"agentId":"%s-one"}`, provider), fmt.Sprintf(`"success":%v`, provider == "busy"), want)
		}
	}},
	{"numbers and inputs stay what they are", func(t *testing.T, c *client) {
		c.expect(t, "workflow.run", `{"workflowId":"typed","input":{"n":"2"}}`, `"success":true`)
		c.expect(t, "memory.get", `{"key":"typed"}`, `"value":2`)
		c.expect(t, "workflow.run", `{"workflowId":"typed","input":{"n":12345678901234567890}}`, `"success":true`)
		c.expect(t, "memory.get", `{"key":"typed"}`, `"value":12345678901234567890`)
		c.expect(t, "workflow.run", `{"workflowId":"sum","input":{"n":12345678901234567890}}`, `"success":false`)
		c.expect(t, "workflow.run", `{"workflowId":"sum","input":{"n":9007199254740993}}`, `"success":true`)
		c.expect(t, "memory.get", `{"key":"sum"}`, `"value":9007199254740994`)
	}},
	{"garbage cursors are refused", func(t *testing.T, c *client) {
		for _, name := range []string{"agent.list", "ability.list", "memory.list", "memory.search", "task.list", "session.list", "workflow.list",
			"queue.list"} {
			args := `{"cursor":"garbage"}`
			if name == "memory.search" {
				args = `{"query":"x","cursor":"garbage"}`
			}
			c.expect(t, name, args, "INVALID_INPUT", "cursor")
		}
	}},
	{"a request that was cancelled is not answered", func(t *testing.T, c *client) {
		c.call(t, "agent.register", `{"agentId":"slow","description":"d","workflow":[{"stepId":"p","type":"prompt",`+
			`"config":{"provider":"sh","prompt":"sleep 30"}}]}`)
		id := c.send("agent.run", `{"agentId":"slow"}`)
		time.Sleep(500 * time.Millisecond)
		fmt.Fprintf(c.in, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", id)
		time.Sleep(500 * time.Millisecond)
		c.expect(t, "memory.stats", `{}`)
		if strings.Contains(c.stdout.String(), fmt.Sprintf(`"id":%d,`, id)) {
			t.Error("it was answered")
		}
	}},
	{"what is registered goes before a file", func(t *testing.T, c *client) {
		c.expect(t, "agent.register", `{"agentId":"both","description":"registered"}`)
		c.expect(t, "agent.get", `{"agentId":"both"}`, `"source":"registered"`)
		c.expect(t, "ability.register", `{"abilityId":"both","content":"registered text"}`)
		c.expect(t, "ability.get", `{"abilityId":"both"}`, `"source":"registered"`, "registered text")
		c.expect(t, "agent.remove", `{"agentId":"both"}`)
		c.expect(t, "ability.remove", `{"abilityId":"both"}`)
		c.expect(t, "agent.get", `{"agentId":"both"}`, `"source":"file"`)
		c.expect(t, "ability.get", `{"abilityId":"both"}`, `"source":"file"`)
	}},
}

// onStores runs a test on both durable stores.
func onStores(t *testing.T, test func(t *testing.T, store string)) {
	t.Run("SQLite", func(t *testing.T) { t.Parallel(); test(t, "") })
	t.Run("PostgreSQL", func(t *testing.T) { t.Parallel(); test(t, storagetest.Postgres(t)) })
}

func TestPromises(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, store string) {
		m := place(t, store)
		m.write(t, filepath.Join(m.workspace, ".toolfold", "agents", "both.yaml"), "description: of a file\n")
		m.write(t, filepath.Join(m.workspace, ".toolfold", "abilities", "both.md"), "---\ndisplayName: N\n---\nText of a file.\n")
		c := m.client(t, "--listing", "signature")
		for _, p := range promises {
			t.Run(p.name, func(t *testing.T) { p.keep(t, c) })
		}
	})
}

// A queue with limit one runs one task at a time, with any number of servers.
func TestQueueLimitHoldsOverServers(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, store string) {
		m := place(t, store)
		diary := filepath.Join(m.home, "diary")
		clients := []*client{m.client(t), m.client(t), m.client(t)}
		c := clients[0]
		c.expect(t, "queue.create", `{"name":"deploys","maxConcurrency":1}`)
		c.call(t, "agent.register", fmt.Sprintf(`{"agentId":"deploy","description":"d","workflow":[{"stepId":"p","type":"prompt",`+
			`"config":{"provider":"sh","prompt":%q}}]}`,
			"echo begin >> "+diary+"; sleep 0.3; echo end >> "+diary+"; echo done"))
		var ids []string
		for n := range 6 {
			ids = append(ids, clients[n%3].submit(t, `{"name":"d","queueId":"deploys","agentId":"deploy"}`))
		}
		for _, id := range ids {
			c.wait(t, id, `"status":"completed"`)
		}
		text, err := os.ReadFile(diary)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.Repeat("begin\nend\n", 6); string(text) != want {
			t.Errorf("the tasks ran as\n%s", text)
		}
	})
}

// Tasks run in the workspace in which they were submitted, whichever servers use the store.
func TestTasksStayInTheirWorkspace(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, store string) {
		here := place(t, store)
		there := here
		there.workspace = t.TempDir()
		for m, name := range map[sandbox]string{here: "here", there: "there"} {
			m.write(t, filepath.Join(m.workspace, ".toolfold", "workflows", "deploy.yaml"),
				"name: D\nsteps: [{stepId: s, type: prompt, config: {provider: sh, prompt: \"echo "+name+" in $(pwd)\"}}]\n")
		}
		here.write(t, filepath.Join(here.workspace, ".toolfold", "workflows", "only.yaml"),
			"name: O\nsteps: [{stepId: s, type: tool, config: {tool: memory.stats}}]\n")
		c, other := here.client(t), there.client(t)
		other.expect(t, "task.list", `{}`)
		var ids []string
		for range 10 {
			ids = append(ids, c.submit(t, `{"name":"d","workflowId":"deploy"}`), c.submit(t, `{"name":"o","workflowId":"only"}`))
		}
		dir, err := filepath.EvalSymlinks(here.workspace)
		if err != nil {
			t.Fatal(err)
		}
		for n, id := range ids {
			if n%2 == 0 {
				c.wait(t, id, `"status":"completed"`, "here in "+dir)
			} else {
				c.wait(t, id, `"status":"completed"`)
			}
		}
	})
}

// A server in an untrusted folder runs only tasks that were submitted from its own path, whatever
// origin its .git/config claims.
func TestUntrustedFoldersWorkTheirOwnTasks(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, store string) {
		victim := place(t, store)
		claimant, other := victim, victim
		claimant.workspace, other.workspace = t.TempDir(), t.TempDir()
		for _, m := range []sandbox{victim, claimant, other} {
			m.write(t, filepath.Join(m.workspace, ".git", "config"), "[remote \"origin\"]\n\turl = https://h.org/shop.git\n")
		}
		const counts = `{"name":"n","input":{"tool":"memory.stats","arguments":{}}}`
		trusted, idle := victim.client(t, "--worker=false"), other.client(t, "--worker=false", "--trust=false")
		claimed, others := trusted.submit(t, counts), idle.submit(t, counts)
		c := claimant.client(t, "--trust=false")
		for range 3 {
			c.wait(t, c.submit(t, counts), `"status":"completed"`)
		}
		for _, id := range []string{claimed, others} {
			c.expect(t, "task.status", fmt.Sprintf(`{"taskId":%q}`, id), `"status":"queued"`)
		}
		victim.client(t).wait(t, claimed, `"status":"completed"`)
	})
}

// The error for a store that cannot be opened is one sentence with advice.
func TestStoreThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	for store, want := range map[string]string{
		"postgres://nobody@127.0.0.1:1/none?sslmode=disable": "PostgreSQL cannot be reached",
		"sqlite:///proc/none/t.db":                           "does not exist",
	} {
		m := newSandbox(t)
		m.store = store
		c := m.client(t)
		for range 2 {
			c.expect(t, "memory.list", `{}`, want, "hint", "STORE_UNAVAILABLE")
		}
	}
}
