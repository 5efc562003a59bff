package architecture

import "fmt"

// Break is an arrow that the pattern forbids.
type Break struct {
	From string `json:"from" doc:"Id of a component."`
	To   string `json:"to" doc:"Id of a component that it depends on."`
	Why  string `json:"why" doc:"The pattern's rule."`
	At   string `json:"at,omitempty" doc:"An import, as file:line."`
}

// ranks are the ranks of types by pattern: inner or lower layers have larger ranks, and
// dependencies lead to the same or a larger rank. A type without a rank may depend on any other.
var ranks = map[string]map[string]int{
	"layered": {"presentation": 0, "application": 1, "service": 1, "domain": 2, "port": 2, "adapter": 3, "infrastructure": 3,
		"database": 4, "queue": 4, "cache": 4, "external": 4},
	"clean":     inwards,
	"hexagonal": inwards,
	"ddd":       inwards,
}

// inwards are the ranks of patterns with the domain in the middle. Ports belong to it.
var inwards = map[string]int{"presentation": 0, "adapter": 0, "infrastructure": 0, "database": 0, "queue": 0, "cache": 0, "external": 0,
	"application": 1, "service": 1, "port": 2, "domain": 2}

// breaks returns the arrows that the pattern forbids. Checked is false if types are not enough to
// check the pattern: event-driven, cqrs, mvc, mvvm and pipe-filter.
func (s system) breaks() (found []Break, checked bool) {
	if s.Pattern == "microservices" {
		return s.shared(), s.read == nil || s.read.checked
	}
	if s.read != nil {
		return s.read.breaks, s.read.checked
	}
	for _, a := range s.Arrows {
		from, to := s.Components[a[0]], s.Components[a[1]]
		if why := forbids(s.Pattern, from.Type, to.Type); why != "" {
			found = append(found, Break{From: from.ID, To: to.ID, Why: why})
		}
	}
	_, checked = ranks[s.Pattern]
	return found, checked
}

// forbids returns the reason for which a pattern forbids an arrow between two types; empty if it
// permits the arrow.
func forbids(pattern, from, to string) string {
	above, ranked := ranks[pattern][from]
	below, also := ranks[pattern][to]
	switch {
	case !ranked || !also || below >= above:
		return ""
	case pattern == "layered":
		return fmt.Sprintf("%s is a layer below %s", from, to)
	}
	return fmt.Sprintf("%s is further inside than %s: let it depend on a port", from, to)
}

// shared returns the arrows to databases that several components use: services own their data.
func (s system) shared() []Break {
	users := map[int]int{}
	for _, a := range s.Arrows {
		users[a[1]]++
	}
	var found []Break
	for _, a := range s.Arrows {
		if from, to := s.Components[a[0]], s.Components[a[1]]; to.Type == "database" && users[a[1]] > 1 {
			found = append(found, Break{From: from.ID, To: to.ID, Why: fmt.Sprintf("%d components share this database", users[a[1]]),
				At: s.at(from.ID, to.ID)})
		}
	}
	return found
}

// verdict is the text about the pattern's rule in the documentation.
type verdict struct {
	Text   string
	Breaks []Break
}

// Verdict returns the text about the pattern's rule; nil if types are not enough to check it.
func (s system) Verdict() *verdict {
	found, checked := s.breaks()
	switch {
	case !checked:
		return nil
	case len(found) > 0:
		return &verdict{"These arrows break it:", found}
	case s.read != nil:
		return &verdict{Text: "No import between folders of known layers breaks it."}
	}
	return &verdict{Text: "Every arrow keeps to it."}
}
