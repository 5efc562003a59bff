package architecture

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/toolfold/toolfold/tools/design/text"
)

// plantUML draws a component diagram: a package for each type of component.
func (s system) plantUML() string {
	var b strings.Builder
	b.WriteString("@startuml\n")
	if s.shape().across {
		b.WriteString("left to right direction\n")
	}
	fmt.Fprintf(&b, "title %s\n", plantLabel(s.title()))
	for i, g := range s.groups {
		fmt.Fprintf(&b, "package \"%s\" as g%d {\n", g.title, i+1)
		for _, member := range g.members {
			fmt.Fprintf(&b, "  %s \"%s\" as %s\n", g.plantUML, plantLabel(text.Line(s.Components[member].Name)), id(member))
		}
		b.WriteString("}\n")
	}
	for _, a := range s.arrows {
		fmt.Fprintf(&b, "%s --> %s\n", id(a[0]), id(a[1]))
	}
	b.WriteString("@enduml\n")
	return b.String()
}

// c4 draws a C4 container diagram in C4-PlantUML, whose macros come with
// PlantUML's own library: nothing is loaded from elsewhere.
func (s system) c4() string {
	var b strings.Builder
	b.WriteString("@startuml\n!include <C4/C4_Container>\n")
	if s.shape().across {
		b.WriteString("LAYOUT_LEFT_RIGHT()\n")
	}
	fmt.Fprintf(&b, "title %s\n", plantLabel(s.title()))
	fmt.Fprintf(&b, "System_Boundary(system, \"%s\") {\n", plantLabel(text.Line(s.Name)))
	var outside []int
	for i, g := range s.groups {
		if g.name == "external" {
			outside = g.members
			continue
		}
		fmt.Fprintf(&b, "  Boundary(g%d, \"%s\") {\n", i+1, g.title)
		for _, member := range g.members {
			c := s.Components[member]
			fmt.Fprintf(&b, "    %s(%s, \"%s\", \"%s\", \"%s\")\n", g.c4, id(member), plantLabel(text.Line(c.Name)), g.name, plantLabel(c.brief()))
		}
		b.WriteString("  }\n")
	}
	b.WriteString("}\n")
	for _, member := range outside {
		c := s.Components[member]
		fmt.Fprintf(&b, "System_Ext(%s, \"%s\", \"%s\")\n", id(member), plantLabel(text.Line(c.Name)), plantLabel(c.brief()))
	}
	for _, a := range s.arrows {
		fmt.Fprintf(&b, "Rel(%s, %s, \"uses\")\n", id(a[0]), id(a[1]))
	}
	b.WriteString("@enduml\n")
	return b.String()
}

// plantLabel writes a text between double quotes. Everything that PlantUML
// could take for markup, for a function of its preprocessor or for the end of
// the text becomes a code that it shows as the character.
func plantLabel(s string) string {
	var b strings.Builder
	before := ' '
	for _, r := range s {
		plain := unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || r == ' ' || r == '…' ||
			strings.ContainsRune(".,:-", r) && r != before // twice may be markup
		before = r
		if !plain {
			fmt.Fprintf(&b, "<U+%04X>", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
