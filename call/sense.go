package call

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// senses finds actions of other servers by the words of their tools' names, in any order and in
// singular or plural: create_issue, issue_create and issues.create are the same. Models that know
// the name of a tool do not know its family, so they may ask the wrong one.
type senses map[toolfold.Category]map[string][]meaning

// meaning is an action that a name means.
type meaning struct {
	*target

	// whole reports whether the name has the words of the tool's own name, of an alias or of
	// family_action. The action's words alone are not enough: each family of a server can have
	// another action "list".
	whole bool
}

// sensesOf indexes the actions of other servers, each by its tool's name and by its family and action.
func sensesOf(r *Resolver) senses {
	index := senses{}
	for a, t := range r.home {
		if a.Definition == nil || a.Family == nil {
			continue
		}
		server := index[a.Family.Category]
		if server == nil {
			server = map[string][]meaning{}
			index[a.Family.Category] = server
		}
		add := func(words []string, whole bool) {
			sense := senseOf(words)
			same := func(m meaning) bool { return m.target == t }
			if i := slices.IndexFunc(server[sense], same); i >= 0 {
				server[sense][i].whole = server[sense][i].whole || whole
			} else if sense != "" {
				server[sense] = append(server[sense], meaning{t, whole})
			}
		}
		bare := nameWords(a.Name)
		add(bare, false)
		for _, name := range wholeNames(a) {
			words := nameWords(name)
			rest := withoutServer(a.Family.Category, words)
			add(words, true)
			add(rest, !slices.Equal(rest, bare)) // forge_list is whole, list is not
		}
	}
	return index
}

// wholeNames returns the names that identify the action among all servers.
func wholeNames(a *toolfold.Action) []string {
	return append([]string{a.Family.Name + "_" + a.Name}, a.Aliases...)
}

// senseOf returns words in the singular, sorted, without filler words.
func senseOf(words []string) string {
	sense := singulars(words)
	significant := slices.DeleteFunc(slices.Clone(sense), func(word string) bool {
		return slices.Contains([]string{"a", "an", "the", "of", "for", "to", "in", "on", "and", "api"}, word)
	})
	if len(significant) == 0 {
		significant = sense
	}
	return strings.Join(slices.Compact(significant), " ")
}

// singulars returns words in the singular, sorted.
func singulars(words []string) []string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = english.Singular(word)
	}
	slices.Sort(list)
	return list
}

// withoutServer returns the words of a name without a leading name of its server.
func withoutServer(server toolfold.Category, words []string) []string {
	own := nameWords(string(server))
	if n := len(own); n < len(words) && slices.Equal(words[:n], own) {
		return words[n:]
	}
	return words
}

// sense returns the action of a server that a name means; false for no action or several.
func (r *Resolver) sense(server toolfold.Category, name string) (meaning, bool) {
	words := nameWords(name)
	found := r.senses()[server][senseOf(words)]
	if len(found) == 0 {
		found = r.senses()[server][senseOf(withoutServer(server, words))]
	}
	if len(found) > 1 { // get_branch and get_branches differ
		slices.Sort(words)
		found = slices.DeleteFunc(slices.Clone(found), func(m meaning) bool {
			return !slices.ContainsFunc(append([]string{m.Action.Name}, m.Action.Aliases...), func(alias string) bool {
				own := nameWords(alias)
				slices.Sort(own)
				return slices.Equal(own, words)
			})
		})
	}
	if len(found) != 1 {
		return meaning{}, false
	}
	return found[0], true
}

// anySense returns the action of any server that a name means; false for no action, or several
// servers. whole is set only if all words of the name match: a.list_issues may be a tool of an
// unknown server.
func (r *Resolver) anySense(name string) (only meaning, found bool) {
	for server := range r.senses() {
		m, ok := r.sense(server, name)
		if !ok {
			continue
		}
		if found {
			return meaning{}, false
		}
		only, found = m, true
	}
	if found {
		only.whole = only.whole && only.hasWords(name)
	}
	return only, found
}

// hasWords reports whether a name has exactly the words of a whole name of the action, in any
// order, singular or plural.
func (t *target) hasWords(name string) bool {
	words := singulars(nameWords(name))
	return slices.ContainsFunc(wholeNames(t.Action), func(whole string) bool {
		own := nameWords(whole)
		return slices.Equal(singulars(own), words) ||
			slices.Equal(singulars(withoutServer(t.Action.Family.Category, own)), words)
	})
}

// redirect handles a call of the wrong tool for an action of the same server, or of an unknown
// tool. An action that only reads runs if the call has its whole name, or used the other tool of
// its family. Otherwise the error has the tool and its usage: the caller saw other hints, or may
// have meant something else.
func (m meaning) redirect(spelling, name string, args *arguments) (*target, *toolfold.Error) {
	if m.wraps(args) {
		args.unfold()
	}
	if m.Action.Effect == toolfold.Reads && (m.whole || otherHalf(spelling, m.Tool)) {
		return m.target, nil
	}
	return nil, m.elsewhere(spelling, name)
}

// otherHalf reports whether two tools are the reading and the writing tool of one family.
func otherHalf(a, b string) bool {
	family := func(name string) string { return strings.TrimSuffix(strings.TrimSuffix(name, "_write"), "_read") }
	return family(a) == family(b)
}

// elsewhere returns the error for a call of the wrong tool, or of no tool if spelling is empty.
func (t *target) elsewhere(spelling, name string) *toolfold.Error {
	instead := "the tool " + t.Tool
	if t.Selector != "" {
		instead = fmt.Sprintf("%s with action %q", t.Tool, t.Selector)
	}
	err := &toolfold.Error{Code: toolfold.InvalidAction}
	switch {
	case spelling == "":
		err.Code, err.Message = toolfold.UnknownTool, fmt.Sprintf("there is no tool %q: call %s", shorten.Quoted(name), instead)
		t.explain(err)
		return err
	case t.Selector == name && t.Tool != spelling:
		err.Message = fmt.Sprintf("%s is an action of %s", name, t.Tool)
	default:
		err.Message = fmt.Sprintf("%s has no action %q: call %s", spelling, shorten.Quoted(name), instead)
	}
	err.Problems = []toolfold.Problem{{Path: "/" + callctx.ArgAction, Kind: toolfold.ProblemStray, BelongsTo: []string{t.Tool}}}
	t.explain(err)
	return err
}
