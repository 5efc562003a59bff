package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/toolfoldtest"
)

// bench calls the actions the way a client does. Its clock advances by a second with each call, its
// ids by one with each session.
type bench struct {
	toolfoldtest.Talk
	t       *testing.T
	ctx     context.Context
	store   *fakeStore
	service *Service
	runner  *call.Runner
	calls   int
	ids     int
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, ctx: t.Context(), store: newFakeStore()}
	b.Talk = toolfoldtest.Talk{T: t, Call: b.call}
	start := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.FixedZone("", 3600))
	now := func() time.Time { return start.Add(time.Duration(b.calls) * time.Second) }
	newID := func() string { b.ids++; return id(b.ids) }
	b.service = New(b.store, now, newID)
	b.runner = toolfoldtest.Runner(toolfoldtest.Mount(t, Family, b.service))
	return b
}

func id(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// call returns the content; $1 in args is the first session's id.
func (b *bench) call(action, args string) string {
	b.t.Helper()
	for n := 1; n <= b.ids; n++ {
		args = strings.ReplaceAll(args, fmt.Sprintf("$%d", n), id(n))
	}
	content := string(b.runner.Call(b.ctx, "session."+action, json.RawMessage(args)).Content)
	b.calls++
	return strings.ReplaceAll(content, "00000000-0000-4000-8000-00000000000", "$")
}

// A session belongs to its server's workspace unless its creator names another.
func TestWorkspaceIsFilledIn(t *testing.T) {
	t.Parallel()
	s := New(newFakeStore(), time.Now, func() string { return id(1) })
	s.Workspace = "github.com/acme/shop"
	for given, want := range map[string]string{"": "github.com/acme/shop", "/w": "/w"} {
		out, err := s.Create(t.Context(), CreateIn{Initiator: "ann", Task: "ship", Workspace: given})
		if err != nil || out.Workspace != want {
			t.Errorf("given %q it is %q, %v", given, out.Workspace, err)
		}
	}
}

func TestLifeOfASession(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.service.Workspace = "/w"
	b.Expect("create", `{"initiator":"ann","task":"ship","metadata":{"n":12345678901234567890}}`,
		`{"sessionId":"$1","initiator":"ann","task":"ship","status":"active","createdAt":"2026-03-01T11:00:00.123456Z","workspace":"/w"}`)
	b.Expect("join", `{"sessionId":"$1","agentId":"bob"}`,
		`{"sessionId":"$1","agentId":"bob","role":"collaborator","joinedAt":"2026-03-01T11:00:01.123456Z","participantCount":2}`)
	b.Expect("leave", `{"sessionId":"$1","agentId":"bob"}`,
		`{"sessionId":"$1","agentId":"bob","leftAt":"2026-03-01T11:00:02.123456Z","remainingParticipants":1}`)
	b.Expect("status", `{"sessionId":"$1"}`, `{"sessionId":"$1","status":"active","initiator":"ann","task":"ship",`+
		`"participants":[{"agentId":"ann","role":"initiator","joinedAt":"2026-03-01T11:00:00.123456Z"},`+
		`{"agentId":"bob","role":"collaborator","joinedAt":"2026-03-01T11:00:01.123456Z","leftAt":"2026-03-01T11:00:02.123456Z"}],`+
		`"createdAt":"2026-03-01T11:00:00.123456Z","updatedAt":"2026-03-01T11:00:02.123456Z",`+
		`"workspace":"/w","metadata":{"n":12345678901234567890}}`)
	b.Expect("complete", `{"sessionId":"$1","summary":"done"}`,
		`{"sessionId":"$1","status":"completed","completedAt":"2026-03-01T11:00:04.123456Z","summary":"done"}`)
	b.Expect("status", `{"sessionId":"$1","include_fields":["status","completedAt","summary","error"]}`,
		`{"status":"completed","completedAt":"2026-03-01T11:00:04.123456Z","summary":"done"}`)
}

// Participants, callers of its workspace and the user of the machine can end a session. Attempts of
// other callers change nothing.
func TestWhoMayEndASession(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, workspace, creator, agent string // creator's workspace; empty = workspace
		user, ends                      bool
	}{
		{name: "participant", workspace: "shop", agent: "bob", ends: true},
		{name: "initiator", workspace: "shop", agent: "ann", ends: true},
		{name: "caller of the workspace", workspace: "here", ends: true},
		{name: "session without a workspace", ends: true},
		{name: "user", workspace: "shop", user: true, ends: true},
		{name: "creator that named another workspace", workspace: "shop", creator: "here", ends: true},
		{name: "caller of another workspace", workspace: "shop"},
		{name: "caller of the workspace that another names", workspace: "here", creator: "shop"},
		{name: "other agent", workspace: "shop", agent: "eve"},
		{name: "other agent of the workspace", workspace: "here", agent: "eve"},
		{name: "agent that left", workspace: "here", agent: "joe"},
		{name: "user as another agent", workspace: "shop", agent: "eve", user: true},
	} {
		if test.creator == "" {
			test.creator = test.workspace
		}
		for _, action := range []string{"complete", "fail"} {
			t.Run(test.name+" "+action, func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				b.service.Workspace = "here"
				if test.user {
					b.ctx = ByUser(b.ctx)
				}
				b.store.sessions[id(1)] = Session{ID: id(1), Initiator: "ann", Status: work.SessionActive,
					Workspace: test.workspace, CreatorWorkspace: test.creator,
					Participants: []Participant{{AgentID: "ann", Role: Initiator}, {AgentID: "bob", Role: Delegate},
						{AgentID: "joe", Role: Delegate, LeftAt: time.Unix(1, 0)}}}
				b.ids = 1
				args := `{"sessionId":"$1"`
				if test.agent != "" {
					args += `,"agentId":"` + test.agent + `"`
				}
				if action == "fail" {
					args += `,"error":{"code":"E","message":"m"}`
				}
				state := map[string]string{"complete": work.SessionCompleted, "fail": work.SessionFailed}[action]
				switch {
				case test.ends:
					b.Expect(action, args+`,"include_fields":["status"]}`, `{"status":"`+state+`"}`)
				case test.agent != "":
					b.Refuse(action, args+"}", AgentNotParticipant, `"`+test.agent+`" is not in the session`, "ann, bob")
					state = work.SessionActive
				default:
					b.Refuse(action, args+"}", AgentNotParticipant, `another workspace opened the session, "shop"`, "agentId (in it: ann, bob)")
					state = work.SessionActive
				}
				if got := b.store.sessions[id(1)].Status; got != state {
					t.Errorf("the session is %s, want %s", got, state)
				}
			})
		}
	}
}

