package doctor

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/internal/system/hosts"
)

// printer prints reports for people.
type printer struct {
	w     io.Writer
	bars  bool // on a terminal
	width int  // of the terminal; 0 = lines of any length
}

// barWidth is the length of the longest bar. shownPlaces is how many places of a finding are named.
const (
	barWidth    = 30
	shownPlaces = 6
)

func (p printer) print(r doctor.FullReport) error {
	var b bytes.Buffer
	if r.Upstreams != nil {
		p.upstreams(&b, r)
		printAdvice(&b, r.Advice)
		printRules(&b, r.Rules)
		fmt.Fprintf(&b, "\n%s\n", r.Method)
		_, err := p.w.Write(b.Bytes())
		return err
	}
	fmt.Fprintf(&b, "%s\n\n", r.Headline())
	if r.Surfaces != nil {
		p.surfaces(&b, r)
	} else {
		p.servers(&b, r)
	}
	printAdvice(&b, r.Advice)
	for _, s := range r.Servers {
		p.hostCosts(&b, s)
		p.findings(&b, s.Name, s.Findings)
	}
	for _, total := range r.Totals {
		p.findings(&b, cmp.Or(total.Host, "all together"), total.Findings)
	}
	if err := printChoices(&b, r.Choices); err != nil {
		return err
	}
	for i, counted := range r.Counted {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "counted by Anthropic for %s: %d tokens for %s, with the fixed part of a request\n", counted.Model, counted.Tokens,
			counted.Server)
	}
	if r.Calls != nil {
		p.calls(&b, r.Calls)
	}
	if err := printLegacyCalls(&b, r.LegacyCalls); err != nil {
		return err
	}
	printRules(&b, r.Rules)
	if r.Compared != nil {
		p.comparison(&b, *r.Compared)
	}
	fmt.Fprintf(&b, "\n%s\n", r.Method)
	p.paragraph(&b, "", fmt.Sprintf("≈Claude: estimated for %s as %g × that, fitted to figures published in %s, and %d once a request",
		r.Estimate.Models, r.Estimate.Factor, r.Estimate.Date, r.Estimate.Fixed))
	if r.Surfaces != nil {
		fmt.Fprintln(&b, "* the mode's own listing")
	}
	_, err := p.w.Write(b.Bytes())
	return err
}

// printAdvice prints advice about a long list; empty prints nothing.
func printAdvice(b *bytes.Buffer, advice string) {
	if advice != "" {
		fmt.Fprintf(b, "\n%s\n", advice)
	}
}

// printRules prints the rules that do not allow what they seem to, one per line.
func printRules(b *bytes.Buffer, rules []string) {
	if len(rules) > 0 {
		fmt.Fprintf(b, "\n%s\n", strings.Join(rules, "\n"))
	}
}

