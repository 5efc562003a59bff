package scan

import (
	"encoding/json"
	"io"
	"os"
	"sync"
	"time"

	"github.com/toolfold/toolfold/internal/system/child"
)

// meterEvery is the interval of checks of the used processor time.
const meterEvery = 500 * time.Millisecond

// meter writes the output of a scanner process, and ends the process if a step uses up its
// processor time. Time that a busy machine gives to other processes does not count.
type meter struct {
	clock func() time.Duration // child.Used, except in tests
	mu    sync.Mutex
	out   *json.Encoder
	limit time.Duration // see job
	whole time.Duration // for all steps together; 0 = unlimited
	used  time.Duration // by this process and its children, at the last check
	open  map[string]*charge
}

// charge is a running step, with its remaining processor time.
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
			m.spend() // so that its processes are not charged to the next step
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

// spend charges the processor time since the last call to the running steps, in equal shares. It
// returns a step that has used up its time; a step without a name stands for the whole process.
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
