package toolfold

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Family declares one noun, which becomes one consolidated tool. It needs Name, Summary and
// Actions.
type Family struct {
	Name    string // lower case, snake case; the consolidated tool's name
	Summary string // at most 60 characters, for lists of tools
	Actions []*Action

	Doc   string // more text, for describe and the docs; may be empty
	Words string // other words for its subject: find searches them, clients do not see them

	// Asks are requests for its actions, one a line, below a line "# NAME" with the name of the
	// action. [Mount] and Declared set [Action.Asks] from them, unless the action has its own.
	// Embed them from a file.
	Asks string

	// Category groups families in lists of tools. Empty = "general".
	Category Category

	// Tier ranks the family. Zero = Extended: listing search, and hosts that load only the core
	// tier, do not list the family. It can still be found and called.
	Tier Tier

	// OpenWorld marks a family whose actions reach beyond this machine, such as the web.
	OpenWorld bool

	// Bare families have a single action. Their tool runs it without an action argument.
	Bare bool

	// ResultLimit is the most bytes of an answer of its actions to a client. 0 = the limit of
	// the server.
	ResultLimit int

	// The fields from here on are for families of other MCP servers.
	//
	// Apiece allows a parameter to have another meaning in each action. The listed tool then does
	// not declare parameters; calls are shown with them in the member params. If the list has no
	// params, every action names its own.
	Apiece bool

	// Trouble returns why calls fail at present, for callers who ask for the list of tools, or an
	// empty text. Nil = there is never such a reason.
	Trouble func() string

	// Server is the name of the MCP server that has these tools. Instructions are the server's
	// instructions to the model. Both are empty for families of this program.
	Server, Instructions string

	// Also is another name of a family of another server. Its tools can be called by names with Also in place of
	// Name, unless these names are taken. Empty = no other name.
	Also string

	// mixed reports whether the whole family has actions that read and actions that do more, see
	// [Action.ToolByEffect]. Copies with fewer actions keep it.
	mixed bool

	service *service // nil until mounted
}