func TestFail(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.call("create", `{"initiator":"ann","task":"ship"}`)
	b.Expect("fail", `{"sessionId":"$1","error":{"code":"E","message":"broken","taskId":"t1","details":{"line":3}}}`,
		`{"sessionId":"$1","status":"failed","failedAt":"2026-03-01T11:00:01.123456Z",`+
			`"error":{"code":"E","message":"broken","taskId":"t1","details":{"line":3}}}`)
	b.Expect("status", `{"sessionId":"$1","include_fields":["status","completedAt","failedAt","error"]}`,
		`{"status":"failed","failedAt":"2026-03-01T11:00:01.123456Z",`+
			`"error":{"code":"E","message":"broken","taskId":"t1","details":{"line":3}}}`)
	b.Refuse("fail", `{"sessionId":"$1","error":{"code":"E"}}`, toolfold.InvalidInput, "error/message is missing", "")
	b.Refuse("fail", `{"sessionId":"$1","error":""}`, toolfold.InvalidInput, "error/message", "")
	b.Refuse("fail", `{"sessionId":"$1","error":7}`, toolfold.InvalidInput, "error must be object", "")
	b.call("create", `{"initiator":"ann","task":"ship again"}`)
	b.Expect("fail", `{"sessionId":"$2","error":"the \"build\" is broken","include_fields":["error"]}`,
		`{"error":{"code":"FAILED","message":"the \"build\" is broken"}}`)
	b.call("create", `{"initiator":"ann","task":"ship a third time"}`)
	b.Expect("fail", `{"sessionId":"$3","error":"{\"code\":\"E\",\"message\":\"m\"}","include_fields":["error"]}`,
		`{"error":{"code":"E","message":"m"}}`)
}

