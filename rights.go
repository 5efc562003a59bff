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

	// Text has the rights as they are kept with work that runs later, such as
	// tasks, and as package permission reads them; the same text means the same
	// rights. Several lines are the rights that all of them include. Without a text
	// a caller cannot leave such work.
	Text string

	// OnlyReads says that of what writes or runs only actions that restrain themselves are
	// allowed, see [Action.Restrains].
	OnlyReads bool

	// Why returns why an action is not allowed, for errors. Nil or an empty text is
	// the reason that the rights do not include it.
	Why func(*Action) string

	// Within is the part of the rights that decides what exists for a caller: actions that it leaves out
	// are not named even as not permitted. Nil leaves out nothing. It has no Within itself.
	Within *Rights

	// Title names the rights in errors of calls that they do not include; empty = no name.
	Title string

	// Told says that callers may know what the rights leave out, and why: the rights follow from the
	// address that a caller uses, and not from who the caller is.
	Told bool
}

// Bounds returns [Rights.Within]; nil for nil rights.
func (r *Rights) Bounds() *Rights {
	if r == nil {
		return nil
	}
	return r.Within
}

// Restrain returns a context for calls that may only read where the rights say so, and else ctx.
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

// Reason returns why the rights do not include an action; it is empty for one that
// they include.
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

// And returns the rights that both include.
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
		Told:      r.Told && other.Told,
	}
	if r.Text != "" && other.Text != "" {
		if both.Text = uniteLines(r.Text, other.Text); both.Text == r.Text {
			return r
		}
	}
	return both
}

// Narrow returns the text of the rights that both include: the rights kept with some
// work, and r, the rights of the caller who leaves or changes it. An empty text means all rights.
// Rights without a text are refused, since nothing kept would hold to them.
func (r *Rights) Narrow(kept string) (string, error) {
	switch {
	case r == nil:
		return kept, nil
	case r.Text == "":
		return "", Errorf(PermissionDenied, "your rights cannot be kept with a call that runs later").WithHint("call the action itself")
	case kept == "":
		return r.Text, nil
	}
	return uniteLines(kept, r.Text), nil
}

// uniteLines returns the lines of one text, and those of another that it lacks.
func uniteLines(text, more string) string {
	lines := strings.Split(text, "\n")
	for line := range strings.SplitSeq(more, "\n") {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// Filter returns the families without the actions that are not allowed, and
// without mention of them; families of which nothing is left are gone. All
// that a caller is shown and can call is computed from the filtered families,
// so that what is not permitted is absent from it under every name.
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
