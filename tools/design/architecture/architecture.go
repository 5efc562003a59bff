// Package architecture draws the components of a system and their dependencies as Mermaid, PlantUML
// or C4 source, and documents them in Markdown. The same model gives the same text. Names and
// descriptions cannot end their label: they are escaped, and diagrams use ids of their own.
//
// It is not a stable API: see docs/stability.md.
package architecture

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/tools/design/text"
)

// The formats.
const (
	Mermaid  = "mermaid"
	PlantUML = "plantuml"
	Markdown = "markdown"
	C4       = "c4"
)

// Formats lists the formats.
func Formats() []string { return []string{Mermaid, PlantUML, Markdown, C4} }

// Model is a system.
type Model struct {
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Pattern     string      `json:"pattern"`
	Components  []Component `json:"components"`

	read *reading // findings in the files of the system; nil for a given model
}

// Component is a part of a system. Dependencies are ids of components.
type Component struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Type         string   `json:"type"`
	Description  string   `json:"description"`
	Dependencies []string `json:"dependencies"`
}

// Drawing is a model as text.
type Drawing struct {
	Diagram       string // in the format; Mermaid if the format is Markdown
	Documentation string // a Markdown page that shows a Mermaid diagram
	Breaks        []Break
	Notes         []string // files that were read or left out; for folders only
}

// Generate draws a model. With problems, which have paths into the model, there is no drawing.
func Generate(m Model, format string) (Drawing, []toolfold.Problem) {
	s, problems := resolve(m)
	if len(problems) > 0 {
		return Drawing{}, problems
	}
	d := Drawing{Documentation: s.fill(Markdown), Notes: s.Notes()}
	d.Breaks, _ = s.breaks()
	switch format {
	case Mermaid, Markdown:
		d.Diagram = s.fill(Mermaid)
	case PlantUML, C4:
		d.Diagram = s.fill(format)
	default:
		return Drawing{}, []toolfold.Problem{{Path: "/format", Kind: toolfold.ProblemEnum, Got: format, Allowed: Formats()}}
	}
	return d, nil
}

// system is a model for templates. Its arrows are pairs of indexes of components.
type system struct {
	Model
	Groups []group
	Arrows [][2]int // from, to
}

// group has the components of one kind, in the model's order.
type group struct {
	kind
	ID      string
	Members []part
}

// part is a component in a drawing.
type part struct {
	Component
	ID    string   // in the drawing
	Needs []string // names of its dependencies
}

// Label is the name of a part, on one line.
func (p part) Label() string { return text.Line(p.Name) }

func resolve(m Model) (system, []toolfold.Problem) {
	var problems []toolfold.Problem
	refuse := func(want, path string, args ...any) {
		problems = append(problems, toolfold.Problem{Path: fmt.Sprintf(path, args...), Kind: toolfold.ProblemFormat, Want: want})
	}
	if text.Line(m.Name) == "" {
		refuse("name, not empty", "/name")
	}
	place := map[string]int{}
	for i, c := range m.Components {
		if _, taken := place[c.ID]; taken || c.ID == "" {
			refuse("id that no other component has, not empty", "/components/%d/id", i)
			continue
		}
		place[c.ID] = i
		if text.Line(c.Name) == "" {
			refuse("name, not empty", "/components/%d/name", i)
		}
	}
	s := system{Model: m}
	for i, c := range m.Components {
		if len(c.Dependencies) > len(m.Components) {
			refuse("list of ids of components, each once", "/components/%d/dependencies", i)
			continue
		}
		for j, id := range c.Dependencies {
			to, known := place[id]
			switch {
			case !known:
				refuse("id of one of the components", "/components/%d/dependencies/%d", i, j)
			case !slices.Contains(c.Dependencies[:j], id): // a duplicate is one arrow
				s.Arrows = append(s.Arrows, [2]int{i, to})
			}
		}
	}
	for _, k := range kinds {
		g := group{kind: k, ID: fmt.Sprintf("g%d", len(s.Groups)+1)}
		for i, c := range m.Components {
			if c.Type != k.name {
				continue
			}
			p := part{Component: c, ID: id(i)}
			for _, a := range s.Arrows {
				if a[0] == i {
					p.Needs = append(p.Needs, text.Line(m.Components[a[1]].Name))
				}
			}
			g.Members = append(g.Members, p)
		}
		if len(g.Members) > 0 {
			s.Groups = append(s.Groups, g)
		}
	}
	return s, problems
}