func TestFinalStates(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.call("create", `{"initiator":"ann","task":"one"}`)
	b.call("create", `{"initiator":"ann","task":"two"}`)
	b.call("complete", `{"sessionId":"$1"}`)
	b.call("fail", `{"sessionId":"$2","error":{"code":"E","message":"m"}}`)
	for session, state := range map[string]string{"$1": work.SessionCompleted, "$2": work.SessionFailed} {
		for action, more := range map[string]string{
			"complete": "", "fail": `,"error":{"code":"E","message":"m"}`,
			"join": `,"agentId":"bob"`, "leave": `,"agentId":"ann"`,
		} {
			b.Refuse(action, `{"sessionId":"`+session+`"`+more+`}`, work.SessionInvalidTransition, "is "+state+", which is final", "session.create")
		}
	}
}

func TestRejoin(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.call("create", `{"initiator":"ann","task":"ship"}`)
	b.call("join", `{"sessionId":"$1","agentId":"bob"}`)
	b.Expect("join", `{"sessionId":"$1","agentId":"bob","role":"delegate"}`,
		`{"sessionId":"$1","agentId":"bob","role":"collaborator","joinedAt":"2026-03-01T11:00:01.123456Z","participantCount":2}`)
	b.Expect("join", `{"sessionId":"$1","agentId":"ann"}`,
		`{"sessionId":"$1","agentId":"ann","role":"initiator","joinedAt":"2026-03-01T11:00:00.123456Z","participantCount":2}`)
	b.call("leave", `{"sessionId":"$1","agentId":"bob"}`)
	b.Expect("join", `{"sessionId":"$1","agentId":"bob","role":"delegate"}`,
		`{"sessionId":"$1","agentId":"bob","role":"delegate","joinedAt":"2026-03-01T11:00:05.123456Z","participantCount":2}`)
	b.Expect("status", `{"sessionId":"$1","include_fields":["participants.agentId","participants.leftAt"]}`,
		`{"participants":[{"agentId":"ann"},{"agentId":"bob"}]}`)
	if version := b.store.sessions[id(1)].Version; version != 3 {
		t.Errorf("the session was saved %d times, want 3: joining twice is nothing to save", version)
	}
}

func TestLeaveRefusals(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.call("create", `{"initiator":"ann","task":"ship"}`)
	b.Refuse("leave", `{"sessionId":"$1","agentId":"ann"}`, InitiatorCannotLeave, `"ann"`, "session.complete")
	b.Refuse("leave", `{"sessionId":"$1","agentId":"bob"}`, AgentNotParticipant, `"bob"`, "in the session: ann")
	b.call("join", `{"sessionId":"$1","agentId":"bob"}`)
	b.call("leave", `{"sessionId":"$1","agentId":"bob"}`)
	b.Refuse("leave", `{"sessionId":"$1","agentId":"bob"}`, AgentNotParticipant, `"bob"`, "in the session: ann")
}

func TestMaxParticipants(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.call("create", `{"initiator":"a0","task":"ship"}`)
	for i := 1; i < MaxPresent; i++ {
		b.call("join", fmt.Sprintf(`{"sessionId":"$1","agentId":"a%d"}`, i))
	}
	b.Refuse("join", `{"sessionId":"$1","agentId":"late"}`, MaxParticipants, "10 agents", "a0, a1")
	b.call("leave", `{"sessionId":"$1","agentId":"a5"}`)
	b.Expect("join", `{"sessionId":"$1","agentId":"late","include_fields":["participantCount"]}`, `{"participantCount":10}`)
	b.Refuse("join", `{"sessionId":"$1","agentId":"a5"}`, MaxParticipants, "10 agents", "late")
}

func TestNotFound(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const absent = "11111111-1111-4111-8111-111111111111"
	for action, more := range map[string]string{
		"status": "", "complete": "", "fail": `,"error":{"code":"E","message":"m"}`,
		"join": `,"agentId":"bob"`, "leave": `,"agentId":"bob"`,
	} {
		b.Refuse(action, `{"sessionId":"`+absent+`"`+more+`}`, work.SessionNotFound, absent, "session.list")
	}
}