// Action declares one verb of a family. It needs Name, Summary, Effect, Example and Run; the other fields may be zero.
type Action struct {
	Name    string // lower case, snake case
	Summary string // at most 80 characters, for lists of tools
	Effect  Effect // its effect on the world; hints and permissions follow from it

	// Required and Optional are the parameters: every member of the argument struct of Run.
	Required, Optional Fields

	Example string  // arguments as a caller would send them, JSON
	Run     Handler // made by [Method]; its result declares the result fields

	// The fields from here to Completes are for any action that needs them.
	//
	// Doc is more text, for describe, the legacy surface and the docs.
	Doc string

	Related []string // full names of actions that go well with it

	// Words are other words that people use for it. Find searches them, clients do not see them.
	Words string

	// Asks are requests that people make of the action, each in other words. Find compares a query
	// with each of them, clients do not see them. At most 24.
	Asks []string

	// Covers returns the things that the action looks for or checks, each in a few words, from
	// their declarations. Find compares a query with each. Nil = nothing.
	Covers func() []string

	// Means is a word for the purpose of the action, shown behind its name in the briefest lists:
	// run(bugId)=fix. Empty if the name is clear.
	Means string

	// Either are optional parameters. A call needs one of them; the service rejects a call without
	// any. Lists show them with the required ones: get(key|keys).
	Either Fields

	// Together means that a call may have several of Either, which usage lines then show as "any of".
	Together bool

	// Instead are optional parameters that, with some values, replace Either.
	Instead Fields

	// Once marks an action as idempotent although its Effect is not: a second call is rejected or
	// changes nothing. For a tool declared elsewhere the user has set it, and the hints of the tool
	// do not change.
	Once bool

	// Restrains offers the action also to callers who may only read. For them it runs no programs
	// of the workspace, reports that in its answer, and writes only its own records. It looks at
	// [Origin].
	Restrains bool

	// Legacy are the names of the former tools of this action, made by [Was]. Calls by them work.
	Legacy OldNames

	// Changed tells callers of the legacy tool what is different now. Empty = only the name and the
	// parameters changed.
	Changed string

	// BecomesTask allows a call to be stored as a task before it runs, for clients that accept tasks,
	// see serve.Options.Tasks. The call then runs even if the server ends in between.
	BecomesTask bool

	// Previews names a boolean parameter. A call with the value true only shows the effect of the
	// action and never becomes a task. Empty = there is no such parameter.
	Previews string

	// Completes returns the arguments of a call before it becomes a task, including the client's
	// answers to its questions. An error rejects the call. Questions asked here do not need a task.
	// It is made by [Method], of a method with the arguments of Run. Zero = nothing is asked.
	Completes Handler

	// The fields from here to Enters are for toolfold's own families.
	//
	// Apart makes the action a tool of its own, under its first legacy name, so that the hints of
	// the family's tool stay true. The family's tool does not accept it.
	Apart bool

	// Writes finds the files of the workspace that a call would write, so that the policies of its
	// session can reject it before it begins. It is made by [Files]. Zero = the action writes no
	// files.
	Writes Handler

	// AwaitsTask marks an action that waits for the task in its argument taskId. Clients that
	// accept tasks get that task as the answer.
	AwaitsTask bool

	// Enters adds the connection of a caller to the session in the argument or result sessionId,
	// once the action has succeeded.
	Enters bool

	// The fields from here to Spellings are for tools declared elsewhere: [External] sets them.
	//
	// Aliases are further names of the action. A name of several actions leads to none of them.
	Aliases []string

	// Grants reports whether an allow rule with this pattern allows the action. Servers choose the
	// names of their tools, so fewer names count here than in [Action.Names]. Nil = all names
	// count.
	Grants func(a *Action, pattern string) bool

	// Input is the JSON Schema of the tool, as received. Returns are its result fields, if they are
	// known. Definition is the tool as its server lists it, nil without a server. Inputs returns
	// the parameters of Input; Required and Optional are empty.
	Input      json.RawMessage
	Returns    Fields
	Definition json.RawMessage

	// Annotations are the hints of the tool. Nil = the hints of Effect.
	Annotations *Hints

	// Unstated reports that the tool's server does not declare its effect.
	Unstated bool

	// Spellings maps names and values in Input without invisible characters to their spellings in
	// Input. Calls may use both; Run gets the spelling of Input. Nil if Input has no such
	// characters.
	Spellings map[string]string

	// Family is set by [Mount] and [Family.Declared]; literals leave it out.
	Family *Family

	// relays reports whether the result is a [Reply].
	relays bool

	// For a tool declared elsewhere, inputs and partial read the parameters of Input, names reads only their
	// names, and unchecked compiles it, each once. Nil for all other actions.
	inputs    func() (required, optional []Param)
	names     func() (required, optional []string)
	unchecked func() (patterns []string, err error)
	partial   func() bool
}

// Relays reports whether the result comes from another server's tool, as a [Reply].
func (a *Action) Relays() bool { return a.relays }

// Unchecked reports whether Input does not compile, so that arguments are passed unchecked. The
// first call compiles it, which is most of the cost of a large tool.
func (a *Action) Unchecked() bool {
	if a.unchecked == nil {
		return false
	}
	_, err := a.unchecked()
	return err != nil
}

// UncheckedPatterns lists the patterns of Input that are not checked, because Go's regular
// expressions cannot express them.
func (a *Action) UncheckedPatterns() []string {
	if a.unchecked == nil {
		return nil
	}
	patterns, _ := a.unchecked()
	return patterns
}

// Partial reports whether Input has parts that the parameters do not show.
func (a *Action) Partial() bool { return a.partial != nil && a.partial() }

// Mount returns a copy of the family whose actions can be called. open makes the service with their
// methods. It is called by the first call that needs the service, and again after an error. Mount
// opens nothing. It fails if an action runs a method of another service.
func Mount[S any](f Family, open func(context.Context) (S, error)) (*Family, error) {
	want := reflect.TypeFor[S]()
	for _, a := range f.Actions {
		for _, h := range []Handler{a.Run, a.Writes, a.Completes} {
			if has := h.service; has != nil && has != want {
				return nil, fmt.Errorf("%s.%s runs a method of %s, but the family is mounted on %s", f.Name, a.Name, has, want)
			}
		}
	}
	mounted := f.Declared()
	mounted.service = &service{open: func(ctx context.Context) (any, error) { return open(ctx) }}
	return mounted, nil
}

