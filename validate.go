package toolfold

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/call/judge"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/regex"
)

// Limits of the texts that every listing shows.
const (
	maxFamilySummary = 60
	maxActionSummary = 80
	maxMeans         = 20
)

// Limits of [Action.Asks]: find keeps them in memory and compares each with a query.
const (
	maxAsks = 24
	maxAsk  = 100 // characters
)

var (
	toolName  = regex.Lazy(`^[a-z][a-z0-9_]{0,63}$`)
	fieldName = regex.Lazy(`^[a-z][A-Za-z0-9_]*$`)
)

// faults collects the errors of a declaration, each with the name of its place.
type faults struct {
	list []error
}

func (f *faults) add(where, format string, args ...any) {
	f.list = append(f.list, fmt.Errorf(where+": "+format, args...))
}

func (f *faults) check(ok bool, where, format string, args ...any) {
	if !ok {
		f.add(where, format, args...)
	}
}

// Validate reports all errors in the declaration of a family, and its differences from the Go
// types. It runs in every family's test and when families are added to a server.
func (f *Family) Validate() error {
	if len(f.Actions) > 0 && f.Actions[0].Family == nil {
		f = f.Declared()
	}
	var found faults
	validateFamily(&found, f)
	for _, a := range f.Actions {
		where := a.FullName()
		validateAction(&found, a)
		validateExample(&found, a)
		switch {
		case a.Run.run == nil:
			found.add(where, "has nothing to run")
		case a.Run.in != nil:
			found.check(len(a.Returns) == 0, where, "declares result fields twice: the fields of its method count")
			compareArguments(&found, where+" arguments", a.Run.in, a.Params())
			found.check(a.Forwards() || a.Run.out.Kind() == reflect.Struct, where, "its result %s is not a struct", a.Run.out)
			_, goesOn := find(a.Results(), "nextCursor")
			found.check(!goesOn || a.Run.pages, where, "its result has a nextCursor, but no method BindCursor: embed Paged")
		}
		if c := a.Completes; c.in != nil {
			found.check(a.BecomesTask && c.in == a.Run.in && c.out == c.in, where, "completes other arguments than those that it runs with")
		}
		if a.Previews != "" {
			p, has := find(a.Optional.Params(), a.Previews)
			found.check(a.BecomesTask && has && p.Kind == KindBoolean, where,
				"previews %q, which is not an optional boolean of a call that may become a task", a.Previews)
		}
		if a.WritesFiles() {
			found.check(a.Effect != Reads, where, "only reads, but writes files")
			compareSome(&found, where+" writes", a.Writes.in, a.Params())
		}
	}
	return errors.Join(found.list...)
}

func validateFamily(found *faults, s *Family) {
	found.check(toolName().MatchString(s.Name), s.Name, "the name is not lower snake case")
	checkText(found, s.Name, "summary", s.Summary, maxFamilySummary)
	found.check(s.Tier >= 0 && s.Tier <= Extended, s.Name, "has the tier %d, which is not Core, Standard or Extended", s.Tier)
	found.check(len(s.Actions) > 0, s.Name, "has no actions")
	validateAsked(found, s)
	found.check(!s.Bare || len(s.Actions) == 1, s.Name, "is bare but has %d actions", len(s.Actions))
	seen := map[string]bool{}
	meaning := map[string]Param{}
	for _, a := range s.Actions {
		found.check(!seen[a.Name], a.FullName(), "is declared twice")
		seen[a.Name] = true
		if s.Apiece {
			continue
		}
		for _, p := range a.Params() {
			validateMeaning(found, a, meaning, p)
		}
	}
}

// validateMeaning requires one type and one text per parameter name in a family. A list of values
// counts as the same type as one value.
func validateMeaning(found *faults, a *Action, meaning map[string]Param, p Param) {
	before, seen := meaning[p.Name]
	if !seen {
		meaning[p.Name] = p
		return
	}
	same := before.Doc == p.Doc && single(before).Kind == single(p).Kind
	found.check(same, a.FullName(), "parameter %q has another meaning than before in the family", p.Name)
}

func single(p Param) Param {
	if p.Kind == KindArray {
		return *p.Items
	}
	return p
}