func TestIDInCapitals(t *testing.T) {
	t.Parallel()
	store := newFakeStore()
	const lower = "abcdefab-cdef-4bcd-8fab-abcdefabcdef"
	service := New(store, time.Now, func() string { return lower })
	if _, err := service.Create(t.Context(), CreateIn{Initiator: "ann", Task: "ship"}); err != nil {
		t.Fatal(err)
	}
	if out, err := service.Status(t.Context(), StatusIn{SessionID: strings.ToUpper(lower)}); err != nil || out.SessionID != lower {
		t.Errorf("status answered %q, %v", out.SessionID, err)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, agent := range []string{"ann", "bob", "ann", "ann"} {
		b.call("create", `{"initiator":"`+agent+`","task":"ship"}`)
	}
	b.call("join", `{"sessionId":"$3","agentId":"bob"}`)
	b.call("complete", `{"sessionId":"$1"}`)
	b.Expect("list", `{"limit":1,"status":"completed"}`,
		`{"sessions":[{"sessionId":"$1","initiator":"ann","task":"ship","status":"completed",`+
			`"participantCount":1,"createdAt":"2026-03-01T11:00:00.123456Z"}],"total":1,"hasMore":false}`)
	b.Expect("list", `{"initiator":"ann","include_fields":["sessions.sessionId","sessions.participantCount","total"]}`,
		`{"sessions":[{"sessionId":"$4","participantCount":1},{"sessionId":"$3","participantCount":2},{"sessionId":"$1",`+
			`"participantCount":1}],"total":3}`)
	b.Expect("list", `{"initiator":"nobody"}`, `{"sessions":[],"total":0,`+
		`"message":"no session matches; session.list without filters shows all, session.create opens one","hasMore":false}`)
	b.Refuse("list", `{"cursor":"nonsense"}`, toolfold.InvalidInput, "cursor must be a nextCursor of session.list", "")
	b.Refuse("list", `{"limit":101}`, toolfold.InvalidInput, "limit must be 1 to 100", "")
}

func TestListPages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for range 5 {
		b.call("create", `{"initiator":"ann","task":"ship"}`)
	}
	var seen []string
	var page struct {
		Sessions   []struct{ SessionID string }
		Total      int
		HasMore    bool
		NextCursor string
	}
	for pages := 1; ; pages++ {
		args := fmt.Sprintf(`{"limit":2,"cursor":%q}`, page.NextCursor)
		page.Sessions, page.NextCursor = nil, ""
		if err := json.Unmarshal([]byte(b.call("list", args)), &page); err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Sessions {
			seen = append(seen, s.SessionID)
		}
		if page.Total != 5 || page.HasMore != (page.NextCursor != "") || page.HasMore != (pages < 3) {
			t.Fatalf("page %d is %+v", pages, page)
		}
		if !page.HasMore {
			break
		}
	}
	if diff := cmp.Diff([]string{"$5", "$4", "$3", "$2", "$1"}, seen); diff != "" {
		t.Error(diff)
	}
}