// Declared returns a copy of the family whose actions have their Family. They can be listed and
// described, but not called. The copy has a category and a tier.
func (f Family) Declared() *Family {
	f.Category, f.Tier = cmp.Or(f.Category, general), cmp.Or(f.Tier, Extended)
	reads, more := false, false
	for _, a := range f.Actions {
		reads = reads || !a.Apart && a.Effect == Reads
		more = more || !a.Apart && a.Effect != Reads
	}
	f.mixed = reads && more
	declared := f.with(f.Actions)
	asks, _ := readAsks(f.Asks) // Validate returns the error
	for _, a := range declared.Actions {
		if a.Asks == nil {
			a.Asks = asks[a.Name]
		}
	}
	return declared
}

// with returns a copy of the family with copies of the given actions only.
func (f Family) with(actions []*Action) *Family {
	f.Actions = make([]*Action, len(actions))
	for i, a := range actions {
		copied := *a
		copied.Family = &f
		f.Actions[i] = &copied
	}
	return &f
}

// service opens a family's service once. After an error the next call tries again.
type service struct {
	open  func(context.Context) (any, error)
	mu    sync.Mutex
	value any
}

func (s *service) get(ctx context.Context) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.value != nil {
		return s.value, nil
	}
	value, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	s.value = value
	return value, nil
}

// Invoke runs the action with arguments in its own spelling, which must be valid and complete.
// Package call ensures that.
func (a *Action) Invoke(ctx context.Context, args json.RawMessage) (any, error) {
	return a.handle(ctx, a.Run, args)
}

// Targets returns the files of the workspace that a call with these arguments would write, as named
// in them: relative to the workspace or absolute. It changes nothing. Arguments are as for Invoke.
func (a *Action) Targets(ctx context.Context, args json.RawMessage) ([]string, error) {
	if a.Writes.run == nil {
		return nil, nil
	}
	names, err := a.handle(ctx, a.Writes, args)
	if err != nil {
		return nil, err
	}
	return names.([]string), nil
}

// Complete returns the arguments of a call that is to become a task, see Completes. Arguments are
// as for Invoke.
func (a *Action) Complete(ctx context.Context, args json.RawMessage) (json.RawMessage, error) {
	if a.Completes.run == nil {
		return args, nil
	}
	completed, err := a.handle(ctx, a.Completes, args)
	if err != nil {
		return nil, err
	}
	raw, err := ordered.JSON(completed)
	if err != nil {
		return nil, fmt.Errorf("encoding arguments: %w", err)
	}
	return raw, nil
}

func (a *Action) handle(ctx context.Context, h Handler, args json.RawMessage) (any, error) {
	if a.Family == nil || a.Family.service == nil {
		return nil, fmt.Errorf("%s is declared but not mounted", a.Name)
	}
	value, err := a.Family.service.get(ctx)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", a.Family.Name, err)
	}
	return h.run(ctx, value, args)
}

// WritesFiles reports whether calls may write files of the workspace.
func (a *Action) WritesFiles() bool { return a.Writes.run != nil }

