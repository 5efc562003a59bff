package scan

import (
	"io"
	"testing"
	"time"
)

// Steps share the processor time that is used while they go on, and a step that waits uses none.
func TestMeter(t *testing.T) {
	t.Parallel()
	m := newMeter(io.Discard, job{Limit: 2 * time.Second, Folders: []goFolder{{}}})
	for _, s := range []step{{"a", "a.go", time.Hour}, {"b", "b.go", time.Second}, {"all", "", time.Hour}} {
		m.emit(part{Begun: &s})
	}
	for _, test := range []struct {
		ended string
		used  time.Duration
		late  string
	}{
		{"", 0, ""}, {"", 0, ""}, {"", 2900 * time.Millisecond, ""}, {"", 3100 * time.Millisecond, "b"},
		{"b", 4500 * time.Millisecond, ""}, {"all", 4500 * time.Millisecond, ""},
		{"", 4 * time.Second, ""}, // a program went away without being counted
		{"", 5 * time.Second, "a"}, {"a", time.Hour, ""},
	} {
		m.emit(part{Ended: test.ended})
		late := m.spend(test.used)
		if late == nil {
			late = &step{}
		}
		if late.Name != test.late {
			t.Errorf("after %v: %q is late, want %q", test.used, late.Name, test.late)
		}
	}
	if late := newMeter(io.Discard, job{}).spend(apartTime + 1); late == nil || late.Name != "" {
		t.Errorf("after more than all steps may take: %v is late", late)
	}
}