// Sessions of this workspace come first, on any page. Only sessions of other workspaces show their
// workspace.
func TestListOfWorkspaces(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.service.Workspace = "here"
	for _, workspace := range []string{"here", "shop", "here", "shop", "here"} {
		b.call("create", `{"initiator":"ann","task":"ship","workspace":"`+workspace+`"}`)
	}
	for limit := 1; limit <= 5; limit++ {
		var seen []string
		var page ListOut
		for {
			args := fmt.Sprintf(`{"limit":%d,"cursor":%q}`, limit, page.NextCursor)
			page = ListOut{}
			if err := json.Unmarshal([]byte(b.call("list", args)), &page); err != nil || page.Total != 5 {
				t.Fatalf("got %+v, %v", page, err)
			}
			for _, s := range page.Sessions {
				seen = append(seen, s.ID+s.Workspace)
			}
			if page.NextCursor == "" {
				break
			}
		}
		if diff := cmp.Diff([]string{"$5", "$3", "$1", "$4shop", "$2shop"}, seen); diff != "" {
			t.Errorf("limit %d: %s", limit, diff)
		}
	}
	fields := `"include_fields":["sessions.sessionId","sessions.workspace","total"]}`
	b.Expect("list", `{"workspace":"shop","limit":1,`+fields, `{"sessions":[{"sessionId":"$4","workspace":"shop"}],"total":2}`)
	b.Expect("list", `{"workspace":"here","limit":1,`+fields, `{"sessions":[{"sessionId":"$5"}],"total":3}`)
	b.Refuse("list", `{"query":"`+strings.Repeat("a ", maxWords+1)+`"}`, toolfold.InvalidInput, "query has 11 words", "few sessions")
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.call("create", `{"initiator":"ann","task":"ship"}`)
	b.store.conflicts = attempts - 1
	b.Expect("join", `{"sessionId":"$1","agentId":"bob","include_fields":["participantCount"]}`, `{"participantCount":2}`)
	for action, more := range map[string]string{
		"complete": "", "fail": `,"error":{"code":"E","message":"m"}`, "join": `,"agentId":"eve"`, "leave": `,"agentId":"bob"`,
	} {
		b.store.saves, b.store.conflicts = 0, attempts
		b.Refuse(action, `{"sessionId":"$1"`+more+`}`, "SESSION_"+strings.ToUpper(action)+"_FAILED", "changed nothing", "call again")
	}
}

