package toolfold

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/call/callctx"
)

// Rights decide which actions a caller may see and call. Nil Rights allow
// everything.
type Rights struct {
	Allows func(*Action) bool

	// Text is the form of the rights that is stored with later work, such as tasks. Package
	// permission parses it. Equal texts mean equal rights. Several lines mean the intersection of
	// their rights. If Text is empty, the caller cannot leave such work.
	Text string

	// OnlyReads reports that of the actions that write or run, only restraining ones are allowed,
	// see [Action.Restrains].
	OnlyReads bool

	// Why returns why an action is not allowed, for errors. If it is nil or returns an empty text,
	// the reason is that the rights do not include the action.
	Why func(*Action) string

	// Within is the part of the rights that decides what exists for a caller: errors never name the
	// actions that it leaves out. Nil leaves out nothing. Its own Within is nil.
	Within *Rights

	// Title names the rights in errors of calls that they do not include. May be empty.
	Title string

	// Public rights depend on the address in use, not on the caller. Callers may know which actions
	// they leave out, and why.
	Public bool
}

// Bounds returns [Rights.Within]; nil for nil rights.
func (r *Rights) Bounds() *Rights {
	if r == nil {
		return nil
	}
	return r.Within
}

// Restrain returns a context for read-only calls if the rights are OnlyReads, else ctx.
func (r *Rights) Restrain(ctx context.Context) context.Context {
	if r == nil || !r.OnlyReads {
		return ctx
	}
	from := OriginOf(ctx)
	from.OnlyReads = true
	return callctx.With(ctx, from)
}

// Allow reports whether the rights include an action.
func (r *Rights) Allow(a *Action) bool { return r == nil || r.Allows(a) }

// Reason returns why the rights do not include an action; empty if they do.
func (r *Rights) Reason(a *Action) string {
	if r.Allow(a) {
		return ""
	}
	if r.Why != nil {
		if why := r.Why(a); why != "" {
			return why
		}
	}
	return "the server's rights do not include it"
}

// And returns the intersection of both rights.
func (r *Rights) And(other *Rights) *Rights {
	switch {
	case r == nil:
		return other
	case other == nil:
		return r
	}
	both := &Rights{
		OnlyReads: r.OnlyReads || other.OnlyReads,
		Allows:    func(a *Action) bool { return r.Allows(a) && other.Allows(a) },
		Why:       func(a *Action) string { return cmp.Or(r.Reason(a), other.Reason(a)) },
		Within:    r.Within.And(other.Within),
		Title:     cmp.Or(r.Title, other.Title),
		Public:    r.Public && other.Public,
	}
	if r.Text != "" && other.Text != "" {
		if both.Text = uniteLines(r.Text, other.Text); both.Text == r.Text {
			return r
		}
	}
	return both
}

// Narrow returns the text of the intersection of r and the rights stored with some work. r are the
// rights of the caller that leaves or changes the work. An empty text means all rights. Rights
// without a text are rejected, because they cannot be stored.
func (r *Rights) Narrow(stored string) (string, error) {
	switch {
	case r == nil:
		return stored, nil
	case r.Text == "":
		return "", Errorf(PermissionDenied, "your rights cannot be kept with a call that runs later").WithHint("call the action itself")
	case stored == "":
		return r.Text, nil
	}
	return uniteLines(stored, r.Text), nil
}

// uniteLines adds to text the lines of more that it lacks.
func uniteLines(text, more string) string {
	lines := strings.Split(text, "\n")
	for line := range strings.SplitSeq(more, "\n") {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// Filter returns the families without the actions that are not allowed, and without references to
// them. Families without actions are dropped. Everything that a caller sees and can call follows
// from the filtered families, so that a forbidden action is absent under every name.
func (r *Rights) Filter(families []*Family) []*Family {
	if r == nil {
		return families
	}
	allowed := map[string]bool{}
	remaining := make([][]*Action, len(families))
	for i, f := range families {
		for _, a := range f.Actions {
			if r.Allows(a) {
				remaining[i] = append(remaining[i], a)
				allowed[a.FullName()] = true
			}
		}
	}
	var list []*Family
	for i, f := range families {
		if len(remaining[i]) == 0 {
			continue
		}
		filtered := f.with(remaining[i])
		for _, a := range filtered.Actions {
			a.Related = slices.DeleteFunc(slices.Clone(a.Related), func(name string) bool { return !allowed[name] })
		}
		list = append(list, filtered)
	}
	return list
}
