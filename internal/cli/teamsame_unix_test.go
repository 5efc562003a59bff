//go:build unix

package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/run/audit"
	"github.com/toolfold/toolfold/internal/test/testwait"
)

// Random requests get the same answers from one server as from three behind a balancer that sends each request to
// any of them, while these are killed and started again. docs/team.md lists the differences, which no request here
// meets. A call that runs on a killed server loses its connection, and stays without an end in the audit.
func TestSameOverReplicas(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many servers")
	}
	sequences, seed := 5, uint64(29)
	if text := os.Getenv("TOOLFOLD_TEAM_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
		sequences = 100
	}
	one, three := newTeamSide(newTeam(t, seed, 1, true)), newTeamSide(newTeam(t, seed, 3, true))
	steps, kills, lost := 0, 0, 0
	for n := range sequences {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		one.begin(nil)
		three.begin(func() {
			kills++
			three.team.killOther()
		})
		for i := range 60 {
			switch r.IntN(24) {
			case 0:
				kills++
				three.team.kill(three.team.replicas[r.IntN(3)])
			case 1:
				lost++
				three.loses(t, three.clients[r.IntN(2)])
			}
			steps++
			s := randomStep(r)
			var a, b string
			var both sync.WaitGroup
			both.Go(func() { a = one.do(s) })
			both.Go(func() { b = three.do(s) })
			began := time.Now()
			both.Wait()
			if took := time.Since(began); took > time.Second {
				t.Logf("%v %+v", took, s)
			}
			if a != b {
				a, b = shortened(a, b)
				t.Fatalf("seed %d, sequence %d, step %d: %+v\none server %s\nthree      %s", seed, n, i, s, a, b)
			}
		}
	}
	t.Logf("%d steps, %d kills between calls, %d during one", steps, kills, lost)
	want := one.audit(t)
	want["ada up_write.wait_item no end"] = lost
	if got := three.audit(t); !maps.Equal(got, want) {
		t.Errorf("the audit has\n%v, want\n%v", got, want)
	}
}

// shortened returns two texts without most of what they have in common at their beginning.
func shortened(a, b string) (string, string) {
	from := 0
	for from < min(len(a), len(b)) && a[from] == b[from] {
		from++
	}
	from = max(0, from-200)
	return a[from:], b[from:]
}

// step is a request of one of the clients.
type step struct {
	client         int
	method, params string // $NAME stands for a value of an earlier answer
	keeps          string // name of the value in the answer that later steps use
	then           string // params of another call, which waits for the end of what the first began
}

var teamWords = []string{"apple", "plum", "harbour", "invoice", "deploy", "Friday", "naïve", "日本"}

