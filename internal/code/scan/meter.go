package scan

import (
	"encoding/json"
	"io"
	"os"
	"sync"
	"time"

	"github.com/toolfold/toolfold/internal/system/child"
)

// meterEvery is the time between two looks at the processor time that was used.
const meterEvery = 500 * time.Millisecond

// meter writes what a process of a scan says, and ends the process at a step that used up its
// processor time. Time that a busy machine gives to others does not count.
type meter struct {
	clock func() time.Duration // child.Used, except in tests
	mu    sync.Mutex
	out   *json.Encoder
	limit time.Duration // as of job
	whole time.Duration // that all steps together may take; 0 = that is not limited
	used  time.Duration // by this process and what it started, when it was last looked at
	open  map[string]*charge
}

// charge is a step that goes on, and the processor time that it has left.
type charge struct {
	step step
	left time.Duration
}

func newMeter(out io.Writer, j job) *meter {
	m := &meter{clock: child.Used, out: json.NewEncoder(out), limit: j.Limit, open: map[string]*charge{}}
	if len(j.Folders) == 0 {
		m.whole = apartTime
	}
	return m
}

// emit writes a part, and begins and ends the steps that it names.
func (m *meter) emit(p part) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.Begun != nil {
		if s := p.Begun; m.limit > 0 && s.Place != "" {
			s.Time = min(s.Time, m.limit)
		}
		m.open[p.Begun.Name] = &charge{*p.Begun, p.Begun.Time}
	}
	if c := m.open[p.Ended]; c != nil {
		if c.step.Place == "" {
			m.spend() // what its programs used is not charged to the next step
		}
		delete(m.open, p.Ended)
	}
	if err := m.out.Encode(p); err != nil {
		os.Exit(1) // the reader is gone
	}
}

// watch ends the process when a step has used up its time.
func (m *meter) watch() {
	for range time.Tick(meterEvery) {
		m.mu.Lock()
		late := m.spend()
		m.mu.Unlock()
		if late != nil {
			m.emit(part{Late: late})
			os.Exit(1)
		}
	}
}

// spend charges what was used since the last time to the steps that go on, in equal shares, and
// returns one that has used up its time: a step without a name for all of them together.
func (m *meter) spend() (late *step) {
	used := m.clock()
	spent := max(used-m.used, 0)
	m.used = max(used, m.used)
	for _, c := range m.open {
		if c.left -= spent / time.Duration(len(m.open)); c.left <= 0 {
			late = &c.step
		}
	}
	if late == nil && m.whole > 0 && m.used > m.whole {
		late = &step{Time: m.whole}
	}
	return late
}
