package call

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// verbLines lists the actions that a verb may mean, the likeliest first. The verbs of a line mean
// the same. A verb without actions means no action, so that it is not corrected to a similar word.
const verbLines = `
save keep persist memorize memorise remember upsert: store set record create register
put write insert: store set record create register
set assign: set store update
add: store create register submit record join
get fetch read retrieve pull load getone getbyid cat peek: get describe show status list load
recall: get search
view show display see open inspect details detail info: show get describe status analyze list
describe explain help usage docs: describe get analyze
lookup: get search find query
state progress: status get show
status: status get show list
search find grep filter query locate: search find query list
list ls all index enumerate browse getall listall showall viewall fetchall: list query search
delete remove del rm drop erase forget destroy discard unregister deregister: delete remove unset cancel
deletemany removemany bulkremove bulkdelete massdelete deleteall removeall purge: bulk_delete delete remove
unset reset default: unset
clear wipe empty flush truncate deleteeverything: clear
create new make: create register submit store record start
start begin launch: start run resume submit create
init spawn: create start run submit
register define declare: register create
submit enqueue push schedule dispatch queue delegate: submit create
update edit modify change patch alter amend adjust: update set store register
configure: set update
pause hold suspend freeze disable: pause
stop halt: stop pause cancel
resume unpause continue unfreeze enable unhold unsuspend: resume
restart rerun retry redo repeat resubmit again: retry resume run
cancel abort kill terminate interrupt: cancel fail stop
run execute exec invoke perform trigger do: run apply call submit
call: call run
complete finish done end close conclude: complete stop
fail error: fail
join enter attend participate: join
leave exit quit depart: leave
wait await block watch poll: wait status
stats statistics count size: stats summary
summary summarize summarise report: summary stats analyze
analyze analyse diagnose investigate: analyze scan
export dump backup download archive: export
import restore upload ingest: import
scan lint detect: scan check
check verify validate test: check test scan
apply enforce activate: apply
fix repair: run apply
increment inc incr bump: increment
record log track observe measure emit: record store
inject: inject
discover: find list
active loaded: active
rest more: rest
clean cleanup prune archive undo rollback revert rename move copy clone lock unlock share approve reject:
`

// verbs returns the actions that each verb may mean.
var verbs = sync.OnceValue(func() map[string][]string {
	table := map[string][]string{}
	for line := range strings.Lines(strings.TrimSpace(verbLines)) {
		words, actions, _ := strings.Cut(line, ":")
		for _, word := range strings.Fields(words) {
			table[word] = append(table[word], strings.Fields(actions)...)
		}
	}
	return table
})

// actionFor returns the action of a family that a name means. It tries in turn:
//
//   - current and legacy names, however their words are joined
//   - verbs with the same meaning, and the Words of actions
//   - actions whose names have all words of the name
//   - the nearest spelling
//
// If several actions match, the arguments decide. A known verb is corrected only to an action that
// reads, and no name to its opposite. action is nil if nothing matches; known then still reports
// whether the name is a verb.
func actionFor(actions []*toolfold.Action, name string, args map[string]any) (action *toolfold.Action, known bool) {
	if len(actions) == 0 {
		return nil, false
	}
	family := foldName(actions[0].Family.Name)
	word := foldName(name)
	for _, around := range []string{family + "s", family} {
		if rest := strings.TrimPrefix(word, around); rest != "" {
			word = rest
		}
		if rest := strings.TrimSuffix(word, around); rest != "" {
			word = rest
		}
	}
	byName := map[string]*toolfold.Action{}
	var spellings []string
	add := func(spelling string, a *toolfold.Action) {
		if byName[spelling] == nil {
			byName[spelling] = a
			spellings = append(spellings, spelling)
		}
	}
	for _, a := range actions {
		add(foldName(a.Name), a)
	}
	for _, a := range actions {
		for _, old := range a.Legacy {
			add(strings.TrimPrefix(foldName(old.Name), family), a)
		}
	}
	if a := byName[word]; a != nil {
		return a, true
	}
	verbs, known := verbs()[word]
	var candidates []*toolfold.Action
	for _, verb := range verbs {
		if a := byName[foldName(verb)]; a != nil {
			candidates = append(candidates, a)
		}
	}
	for _, a := range actions {
		if declaresWord(a, word) && (!known || a.Effect != toolfold.Deletes) {
			candidates = append(candidates, a)
		}
	}
	if len(candidates) == 0 { // actions of other servers are verbs and their objects: write_file
		candidates = withAllWords(actions, name, args)
	}
	if len(candidates) > 0 {
		return bestFit(candidates, actions, args), true
	}
	spellings = slices.DeleteFunc(spellings, func(s string) bool { return opposite(word, s) || known && byName[s].Effect != toolfold.Reads })
	fit := slices.DeleteFunc(slices.Clone(spellings), func(s string) bool { return !fits(byName[s], args) })
	if near := suggest.Nearest(word, fit); near != "" && countArguments(args) > 0 {
		return byName[near], known
	}
	if known {
		return nil, true
	}
	return byName[suggest.Nearest(word, spellings)], false
}

