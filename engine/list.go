package engine

import (
	"context"
)

// list is a compiled list of steps.
type list struct {
	nodes []*node
	limit int // how many may run at once
}

// outcome is what a list of steps came to.
type outcome struct {
	outputs map[string]any // by stepId, of the steps that succeeded
	results []StepResult   // in the order the steps ended
	failure *Failure       // the first; nil for success
}

// finished is the end of one step.
type finished struct {
	index  int
	output any
	result StepResult
}

// run runs the steps, each after those it waits for, and stops at the first
// failure: what still runs is cancelled and waited for.
func (l *list) run(ctx context.Context, f *frame) outcome {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := schedule{list: l, outputs: map[string]any{}, visible: f.steps, started: make([]bool, len(l.nodes)), done: make([]bool, len(l.nodes))}
	ends := make(chan finished)
	for running := 0; ; running-- {
		for s.failure == nil && ctx.Err() == nil && running < l.limit {
			i, ok := s.next()
			if !ok {
				break
			}
			running++
			step := f.within(s.visible, f.meter.part(1/float64(len(l.nodes))))
			go func() { ends <- l.nodes[i].execute(ctx, step, i) }()
		}
		if running == 0 {
			return s.outcome()
		}
		if s.note(<-ends); s.failure != nil {
			cancel()
		}
	}
}

// schedule is the state of a list that runs. Only its own loop touches it.
type schedule struct {
	*list
	outputs, visible map[string]any // visible: also those of the lists around
	started, done    []bool
	results          []StepResult
	failure          *Failure
}

// next picks the first step that waits for nothing any more.
func (s *schedule) next() (i int, ok bool) {
	for i, n := range s.nodes {
		if !s.started[i] && s.ready(n) {
			s.started[i] = true
			return i, true
		}
	}
	return 0, false
}

func (s *schedule) ready(n *node) bool {
	for _, j := range n.after {
		if !s.done[j] {
			return false
		}
	}
	return true
}

func (s *schedule) note(end finished) {
	s.results = append(s.results, end.result)
	if end.result.Error != nil {
		if s.failure == nil {
			s.failure = end.result.Error
		}
		return
	}
	id := s.nodes[end.index].id
	s.done[end.index] = true
	s.outputs[id] = end.output
	s.visible = adding(s.visible, id, end.output)
}

func (s *schedule) outcome() outcome {
	return outcome{outputs: s.outputs, results: s.results, failure: s.failure}
}
