package scan

import (
	"io"
	"testing"
	"time"
)

// Running steps share the processor time used meanwhile, and a waiting step uses none.
func TestMeter(t *testing.T) {
	t.Parallel()
	var used time.Duration
	clock := func() time.Duration { return used }
	m := newMeter(io.Discard, job{Limit: 2 * time.Second, Folders: []goFolder{{}}})
	m.clock = clock
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
		{"", 4 * time.Second, ""}, // an uncounted program is gone
		{"", 5 * time.Second, "a"}, {"a", time.Minute, ""},
	} {
		m.emit(part{Ended: test.ended})
		used = test.used
		late := m.spend()
		if late == nil {
			late = &step{}
		}
		if late.Name != test.late {
			t.Errorf("after %v: %q is late, want %q", test.used, late.Name, test.late)
		}
	}
	// The processor time of a step's programs is not charged to the next step.
	m.emit(part{Begun: &step{"listing", "", time.Hour}})
	used += time.Minute
	m.emit(part{Ended: "listing"})
	m.emit(part{Begun: &step{"a", "a.go", time.Second}})
	if late := m.spend(); late != nil {
		t.Errorf("%q is late", late.Name)
	}
	all := newMeter(io.Discard, job{})
	if all.clock, used = clock, apartTime+1; all.spend() == nil {
		t.Error("all steps may take for ever")
	}
}
