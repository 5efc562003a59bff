package served_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/app/offer"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/config"
)

// replica is one of several servers on a store. It knows callers by the name in the header Authorization.
type replica struct {
	t    testing.TB
	http *httptest.Server
	db   *storage.LazyDB
}

func newReplica(t testing.TB, store, dir string) *replica {
	t.Helper()
	r := &replica{t: t, db: storage.Lazy(store)}
	if _, err := r.db.Open(t.Context()); err != nil { // as serve does before it is ready: a request has a limit
		t.Fatal(err)
	}
	return r.serve(dir, &app.Sessions{Open: r.db.Open, Log: quiet})
}

// serve serves with shared sessions, or with sessions of its own if these are nil.
func (r *replica) serve(dir string, sessions *app.Sessions) *replica {
	t := r.t
	t.Helper()
	s := surface.New(surface.Options{Level: lazy.Search, Log: quiet, ResultLimit: 8000,
		Middleware: []call.Middleware{warns, app.Policies(dir, r.db.Open, sessions)}})
	if sessions != nil {
		s.Discovery.ShareAnswers(app.Answers{Open: r.db.Open}, func(error) {})
	}
	host := app.Host{
		Open: r.db.Open, Files: config.Files{Global: filepath.Join(dir, "config.json"), Workspace: dir}, Caller: s.Runner,
		Discovery: s.Discovery, Log: quiet, Now: time.Now, NewID: uuid.NewString, WorkspaceName: "w",
	}
	families, err := app.Mount(host)
	if err == nil {
		err = s.Put(families...)
	}
	if err != nil {
		t.Fatal(err)
	}
	offered := offer.Offer{Caller: s.Runner, Discovery: s.Discovery, Memory: true, Stored: host.Stored, OwnNotes: host.OwnNotes}
	o := serve.Options{
		Surface: s, Log: quiet, AnswerLink: offer.AnswerLink, Resources: offered.Resources,
		Authorize: func(r *http.Request) (serve.Identity, error) {
			return serve.Identity{Subject: r.Header.Get("Authorization")}, nil
		},
	}
	if sessions != nil {
		o.Sessions = sessions
	}
	server, err := serve.New(o)
	if err != nil {
		t.Fatal(err)
	}
	r.http = httptest.NewServer(server.Handler(""))
	t.Cleanup(r.stop)
	return r
}

// warns sends a log message to the client of each call.
func warns(next call.Func) call.Func {
	return func(ctx context.Context, c *call.Call) toolfold.Answer {
		serve.Log(ctx).Debug("called by " + c.Origin.Client)
		return next(ctx, c)
	}
}

func (r *replica) stop() {
	r.http.CloseClientConnections()
	r.http.Close()
	_ = r.db.Close()
}

