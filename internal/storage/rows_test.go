package storage

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/tools/ability"
	"github.com/toolfold/toolfold/tools/agent"
	"github.com/toolfold/toolfold/tools/guard"
	"github.com/toolfold/toolfold/tools/session"
)

// fill sets everything in v to something.
func fill(v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"n":1}`))
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(fromMicros(7)))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case v.Kind() == reflect.String:
		v.SetString("text")
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(3)
	}
}

// Rows keep every member of what they stand for, also one that is added later.
func TestRowsKeepEverything(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), "memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()

	var p agent.Profile
	fill(reflect.ValueOf(&p).Elem())
	p.Source, p.File, p.Trusted = agent.Registered, "", nil // files are not kept in the store
	if _, err := db.Agent().Add(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	gotProfile, _, err := db.Agent().Get(t.Context(), p.AgentID)
	if diff := cmp.Diff(p, gotProfile); diff != "" || err != nil {
		t.Errorf("agent: %v (-want +got)\n%s", err, diff)
	}

	var a ability.Ability
	fill(reflect.ValueOf(&a).Elem())
	if _, err := db.Ability().Put(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	a.Source, a.File, a.Trusted = "", "", nil // files are not kept in the store
	gotAbility, _, err := db.Ability().Get(t.Context(), a.ID)
	if diff := cmp.Diff(a, gotAbility); diff != "" || err != nil {
		t.Errorf("ability: %v (-want +got)\n%s", err, diff)
	}

	var s session.Session
	fill(reflect.ValueOf(&s).Elem())
	s.Version = 0
	if err := db.Session().Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	gotSession, _, err := db.Session().Get(t.Context(), s.ID)
	if diff := cmp.Diff(s, gotSession); diff != "" || err != nil {
		t.Errorf("session: %v (-want +got)\n%s", err, diff)
	}

	var b guard.Binding
	fill(reflect.ValueOf(&b).Elem())
	b.SessionID, b.Areas = s.ID, nil // claims add them
	if _, err := db.write.ExecContext(t.Context(), `UPDATE sessions SET status = 'active'`); err != nil {
		t.Fatal(err)
	}
	if _, _, err := db.Guard().Bind(t.Context(), b, 1); err != nil {
		t.Fatal(err)
	}
	err = db.Guard().Claim(t.Context(), s.ID, func(got *guard.Binding) error {
		if diff := cmp.Diff(b, *got); diff != "" {
			t.Errorf("policy of a session: (-want +got)\n%s", diff)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