// table prints rows of cells. Numbers are right-aligned; the first column and a bar are left-aligned.
func (p printer) table(b *bytes.Buffer, rows [][]any) {
	var cells bytes.Buffer
	w := tabwriter.NewWriter(&cells, 0, 0, 2, ' ', tabwriter.AlignRight)
	width := 0
	for _, row := range rows {
		width = max(width, len([]rune(fmt.Sprint(row[0]))))
	}
	for _, row := range rows {
		fmt.Fprintf(w, "%-*v\t", width, row[0])
		for _, cell := range row[1:] {
			if text, is := cell.(note); is {
				if text != "" {
					fmt.Fprintf(w, "  %s", text)
				}
				continue
			}
			fmt.Fprintf(w, "%v\t", cell)
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	for line := range strings.Lines(cells.String()) {
		b.WriteString(strings.TrimRight(strings.TrimPrefix(line, "  "), " \n") + "\n") // two spaces separate columns, and precede the first
	}
}

// bar returns a bar for a row; empty if the output is not a terminal.
func (p printer) bar(n, largest int) string {
	if !p.bars || largest == 0 {
		return ""
	}
	eighths := n * barWidth * 8 / largest
	bar := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		bar += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return bar + strings.Repeat(" ", barWidth-len([]rune(bar)))
}

// surfaces prints one column for each surface and one row for each family.
func (p printer) surfaces(b *bytes.Buffer, r doctor.FullReport) {
	var rows [][]any
	row := func(name string, cell func(doctor.Surface) any) {
		cells := []any{name}
		for _, s := range r.Surfaces {
			cells = append(cells, cell(s))
		}
		rows = append(rows, cells)
	}
	row("tokens", func(s doctor.Surface) any { return s.Mode })
	row("", func(s doctor.Surface) any {
		if s.Default {
			return string(s.Level) + "*"
		}
		return s.Level
	})
	for i, family := range r.Surfaces[0].Families {
		row(family.Name, func(s doctor.Surface) any { return s.Families[i].Tokens })
	}
	row("total", func(s doctor.Surface) any { return s.Total.Tokens })
	row("bytes", func(s doctor.Surface) any { return s.Total.Bytes })
	row("tools", func(s doctor.Surface) any { return s.Total.Tools })
	p.table(b, rows)
	chosen := r.Servers[0]
	fmt.Fprintf(b, "\n%s: %d tokens, ≈Claude %d, %.1f %% of a window of %d; instructions %d\n",
		chosen.Source, chosen.Tokens, r.Totals[0].Claude, chosen.Share, r.Window, chosen.Instructions)
}

// servers prints a row for each server, followed by a row for each tool.
func (p printer) servers(b *bytes.Buffer, r doctor.FullReport) {
	if len(r.Servers) == 0 {
		fmt.Fprintln(b, "no client has a server")
	}
	largest := 0
	for _, s := range r.Servers {
		largest = max(largest, s.Tokens)
	}
	for i, total := range r.Totals {
		if i > 0 {
			b.WriteByte('\n')
		}
		rows := [][]any{{"server", "tools", "bytes", "tokens", "≈Claude", "% window", "instructions", ""}}
		if h := hosts.Find(total.Host); h != nil {
			rows[0][0] = h.Title
		}
		var problems []string
		for _, s := range r.Servers {
			switch {
			case s.Host != total.Host:
			case s.Problem != "":
				problems = append(problems, fmt.Sprintf("%s (%s): no list: %s", s.Name, s.Source, s.Problem))
			default:
				rows = append(rows, []any{s.Name, s.Tools, s.Bytes, s.Tokens, s.Claude, s.Share, s.Instructions, p.bar(s.Tokens, largest)})
			}
		}
		rows = append(rows, []any{"total", total.Tools, total.Bytes, total.Tokens, total.Claude, total.Share, total.Instructions, ""})
		p.table(b, rows)
		for _, problem := range problems {
			p.paragraph(b, "", problem)
		}
	}
	for _, s := range r.Servers {
		if len(s.List) == 0 {
			continue
		}
		list := s.ByCost()
		rows := [][]any{{s.Name, "tokens", "name", "description", "schema", "≈Claude", ""}}
		for _, t := range list {
			rows = append(rows, []any{t.Name, t.Tokens, t.Parts.Name, t.Parts.Description, t.Parts.Schema, t.Claude,
				p.bar(t.Tokens, list[0].Tokens)})
		}
		b.WriteByte('\n')
		p.table(b, rows)
	}
}

// hostCosts prints how hosts send a list to their models.
func (p printer) hostCosts(b *bytes.Buffer, s doctor.Server) {
	if len(s.HostCosts)+len(s.HostFigures) == 0 || len(s.List) == 0 {
		return
	}
	rows := [][]any{{"as sent for " + s.Name, "tokens", "instructions", "deferred"}}
	for _, cost := range s.HostCosts {
		deferred := any("-")
		if cost.Deferred != nil {
			deferred = *cost.Deferred
		}
		rows = append(rows, []any{cost.Title + " " + cost.Version, cost.Tokens, cost.Instructions, deferred})
	}
	for _, description := range s.HostFigures {
		rows = append(rows, []any{"shown by " + description.Host, description.Tokens, "-", "-"})
	}
	b.WriteByte('\n')
	p.table(b, rows)
}

func (p printer) findings(b *bytes.Buffer, server string, findings []doctor.Finding) {
	for i, f := range findings {
		if i == 0 {
			fmt.Fprintf(b, "\nfindings, %s\n", server)
		}
		p.paragraph(b, fmt.Sprintf("%-9s", f.Severity), f.Rule+": "+f.Message)
		begin := strings.Repeat(" ", 9)
		if len(f.Where) > 0 {
			p.paragraph(b, begin, "in "+f.Places(shownPlaces))
		}
		p.paragraph(b, begin, "fix: "+f.Fix)
	}
}

// paragraph prints text after begin, wrapped to the width and indented.
func (p printer) paragraph(b *bytes.Buffer, begin, text string) {
	b.WriteString(begin)
	indent := len(begin)
	at := indent
	for i, word := range strings.Split(text, " ") {
		switch n := utf8.RuneCountInString(word); {
		case i == 0:
			at += n
		case p.width > 0 && at+1+n > p.width:
			fmt.Fprintf(b, "\n%*s", indent, "")
			at = indent + n
		default:
			b.WriteByte(' ')
			at += 1 + n
		}
		b.WriteString(word)
	}
	b.WriteByte('\n')
}

// calls prints the tokens of calls, which traces estimate.
func (p printer) calls(b *bytes.Buffer, calls []doctor.CallCost) {
	if len(calls) == 0 {
		fmt.Fprintln(b, "\nno calls in the traces")
		return
	}
	rows := [][]any{{"tokens of calls, about", "calls", "arguments p50", "p95", "result p50", "p95"}}
	for _, c := range calls {
		rows = append(rows, []any{c.Action, c.Calls, c.Arguments.Median, c.Arguments.P95, c.Result.Median, c.Result.P95})
	}
	b.WriteByte('\n')
	p.table(b, rows)
}

func (p printer) comparison(b *bytes.Buffer, c doctor.Comparison) {
	fmt.Fprintf(b, "\ncompared: %d → %d tokens (%+.1f %%), %d → %d tools\n", c.Before.Tokens, c.After.Tokens, c.Growth, c.Before.Tools,
		c.After.Tools)
	if len(c.Changes) == 0 {
		return
	}
	rows := [][]any{{"tool", "", "before", "after", "change"}}
	for _, change := range c.Changes {
		rows = append(rows, []any{change.Tool, change.Kind, change.Before, change.After, fmt.Sprintf("%+d", change.After-change.Before)})
	}
	p.table(b, rows)
	for _, change := range c.Changes {
		if change.What != nil {
			fmt.Fprintf(b, "%s: %s\n", change.Tool, strings.Join(change.What, ", "))
		}
	}
}