// ask sends a request of a session for a caller, and returns the status and the answer.
func (r *replica) ask(session, caller, method, params string) (int, string) {
	r.t.Helper()
	h := mcptest.To(r.t, r.http.URL+"/mcp")
	h.Session = session
	answer, status := h.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{%s}}`, method, params), "Authorization", caller)
	return status, answer
}

// begin begins a session of a caller.
func (r *replica) begin(caller string) (session string) {
	r.t.Helper()
	h := mcptest.To(r.t, r.http.URL+"/mcp")
	h.Post(strings.Replace(mcptest.Initialize, `"name":"t"`, `"name":"desk"`, 1), "Authorization", caller)
	if h.Session == "" {
		r.t.Fatal("no session has begun")
	}
	return h.Session
}

func (r *replica) has(session, method, params string, want ...string) string {
	r.t.Helper()
	status, answer := r.ask(session, "ada", method, params)
	for _, text := range want {
		if status != http.StatusOK || !strings.Contains(answer, text) {
			r.t.Errorf("%s %s lacks %s: %d %s", method, params, text, status, answer)
		}
	}
	return answer
}

// A session goes on at each server on the store, with what its client did at the others, also after its server has
// ended. Its end holds for all.
func TestSessionsOfReplicas(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		dir := t.TempDir()
		a, b, c := newReplica(t, store, dir), newReplica(t, store, dir), newReplica(t, store, dir)
		const memory = `"name":"memory","arguments":{"action":"list"}`
		session := a.begin("ada")
		a.has(session, "tools/call", memory, "keys")
		b.has(session, "tools/call", memory, "keys")
		c.has(session, "logging/setLevel", `"level":"debug"`, "{}")
		for _, r := range []*replica{a, b, c} {
			r.has(session, "tools/call", memory, "called by ada desk")
		}
		if list := c.has(session, "tools/list", ``); strings.Contains(list, `"name":"design"`) {
			t.Fatal("design is listed before it is loaded")
		}
		b.has(session, "tools/call", `"name":"tools","arguments":{"action":"load","names":["design"]}`, "design")
		for _, r := range []*replica{a, b, c} {
			r.has(session, "tools/list", ``, `"name":"design"`)
		}
		a.stop()
		b.has(session, "tools/list", ``, `"name":"design"`)
		c.stop()
		again := newReplica(t, store, dir)
		again.has(session, "tools/call", memory, "called by ada desk")
		again.has(session, "tools/list", ``, `"name":"design"`)
		h := mcptest.To(t, b.http.URL+"/mcp")
		if status := h.Send(http.MethodDelete, "/mcp", "Mcp-Session-Id", session, "Authorization", "ada").StatusCode; status != http.StatusOK {
			t.Errorf("deleting it is answered %d", status)
		}
		for _, r := range []*replica{b, again, newReplica(t, store, dir)} {
			if status, answer := r.ask(session, "ada", "tools/list", ``); status != http.StatusNotFound {
				t.Errorf("an ended session is answered %d %s", status, answer)
			}
		}
	})
}

// No caller continues or ends the session of another caller, at any server.
func TestSessionsOfOthers(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		dir := t.TempDir()
		a, b := newReplica(t, store, dir), newReplica(t, store, dir)
		session := a.begin("ada")
		for _, r := range []*replica{a, b, a, b} {
			for _, caller := range []string{"eve", "ad", "Ada"} {
				if status, answer := r.ask(session, caller, "tools/list", ``); status != http.StatusNotFound {
					t.Errorf("%q is answered %d %s", caller, status, answer)
				}
				h := mcptest.To(t, r.http.URL+"/mcp")
				for _, method := range []string{http.MethodDelete, http.MethodGet} {
					answer := h.Send(method, "/mcp", "Mcp-Session-Id", session, "Authorization", "eve", "Accept", "text/event-stream")
					if answer.StatusCode != http.StatusNotFound {
						t.Errorf("%s of another is answered %d", method, answer.StatusCode)
					}
				}
			}
			for _, id := range []string{
				session + "x", strings.ToUpper(session), session[:len(session)-1], "mcp-session-" + uuid.NewString(), "%", "stdio",
			} {
				if status, answer := r.ask(id, "ada", "tools/list", ``); status != http.StatusNotFound {
					t.Errorf("the session %s is answered %d %s", id, status, answer)
				}
			}
			r.has(session, "tools/list", ``, `"tools"`)
		}
	})
}

// The policies of a work session that a client joins at one server apply to its calls at the others.
func TestPoliciesOverReplicas(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		dir := t.TempDir()
		a, b := newReplica(t, store, dir), newReplica(t, store, dir)
		session := a.begin("ada")
		created := a.has(session, "tools/call", `"name":"tool_call","arguments":{"name":"session.create","arguments":`+
			`{"initiator":"ada","task":"Mend it"}}`, "sessionId")
		_, id, _ := strings.Cut(created, `\"sessionId\":\"`)
		id, _, _ = strings.Cut(id, `\"`)
		a.has(session, "tools/call", fmt.Sprintf(
			`"name":"tool_call","arguments":{"name":"guard.apply","arguments":{"sessionId":%q,"policyId":"bugfix"}}`, id))
		write := `"name":"tool_call","arguments":{"name":"design.schema","arguments":{"name":"User","fields":[{"name":"email","type":"email"}],` +
			`"outputPath":"src/contracts/%s.ts"}}`
		b.has(session, "tools/call", fmt.Sprintf(write, "a"), "forbiddenPaths has **/contracts/**")
		b.has(b.begin("ada"), "tools/call", fmt.Sprintf(write, "b"), "src/contracts/b.ts")
	})
}

