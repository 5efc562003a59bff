package task

import "slices"

// Progress says how far the run of a task is.
type Progress struct {
	Done  float64 // steps; a running one counts in part
	Total float64 // 0 = the run has no steps
	Lines []string
}

// Bounds of the lines that a run keeps.
const (
	MaxLines = 10
	maxLine  = 200 // characters
)

// Say adds a line, and drops the first where there are too many.
func (p *Progress) Say(line string) {
	if runes := []rune(line); len(runes) > maxLine {
		line = string(runes[:maxLine]) + "…"
	}
	p.Lines = append(p.Lines, line)
	if more := len(p.Lines) - MaxLines; more > 0 {
		p.Lines = slices.Clone(p.Lines[more:])
	}
}
