package toolfold

import (
	"fmt"
	"strings"
)

// readAsks parses [Family.Asks] into requests by name of action. Errors name the line, from 1.
func readAsks(text string) (map[string][]string, error) {
	asks, action := map[string][]string{}, ""
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		name, begins := strings.CutPrefix(line, "# ")
		switch {
		case line == "":
		case begins && asks[name] != nil:
			return nil, fmt.Errorf("line %d: %s is there twice", number, name)
		case begins:
			action, asks[name] = name, []string{}
		case action == "":
			return nil, fmt.Errorf("line %d: a line such as \"# NAME\", with the name of an action, must stand before its requests", number)
		default:
			asks[action] = append(asks[action], line)
		}
	}
	return asks, nil
}

// validateAsked checks the requests of a family against its actions.
func validateAsked(found *faults, f *Family) {
	asks, err := readAsks(f.Asks)
	if err != nil {
		found.add(f.Name, "asks, %v", err)
		return
	}
	for _, a := range f.Actions {
		delete(asks, a.Name)
	}
	for name := range asks {
		found.add(f.Name, "has asks for %s, which is no action of it", name)
	}
}