// What was cut at one server is read on at each, by its caller alone, also after the server has ended.
func TestCutAnswersOfReplicas(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		dir := t.TempDir()
		a, b := newReplica(t, store, dir), newReplica(t, store, dir)
		end := strings.Repeat("x", 50_000) + " the end"
		session := a.begin("ada")
		a.has(session, "tools/call", `"name":"memory","arguments":{"action":"store","key":"long","value":"`+end+`"}`, "key")
		cut := a.has(session, "tools/call", `"name":"memory","arguments":{"action":"get","key":"long"}`, "toolfold://answers/")
		id := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`).FindString(cut)
		if id == "" || strings.Contains(cut, "the end") {
			t.Fatalf("nothing is cut: %s", cut)
		}
		rest := func(id string) string {
			return fmt.Sprintf(`"name":"tools","arguments":{"action":"rest","id":%q,"jq":".answer.value[-7:]"}`, id)
		}
		for range 2 {
			b.has(session, "tools/call", rest(id), "the end")
			b.has(session, "resources/read", `"uri":"toolfold://answers/`+id+`"`, "the end")
			eve := b.begin("eve")
			for _, other := range []string{id, strings.ToUpper(id), uuid.NewString()} {
				if _, answer := b.ask(eve, "eve", "tools/call", rest(other)); strings.Contains(answer, "the end") {
					t.Errorf("another caller reads %s", answer)
				}
			}
			a.stop()
		}
		_ = b.db.Close()
		if _, answer := b.ask(session, "ada", "tools/call", rest(uuid.NewString())); strings.Contains(answer, "found") ||
			!strings.Contains(answer, `"isError":true`) {
			t.Errorf("without the store: %s", answer)
		}
	})
}

// A call that asks its user at one server goes on with the answer that reaches another one. No other caller answers it.
func TestQuestionsOverReplicas(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		dir := t.TempDir()
		a, b := newReplica(t, store, dir), newReplica(t, store, dir)
		h := mcptest.To(t, a.http.URL+"/mcp")
		h.Post(strings.Replace(mcptest.Initialize, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1), "Authorization", "ada")
		for n := range 7 {
			a.has(h.Session, "tools/call", fmt.Sprintf(`"name":"memory","arguments":{"action":"store","key":"k%d","value":1}`, n), "key")
		}
		for range 2 {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.http.URL+"/mcp", strings.NewReader(
				`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"memory","arguments":{"action":"bulk_delete","prefix":"k"}}}`))
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
				"Authorization": "ada", "Mcp-Session-Id": h.Session} {
				request.Header.Set(name, value)
			}
			stream, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(stream.Body)
			data := func() string {
				for lines.Scan() {
					if text, is := strings.CutPrefix(lines.Text(), "data: "); is {
						return text
					}
				}
				t.Fatal("the stream has ended")
				return ""
			}
			asked := data()
			id := regexp.MustCompile(`"id":([0-9]+)`).FindStringSubmatch(asked)
			if id == nil || !strings.Contains(asked, "elicitation/create") {
				t.Fatalf("it asks %s", asked)
			}
			answer := func(session, caller, action string) int {
				at := mcptest.To(t, b.http.URL+"/mcp")
				at.Session = session
				_, status := at.Post(`{"jsonrpc":"2.0","id":`+id[1]+`,"result":{"action":"`+action+`","content":{"confirm":true}}}`,
					"Authorization", caller)
				return status
			}
			if status := answer(h.Session, "eve", "accept"); status != http.StatusNotFound {
				t.Errorf("the answer of another caller gets %d", status)
			}
			answer(b.begin("eve"), "eve", "accept")
			if status := answer(h.Session, "ada", "decline"); status != http.StatusAccepted {
				t.Errorf("an answer gets %d", status)
			}
			if got := data(); !strings.Contains(got, "the user declined: nothing was deleted") {
				t.Errorf("it goes on with %s", got)
			}
			stream.Body.Close()
		}
	})
}

// What a client watches or loads by one server, it is told on a stream that another one has.
func TestStreamsOverReplicas(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		dir := t.TempDir()
		a, b, c := newReplica(t, store, dir), newReplica(t, store, dir), newReplica(t, store, dir)
		session := a.begin("ada")
		stream := mcptest.To(t, a.http.URL+"/mcp").Send(http.MethodGet, "/mcp", "Mcp-Session-Id", session, "Authorization", "ada",
			"Accept", "text/event-stream")
		defer time.AfterFunc(testwait.Limit, func() { stream.Body.Close() }).Stop()
		lines := bufio.NewScanner(stream.Body)
		told := func(want string) {
			t.Helper()
			for lines.Scan() {
				if text, is := strings.CutPrefix(lines.Text(), "data: "); is {
					if !strings.Contains(text, want) {
						t.Errorf("the client is told %s, want %s", text, want)
					}
					return
				}
			}
			t.Fatalf("the stream ends before %s", want)
		}
		put := func(r *replica, key, value string) {
			r.has(session, "tools/call", fmt.Sprintf(`"name":"memory","arguments":{"action":"store","key":%q,"value":%q}`, key, value), "key")
		}
		load := func(r *replica, family string) {
			r.has(session, "tools/call", fmt.Sprintf(`"name":"tools","arguments":{"action":"load","names":[%q]}`, family), family)
		}
		note := func(key string) string { return `"uri":"toolfold://memory/w/default/` + key + `"` }
		put(b, "one", "before")
		b.has(session, "resources/subscribe", note("one"), `"result":{}`)
		load(b, "design")
		told("list_changed") // and so knows what was watched before
		put(c, "one", "after")
		told(`resources/updated","params":{"uri":"toolfold://memory/w/default/one"`)
		c.has(session, "resources/unsubscribe", note("one"), `"result":{}`)
		load(b, "queue")
		told("list_changed")
		put(b, "one", "unseen")
		put(b, "two", "before")
		a.has(session, "resources/subscribe", note("two"), `"result":{}`)
		put(c, "two", "after")
		told("default/two")
		h := mcptest.To(t, b.http.URL+"/mcp")
		h.Send(http.MethodDelete, "/mcp", "Mcp-Session-Id", session, "Authorization", "ada")
		if lines.Scan() && strings.HasPrefix(lines.Text(), "data: ") {
			t.Errorf("after its end the client is told %s", lines.Text())
		}
	})
}