func TestConcurrentJoins(t *testing.T) {
	t.Parallel()
	store := newFakeStore()
	service := New(store, time.Now, func() string { return id(1) })
	if _, err := service.Create(t.Context(), CreateIn{Initiator: "a0", Task: "ship"}); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	var refused sync.Map
	for i := range 12 {
		group.Go(func() {
			agent := fmt.Sprintf("b%d", i)
			_, err := service.Join(t.Context(), JoinIn{SessionID: id(1), AgentID: agent, Role: Collaborator})
			var known *toolfold.Error
			if errors.As(err, &known) && known.Code == MaxParticipants {
				refused.Store(agent, true)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	n := 0
	refused.Range(func(any, any) bool { n++; return true })
	if got := len(store.sessions[id(1)].Participants); got != MaxPresent || n != 3 {
		t.Errorf("%d participants and %d refusals, want 10 and 3", got, n)
	}
}

func TestChangeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	store := newFakeStore()
	store.conflicts = attempts
	service := New(store, time.Now, func() string { return id(1) })
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := service.Create(ctx, CreateIn{Initiator: "ann", Task: "ship"}); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := service.Complete(ctx, CompleteIn{SessionID: id(1)}); !errors.Is(err, context.Canceled) {
		t.Errorf("completing answered %v, want context.Canceled", err)
	}
	if store.saves != 1 {
		t.Errorf("tried %d times, want once: the call had ended", store.saves)
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	large := strings.Repeat("x", maxJSON)
	b.Refuse("create", `{"initiator":"ann","task":"ship","metadata":{"x":"`+large+`"}}`, toolfold.InvalidInput, "the limit is 65536",
		"memory.store")
	b.call("create", `{"initiator":"ann","task":"ship"}`)
	b.Refuse("fail", `{"sessionId":"$1","error":{"code":"E","message":"`+large+`"}}`, toolfold.InvalidInput, "the limit is 65536",
		"memory.store")
	for n := range MaxJoined - 1 {
		b.call("join", fmt.Sprintf(`{"sessionId":"$1","agentId":"b%d"}`, n))
		b.call("leave", fmt.Sprintf(`{"sessionId":"$1","agentId":"b%d"}`, n))
	}
	b.Refuse("join", `{"sessionId":"$1","agentId":"one-more"}`, MaxParticipants, "100 agents", "another session")
	b.Expect("join", `{"sessionId":"$1","agentId":"b7","include_fields":["agentId"]}`, `{"agentId":"b7"}`)
}

// A session is handed over: its successor finds it by its participant, reads the notes from the
// latest on, and sees that it is stale.
func TestHandOver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.call("create", `{"initiator":"ann","task":"ship"}`)
	b.call("join", `{"sessionId":"$1","agentId":"bob"}`)
	b.Expect("note", `{"sessionId":"$1","agentId":"bob","note":"tests are green"}`,
		`{"sessionId":"$1","agentId":"bob","createdAt":"2026-03-01T11:00:02.123456Z"}`)
	b.call("note", `{"sessionId":"$1","agentId":"ann","note":"the tag is missing"}`)
	b.Refuse("note", `{"sessionId":"$1","agentId":"eve","note":"hello"}`, AgentNotParticipant, `"eve" is not in the session`, "session.join")
	b.call("leave", `{"sessionId":"$1","agentId":"bob"}`)
	b.Refuse("note", `{"sessionId":"$1","agentId":"bob","note":"hello"}`, AgentNotParticipant, `"bob" is not in the session`, "ann")

	b.Expect("list", `{"agentId":"ann","include_fields":["sessions.sessionId","sessions.stale","total"]}`,
		`{"sessions":[{"sessionId":"$1"}],"total":1}`)
	b.Expect("list", `{"agentId":"bob","include_fields":["sessions","total"]}`, `{"sessions":[],"total":0}`)
	if empty := b.call("list", `{"agentId":"bob"}`); !strings.Contains(empty, "session.create") {
		t.Errorf("got %s, want what to do next", empty)
	}

	first := b.call("status", `{"sessionId":"$1","limit":1}`)
	var page struct {
		NoteCount  int
		Notes      []Note
		NextCursor string
	}
	if err := json.Unmarshal([]byte(first), &page); err != nil || page.NoteCount != 2 || len(page.Notes) != 1 ||
		page.Notes[0].Text != "the tag is missing" || page.NextCursor == "" {
		t.Fatalf("got %s, %v", first, err)
	}
	b.Expect("status", `{"sessionId":"$1","limit":1,"cursor":"`+page.NextCursor+`","include_fields":["notes","nextCursor"]}`,
		`{"notes":[{"agentId":"bob","note":"tests are green","createdAt":"2026-03-01T11:00:02.123456Z"}]}`)

	b.calls += 24 * 3600
	for action, args := range map[string]string{"list": `{}`, "status": `{"sessionId":"$1"}`} {
		if answer := b.call(action, args); !strings.Contains(answer, `"stale":true`) {
			t.Errorf("%s: got %s, want it stale", action, answer)
		}
	}
	b.call("note", `{"sessionId":"$1","agentId":"ann","note":"going on"}`)
	if answer := b.call("status", `{"sessionId":"$1"}`); strings.Contains(answer, "stale") {
		t.Errorf("got %s after a note", answer)
	}
	b.call("complete", `{"sessionId":"$1"}`)
	b.Refuse("note", `{"sessionId":"$1","agentId":"ann","note":"late"}`, work.SessionInvalidTransition, "final", "session.create")
	b.calls += 24 * 3600
	if answer := b.call("list", `{}`); strings.Contains(answer, "stale") {
		t.Errorf("got %s, want no end of a completed session", answer)
	}
}

// A session of an earlier version that has the path of its workspace is of that workspace.
func TestSessionsOfPaths(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.service.Workspace, b.service.Folder = "acme/shop", "/home/ann/shop"
	for n, workspace := range []string{"/home/ann/shop", "/home/ann/other"} {
		b.store.sessions[id(n+1)] = Session{ID: id(n + 1), Initiator: "ann", Status: work.SessionActive, Workspace: workspace,
			CreatorWorkspace: workspace, Participants: []Participant{{AgentID: "ann", Role: Initiator}}}
	}
	b.ids = 2
	const ids = `"include_fields":["sessions.sessionId","sessions.workspace","total"]}`
	b.Expect("list", `{"workspace":".",`+ids, `{"sessions":[{"sessionId":"$1"}],"total":1}`)
	b.Expect("list", `{"workspace":"/home/ann/shop",`+ids, `{"sessions":[{"sessionId":"$1"}],"total":1}`)
	b.Expect("list", `{`+ids, `{"sessions":[{"sessionId":"$1"},{"sessionId":"$2","workspace":"/home/ann/other"}],"total":2}`)
	b.Expect("complete", `{"sessionId":"$1","include_fields":["status"]}`, `{"status":"completed"}`)
	b.Refuse("complete", `{"sessionId":"$2"}`, AgentNotParticipant, "another workspace opened the session", "agentId")
}

// Handed-over sessions are listed first, with a mark, until another agent joins.
func TestHandedOver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.service.Workspace, b.service.Folder = "acme/shop", "/home/ann/shop"
	b.call("create", `{"initiator":"ann","task":"ship"}`)
	b.call("create", `{"initiator":"ann","task":"test","workspace":"."}`)
	b.call("create", `{"initiator":"ann","task":"mend","workspace":"/home/ann/shop/"}`)
	b.call("create", `{"initiator":"eve","task":"bill","workspace":"acme/billing"}`)
	b.call("create", `{"initiator":"ann","task":"rest"}`)
	const ids = `"include_fields":["sessions.sessionId","sessions.workspace","total"]}`
	order := func(args, want string) {
		t.Helper()
		b.Expect("list", args+ids, want)
	}
	order(`{`, `{"sessions":[{"sessionId":"$5"},{"sessionId":"$3"},{"sessionId":"$2"},{"sessionId":"$1"},`+
		`{"sessionId":"$4","workspace":"acme/billing"}],"total":5}`)
	order(`{"workspace":".",`, `{"sessions":[{"sessionId":"$5"},{"sessionId":"$3"},{"sessionId":"$2"},{"sessionId":"$1"}],"total":4}`)

	b.Refuse("note", `{"sessionId":"$1","agentId":"bob","note":"go on","to":"carl"}`, AgentNotParticipant, "", "session.join")
	b.call("note", `{"sessionId":"$1","agentId":"ann","note":"half is done","next":["tag it","tell all"],"to":"bob"}`)
	b.call("note", `{"sessionId":"$2","agentId":"ann","note":"over to you","handover":true}`)
	b.call("note", `{"sessionId":"$4","agentId":"eve","note":"not here","next":["x"]}`)
	order(`{`, `{"sessions":[{"sessionId":"$2"},{"sessionId":"$1"},{"sessionId":"$5"},{"sessionId":"$3"},`+
		`{"sessionId":"$4","workspace":"acme/billing"}],"total":5}`)
	b.Expect("status", `{"sessionId":"$1","include_fields":["handover"]}`, `{"handover":{"agentId":"ann","to":"bob",`+
		`"note":"half is done","next":["tag it","tell all"],"createdAt":"2026-03-01T11:00:08.123456Z"}}`)
	if notes := b.call("status", `{"sessionId":"$1"}`); !strings.Contains(notes, `"note":"for bob: half is done\n- tag it\n- tell all"`) {
		t.Error(notes)
	}
	// Pages of one session go through all parts.
	var seen []string
	for cursor := ""; ; {
		var page struct {
			Sessions []struct {
				SessionID string
				HandOver  *HandOver
			}
			NextCursor string
		}
		if err := json.Unmarshal([]byte(b.call("list", `{"limit":1,"cursor":"`+cursor+`"}`)), &page); err != nil || len(page.Sessions) != 1 {
			t.Fatal(err, page)
		}
		seen = append(seen, fmt.Sprint(page.Sessions[0].SessionID, " ", page.Sessions[0].HandOver != nil))
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"$2 true", "$1 true", "$5 false", "$3 false", "$4 true"}, seen); diff != "" {
		t.Error(diff)
	}
	// Joining takes it up, also for agents that are in the session and for the next conversation of
	// the same name.
	b.call("join", `{"sessionId":"$1","agentId":"ann"}`)
	if list := b.call("list", `{"limit":2}`); strings.Contains(list, "half is done") {
		t.Error(list)
	}
	b.call("join", `{"sessionId":"$1","agentId":"bob"}`)
	b.call("note", `{"sessionId":"$1","agentId":"bob","note":"back to you","to":"ann"}`)
	b.call("join", `{"sessionId":"$1","agentId":"ann"}`)
	b.call("complete", `{"sessionId":"$2"}`)
	order(`{`, `{"sessions":[{"sessionId":"$5"},{"sessionId":"$3"},{"sessionId":"$2"},{"sessionId":"$1"},`+
		`{"sessionId":"$4","workspace":"acme/billing"}],"total":5}`)
}
