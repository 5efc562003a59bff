package architecture

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/toolfold/toolfold/tools/design/text"
)

// mermaid draws a flowchart: a subgraph for each type of component.
func (s system) mermaid() string {
	var b strings.Builder
	direction := "TB"
	if s.shape().across {
		direction = "LR"
	}
	fmt.Fprintf(&b, "---\ntitle: %s\n---\nflowchart %s\n", text.Quote(s.title()), direction)
	for i, g := range s.groups {
		fmt.Fprintf(&b, "  subgraph g%d[\"%s\"]\n", i+1, g.title)
		for _, member := range g.members {
			fmt.Fprintf(&b, "    %s%s\"%s\"%s\n", id(member), g.mermaid[0], mermaidLabel(text.Line(s.Components[member].Name)), g.mermaid[1])
		}
		b.WriteString("  end\n")
	}
	for _, a := range s.arrows {
		fmt.Fprintf(&b, "  %s --> %s\n", id(a[0]), id(a[1]))
	}
	return b.String()
}

// mermaidLabel writes a text between double quotes. What could end it, start
// Markdown or be HTML becomes a code that Mermaid shows as the character.
func mermaidLabel(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < unicode.MaxASCII && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" .,:()-'/", r) {
			fmt.Fprintf(&b, "#%d;", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
