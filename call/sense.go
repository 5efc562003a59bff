package call

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// senses finds actions of other servers by the words of their tools' names, in any order and
// number: create_issue, issue_create and issues.create are one. A model that knows a tool by name asks
// a family for it that does not have it, because it cannot know how the tools are folded.
type senses map[toolfold.Category]map[string][]meaning

// meaning is an action that a name means.
type meaning struct {
	*target

	// whole reports whether the name has the words of the tool's own name, of an alias or of family_action. The words
	// of the action alone are not whole: each family of a server can have another action "list".
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
			add(rest, !slices.Equal(rest, bare)) // forge_list is whole, and list is not
		}
	}
	return index
}

// wholeNames returns the names that mean one action of all servers.
func wholeNames(a *toolfold.Action) []string {
	return append([]string{a.Family.Name + "_" + a.Name}, a.Aliases...)
}

// senseOf returns words in the singular and in order of the alphabet, without those that say nothing.
func senseOf(words []string) string {
	sense := singulars(words)
	telling := slices.DeleteFunc(slices.Clone(sense), func(word string) bool {
		return slices.Contains([]string{"a", "an", "the", "of", "for", "to", "in", "on", "and", "api"}, word)
	})
	if len(telling) == 0 {
		telling = sense
	}
	return strings.Join(slices.Compact(telling), " ")
}

// singulars returns words in the singular and in order of the alphabet.
func singulars(words []string) []string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = singular(word)
	}
	slices.Sort(list)
	return list
}

// withoutServer returns the words of a name without those of its server at the beginning.
func withoutServer(server toolfold.Category, words []string) []string {
	own := nameWords(string(server))
	if n := len(own); n < len(words) && slices.Equal(words[:n], own) {
		return words[n:]
	}
	return words
}

// sense returns the action of a server that a name means; false for no or for several actions.
func (r *Resolver) sense(server toolfold.Category, name string) (meaning, bool) {
	words := nameWords(name)
	found := r.senses()[server][senseOf(words)]
	if len(found) == 0 {
		found = r.senses()[server][senseOf(withoutServer(server, words))]
	}
	if len(found) > 1 { // get_branch and get_branches are two
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

// anySense returns the action of any server that a name means; false if it means none, or actions of several servers.
// Its name is whole only if no word of it is left over: a.list_issues may be a tool of a server that is not there.
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

// hasWords reports whether a name has all words of a whole name of the action and no other, in any order and number.
func (t *target) hasWords(name string) bool {
	words := singulars(nameWords(name))
	return slices.ContainsFunc(wholeNames(t.Action), func(whole string) bool {
		own := nameWords(whole)
		return slices.Equal(singulars(own), words) ||
			slices.Equal(singulars(withoutServer(t.Action.Family.Category, own)), words)
	})
}

// redirect answers a call that asked the wrong tool for an action of the same server, or no tool at all. An action that
// only reads runs if the call has its whole name, or asked the other half of its family. For another one the error has
// its tool and usage, because the caller was shown other hints, or may have meant something else.
func (m meaning) redirect(asked, name string, args *arguments) (*target, *toolfold.Error) {
	if m.wraps(args) {
		args.unfold()
	}
	if m.Action.Effect == toolfold.Reads && (m.whole || otherHalf(asked, m.Tool)) {
		return m.target, nil
	}
	return nil, m.elsewhere(asked, name)
}

// otherHalf reports whether two tools are what reads and what does more of one family.
func otherHalf(asked, tool string) bool {
	family := func(name string) string { return strings.TrimSuffix(strings.TrimSuffix(name, "_write"), "_read") }
	return family(asked) == family(tool)
}

// elsewhere returns the error of a call that asked the wrong tool for an action, or no tool at all if asked is empty.
func (t *target) elsewhere(asked, name string) *toolfold.Error {
	instead := "the tool " + t.Tool
	if t.Selector != "" {
		instead = fmt.Sprintf("%s with action %q", t.Tool, t.Selector)
	}
	err := &toolfold.Error{Code: toolfold.InvalidAction}
	switch {
	case asked == "":
		err.Code, err.Message = toolfold.UnknownTool, fmt.Sprintf("there is no tool %q: call %s", shorten.Quoted(name), instead)
		t.explain(err)
		return err
	case t.Selector == name && t.Tool != asked:
		err.Message = fmt.Sprintf("%s is an action of %s", name, t.Tool)
	default:
		err.Message = fmt.Sprintf("%s has no action %q: call %s", asked, shorten.Quoted(name), instead)
	}
	err.Problems = []toolfold.Problem{{Path: "/" + callctx.ArgAction, Kind: toolfold.ProblemStray, BelongsTo: []string{t.Tool}}}
	t.explain(err)
	return err
}
