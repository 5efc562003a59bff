package screen

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
)

// Screen prints tables and results.
type Screen struct {
	Out   io.Writer // receives escaped text and colours
	Width int       // columns of the terminal; 0 = unlimited
	Color bool      // headers in bold, states in colours
}

// Table has rows of cells. A row may be shorter than the header.
type Table struct {
	Header []string
	Rows   [][]string
	Right  []string // headers of right-aligned columns
}

// Texts are narrowed to at least minWidth, and columns are separated by gap blanks. Single words of up
// to wholeWidth, such as ids, times and states, are not cut.
const (
	minWidth   = 12
	wholeWidth = 40
	gap        = 2
)

// Table prints a table. If the width is too small, cells are cut with an ellipsis and the last columns
// are left out; it returns their names. A table without rows prints nothing.
func (s Screen) Table(t Table) (leftOut []string, err error) {
	if len(t.Rows) == 0 {
		return nil, nil
	}
	rows := append([][]string{t.Header}, t.Rows...)
	widths, least := make([]int, len(t.Header)), make([]int, len(t.Header))
	for _, row := range rows {
		for i, cell := range row {
			width := runewidth.StringWidth(oneLine(cell))
			widths[i] = max(widths[i], width)
			if width > wholeWidth || strings.ContainsAny(cell, " [{") {
				width = min(width, minWidth)
			}
			least[i] = max(least[i], width)
		}
	}
	shown := fit(widths, least, s.Width)
	for number, row := range rows {
		var line strings.Builder
		for i := range shown {
			cell := ""
			if i < len(row) {
				cell = runewidth.Truncate(oneLine(row[i]), widths[i], "…")
			}
			blanks := strings.Repeat(" ", widths[i]-runewidth.StringWidth(cell))
			if number == 0 {
				cell = s.paint(bold, cell)
			} else {
				cell = s.paint(stateColors[strings.ToLower(cell)], cell)
			}
			if slices.Contains(t.Right, t.Header[i]) {
				line.WriteString(blanks + cell)
			} else {
				line.WriteString(cell + blanks)
			}
			line.WriteString(strings.Repeat(" ", gap))
		}
		if _, err := fmt.Fprintln(s.Out, strings.TrimRight(line.String(), " ")); err != nil {
			return nil, err
		}
	}
	return t.Header[shown:], nil
}

// fit narrows columns until they fit into width, but not below least. The widest are narrowed first. It
// returns how many columns fit; the first is always shown.
func fit(widths, least []int, width int) (shown int) {
	if width <= 0 {
		return len(widths)
	}
	needed, total := -gap, -gap
	for i := range widths {
		if needed += least[i] + gap; i > 0 && needed > width {
			break
		}
		total += widths[i] + gap
		shown++
	}
	for total > width {
		widest := -1
		for i := range shown {
			if widths[i] > least[i] && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break // one column, wider than the terminal
		}
		widths[widest]--
		total--
	}
	return shown
}

// oneLine returns a text as one line, escaped.
func oneLine(text string) string {
	return string(escape([]byte(strings.Join(strings.Fields(text), " "))))
}

// Colours, as ECMA-48 numbers them.
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// stateColors maps states and grades in results to colours.
var stateColors = map[string]string{
	"fail": red, "failed": red, "error": red, "critical": red, "high": red,
	"pass": green, "completed": green, "ok": green, "healthy": green,
	"warn": yellow, "running": yellow, "paused": yellow, "medium": yellow, "cancelled": yellow,
}

// paint colours a text, unless colours are off or color is empty.
func (s Screen) paint(color, text string) string {
	if !s.Color || color == "" || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}