// randomStep returns a step. Those that change something are of ada, and some of bob, who may not.
func randomStep(r *rand.Rand) step {
	word := func() string { return teamWords[r.IntN(len(teamWords))] }
	key := func() string { return fmt.Sprint("k", r.IntN(6)) }
	s := step{client: r.IntN(4), method: "tools/call"}
	call := func(name, arguments string, more ...any) {
		arguments = fmt.Sprintf(arguments, more...)
		switch family, action, _ := strings.Cut(name, "."); r.IntN(3) {
		case 0:
			s.params = callOf(name, arguments)
		case 1:
			s.params = callOf("tool_call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments))
		default:
			if family == "up" {
				s.params = callOf(name, arguments)
				return
			}
			s.params = callOf(family, fmt.Sprintf(`{"action":%q,"params":%s}`, action, arguments))
		}
	}
	switch r.IntN(40) {
	case 0, 1, 2:
		call("memory.store", `{"key":%q,"value":{"is":%q},"tags":[%q]}`, key(), word(), word())
	case 3:
		call("memory.store", `{"key":%q,"value":%q}`, key(), strings.Repeat(word()+" ", 8000))
	case 4, 5:
		call("memory.get", `{"key":%q}`, key())
		s.keeps = "answers"
	case 6:
		call("memory.list", `{"limit":%d}`, 1+r.IntN(9))
		s.keeps = "nextCursor"
	case 7:
		call("memory.list", `{"limit":2,"cursor":"$nextCursor"}`)
	case 8:
		call("memory.search", `{"query":%q}`, word())
	case 9:
		call("memory.delete", `{"key":%q}`, key())
	case 10:
		call("memory.restore", `{"key":%q}`, key())
	case 11:
		call("memory.list", `{"history":true,"limit":5}`)
	case 12:
		call("memory.bulk_delete", `{"prefix":"k"}`) // asks the user
	case 13, 14:
		call("tools.rest", `{"id":"$answers"}`)
	case 15:
		s.method, s.params = "resources/read", `"uri":"toolfold://answers/$answers"`
	case 16:
		call("task.submit", `{"name":%q,"input":{"tool":"memory.store","arguments":{"key":"task","value":%q}}}`, word(), word())
		s.keeps, s.then = "taskId", callOf("task", `{"action":"wait","params":{"taskId":"$taskId"}}`)
	case 17, 18:
		call("task.wait", `{"taskId":"$taskId"}`)
	case 19:
		call("script.run", `{"code":"await memory.store({key: 'script', value: %d}); return (await memory.list({})).total"}`, r.IntN(9))
	case 20:
		call("session.create", `{"initiator":"planner","task":%q}`, word())
		s.keeps = "sessionId"
	case 21:
		call("session.join", `{"sessionId":"$sessionId","agentId":%q}`, word())
	case 22:
		call("session.status", `{"sessionId":"$sessionId"}`)
	case 23:
		call("tools.find", `{"query":%q}`, "remember "+word())
	case 24:
		call("tools.load", `{"names":["timer"]}`)
	case 25, 26:
		s.method = []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"}[r.IntN(4)]
	case 27:
		s.method, s.params = "prompts/get", `"name":"up-hello"`
	case 28:
		s.method, s.params = "resources/read", `"uri":"toolfold://upstream/up/x:1"`
	case 29:
		call("up.list_items", `{}`)
	case 30:
		call("up.get_report", `{"text":%q}`, word())
		s.keeps = "answers"
	case 31:
		call("up.count_items", `{"text":%q}`, word())
	case 32:
		call("up.add_item", `{"text":%q}`, word())
	case 33, 34:
		call("up.ask_item", `{"text":%q}`, word())
	case 35:
		call("up."+[]string{"fail_item", "refuse_item", "no_item"}[r.IntN(3)], `{"text":%q}`, word())
	case 36:
		call("memory.get", `{"keys":%q}`, key())
	case 37:
		call("queue.list", `{}`)
	case 38:
		s.client |= 1
		s.method, s.params = "logging/setLevel", `"level":"debug"`
	case 39:
		s.client |= 1
		s.method = http.MethodDelete
	}
	return s
}

// teamSide is a team with its clients.
type teamSide struct {
	team    *team
	clients []*teamClient     // ada and bob, by turns of 2026-07-28 and 2025-11-25
	values  map[string]string // of earlier answers, by member
	names   map[string]string // in place of ids, by id
}

func newTeamSide(s *team) *teamSide {
	return &teamSide{team: s, values: map[string]string{}, names: map[string]string{}}
}

// begin begins new clients. asked is called before one answers a question.
func (s *teamSide) begin(asked func()) {
	s.clients = nil
	for _, name := range []string{"ada", "bob"} {
		for _, modern := range []bool{true, false} {
			c := &teamClient{url: s.team.balancer.URL + "/mcp", token: s.team.tokens[name], modern: modern, asked: asked}
			c.begin()
			s.clients = append(s.clients, c)
		}
	}
}

// do makes a step and returns its outcome in the form that both sides have.
func (s *teamSide) do(one step) string {
	client := s.clients[one.client]
	if one.method == http.MethodDelete {
		got := client.end()
		client.begin()
		return s.settle(got)
	}
	params := s.fill(one.params)
	got := client.request(one.method, params)
	if one.keeps != "" {
		member := regexp.MustCompile(one.keeps + `(?:\\?": ?\\?"|/)([^"\\]+)`)
		if found := member.FindStringSubmatch(got.answer); found != nil {
			s.values[one.keeps] = found[1]
		}
	}
	if !strings.Contains(params, `"up.`) { // the progress of runs and tasks depends on time
		got.events = slices.DeleteFunc(got.events, func(event string) bool { return strings.Contains(event, `"notifications/progress"`) })
	}
	text := s.settle(got)
	if one.then != "" {
		one.params, one.then, one.keeps = one.then, "", ""
		text += "\n" + s.do(one)
	}
	return text
}

// fill puts the values of earlier answers into params.
func (s *teamSide) fill(params string) string {
	return regexp.MustCompile(`\$(\w+)`).ReplaceAllStringFunc(params, func(name string) string {
		return cmp.Or(s.values[name[1:]], "00000000-0000-4000-8000-000000000000")
	})
}

// What differs between two servers: links of questions; times, and the sizes of what has them; and what depends on
// the time of the call: whether a trace is recorded yet, and the place of a task in its queue.
var teamOwn = regexp.MustCompile(`[^"\\]{200,}… \[cut: \d+|cut from \d+ bytes: \S+ has \d+|` +
	`"requestState":"[^"]+"|"id":\d{6,}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|` +
	`,\\?"traceId\\?":\\?"[0-9a-f]{32}\\?"|\\?"(position|outputBytes)\\?":\d+`)

var (
	teamID     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	teamAnswer = regexp.MustCompile(`toolfold://answers/([0-9a-f-]{36})`)
)

// settle returns an outcome without what differs, and with the order of ids in place of them.
func (s *teamSide) settle(got outcome) string {
	text := fmt.Sprintf("%d %s %v %v", got.status, strings.TrimSpace(got.answer), got.events, got.broken)
	if cut := teamAnswer.FindStringSubmatch(text); cut != nil { // equal answers at one server have one id
		text = strings.ReplaceAll(text, cut[1], "answer")
	}
	return teamID.ReplaceAllStringFunc(teamOwn.ReplaceAllString(text, ""), func(id string) string {
		if s.names[id] == "" {
			s.names[id] = fmt.Sprintf("id%d", len(s.names))
		}
		return s.names[id]
	})
}

// loses kills the server on which a call of a client runs.
func (s *teamSide) loses(t *testing.T, client *teamClient) {
	t.Helper()
	answer := make(chan outcome, 1)
	go func() { answer <- client.request("tools/call", callOf("up.wait_item", `{}`)) }()
	testwait.Receive(t, "the upstream is called", s.team.upstream.arrived)
	s.team.killLast()
	if got := testwait.Receive(t, "the call ends", answer); got.broken == nil {
		t.Errorf("the call that its server was running is answered %+v", got)
	}
}

// audit counts the calls in the audit that may have changed something, by caller, action and end. Other calls, and
// refused ones, are lost if their server is killed within a second.
func (s *teamSide) audit(t *testing.T) map[string]int {
	t.Helper()
	out, err := s.team.replicas[0].command(t, "audit", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(out)) {
		var e audit.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Effect == "reads" || e.Effect == "" || e.Code == "PERMISSION_DENIED" {
			continue
		}
		end := cmp.Or(e.Code, "done")
		if e.Ended.IsZero() {
			end = "no end"
		}
		counts[e.Caller+" "+e.Action+" "+end]++
	}
	return counts
}
