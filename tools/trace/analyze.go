package trace

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold/internal/text/shorten"
)

const (
	maxSteps  = 10
	maxParts  = 20
	maxChange = 20
	maxCauses = 10
	maxInput  = 500 // characters
)

// analyze computes the analysis of a trace from its spans and from earlier traces with its label.
func (t *tree) analyze(usual []Trace) AnalyzeOut {
	out := AnalyzeOut{
		TraceID: t.spans[0].TraceID, Label: t.label, Status: t.status, DurationMs: millis(t.duration()),
		CriticalPath: t.criticalPath(), Retries: t.retries(), Usual: t.compare(usual),
	}
	times := t.stepTimes()
	slices.SortStableFunc(times, func(a, b stepTime) int { return cmp.Compare(b.own, a.own) })
	out.StepCount = len(times)
	out.SlowestSteps = []StepTime{}
	for _, s := range times[:min(len(times), maxSteps)] {
		out.SlowestSteps = append(out.SlowestSteps, StepTime{
			SpanID: s.ID, Label: s.Label, DurationMs: millis(s.duration()), OwnMs: millis(s.own), Share: ratio(s.own, t.duration()),
		})
	}
	causes := t.causes()
	for _, c := range causes {
		out.ErrorCount += c.Count
	}
	out.Errors = causes[:min(len(causes), maxCauses)]
	return out
}

// steps returns the spans whose times are compared: the steps of runs, or without steps, the
// children of the roots.
func (t *tree) steps() []*node {
	steps := slices.DeleteFunc(slices.Clone(t.spans), func(n *node) bool { return n.Kind != Step })
	if len(steps) == 0 {
		steps = slices.DeleteFunc(slices.Clone(t.spans), func(n *node) bool { return n.depth != 1 })
	}
	return steps
}

// stepTime is a step with the time that it spent outside of nested steps.
type stepTime struct {
	*node
	own  time.Duration
	name string // its label after those of the steps around it
}

// stepTimes returns the times of the steps, in the order of the tree.
func (t *tree) stepTimes() []stepTime {
	steps := t.steps()
	isStep := map[*node]bool{}
	for _, n := range steps {
		isStep[n] = true
	}
	within := map[*node][]*node{} // directly nested steps
	names := map[*node]string{nil: ""}
	for _, n := range steps {
		around := n.parent
		for around != nil && !isStep[around] {
			around = around.parent
		}
		within[around] = append(within[around], n)
		names[n] = strings.TrimPrefix(names[around]+" > "+n.Label, " > ")
	}
	var times []stepTime
	for _, n := range steps {
		times = append(times, stepTime{n, n.duration() - covered(within[n], n.Start, n.end), names[n]})
	}
	return times
}

// compareTo compares the trace with another one. Steps are the same if they and the steps around
// them have the same labels.
func (t *tree) compareTo(other *tree) *Comparison {
	type sum struct {
		here, there time.Duration
		Difference
	}
	var names []string // in the order of this trace, then of the other
	sums := map[string]*sum{}
	at := func(name string) *sum {
		if sums[name] == nil {
			names = append(names, name)
			sums[name] = &sum{Difference: Difference{Label: name}}
		}
		return sums[name]
	}
	for _, s := range t.stepTimes() {
		same := at(s.name)
		same.here += s.own
		same.Count++
	}
	for _, s := range other.stepTimes() {
		same := at(s.name)
		same.there += s.own
		same.OtherCount++
	}
	out := &Comparison{TraceID: other.spans[0].TraceID, DifferenceMs: millis(t.duration() - other.duration()), Steps: []Difference{}}
	for _, name := range names {
		s := sums[name]
		apart := s.here - s.there
		alike := apart.Abs() < time.Millisecond || apart.Abs() < max(s.here, s.there)/10
		switch {
		case s.OtherCount == 0:
			s.Change = "new"
		case s.Count == 0:
			s.Change = "gone"
		case !alike && apart > 0:
			s.Change = "slower"
		case !alike:
			s.Change = "faster"
		case s.Count != s.OtherCount:
			s.Change = "repeats"
		default:
			out.Alike++
			continue
		}
		s.OwnMs, s.DifferenceMs = millis(s.here), millis(apart)
		out.Steps = append(out.Steps, s.Difference)
	}
	slices.SortStableFunc(out.Steps, func(a, b Difference) int { return cmp.Compare(math.Abs(b.DifferenceMs), math.Abs(a.DifferenceMs)) })
	out.Steps = out.Steps[:min(len(out.Steps), maxChange)]
	return out
}

