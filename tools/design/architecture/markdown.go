package architecture

import (
	"fmt"
	"strings"

	"github.com/toolfold/toolfold/tools/design/text"
)

// markdown documents the system: what it is, its pattern, a table of its
// components, and a diagram.
func (s system) markdown(graph string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", markdownText(text.Line(s.Name)))
	if lines := text.Lines(s.Description); len(lines) > 0 {
		b.WriteString("\n")
		for _, line := range lines {
			b.WriteString(markdownText(strings.TrimSpace(line)) + "\n")
		}
	}
	if p := s.shape(); p.title != "" {
		fmt.Fprintf(&b, "\n## Pattern: %s\n\n%s\n%s", p.title, p.rule, s.verdict())
	}
	if s.read != nil {
		b.WriteString("\n## Read from imports\n\n")
		for _, note := range s.read.notes {
			fmt.Fprintf(&b, "- %s\n", markdownText(text.Line(note)))
		}
	}
	b.WriteString("\n## Components\n")
	for _, g := range s.groups {
		fmt.Fprintf(&b, "\n### %s\n\n| component | description | depends on |\n|---|---|---|\n", g.title)
		for _, member := range g.members {
			c := s.Components[member]
			var needs []string
			for _, a := range s.arrows {
				if a[0] == member {
					needs = append(needs, markdownText(text.Line(s.Components[a[1]].Name)))
				}
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", markdownText(text.Line(c.Name)), markdownText(text.Line(c.Description)), strings.Join(needs, ", "))
		}
	}
	fmt.Fprintf(&b, "\n## Diagram\n\n```mermaid\n%s```\n", graph)
	return b.String()
}

// markdownText writes a text so that Markdown shows it as it is: no markup, no
// HTML, no cell of a table ends.
func markdownText(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '<':
			b.WriteString("&lt;")
			continue
		case r == '&':
			b.WriteString("&amp;")
			continue
		case strings.ContainsRune("\\`*_[]|~#$>{}", r), i == 0 && strings.ContainsRune("-+=!", r):
			b.WriteByte('\\')
		case (r == '.' || r == ')') && i > 0 && strings.Trim(s[:i], "0123456789") == "": // would start a list
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