// withAllWords returns the actions whose names have all words of a name. Actions that delete must
// also fit the arguments.
func withAllWords(actions []*toolfold.Action, name string, args map[string]any) (found []*toolfold.Action) {
	words := nameWords(name)
	for _, a := range actions {
		own := nameWords(a.Name)
		missing := func(word string) bool { return !slices.Contains(own, word) }
		if len(words) == 0 || slices.ContainsFunc(words, missing) {
			continue
		}
		if a.Effect != toolfold.Deletes || countArguments(args) > 0 && fits(a, args) {
			found = append(found, a)
		}
	}
	return found
}

// declaresWord reports whether a word, as returned by foldName, is one of the Words of an action.
func declaresWord(a *toolfold.Action, word string) bool {
	for declared := range strings.SplitSeq(a.Words, ",") {
		if foldName(declared) == word {
			return true
		}
	}
	return false
}

// bestFit returns the first candidate that fits the arguments, or the first candidate if there are
// no arguments. If no candidate fits, it returns the only action that fits and does not delete, or
// else the first candidate.
func bestFit(candidates, actions []*toolfold.Action, args map[string]any) *toolfold.Action {
	if countArguments(args) == 0 {
		return candidates[0]
	}
	for _, a := range candidates {
		if fits(a, args) {
			return a
		}
	}
	var only *toolfold.Action
	for _, a := range actions {
		switch {
		case a.Effect == toolfold.Deletes || !fits(a, args):
		case only != nil:
			return candidates[0]
		default:
			only = a
		}
	}
	return cmp.Or(only, candidates[0])
}

// fits reports whether an action takes all arguments and has all its required ones.
func fits(a *toolfold.Action, args map[string]any) bool {
	matches := 0
	for _, p := range a.Params() {
		if _, ok := args[p.Name]; ok {
			matches++
		}
	}
	return matches == countArguments(args) && lacks(a, args) == 0
}

// countArguments counts the arguments that are for the action.
func countArguments(args map[string]any) (n int) {
	for name := range args {
		if name != callctx.ArgAction && name != callctx.ArgFields && name != callctx.ArgJQ {
			n++
		}
	}
	return n
}

// lacks counts the missing required parameters.
func lacks(a *toolfold.Action, args map[string]any) (n int) {
	required, _ := a.Inputs()
	for _, p := range required {
		if _, present := args[p.Name]; !present {
			n++
		}
	}
	return n
}

// opposite reports whether one word is the other with a prefix that negates it.
func opposite(a, b string) bool {
	for _, turn := range []string{"un", "de", "dis", "non"} {
		if a == turn+b || b == turn+a {
			return true
		}
	}
	return false
}

// foldName returns the words of a name in lower case, without separators.
func foldName(name string) string { return strings.Join(nameWords(name), "") }

// nameWords splits a name such as save_memory, memory.save or saveMemory into its
// words, in lower case.
func nameWords(name string) []string {
	var text strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			text.WriteByte(' ')
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
		if strings.ContainsRune("_-./:", r) {
			r = ' '
		}
		text.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(text.String())
}