// covered returns how much of the time between start and end at least one of the spans was running.
// Spans must be in order of their start.
func covered(spans []*node, start, end time.Time) (sum time.Duration) {
	for _, n := range spans {
		from, to := maxTime(n.Start, start), n.end
		if to.After(end) {
			to = end
		}
		if to.After(from) {
			sum += to.Sub(from)
			start = to
		}
	}
	return sum
}

// criticalPath returns the spans that the end of the trace had to wait for: going back from the
// end, always the span that ended last before the next one began.
func (t *tree) criticalPath() []PathPart {
	onPath := map[*node]time.Duration{}
	follow(t.roots, t.start, t.end, onPath)
	parts := []PathPart{}
	for _, n := range t.spans {
		if took := onPath[n]; took > 0 {
			parts = append(parts, PathPart{SpanID: n.ID, Label: n.Label, Ms: millis(took)})
		}
	}
	if len(parts) > maxParts {
		longest := slices.Clone(parts)
		slices.SortStableFunc(longest, func(a, b PathPart) int { return cmp.Compare(b.Ms, a.Ms) })
		least := longest[maxParts-1].Ms
		parts = slices.DeleteFunc(parts, func(p PathPart) bool { return p.Ms < least })
		parts = parts[:maxParts]
	}
	return parts
}

// follow walks from end back to start over the spans running then. It adds the time of each span on
// the path, without its children's time, to onPath. It returns the time covered by spans.
func follow(spans []*node, start, end time.Time, onPath map[*node]time.Duration) (found time.Duration) {
	last := slices.Clone(spans)
	slices.SortStableFunc(last, func(a, b *node) int { return b.end.Compare(a.end) })
	for _, n := range last {
		to := n.end
		if to.After(end) {
			to = end
		}
		from := maxTime(n.Start, start)
		if !to.After(from) {
			continue
		}
		onPath[n] += to.Sub(from) - follow(n.children, from, to, onPath)
		found += to.Sub(from)
		end = from
	}
	return found
}

// causes returns the failures that no nested failure explains: first those that ended their run,
// earliest first, then those after which the run continued. Failures with the same label and code
// count as one.
func (t *tree) causes() []Cause {
	failed := slices.DeleteFunc(slices.Clone(t.spans), func(n *node) bool {
		return n.Status != Failure || slices.ContainsFunc(n.children, (*node).endsParent)
	})
	fatal := slices.DeleteFunc(slices.Clone(failed), (*node).tolerated)
	slices.SortStableFunc(fatal, func(a, b *node) int { return a.end.Compare(b.end) })
	causes := []Cause{}
	at := map[[2]string]int{}
	for _, n := range append(fatal, slices.DeleteFunc(failed, func(n *node) bool { return !n.tolerated() })...) {
		like := [2]string{n.Label, n.Code}
		if i, known := at[like]; known {
			causes[i].Count++
			continue
		}
		at[like] = len(causes)
		causes = append(causes, Cause{
			SpanID: n.ID, Label: n.Label, Path: n.path(), Step: n.step(), Input: n.input(),
			Fault: Fault{Code: n.Code, Message: n.Message}, Tolerated: n.tolerated(), Count: 1,
		})
	}
	return causes
}

// endsParent reports whether a failed span also makes the span around it fail: if the run does not
// continue after the failure, and does not retry it.
func (n *node) endsParent() bool {
	if n.Status != Failure || n.Tolerated {
		return false
	}
	if n.parent == nil || n.parent.Kind != Step || n.Kind == Step {
		return true
	}
	// A span that is not a step is an attempt of the step around it: only the last one counts.
	last := n.parent.children[len(n.parent.children)-1]
	return n == last
}

// tolerated reports whether the failure did not end the trace.
func (n *node) tolerated() bool {
	for ; n.parent != nil; n = n.parent {
		if !n.endsParent() || n.parent.Status != Failure {
			return true
		}
	}
	return n.Tolerated
}

// step returns the label of the step that the span is or is within, or "".
func (n *node) step() string {
	for ; n != nil; n = n.parent {
		if n.Kind == Step {
			return n.Label
		}
	}
	return ""
}

