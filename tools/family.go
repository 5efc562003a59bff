package tools

// Family declares one noun: a consolidated tool. S is its service.
type Family[S any] struct {
	Name     string // lower case, snake case; the consolidated tool's name
	Summary  string // at most 60 characters, for listings
	Doc      string // more, for describe and the docs; may be empty
	Words    string // other words for its subject, for find only
	Category Category
	Tier     Tier

	// OpenWorld says that actions reach beyond this machine's workbench.
	OpenWorld bool

	// Bare families have a single action, which their tool runs without an
	// action argument.
	Bare bool

	Actions []Action[S]
}

// Action declares one verb of a family.
type Action[S any] struct {
	Name    string   // lower case, snake case
	Legacy  OldNames // the names it had as a tool of its own
	Summary string   // at most 80 characters, for listings
	Doc     string   // more, for describe, the legacy surface and the docs

	// Words are other words that people use for it. Find knows them; nothing
	// shows them.
	Words string

	// Changed tells callers of the legacy tool what is different now. Empty
	// means that only the name and the parameters changed.
	Changed string

	Required, Optional Fields
	Returns            Fields // the members of the result object
	Effect             Effect
	Example            string   // arguments as a caller would send them, JSON
	Related            []string // full names of actions that go well with it
	Run                Handler[S]
}

// OldName is a legacy name of an action.
type OldName struct {
	Name    string
	Renames []Rename
}

// OldNames lists the legacy names of an action. The legacy surface shows all
// of them; the first is the one the migration guide starts from.
type OldNames []OldName

// Rename is a parameter that was spelt otherwise under a legacy name.
type Rename struct {
	Field Field
	Was   string
}

// Was names the legacy tool that an action used to be.
func Was(name string, renames ...Rename) OldNames {
	return OldNames{{Name: name, Renames: renames}}
}

// Or adds one more legacy name.
func (o OldNames) Or(name string, renames ...Rename) OldNames {
	return append(o, OldName{Name: name, Renames: renames})
}

// Effect is what an action does to the world. MCP hints follow from it.
type Effect int

// The effects. Zero is refused by Validate.
const (
	Reads   Effect = iota + 1 // changes nothing
	Adds                      // makes something new, touches nothing else
	Sets                      // overwrites or ends something; doing it twice is doing it once
	Deletes                   // removes something; doing it twice is doing it once
	Runs                      // runs what it was given, which may do anything, each time
)

// String returns the word for the effect that describe and the docs use.
func (e Effect) String() string {
	switch e {
	case Reads:
		return "reads"
	case Adds:
		return "adds"
	case Sets:
		return "sets"
	case Deletes:
		return "deletes"
	case Runs:
		return "runs"
	}
	return ""
}

// Hints are the MCP tool annotations.
type Hints struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

// Hints returns the annotations of an action with this effect.
func (e Effect) Hints() Hints {
	return Hints{
		ReadOnly:    e == Reads,
		Destructive: e == Sets || e == Deletes || e == Runs,
		Idempotent:  e != Adds && e != Runs,
	}
}

// FoldHints returns what is true of a tool that can do all of the actions:
// it only reads if all of them do, and destroys if one of them may.
func FoldHints(actions []*ActionSpec) Hints {
	fold := Hints{ReadOnly: true, Idempotent: true}
	for _, a := range actions {
		h := a.Hints()
		fold.ReadOnly = fold.ReadOnly && h.ReadOnly
		fold.Destructive = fold.Destructive || h.Destructive
		fold.Idempotent = fold.Idempotent && h.Idempotent
		fold.OpenWorld = fold.OpenWorld || h.OpenWorld
	}
	return fold
}

// Category groups families in listings.
type Category string

// The categories.
const (
	Memory    Category = "memory"
	Sessions  Category = "sessions"
	Settings  Category = "settings"
	Agents    Category = "agents"
	Tasks     Category = "tasks"
	Discovery Category = "discovery" // finding and describing the other tools
)

// Tier says how central a family is. A later tier includes the earlier ones.
type Tier int

// The tiers. Zero is refused by Validate.
const (
	Core Tier = iota + 1
	Standard
	Extended
)

// String returns the name of the tier, as options spell it.
func (t Tier) String() string {
	switch t {
	case Core:
		return "core"
	case Standard:
		return "standard"
	case Extended:
		return "extended"
	}
	return ""
}