// A call of 2026-07-28 that asks its user at one server goes on at the one that its retry reaches. No other caller
// continues it. Once its server has ended, the client hears of it.
func TestWaitingCallsOverReplicas(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		dir := t.TempDir()
		a, b, c := newReplica(t, store, dir), newReplica(t, store, dir), newReplica(t, store, dir)
		session := a.begin("ada")
		fill := func() {
			for n := range 7 {
				a.has(session, "tools/call", fmt.Sprintf(`"name":"memory","arguments":{"action":"store","key":"k%d","value":1}`, n), "key")
			}
		}
		call := func(r *replica, caller, more string) string {
			t.Helper()
			answer, _ := mcptest.To(t, r.http.URL+"/mcp").Post(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"memory",`+
				`"arguments":{"action":"bulk_delete","prefix":"k"},`+more+takes(`,"elicitation":{"form":{}}`)+`}}`, "Authorization", caller,
				"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "memory")
			return answer
		}
		reply := func(asked, reply string) string {
			t.Helper()
			state := regexp.MustCompile(`"requestState":"([^"]+)"`).FindStringSubmatch(asked)
			key := regexp.MustCompile(`"inputRequests":{"([^"]+)"`).FindStringSubmatch(asked)
			if state == nil || key == nil {
				t.Fatalf("it asks nothing: %s", asked)
			}
			return fmt.Sprintf(`"requestState":%q,"inputResponses":{%q:%s},`, state[1], key[1], reply)
		}
		for _, c := range []struct{ reply, want string }{{declines, "nothing was deleted"}, {agrees, `\"deleted\":7`}} {
			fill()
			more := reply(call(a, "ada", ""), c.reply)
			for _, caller := range []string{"eve", "Ada", ""} {
				if answer := call(b, caller, more); strings.Contains(answer, "result") {
					t.Errorf("%q continues the call: %s", caller, answer)
				}
			}
			if answer := call(b, "ada", more); !strings.Contains(answer, c.want) {
				t.Errorf("it goes on with %s", answer)
			}
			for _, r := range []*replica{a, b} {
				if answer := call(r, "ada", more); !strings.Contains(answer, "call again without requestState") {
					t.Errorf("a second retry is answered %s", answer)
				}
			}
		}
		fill()
		more := reply(call(c, "ada", ""), agrees)
		c.stop()
		began := time.Now()
		if answer := call(b, "ada", more); !strings.Contains(answer, "then call again without requestState") {
			t.Errorf("without its server it is answered %s", answer)
		}
		if answer := call(b, "ada", more); !strings.Contains(answer, "its server process has: look whether it was done") {
			t.Errorf("without its server it is answered %s", answer)
		}
		t.Logf("known after %s", time.Since(began))
	})
}