// input returns the recorded arguments of the span, or their names.
func (n *node) input() string {
	return shorten.To(cmp.Or(n.Attributes[ArgumentsAttribute], n.Attributes[ArgumentNamesAttribute]), maxInput)
}

// path returns the labels from the root to the span.
func (n *node) path() string {
	var labels []string
	for ; n != nil; n = n.parent {
		labels = append(labels, n.Label)
	}
	slices.Reverse(labels)
	if len(labels) > 12 {
		labels = append(append(labels[:6:6], "…"), labels[len(labels)-6:]...)
	}
	return strings.Join(labels, " > ")
}

// retries returns the spans with several attempts, most attempts first.
func (t *tree) retries() []Retry {
	retries := []Retry{}
	for _, n := range t.spans {
		if n.Attempts > 1 {
			retries = append(retries, Retry{SpanID: n.ID, Label: n.Label, Attempts: n.Attempts, Status: n.Status})
		}
	}
	slices.SortStableFunc(retries, func(a, b Retry) int { return b.Attempts - a.Attempts })
	return retries[:min(len(retries), maxSteps)]
}

// compare compares the duration with earlier traces. It returns nil if there are too few.
func (t *tree) compare(usual []Trace) *Usual {
	if len(usual) < leastTraces {
		return nil
	}
	sorted := slices.SortedStableFunc(slices.Values(usual), func(a, b Trace) int { return cmp.Compare(a.duration(), b.duration()) })
	median := sorted[len(sorted)/2]
	return &Usual{
		MedianMs: millis(median.duration()), Ratio: ratio(t.duration(), median.duration()), Traces: len(usual), TraceID: median.ID,
	}
}

func (t Trace) duration() time.Duration { return t.End.Sub(t.Start) }

// ratio returns a/b with three decimals, or zero if b is zero.
func ratio(a, b time.Duration) float64 {
	if b == 0 {
		return 0
	}
	return math.Round(float64(a)/float64(b)*1000) / 1000
}

// Limits for recommendations.
const (
	notableMs    = 1000 // of a trace that is worth optimizing, whatever is usual
	notableShare = 0.5  // of a trace, spent in one step
	notableRatio = 2    // relative to the usual duration
	notableDelay = 100  // milliseconds above the usual duration
	leastTraces  = 3    // needed for a usual duration
)

// recommend returns recommendations from the figures.
func (a AnalyzeOut) recommend() []string {
	list := []string{}
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for _, c := range a.Errors[:min(len(a.Errors), 3)] {
		switch {
		case c.Tolerated:
			add("the run went on after %s failed %s: look there if it should not", cmp.Or(c.Step, c.Label), c.times())
		case c.Code == Interrupted:
			add("%s was cut off when the server ended: run it again", c.Label)
		case c.Step != "" && c.Step != c.Label:
			add("look at %s: %s failed there %s", c.Step, c.Label, c.times())
		default:
			add("look at the input of %s: it failed %s", c.Label, c.times())
		}
	}
	for _, r := range a.Retries[:min(len(a.Retries), 2)] {
		add("%s needed %d attempts: look why the first ones failed", r.Label, r.Attempts)
	}
	var slowest StepTime
	if len(a.SlowestSteps) > 0 {
		slowest = a.SlowestSteps[0]
	}
	u := a.Usual
	slower := u != nil && u.Ratio >= notableRatio && a.DurationMs-u.MedianMs >= notableDelay
	if (slower || a.DurationMs >= notableMs) && slowest.Share >= notableShare {
		add("%s took %.0f %% of the time (%.0f ms): make it faster before anything else", slowest.Label, slowest.Share*100, slowest.OwnMs)
	}
	if slower && a.Compared == nil {
		add("it took %.1f times the usual %.0f ms: compareTo %s shows which steps are slower", u.Ratio, u.MedianMs, u.TraceID)
	}
	if c := a.Compared; c != nil && len(c.Steps) > 0 && math.Abs(c.DifferenceMs) >= notableDelay {
		if most := c.Steps[0]; most.DifferenceMs*c.DifferenceMs > 0 {
			add("%s (%s) makes %.0f of the %.0f ms of difference: look there first", most.Label, most.Change, most.DifferenceMs, c.DifferenceMs)
		}
	}
	return list
}

// times returns how often a cause occurred, and its code.
func (c Cause) times() string {
	if c.Count > 1 {
		return fmt.Sprintf("%d times with %s", c.Count, c.Code)
	}
	return "with " + c.Code
}
