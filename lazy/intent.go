package lazy

import (
	"strings"
	"sync"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/regex"
	"github.com/toolfold/toolfold/internal/words"
)

// wish is the kind of thing that a query wants done.
type wish string

const (
	anything wish = "" // the query has no verb that says
	reading  wish = "read"
	making   wish = "make"
	changing wish = "change"
	removing wish = "remove"
	sending  wish = "send"
	running  wish = "run"
)

// verbs are the verbs of each wish, by stem.
var verbs = sync.OnceValue(func() map[string]wish {
	of := map[string]wish{}
	for w, list := range map[wish]string{
		reading:  "get show list find search read view fetch display print lookup browse see tell describe enumerate",
		making:   "create add make new insert generate build compose write save store register record start put keep schedule define introduce",
		changing: "set update change modify edit rename alter adjust replace switch enable disable configure turn raise lower",
		removing: "remove delete erase drop wipe purge clear forget destroy discard scrap dismiss retire withdraw unlearn unregister " +
			"unset rid throw strike empty reset uninstall decommission dissolve cancel revoke",
		sending: "send post publish submit deliver notify invite",
		running: "run execute invoke call trigger launch",
	} {
		for _, verb := range strings.Fields(list) {
			of[words.Stem(verb)] = w
		}
	}
	return of
})

// Beginnings of requests that say nothing of what is wanted, those of questions,
// and verbs that are ruled out.
var (
	prelude = regex.Lazy(`(?i)^(hi|hello|hey|please|kindly|how (do|can|could|would|should) (i|we|you|one)|how ` +
		`to|(can|could|would|will) (i|we|you)( please)?|is it possible to|is there (a|any|some) way to|(i|we) (want|need|wish|would like|'d ` +
		`like)( you)? to|i'd like( you)? to|let'?s|let me|help me( to)?|go ahead and)[\s,!]+`)
	question = regex.Lazy(
		`(?i)^(which|what|what's|who|whose|whom|where|when|why|how|is|are|am|was|were|do|does|did|has|have|had|any)\b`)
	ruledOut = regex.Lazy(`(?i)\b(without|not|never|don['’]?t|no need to|instead of|rather than)\s+(\w+)`)
)

// courtesies stand between a prelude and the verb.
var courtesies = words.Set("please want need like let help just also now then kindly")

// readWish returns what a query wants, and the query without the verbs that it
// rules out, as "without deleting" does; ruled are their wishes.
func readWish(query string) (wants wish, ruled map[wish]bool, rest string) {
	ruled = map[wish]bool{}
	query = strings.ReplaceAll(query, "get rid of", "remove") // not get
	rest = ruledOut().ReplaceAllStringFunc(query, func(match string) string {
		found := ruledOut().FindStringSubmatch(match)
		w, isVerb := verbs()[words.Stem(words.Fold(found[2]))]
		if !isVerb {
			return match
		}
		ruled[w] = true
		return " "
	})
	text := strings.TrimSpace(rest)
	for loc := prelude().FindStringIndex(text); loc != nil; loc = prelude().FindStringIndex(text) {
		text = text[loc[1]:]
	}
	if question().MatchString(text) {
		return reading, ruled, rest
	}
	for w := range words.Split(text) {
		first := w.Text
		if len(w.Parts) > 0 {
			first = w.Parts[0]
		}
		if !words.IsStop(first) && !courtesies[first] {
			return verbs()[words.Stem(first)], ruled, rest
		}
	}
	return anything, ruled, rest
}

// removes reports whether a text has a verb that destroys.
func removes(text string) bool {
	for w := range words.Split(text) {
		if verbs()[words.Stem(w.Text)] == removing {
			return true
		}
	}
	return false
}

// wishOf returns what a foreign tool does by the first verb of its name: its
// effect may only be assumed.
func wishOf(name string) wish {
	for w := range words.Split(name) {
		parts := w.Parts
		if parts == nil {
			parts = []string{w.Text}
		}
		for _, p := range parts {
			if found := verbs()[words.Stem(p)]; found != anything {
				return found
			}
		}
	}
	return anything
}

// suits reports whether an action may do what a query wants.
func suits(a *toolfold.Action, wants wish) bool {
	if a.Input != nil {
		does := wishOf(a.Name)
		return wants == anything || does == anything || does == wants
	}
	switch wants {
	case reading:
		return a.Effect == toolfold.Reads
	case making, changing, sending, running:
		return a.Effect != toolfold.Reads && a.Effect != toolfold.Deletes
	case removing:
		return a.Effect != toolfold.Reads && a.Effect != toolfold.Adds
	}
	return true
}

// destroys reports whether an action is known to remove something.
func destroys(a *toolfold.Action) bool {
	if a.Input != nil {
		return wishOf(a.Name) == removing
	}
	return a.Effect == toolfold.Deletes
}

// needsID reports whether a call must name something that was made before.
func needsID(a *toolfold.Action) bool {
	for _, f := range a.Required {
		if p := f.Param(); p.Format == "uuid" || strings.HasSuffix(p.Name, "Id") || strings.HasSuffix(p.Name, "_id") {
			return true
		}
	}
	return false
}