// While the store does not answer, a known session goes on, and other sessions are not reported as ended.
func TestSessionsWithoutTheirStore(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		dir := t.TempDir()
		a, b := newReplica(t, store, dir), newReplica(t, store, dir)
		session := a.begin("ada")
		for _, r := range []*replica{a, b} {
			_ = r.db.Close()
		}
		a.has(session, "tools/list", ``, `"tools"`)
		status, answer := b.ask(session, "ada", "tools/list", ``)
		if status != http.StatusServiceUnavailable || !strings.Contains(answer, "again") {
			t.Errorf("%d %s", status, answer)
		}
		alone := a.begin("ada")
		a.has(alone, "tools/list", ``, `"tools"`)
	})
}

// BenchmarkSharedSessions prints what a request of a session of 2025-11-25 costs with shared sessions relative to one
// without, by median, in alternating turns of one run: a list, a call that reads the
// store, and one whose answer of 50 KB is cut.
func BenchmarkSharedSessions(b *testing.B) {
	for name, store := range map[string]string{
		"sqlite": "sqlite://" + filepath.Join(b.TempDir(), "t.db"), "postgres": storagetest.Postgres(b),
	} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			plain := (&replica{t: b, db: storage.Lazy(store)}).serve(dir, nil)
			shared := newReplica(b, store, dir)
			sides := [2]*replica{plain, shared}
			sessions := [2]string{plain.begin("ada"), shared.begin("ada")}
			requests := [3][3]string{
				{"list", "tools/list", ``}, {"call", "tools/call", `"name":"memory","arguments":{"action":"list"}`},
				{"cut", "tools/call", `"name":"memory","arguments":{"action":"get","key":"long"}`},
			}
			plain.ask(sessions[0], "ada", "tools/call", `"name":"memory","arguments":{"action":"store","key":"long","value":"`+
				strings.Repeat("x", 50_000)+`"}`)
			var took [len(requests)][2][]float64
			for b.Loop() {
				for i, request := range requests {
					for side, r := range sides {
						began := time.Now()
						if status, answer := r.ask(sessions[side], "ada", request[1], request[2]); status != http.StatusOK {
							b.Fatal(status, answer)
						}
						took[i][side] = append(took[i][side], float64(time.Since(began).Microseconds()))
					}
				}
			}
			for i, request := range requests {
				var median [2]float64
				for side, list := range took[i] {
					slices.Sort(list)
					median[side] = list[len(list)/2]
				}
				b.ReportMetric(median[0], request[0]+"-plain-us")
				b.ReportMetric(median[1]/median[0], request[0]+"-ratio")
			}
		})
	}
}
