package call

import (
	"slices"
	"strings"
	"sync"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/suggest"
)

// verbLines says which actions a verb may stand for, the likeliest first; the
// verbs of a line mean the same. A verb of a line without actions stands for
// none: its spelling must not lead to another.
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

// verbs has the actions that a verb may stand for.
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

// meant returns the action of a family that a name stands for: a name of today
// or before, whatever joins its words; else what a verb of that meaning does; else
// what is spelt like it. Known verbs are not taken for misspelt others, nor what
// says the opposite. It is nil where nothing is meant, and known reports whether
// the name is a verb all the same.
func meant(actions []*toolfold.Action, name string) (action *toolfold.Action, known bool) {
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
	stands, known := verbs()[word]
	for _, verb := range stands {
		if a := byName[foldName(verb)]; a != nil {
			return a, true
		}
	}
	if known {
		return nil, true
	}
	spellings = slices.DeleteFunc(spellings, func(s string) bool { return opposite(word, s) })
	return byName[suggest.Nearest(word, spellings)], false
}

// opposite reports whether one word is the other with a syllable in front that
// turns it round.
func opposite(a, b string) bool {
	for _, turn := range []string{"un", "de", "dis", "non"} {
		if a == turn+b || b == turn+a {
			return true
		}
	}
	return false
}

// foldName leaves out case, and what joins the words of a name.
func foldName(name string) string {
	return strings.NewReplacer("_", "", "-", "", ".", "", " ", "", "/", "", ":", "").Replace(strings.ToLower(name))
}
