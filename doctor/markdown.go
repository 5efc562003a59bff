package doctor

import (
	"fmt"
	"io"
	"strings"
)

// Bounds per server: a pull request comment may have 65,536 characters.
const (
	shownTools = 20
	shownWhere = 10
)

// WriteMarkdown writes a report for pull requests: the headline, the changes, the most expensive
// tools and the findings. Names and texts of servers are escaped.
func (w FullReport) WriteMarkdown(to io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n", markdown(w.Headline()))
	if c := w.Compared; c != nil {
		fmt.Fprintf(&b, "\n%d → %d tokens (%+.1f %%), %d → %d tools\n", c.Before.Tokens, c.After.Tokens, c.Growth, c.Before.Tools, c.After.Tools)
		for i, change := range c.Changes {
			if i == 0 {
				b.WriteString("\n| tool | | before | after | change | parts |\n|---|---|---:|---:|---:|---|\n")
			}
			fmt.Fprintf(&b, "| %s | %s | %d | %d | %+d | %s |\n", markdown(change.Tool), change.Kind, change.Before, change.After,
				change.After-change.Before, markdown(strings.Join(change.What, ", ")))
		}
	}
	b.WriteString("\n| server | tools | tokens | ≈Claude | % window | instructions |\n|---|---:|---:|---:|---:|---:|\n")
	for _, s := range w.Servers {
		if s.Problem != "" {
			fmt.Fprintf(&b, "| %s | no list: %s | | | | |\n", markdown(s.Name), markdown(s.Problem))
			continue
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %v | %d |\n", markdown(s.Name), s.Tools, s.Tokens, s.Claude, s.Share, s.Instructions)
	}
	for _, c := range w.Counted {
		fmt.Fprintf(&b, "\nCounted by Anthropic for %s: %d tokens for %s, with the fixed part once a request.\n", markdown(c.Model), c.Tokens,
			markdown(c.Server))
	}
	for _, s := range w.Servers {
		markdownTools(&b, s)
	}
	for _, s := range w.Servers {
		markdownFindings(&b, s.Name, s.Findings)
	}
	for _, total := range w.Totals {
		markdownFindings(&b, strings.TrimSpace("all together "+total.Host), total.Findings)
	}
	fmt.Fprintf(&b, "\n%s. toolfold %s, %s\n", w.Method, markdown(w.Version), w.Date.Format("2006-01-02"))
	if _, err := io.WriteString(to, b.String()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

func markdownTools(b *strings.Builder, s Server) {
	if len(s.List) == 0 {
		return
	}
	fmt.Fprintf(b, "\n<details><summary>tools of %s</summary>\n\n", markdown(s.Name))
	b.WriteString("| tool | tokens | description | schema |\n|---|---:|---:|---:|\n")
	list := s.ByCost()
	for _, t := range list[:min(shownTools, len(list))] {
		fmt.Fprintf(b, "| %s | %d | %d | %d |\n", markdown(t.Name), t.Tokens, t.Parts.Description, t.Parts.Schema)
	}
	if more := len(list) - shownTools; more > 0 {
		rest := 0
		for _, t := range list[shownTools:] {
			rest += t.Tokens
		}
		fmt.Fprintf(b, "| %d more | %d | | |\n", more, rest)
	}
	b.WriteString("\n</details>\n")
}

func markdownFindings(b *strings.Builder, of string, findings []Finding) {
	for i, f := range findings {
		if i == 0 {
			fmt.Fprintf(b, "\n**Findings, %s**\n\n", markdown(of))
		}
		fmt.Fprintf(b, "- %s `%s`: %s", f.Severity, f.Rule, markdown(f.Message))
		if len(f.Where) > 0 {
			fmt.Fprintf(b, ", in %s", markdown(f.Places(shownWhere)))
		}
		fmt.Fprintf(b, ". Fix: %s\n", markdown(f.Fix))
	}
}

// markdown returns a text on one line that has no effect in Markdown: no mark-up, no mention of a
// person or an issue, no link.
func markdown(text string) string {
	return strings.NewReplacer(
		"&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "@<!-- -->", "#", "#<!-- -->", "://", ":<!-- -->//", "www.", "www<!-- -->.",
		`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "!", `\!`, "|", `\|`, "~", `\~`, "$", `\$`,
	).Replace(strings.Join(strings.Fields(text), " "))
}
