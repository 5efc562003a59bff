package storagetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/tools/session"
)

// Session returns the tests of the store of the session family.
func Session() Suite {
	return Suite{
		Name: "session",
		Behaviours: map[string]func(*testing.T, *storage.DB){
			"keep":         keepSession,
			"save":         saveSession,
			"save at once": saveAtOnce,
			"list":         listSessions,
			"list pages":   pageSessions,
			"notes":        keepNotes,
			"hand-over":    handOver,
			"join at once": func(t *testing.T, db *storage.DB) { joinAtOnce(t, db, db) },
		},
		Durabilities: map[string]func(*testing.T, string){
			"reopen": reopened(func(t *testing.T, db *storage.DB) {
				create(t, db.Session(), newSession(1))
			}, func(t *testing.T, db *storage.DB) {
				equal(t, stored(t, db.Session().Get, sessionID(1)), newSession(1))
			}),
			"join at once from two processes": func(t *testing.T, url string) {
				a, b := mustOpen(t, url), mustOpen(t, url)
				joinAtOnce(t, a, b)
				noError(t, errors.Join(a.Close(), b.Close()))
			},
		},
	}
}

func sessionID(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// newSession returns an active session that ann opened n seconds after noon.
func newSession(n int) session.Session {
	at := noon.Add(time.Duration(n) * time.Second)
	return session.Session{
		ID: sessionID(n), Initiator: "ann", Task: "ship", Status: work.SessionActive, CreatedAt: at, UpdatedAt: at,
		Participants: []session.Participant{{AgentID: "ann", Role: session.Initiator, JoinedAt: at}},
	}
}

func create(t *testing.T, s session.Store, created ...session.Session) {
	t.Helper()
	for _, c := range created {
		noError(t, s.Create(t.Context(), c))
	}
}

func keepSession(t *testing.T, db *storage.DB) {
	s := db.Session()
	plain, full := newSession(1), newSession(2)
	full.Initiator, full.Task, full.Workspace, full.CreatorWorkspace = "a\x00b", "müssen 任务 '?", "/w", "Ö\x00"
	full.Metadata = json.RawMessage(`{"big":123456789012345678901234567890,"spelt":1.50}`)
	full.Participants[0].AgentID = full.Initiator
	create(t, s, plain, full)
	equal(t, stored(t, s.Get, plain.ID), plain)
	equal(t, stored(t, s.Get, full.ID), full)
	if _, ok, err := s.Get(t.Context(), sessionID(3)); ok || err != nil {
		t.Fatalf("a session that is not there: %v, %v", ok, err)
	}
	if err := s.Create(t.Context(), plain); err == nil {
		t.Fatal("one id was kept twice")
	}
}

func saveSession(t *testing.T, db *storage.DB) {
	s := db.Session()
	create(t, s, newSession(1), newSession(2))
	later := noon.Add(time.Hour)

	changed := stored(t, s.Get, sessionID(1))
	changed.Participants = append(changed.Participants,
		session.Participant{AgentID: "zoe", Role: session.Delegate, JoinedAt: later},
		session.Participant{AgentID: "bob", Role: session.Collaborator, JoinedAt: later, LeftAt: later})
	changed.UpdatedAt = later
	save(t, s, changed, true)
	changed.Version = 1
	equal(t, stored(t, s.Get, changed.ID), changed)

	stale := changed
	stale.Version, stale.Status, stale.Participants = 0, work.SessionCompleted, changed.Participants[:1]
	save(t, s, stale, false)
	equal(t, stored(t, s.Get, changed.ID), changed)

	changed.Status, changed.EndedAt, changed.Summary = work.SessionFailed, later, "over"
	changed.Failure = &session.Failure{Code: "E", Message: "m", TaskID: "t", Details: json.RawMessage(`{"n":1.0}`)}
	changed.Participants[2].LeftAt, changed.Participants[2].Role = time.Time{}, session.Delegate
	save(t, s, changed, true)
	changed.Version = 2
	equal(t, stored(t, s.Get, changed.ID), changed)
	equal(t, stored(t, s.Get, sessionID(2)), newSession(2))
	save(t, s, newSession(3), false) // never created
}

func save(t *testing.T, s session.Store, changed session.Session, want bool) {
	t.Helper()
	saved, err := s.Save(t.Context(), changed)
	noError(t, err)
	if saved != want {
		t.Fatalf("saving version %d of %s: %v, want %v", changed.Version, changed.ID, saved, want)
	}
}

// saveAtOnce checks that only one of several changes to the same version succeeds.
func saveAtOnce(t *testing.T, db *storage.DB) {
	s := db.Session()
	create(t, s, newSession(1))
	var saved atomic.Int64
	noError(t, each(8, func(i int) error {
		changed := newSession(1)
		changed.Participants = append(changed.Participants,
			session.Participant{AgentID: fmt.Sprint(i), Role: session.Delegate, JoinedAt: noon})
		ok, err := s.Save(t.Context(), changed)
		if ok {
			saved.Add(1)
		}
		return err
	}))
	stored := stored(t, s.Get, sessionID(1))
	if saved.Load() != 1 || stored.Version != 1 || len(stored.Participants) != 2 {
		t.Fatalf("%d changes were saved; the session is %+v", saved.Load(), stored)
	}
}

func listSessions(t *testing.T, db *storage.DB) {
	s := db.Session()
	second, third := newSession(2), newSession(3)
	second.Initiator, second.Status = "bob", work.SessionCompleted
	third.Participants = append(third.Participants,
		session.Participant{AgentID: "bob", Role: session.Delegate, JoinedAt: noon},
		session.Participant{AgentID: "eve", Role: session.Delegate, JoinedAt: noon, LeftAt: noon})
	second.Task, second.Summary, second.Workspace = "ship Über\x00Deck", "100% \\ done_", "shop"
	create(t, s, newSession(1), second, third)
	noted := stored(t, s.Get, third.ID)
	saved, err := s.AddNote(t.Context(), noted, session.Note{AgentID: "ann", Text: "the TAG is missing", At: noted.UpdatedAt})
	noError(t, err)
	equal(t, saved, true)
	for _, test := range []struct {
		query session.Query
		want  []string
		total int
	}{
		{session.Query{Limit: 10}, []string{"3: ann active 2", "2: bob completed 1", "1: ann active 1"}, 3},
		{session.Query{Limit: 1, Status: work.SessionActive}, []string{"3: ann active 2"}, 2},
		{session.Query{Limit: 10, Initiator: "bob"}, []string{"2: bob completed 1"}, 1},
		{session.Query{Limit: 10, Initiator: "ann", Status: work.SessionFailed}, []string{}, 0},
		{session.Query{Limit: 10, AgentID: "bob"}, []string{"3: ann active 2"}, 1},
		{session.Query{Limit: 10, AgentID: "ann", Status: work.SessionActive}, []string{"3: ann active 2", "1: ann active 1"}, 2},
		{session.Query{Limit: 10, AgentID: "eve"}, []string{}, 0}, // left
		{session.Query{Limit: 10, Workspaces: []string{"shop"}}, []string{"2: bob completed 1"}, 1},
		{session.Query{Limit: 10, Workspaces: []string{"none", "shop"}}, []string{"2: bob completed 1"}, 1},
		{session.Query{Limit: 1, Except: []string{"shop"}}, []string{"3: ann active 2"}, 2},
		{session.Query{Limit: 1, Except: []string{"shop", "none"}}, []string{"3: ann active 2"}, 2},
		{session.Query{Limit: 10, Words: []string{"tag"}}, []string{"3: ann active 2"}, 1},
		{session.Query{Limit: 10, Words: []string{"SHIP", "Tag"}}, []string{"3: ann active 2"}, 1},
		{session.Query{Limit: 10, Words: []string{"Über", "deck"}}, []string{"2: bob completed 1"}, 1},
		{session.Query{Limit: 10, Words: []string{"DONE_", `\`, "%"}}, []string{"2: bob completed 1"}, 1},
		{session.Query{Limit: 10, Words: []string{"tag", "done"}}, []string{}, 0}, // of different sessions
		{session.Query{Limit: 10, Words: []string{"über"}}, []string{}, 0},        // only A to Z
		{session.Query{Limit: 10, Words: []string{"303"}}, []string{}, 0},         // no bytes of Ü
		{session.Query{Limit: 10, Words: []string{"000"}}, []string{}, 0},
		{session.Query{Limit: 10, Words: []string{`\\`}}, []string{}, 0},
		{session.Query{Limit: 0, Words: []string{"ship"}}, []string{}, 3},
	} {
		page, err := s.List(t.Context(), test.query)
		noError(t, err)
		got := []string{}
		for _, l := range page.Sessions {
			n := int(l.CreatedAt.Sub(noon).Seconds())
			equal(t, l.ID+l.Task[:4], sessionID(n)+"ship")
			equal(t, l.Workspace, map[int]string{2: "shop"}[n])
			got = append(got, fmt.Sprintf("%d: %s %s %d", n, l.Initiator, l.Status, l.Present))
		}
		equal(t, got, test.want)
		equal(t, page.Total, test.total)
	}
}

// pageSessions pages through sessions with the same time, sorted by id.
func pageSessions(t *testing.T, db *storage.DB) {
	s := db.Session()
	for n := 1; n <= 5; n++ {
		added := newSession(n)
		added.CreatedAt = noon
		create(t, s, added)
	}
	var got []string
	query := session.Query{Limit: 2}
	for {
		page, err := s.List(t.Context(), query)
		noError(t, err)
		equal(t, page.Total, 5)
		if len(page.Sessions) == 0 {
			break
		}
		for _, l := range page.Sessions {
			got = append(got, l.ID)
			query.After = &toolfold.Position{CreatedAt: l.CreatedAt, ID: l.ID}
		}
	}
	equal(t, got, []string{sessionID(5), sessionID(4), sessionID(3), sessionID(2), sessionID(1)})
}

// joinAtOnce has agents join through two independent services: each agent joins or gets the error
// that the session is full.
func joinAtOnce(t *testing.T, a, b *storage.DB) {
	create(t, a.Session(), newSession(1))
	newID := func() string { return sessionID(2) }
	services := []*session.Service{
		session.New(a.Session(), time.Now, newID), session.New(b.Session(), time.Now, newID),
	}
	var full atomic.Int64
	noError(t, each(session.MaxPresent+2, func(i int) error {
		in := session.JoinIn{SessionID: sessionID(1), AgentID: fmt.Sprint(i), Role: session.Collaborator}
		_, err := services[i%2].Join(t.Context(), in)
		var refused *toolfold.Error
		if errors.As(err, &refused) && refused.Code == session.MaxParticipants {
			full.Add(1)
			return nil
		}
		return err
	}))
	stored := stored(t, b.Session().Get, sessionID(1))
	if len(stored.Participants) != session.MaxPresent || full.Load() != 3 || stored.Version != session.MaxPresent-1 {
		t.Fatalf("%d participants at version %d and %d refusals, want 10 at 9 and 3", len(stored.Participants), stored.Version, full.Load())
	}
}

// keepNotes adds notes with changes, and pages through them from the latest.
func keepNotes(t *testing.T, db *storage.DB) {
	s := db.Session()
	create(t, s, newSession(1), newSession(2))
	for i := range 5 {
		changed := stored(t, s.Get, sessionID(1))
		changed.UpdatedAt = noon.Add(time.Duration(i) * time.Minute)
		if i == 2 { // a change without a note
			save(t, s, changed, true)
			continue
		}
		saved, err := s.AddNote(t.Context(), changed, session.Note{AgentID: "ann\x00", Text: fmt.Sprint("müssen 任务 ", i), At: changed.UpdatedAt})
		noError(t, err)
		equal(t, saved, true)
	}
	stale := stored(t, s.Get, sessionID(1))
	equal(t, stale.UpdatedAt, noon.Add(4*time.Minute))
	stale.Version--
	saved, err := s.AddNote(t.Context(), stale, session.Note{AgentID: "ann", Text: "lost", At: noon})
	noError(t, err)
	equal(t, saved, false)
	var got []session.Note
	for before := 0; ; {
		page, total, err := s.Notes(t.Context(), sessionID(1), before, 3)
		noError(t, err)
		equal(t, total, 4)
		if len(page) == 0 {
			break
		}
		got = append(got, page...)
		before = page[len(page)-1].Number
	}
	var want []session.Note
	for _, i := range []int{4, 3, 1, 0} {
		want = append(want, session.Note{
			Number: i + 1, AgentID: "ann\x00", Text: fmt.Sprint("müssen 任务 ", i), At: noon.Add(time.Duration(i) * time.Minute),
		})
	}
	equal(t, got, want)
}

func handOver(t *testing.T, db *storage.DB) {
	s := db.Session()
	create(t, s, newSession(1), newSession(2))
	handed := newSession(1)
	handed.HandOver = &session.HandOver{AgentID: "ann", To: "bob", Note: "é", Next: []string{"a", "b"}, At: noon}
	save(t, s, handed, true)
	over := stored(t, s.Get, sessionID(1)).HandOver
	if over == nil || over.To != "bob" || len(over.Next) != 2 || !over.At.Equal(noon) {
		t.Errorf("the hand-over is %+v", over)
	}
	for handedOver, id := range map[bool]string{true: sessionID(1), false: sessionID(2)} {
		page, err := s.List(t.Context(), session.Query{HandedOver: &handedOver, Limit: 5})
		noError(t, err)
		if len(page.Sessions) != 1 || page.Total != 1 || page.Sessions[0].ID != id || page.Sessions[0].HandOver != nil != handedOver {
			t.Errorf("handed over %t: %+v", handedOver, page)
		}
	}
	handed.Version, handed.HandOver = 1, nil
	save(t, s, handed, true)
	if over := stored(t, s.Get, sessionID(1)).HandOver; over != nil {
		t.Errorf("what was taken up is %+v", over)
	}
}
