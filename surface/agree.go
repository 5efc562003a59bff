package surface

import (
	"errors"
	"fmt"

	"github.com/toolfold/toolfold"
)

// agree reports conflicts between families: names that two of them use, and related actions that do
// not exist.
func agree(families []*toolfold.Family) error {
	var faults []error
	owner := map[string]string{}
	claim := func(name, by string) {
		if owner[name] != "" && owner[name] != by {
			faults = append(faults, fmt.Errorf("%s: the name %q belongs to %s", by, name, owner[name]))
		}
		owner[name] = by
	}
	full := map[string]bool{}
	for _, f := range families {
		claim(f.Name, f.Name)
		for _, a := range f.Actions {
			claim(a.ToolByEffect(), f.Name)
			full[a.FullName()] = true
			for _, old := range a.Legacy {
				claim(old.Name, a.FullName())
			}
		}
	}
	for _, f := range families {
		for _, a := range f.Actions {
			for _, name := range a.Related {
				if !full[name] || name == a.FullName() {
					faults = append(faults, fmt.Errorf("%s: related action %q does not exist", a.FullName(), name))
				}
			}
		}
	}
	return errors.Join(faults...)
}
