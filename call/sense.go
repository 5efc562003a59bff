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
type senses map[toolfold.Category]map[string][]*target

// sensesOf indexes the actions of other servers, each by its tool's name and by its family and action.
func sensesOf(r *Resolver) senses {
	index := senses{}
	for a, t := range r.home {
		if a.Definition == nil || a.Family == nil {
			continue
		}
		server := index[a.Family.Category]
		if server == nil {
			server = map[string][]*target{}
			index[a.Family.Category] = server
		}
		for _, name := range append([]string{a.Family.Name + "_" + a.Name, a.Name}, a.Aliases...) {
			words := nameWords(name)
			for _, sense := range []string{senseOf(words), senseOf(withoutServer(a.Family.Category, words))} {
				if sense != "" && !slices.Contains(server[sense], t) {
					server[sense] = append(server[sense], t)
				}
			}
		}
	}
	return index
}

// senseOf returns words in the singular and in order of the alphabet, without those that say nothing.
func senseOf(words []string) string {
	sense := make([]string, len(words))
	for i, word := range words {
		sense[i] = singular(word)
	}
	slices.Sort(sense)
	telling := slices.DeleteFunc(slices.Clone(sense), func(word string) bool {
		return slices.Contains([]string{"a", "an", "the", "of", "for", "to", "in", "on", "and", "api"}, word)
	})
	if len(telling) == 0 {
		telling = sense
	}
	return strings.Join(slices.Compact(telling), " ")
}

// withoutServer returns the words of a name without those of its server at the beginning.
func withoutServer(server toolfold.Category, words []string) []string {
	own := nameWords(string(server))
	if n := len(own); n < len(words) && slices.Equal(words[:n], own) {
		return words[n:]
	}
	return words
}

// sense returns the action of a server that a name means, nil for no or for several actions.
func (r *Resolver) sense(server toolfold.Category, name string) *target {
	words := nameWords(name)
	found := r.senses()[server][senseOf(words)]
	if len(found) == 0 {
		found = r.senses()[server][senseOf(withoutServer(server, words))]
	}
	if len(found) > 1 { // get_branch and get_branches are two
		slices.Sort(words)
		found = slices.DeleteFunc(slices.Clone(found), func(t *target) bool {
			return !slices.ContainsFunc(append([]string{t.Action.Name}, t.Action.Aliases...), func(alias string) bool {
				own := nameWords(alias)
				slices.Sort(own)
				return slices.Equal(own, words)
			})
		})
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// anySense returns the action of any server that a name means; nil if it means none, or actions of several servers.
func (r *Resolver) anySense(name string) (only *target) {
	for server := range r.senses() {
		t := r.sense(server, name)
		if t == nil {
			continue
		}
		if only != nil {
			return nil
		}
		only = t
	}
	return only
}

// redirect answers a call that asked the wrong tool for an action of the same server, or no tool at all. An action that
// only reads runs; for another one the error has its tool and usage, because the caller was shown
// other hints.
func (t *target) redirect(asked, name string, args *arguments) (*target, *toolfold.Error) {
	if t.wraps(args) {
		args.unfold()
	}
	if t.Action.Effect == toolfold.Reads {
		return t, nil
	}
	instead := "the tool " + t.Tool
	if t.Selector != "" {
		instead = fmt.Sprintf("%s with action %q", t.Tool, t.Selector)
	}
	err := &toolfold.Error{Code: toolfold.InvalidAction}
	switch {
	case asked == "":
		err.Code, err.Message = toolfold.UnknownTool, fmt.Sprintf("there is no tool %q: call %s", shorten.Quoted(name), instead)
		t.explain(err)
		return nil, err
	case t.Selector == name && t.Tool != asked:
		err.Message = fmt.Sprintf("%s is an action of %s", name, t.Tool)
	default:
		err.Message = fmt.Sprintf("%s has no action %q: call %s", asked, shorten.Quoted(name), instead)
	}
	err.Problems = []toolfold.Problem{{Path: "/" + callctx.ArgAction, Kind: toolfold.ProblemStray, BelongsTo: []string{t.Tool}}}
	t.explain(err)
	return nil, err
}
