// Package surface puts together what one client sees: the tools of a mode at
// a listing level.
package surface

import (
	"fmt"

	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/legacy"
	"github.com/toolfold/toolfold/tools"
)

// Mode decides which names tools/list shows.
type Mode string

// The modes.
const (
	Consolidated Mode = "consolidated" // one tool per family
	Legacy       Mode = "legacy"       // one tool per action, as before
)

// Modes lists the modes, the default first.
func Modes() []Mode { return []Mode{Consolidated, Legacy} }

// ParseMode reads the name of a mode.
func ParseMode(name string) (Mode, error) {
	for _, m := range Modes() {
		if name == string(m) {
			return m, nil
		}
	}
	return "", fmt.Errorf("unknown tool mode %q: use consolidated or legacy", name)
}

// DefaultLevel is the listing level of a mode when none is asked for. Legacy
// mode is there for hosts that should see what they always saw.
func (m Mode) DefaultLevel() lazy.Level {
	if m == Legacy {
		return lazy.Full
	}
	return lazy.Lazy
}

// Names are the names that a strict server of this mode accepts.
func (m Mode) Names() consolidate.Names {
	if m == Legacy {
		return consolidate.LegacyNames
	}
	return consolidate.ConsolidatedNames
}

// Tools returns the tools of a mode.
func Tools(specs []*tools.Spec, m Mode) []tools.Tool {
	if m == Legacy {
		return legacy.Tools(specs)
	}
	return consolidate.Tools(specs)
}

// List is what tools/list shows of the families. An empty level is the mode's
// default.
func List(specs []*tools.Spec, m Mode, level lazy.Level) []lazy.Listed {
	if level == "" {
		level = m.DefaultLevel()
	}
	return lazy.List(Tools(specs, m), level)
}
