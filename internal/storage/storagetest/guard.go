package storagetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/tools/guard"
	"github.com/toolfold/toolfold/tools/session"
)

// Guard tests the store of the policies of sessions.
func Guard() Suite {
	return Suite{
		Name: "guard",
		Behaviours: map[string]func(*testing.T, *storage.DB){
			"bind":           bindPolicies,
			"claim":          claimAreas,
			"claims at once": claimAreasAtOnce,
			"active":         activeSessions,
		},
		Durabilities: map[string]func(*testing.T, string){"reopen": reopened(func(t *testing.T, db *storage.DB) {
			openSession(t, db, 1)
			_, _, err := db.Guard().Bind(t.Context(), newBinding(1, "a"), 1)
			noError(t, err)
		}, func(t *testing.T, db *storage.DB) {
			equal(t, bindingsOf(t, db, 1), []guard.Binding{newBinding(1, "a")})
		})},
	}
}

func newBinding(n int, id string) guard.Binding {
	return guard.Binding{
		SessionID: sessionID(n), PolicyID: id, AppliedAt: noon, Gates: []string{"path_violation", "change_radius"},
		Allowed: []string{"a/**", "字\x00"}, Forbidden: []string{"a/b"}, Radius: 2, By: "directory",
	}
}

// openSession stores an active session.
func openSession(t *testing.T, db *storage.DB, n int) session.Session {
	t.Helper()
	s := session.Session{
		ID: sessionID(n), Initiator: "ann", Task: "ship", Status: work.SessionActive, CreatedAt: noon, UpdatedAt: noon,
		Participants: []session.Participant{{AgentID: "ann", Role: session.Initiator, JoinedAt: noon}},
	}
	noError(t, db.Session().Create(t.Context(), s))
	return s
}

// bindingsOf returns the stored policies of a session.
func bindingsOf(t *testing.T, db *storage.DB, n int) (list []guard.Binding) {
	t.Helper()
	noError(t, db.Guard().Claim(t.Context(), sessionID(n), func(b *guard.Binding) error { list = append(list, *b); return nil }))
	return list
}

func bindPolicies(t *testing.T, db *storage.DB) {
	openSession(t, db, 1)
	ended := openSession(t, db, 2)
	ended.Status = work.SessionCompleted
	saved, err := db.Session().Save(t.Context(), ended)
	if err != nil || !saved {
		t.Fatal(saved, err)
	}
	for _, test := range []struct {
		binding guard.Binding
		ids     string
		status  string
	}{
		{newBinding(1, "b"), "[b]", work.SessionActive},
		{newBinding(1, "a"), "[a b]", work.SessionActive},
		{newBinding(1, "b"), "[a b]", work.SessionActive},
		{newBinding(1, "c"), "[a b]", work.SessionActive}, // the limit is two
		{newBinding(2, "a"), "[]", work.SessionCompleted},
		{newBinding(3, "a"), "[]", ""},
	} {
		ids, status, err := db.Guard().Bind(t.Context(), test.binding, 2)
		if err != nil || fmt.Sprint(ids) != test.ids || status != test.status {
			t.Errorf("binding %s to %s: %v, %q, %v", test.binding.PolicyID, test.binding.SessionID, ids, status, err)
		}
	}
	if diff := cmp.Diff([]guard.Binding{newBinding(1, "a"), newBinding(1, "b")}, bindingsOf(t, db, 1)); diff != "" {
		t.Error(diff)
	}
	if got := bindingsOf(t, db, 2); got != nil {
		t.Errorf("an ended session has %v", got)
	}
}

func claimAreas(t *testing.T, db *storage.DB) {
	openSession(t, db, 1)
	for _, id := range []string{"a", "b"} {
		_, _, err := db.Guard().Bind(t.Context(), newBinding(1, id), 2)
		noError(t, err)
	}
	add := func(area, refuse string) error {
		return db.Guard().Claim(t.Context(), sessionID(1), func(b *guard.Binding) error {
			if b.PolicyID == refuse {
				return errors.New("no")
			}
			b.Areas = append(b.Areas, area)
			return nil
		})
	}
	noError(t, add("x/字", ""))
	if err := add("y", "b"); err == nil || err.Error() != "no" {
		t.Errorf("refused with %v", err)
	}
	again := newBinding(1, "a")
	again.Radius = 7
	_, _, err := db.Guard().Bind(t.Context(), again, 2)
	noError(t, err)
	for _, b := range bindingsOf(t, db, 1) { // a refusal by one policy stores no area for any; binding again keeps the areas
		if !slices.Equal(b.Areas, []string{"x/字"}) || b.PolicyID == "a" && b.Radius != 7 {
			t.Errorf("%+v", b)
		}
	}
}

// claimAreasAtOnce claims areas from more calls than the limit of areas.
func claimAreasAtOnce(t *testing.T, db *storage.DB) {
	openSession(t, db, 1)
	_, _, err := db.Guard().Bind(t.Context(), newBinding(1, "a"), 1)
	noError(t, err)
	full := errors.New("full")
	noError(t, each(12, func(i int) error {
		err := db.Guard().Claim(t.Context(), sessionID(1), func(b *guard.Binding) error {
			if len(b.Areas) == b.Radius {
				return full
			}
			b.Areas = append(b.Areas, fmt.Sprint("x", i))
			return nil
		})
		if errors.Is(err, full) {
			return nil
		}
		return err
	}))
	if got := bindingsOf(t, db, 1)[0].Areas; len(got) != 2 {
		t.Errorf("areas %v, want two", got)
	}
}

func activeSessions(t *testing.T, db *storage.DB) {
	openSession(t, db, 1)
	ended := openSession(t, db, 2)
	ended.Status = work.SessionFailed
	_, err := db.Session().Save(t.Context(), ended)
	noError(t, err)
	for want, ids := range map[string][]string{
		"[]": nil, fmt.Sprint([]string{sessionID(1)}): {sessionID(1), sessionID(2), sessionID(3)},
	} {
		if got, err := db.Guard().Active(t.Context(), ids); err != nil || fmt.Sprint(got) != want {
			t.Errorf("of %v active: %v, %v", ids, got, err)
		}
	}
}