func validateAction(found *faults, a *Action) {
	where := a.FullName()
	found.check(toolName().MatchString(a.Name), where, "the name is not lower snake case")
	checkText(found, where, "summary", a.Summary, maxActionSummary)
	found.check(a.Effect.String() != "", where, "has no effect")
	found.check(a.OpenResult() != (len(a.Results()) > 0), where, "returns nothing")
	if a.Input == nil { // a schema from elsewhere is compiled at its first use
		validateParams(found, where, a.Params())
	}
	validateResults(found, where, a.Results())
	if a.Means != "" {
		checkText(found, where, "meaning", a.Means, maxMeans)
		found.check(!strings.Contains(a.Means, " "), where, "the meaning %q has blanks, which stand between actions in lists", a.Means)
	}
	for _, p := range a.Either.Params() {
		_, optional := find(a.Optional.Params(), p.Name)
		found.check(optional, where, "needs one of several, of which %q is not an optional parameter", p.Name)
	}
	validateAsks(found, where, a.Asks)
	for _, old := range a.Legacy {
		found.check(toolName().MatchString(old.Name), where, "legacy name %q is not lower snake case", old.Name)
		for _, r := range old.Renames {
			_, ok := find(a.Params(), r.Field.Param().Name)
			found.check(ok, where, "renames %q, which is not a parameter", r.Field.Param().Name)
		}
	}
}

func validateAsks(found *faults, where string, asks []string) {
	found.check(len(asks) <= maxAsks, where, "has %d asks, more than %d", len(asks), maxAsks)
	seen := map[string]bool{}
	for _, ask := range asks {
		checkText(found, where, "ask", ask, maxAsk)
		found.check(!seen[ask], where, "asks %q twice", ask)
		seen[ask] = true
	}
}

func checkText(found *faults, where, what, text string, limit int) {
	n := utf8.RuneCountInString(text)
	found.check(n > 0, where, "has no %s", what)
	found.check(n <= limit, where, "the %s has %d characters, more than %d", what, n, limit)
	found.check(!strings.ContainsAny(text, "\n\t"), where, "the %s has more than one line", what)
}

// validateParams requires names that are plain identifiers, and texts.
func validateParams(found *faults, where string, params []Param) {
	seen := map[string]bool{}
	for _, p := range params {
		name := where + " " + p.Name
		found.check(!seen[p.Name], name, "is declared twice")
		seen[p.Name] = true
		found.check(fieldName().MatchString(p.Name), name, "the name is not a plain identifier")
		own := p.Name != callctx.ArgFields && p.Name != callctx.ArgJQ && p.Name != callctx.ArgAction
		found.check(own, name, "the name is reserved")
		found.check(p.Doc != "", name, "has no text")
		found.check(p.Format == "" || judge.Formats[p.Format] != nil, name, "the format %q is not one that is checked", p.Format)
		for _, other := range p.Also {
			found.check(fieldName().MatchString(other), name, "the other name %q is not a plain identifier", other)
			_, taken := find(params, other)
			found.check(!taken && !seen[other], name, "the other name %q is taken", other)
			seen[other] = true
		}
		for member, value := range p.OfText {
			declared, has := find(p.Members(), member)
			found.check(has && len(judgeValue(declared, cmp.Or[any](value, "…"))) == 0, name, "no text can stand for its member %q", member)
		}
		found.check(p.OldEnum == nil || slices.ContainsFunc(p.OldEnum, p.Obsolete), name, "the legacy tool took no other values")
		validateParams(found, name, p.Members())
	}
}

// validateExample checks the example against the action's schema: models see it in errors and
// describe. Tools from elsewhere have no example.
func validateExample(found *faults, a *Action) {
	where := a.FullName()
	if a.Example == "" {
		found.check(a.Input != nil, where, "has no example")
		return
	}
	var args map[string]any
	if err := jsonx.Decode([]byte(a.Example), &args); err != nil {
		found.add(where, "the example does not parse: %v", err)
		return
	}
	problems := Param{Kind: KindObject, Required: a.Required.Params(), Optional: a.Optional.Params()}.Check(args)
	for _, p := range problems {
		found.add(where, "the example does not validate: %s", p.Text())
	}
}
