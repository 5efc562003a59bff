package trace

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

const (
	maxSteps  = 10
	maxParts  = 20
	maxCauses = 10
)

// analyze computes the analysis of a trace from its spans and from the
// durations of earlier ones of its label.
func (t *tree) analyze(usual []time.Duration) AnalyzeOut {
	out := AnalyzeOut{
		TraceID: t.spans[0].TraceID, Label: t.label, Status: t.status, DurationMs: millis(t.duration()),
		CriticalPath: t.criticalPath(), Retries: t.retries(), Usual: t.compare(usual),
	}
	steps := t.stepTimes()
	out.StepCount = len(steps)
	out.SlowestSteps = steps[:min(len(steps), maxSteps)]
	causes := t.causes()
	for _, c := range causes {
		out.ErrorCount += c.Count
	}
	out.Errors = causes[:min(len(causes), maxCauses)]
	out.Recommendations = out.recommend()
	return out
}

// steps returns the spans whose times are compared: the steps of runs, or, in a
// trace without, the spans right within the roots.
func (t *tree) steps() []*node {
	steps := slices.DeleteFunc(slices.Clone(t.spans), func(n *node) bool { return n.Kind != Step })
	if len(steps) == 0 {
		steps = slices.DeleteFunc(slices.Clone(t.spans), func(n *node) bool { return n.depth != 1 })
	}
	return steps
}

// stepTimes returns the steps with the time that each spent outside of the
// steps within it, the longest first.
func (t *tree) stepTimes() []StepTime {
	steps := t.steps()
	isStep := map[*node]bool{}
	for _, n := range steps {
		isStep[n] = true
	}
	within := map[*node][]*node{} // the steps right within a step
	for _, n := range steps {
		around := n.parent
		for around != nil && !isStep[around] {
			around = around.parent
		}
		within[around] = append(within[around], n)
	}
	times := []StepTime{}
	for _, n := range steps {
		own := n.duration() - covered(within[n], n.Start, n.end)
		times = append(times, StepTime{
			SpanID: n.ID, Label: n.Label, DurationMs: millis(n.duration()), OwnMs: millis(own), Share: ratio(own, t.duration()),
		})
	}
	slices.SortStableFunc(times, func(a, b StepTime) int { return cmp.Compare(b.OwnMs, a.OwnMs) })
	return times
}

// covered returns how much of the time between start and end at least one of
// the spans, in the order they began, was running.
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

// criticalPath returns what the end of the trace had to wait for: from the end
// backwards, always the span that ended last before the one after it began.
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

// follow walks from end back to start over spans that were there then, and adds
// the time of each on the path, without the time of those within it. It returns
// how much of the time it found spans for.
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

// causes returns the failures that no failure within explains. Those of one
// label and code are one cause, the first.
func (t *tree) causes() []Cause {
	causes := []Cause{}
	at := map[[2]string]int{}
	for _, n := range t.spans {
		if n.Status != Failure || slices.ContainsFunc(n.children, func(c *node) bool { return c.Status == Failure }) {
			continue
		}
		key := [2]string{n.Label, n.Code}
		if i, known := at[key]; known {
			causes[i].Count++
			continue
		}
		at[key] = len(causes)
		causes = append(causes, Cause{SpanID: n.ID, Label: n.Label, Path: n.path(), Fault: Fault{Code: n.Code, Message: n.Message}, Count: 1})
	}
	return causes
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

// retries returns what needed several attempts, the most first.
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

// compare compares the duration with those of earlier traces. It returns nil
// where there are none.
func (t *tree) compare(usual []time.Duration) *Usual {
	if len(usual) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(usual))
	median := sorted[len(sorted)/2]
	return &Usual{MedianMs: millis(median), Ratio: ratio(t.duration(), median), Traces: len(usual)}
}

// ratio returns a/b with three decimals; zero where b is zero.
func ratio(a, b time.Duration) float64 {
	if b == 0 {
		return 0
	}
	return math.Round(float64(a)/float64(b)*1000) / 1000
}

// What stands out enough to be recommended about.
const (
	notableMs    = 1000 // of a trace that is worth making faster
	notableShare = 0.5  // of one step
	notableRatio = 2    // to the usual duration
	leastTraces  = 5    // that say what is usual
)

// recommend says what follows from the figures.
func (a AnalyzeOut) recommend() []string {
	list := []string{}
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for _, c := range a.Errors[:min(len(a.Errors), 3)] {
		switch {
		case c.Code == Interrupted:
			add("%s was cut off when the server ended: run it again", c.Label)
		case c.Count > 1:
			add("mend %s first: it failed %d times with %s", c.Label, c.Count, c.Code)
		default:
			add("mend %s first: it failed with %s", c.Label, c.Code)
		}
	}
	for _, r := range a.Retries[:min(len(a.Retries), 2)] {
		add("%s needed %d attempts: look why the first ones failed", r.Label, r.Attempts)
	}
	var slowest StepTime
	if len(a.SlowestSteps) > 0 {
		slowest = a.SlowestSteps[0]
	}
	if a.DurationMs >= notableMs && slowest.Share >= notableShare {
		add("%s took %.0f %% of the time (%.1f s): make it faster before anything else", slowest.Label, slowest.Share*100, slowest.OwnMs/1000)
	}
	if u := a.Usual; u != nil && u.Traces >= leastTraces && u.Ratio >= notableRatio && a.DurationMs >= notableMs {
		add("it took %.1f times the usual %.1f s: compare with a faster one by trace.list and trace.get", u.Ratio, u.MedianMs/1000)
	}
	return list
}
