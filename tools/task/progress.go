package task

import "slices"

// Progress is the progress of a task's run.
type Progress struct {
	Done  float64 // steps; a running one counts in part
	Total float64 // 0 = the run has no steps
	Lines []string
}

// Limits of the stored lines of a run.
const (
	MaxLines = 10
	maxLine  = 200 // characters
)

// Say adds a line. If there are too many, it drops the oldest.
func (p *Progress) Say(line string) {
	if runes := []rune(line); len(runes) > maxLine {
		line = string(runes[:maxLine]) + "…"
	}
	p.Lines = append(p.Lines, line)
	if more := len(p.Lines) - MaxLines; more > 0 {
		p.Lines = slices.Clone(p.Lines[more:])
	}
}