// Action returns the action called name, or nil.
func (f *Family) Action(name string) *Action {
	for _, a := range f.Actions {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// ActionNames lists the actions in order.
func (f *Family) ActionNames() []string {
	names := make([]string, len(f.Actions))
	for i, a := range f.Actions {
		names[i] = a.Name
	}
	return names
}

// FullName is family.action, the name in permissions, describe and logs. For a bare family it is
// the family's name.
func (a *Action) FullName() string {
	if a.Family.Bare {
		return a.Family.Name
	}
	return a.Family.Name + "." + a.Name
}

// maxJoined is the length of the longest tool name that clients accept.
const maxJoined = 64

// Joined returns the name of the action as a separate tool, family_action. A name that is too long
// is cut and ends in a checksum of the whole.
func (a *Action) Joined() string {
	name := a.Family.Name + "_" + a.Name
	if len(name) <= maxJoined {
		return name
	}
	digest := fmt.Sprintf("_%08x", crc32.ChecksumIEEE([]byte(name)))
	return strings.TrimRight(name[:maxJoined-len(digest)], "_") + digest
}

// ToolByEffect returns the name of the action's tool if families are split by effect. It is the
// family's name, with _write for actions that do more than read if the family has both kinds. It
// does not depend on rights, so that a host's permission for a name means the same for all callers.
func (a *Action) ToolByEffect() string {
	if a.Family.mixed && a.Effect != Reads {
		return a.Family.Name + "_write"
	}
	return a.Family.Name
}

// Forwards reports whether the action's result is another call.
func (a *Action) Forwards() bool { return a.Run.out == forwardType }

// Pages reports whether the action reads a list that continues at a cursor.
func (a *Action) Pages() bool {
	_, limits := find(a.Params(), callctx.ArgLimit)
	_, goesOn := find(a.Params(), Cursor.Name)
	return a.Run.pages && a.Effect == Reads && limits && goesOn
}

// OpenResult reports whether the result may have any fields: the result of another call, or of a
// tool declared elsewhere.
func (a *Action) OpenResult() bool {
	return a.Forwards() || a.Input != nil && len(a.Returns) == 0
}

// Inputs returns the parameters, read from Input for tools declared elsewhere. The slices must not
// be changed.
func (a *Action) Inputs() (required, optional []Param) {
	if a.inputs != nil {
		return a.inputs()
	}
	return a.Required.Params(), a.Optional.Params()
}

// ParamNames lists the names of the parameters. Of Input it reads only the names, so that lists of
// many tools cost little.
func (a *Action) ParamNames() (required, optional []string) {
	if a.names != nil {
		return a.names()
	}
	needed, others := a.Inputs()
	return names(needed), names(others)
}

// Params lists the parameters, required ones first.
func (a *Action) Params() []Param {
	return slices.Concat(a.Inputs())
}

// Hints returns the MCP annotations of the action alone.
func (a *Action) Hints() Hints {
	if a.Annotations != nil {
		return *a.Annotations
	}
	h := a.Effect.Hints()
	h.OpenWorld = h.OpenWorld || a.Family.OpenWorld
	h.Idempotent = h.Idempotent || a.Once
	return h
}

// OldName is a legacy name of an action.
type OldName struct {
	Name    string
	Renames []Rename

	// Required are parameters that the legacy tool required, or had in another form. Each replaces
	// the action's current parameter of the same name.
	Required Fields
}

// OldNames lists the legacy names of an action. The legacy surface shows all
// of them; the migration guide starts from the first.
type OldNames []OldName

// Rename is a parameter that had another name in the legacy tool.
type Rename struct {
	Field Field
	Was   string
}

// Was returns the legacy name of an action.
func Was(name string, renames ...Rename) OldNames {
	return OldNames{{Name: name, Renames: renames}}
}

// Or adds one more legacy name.
func (o OldNames) Or(name string, renames ...Rename) OldNames {
	return append(o, OldName{Name: name, Renames: renames})
}

// Effect classifies actions by what they do to the world. MCP hints follow from it.
type Effect int

// The effects. Validate rejects zero.
const (
	Reads   Effect = iota + 1 // changes nothing
	Adds                      // makes something new, touches nothing else
	Sets                      // overwrites or ends something; doing it twice is doing it once
	Deletes                   // removes something; doing it twice is doing it once
	Runs                      // runs its input, which may do anything, each time
)

// String returns the name of the effect in describe and the docs.
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

// Hints holds the MCP tool annotations.
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
		OpenWorld:   e == Runs, // models and commands may be part of it
	}
}

// Category groups families in lists of tools.
type Category string

// general is the category of families without one.
const general Category = "general"

// Tier ranks how central a family is. A later tier includes the earlier ones.
type Tier int

// The tiers. Families without one are Extended.
const (
	Core Tier = iota + 1
	Standard
	Extended
)

// String returns the name of the tier in options.
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