// kind is a type of component.
type kind struct {
	name, Title string
	Open, Close string // Mermaid's brackets for the shape
	PlantUML    string // keyword for the shape
	C4          string // macro
}

// Outside reports whether components of the kind are outside the system.
func (k kind) Outside() bool { return k.name == "external" }

// kinds are the types of components in the order of groups: from the user interface to external
// systems.
var kinds = []kind{
	{"presentation", "Presentation", "[", "]", "component", "Container"},
	{"application", "Application", "[", "]", "component", "Container"},
	{"domain", "Domain", "[", "]", "component", "Container"},
	{"port", "Ports", "([", "])", "interface", "Container"},
	{"adapter", "Adapters", "[/", "/]", "component", "Container"},
	{"service", "Services", "(", ")", "component", "Container"},
	{"infrastructure", "Infrastructure", "[[", "]]", "node", "Container"},
	{"database", "Databases", "[(", ")]", "database", "ContainerDb"},
	{"queue", "Queues", "[\\", "\\]", "queue", "ContainerQueue"},
	{"cache", "Caches", "{{", "}}", "storage", "ContainerDb"},
	{"external", "External", ">", "]", "cloud", "System_Ext"},
	{"", "Others", "[", "]", "component", "Container"}, // folders of no known layer
}

// Types lists the types of a component.
func Types() []string {
	return []string{
		"domain", "application", "infrastructure", "presentation", "adapter", "port", "service", "database", "queue", "cache", "external",
	}
}

// pattern is an architecture pattern.
type pattern struct {
	name, Title string
	Across      bool   // drawn from left to right
	Rule        string // its rule for dependencies
}

var patterns = []pattern{
	{"hexagonal", "Hexagonal", false, "The domain is in the middle and knows only ports; adapters connect ports to the world."},
	{"clean", "Clean architecture", false, "Dependencies point inwards: presentation and infrastructure know the application, which knows " +
		"the domain; the domain knows no other layer."},
	{"layered", "Layered", false, "Each layer depends only on the layers below it."},
	{"microservices", "Microservices", false, "Services are deployed one by one, own their data, and meet only over their interfaces."},
	{"event-driven", "Event-driven", true, "Components publish events and react to events; publishers do not know the listeners."},
	{"cqrs", "CQRS", true, "Commands change the state through one model, queries read it through another."},
	{"ddd", "Domain-driven design", false, "The domain model speaks the language of its subject; technical parts depend on it, never " +
		"the other way round."},
	{"mvc", "Model, view, controller", false, "Controllers take input and change models; views show models."},
	{"mvvm", "Model, view, view model", false, "Views are bound to view models, which expose models to them; models know neither."},
	{"pipe-filter", "Pipes and filters", true, "Data flows through filters that share no state; pipes connect them."},
	{"other", "", false, ""},
}

// Patterns lists the patterns.
func Patterns() []string {
	list := make([]string, len(patterns))
	for i, p := range patterns {
		list[i] = p.name
	}
	return list
}

// Shape returns the pattern of the system; its title is empty if the pattern is unknown.
func (s system) Shape() pattern {
	for _, p := range patterns {
		if p.name == s.Pattern {
			return p
		}
	}
	return pattern{}
}

// Title is the system's name with its pattern, on one line.
func (s system) Title() string {
	name := text.Line(s.Name)
	if pattern := s.Shape().Title; pattern != "" {
		name += ": " + pattern
	}
	return name
}

// id returns the id of a component in a diagram, by its index.
func id(place int) string { return fmt.Sprintf("c%d", place+1) }

// maxLabel limits the characters of a description in a diagram.
const maxLabel = 120

// Brief returns a component's description, cut to maxLabel.
func (c Component) Brief() string {
	line := []rune(text.Line(c.Description))
	if len(line) > maxLabel {
		return strings.TrimSpace(string(line[:maxLabel-1])) + "…"
	}
	return string(line)
}
