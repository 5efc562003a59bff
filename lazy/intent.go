package lazy

import (
	"slices"
	"strings"
	"sync"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/internal/text/words"
)

// wish is the kind of action that a query asks for.
type wish string

const (
	anything wish = "" // the query has no known verb
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
		reading: "get show list find search read view fetch display print lookup browse see tell describe enumerate",
		making: "create add make setup new insert generate build compose write save store register record start put keep schedule define " +
			"introduce",
		changing: "set update change modify edit rename alter adjust replace switch enable disable configure turn raise lower",
		removing: "remove delete erase drop wipe purge clear forget destroy discard scrap dismiss retire withdraw unlearn unregister " +
			"unset rid throw strike empty reset uninstall decommission dissolve cancel revoke shred trash ditch abolish eliminate " +
			"expunge prune cull evict oust tear sweep annul dismantle demolish junk",
		sending: "send post publish submit deliver notify invite",
		running: "run execute invoke call trigger launch",
	} {
		for _, verb := range strings.Fields(list) {
			of[words.Stem(verb)] = w
		}
	}
	return of
})

// opening is the polite beginning of a request, which the wish does not depend on. Each word has
// alternatives.
type opening [][]string

// openings has the openings by first word, longer ones first.
var openings = sync.OnceValue(func() map[string][]opening {
	byFirst := map[string][]opening{}
	for line := range strings.Lines(`
		hi
		hello
		hey
		please
		kindly
		how do/can/could/would/should i/we/you/one
		how to
		can/could/would/will i/we/you
		is it possible to
		is there a/any/some way to
		i/we want/need/wish/would/d like you to
		i/we want/need/wish you to
		i/we want/need/wish to
		i/we would/d like you to
		i/we would/d like to
		lets
		let s/me
		help me to
		help me
		go ahead and`) {
		var o opening
		for word := range strings.FieldsSeq(line) {
			o = append(o, strings.Split(word, "/"))
		}
		if len(o) > 0 {
			for _, first := range o[0] {
				byFirst[first] = append(byFirst[first], o)
			}
		}
	}
	return byFirst
})

// questions are the first words of questions.
var questions = words.Set("which what who whose whom where when why how is are am was were do does did has have had any")

// negations are words of phrases that rule out a verb; ruledOut matches these phrases and the verb.
var (
	negations = words.Set("without not never don dont no instead rather")
	ruledOut  = regex.Lazy(`(?i)\b(without|not|never|don['’]?t|no need to|instead of|rather than)\s+(\w+)`)
)

// courtesies are words between an opening and the verb.
var courtesies = words.Set("please want need like let help just also now then kindly")

// requestWord is a word of a request.
type requestWord struct {
	text    string // folded
	lead    string // the first part of a compound, or text
	stem    string // of text; text itself if it is grammar
	grammar bool
}

// isPlural reports whether a word ends like a plural.
func (s requestWord) isPlural() bool {
	return s.stem != s.text && strings.HasSuffix(s.text, "s") && !strings.HasSuffix(s.text, "ss")
}

// appendWords appends the words of a text.
func appendWords(list []requestWord, text string) []requestWord {
	for w := range words.Split(text) {
		s := requestWord{text: w.Text, lead: w.Text, stem: w.Text, grammar: words.IsStop(w.Text)}
		if len(w.Parts) > 0 {
			s.lead = w.Parts[0]
		}
		if !s.grammar {
			s.stem = words.Stem(w.Text)
		}
		list = append(list, s)
	}
	return list
}

// request is a query and its wish.
type request struct {
	wants   wish
	ruled   []wish // wishes of verbs that it rules out, as in "without deleting"
	removes bool   // it has a removing verb
	text    string // the query without ruled-out verbs
}

// readRequest parses a query; list has its words.
func readRequest(query string, list []requestWord) request {
	r := request{text: query}
	if slices.ContainsFunc(list, func(s requestWord) bool { return negations[s.text] }) {
		r.text = ruledOut().ReplaceAllStringFunc(r.text, func(match string) string {
			w, isVerb := verbs()[words.Stem(words.Fold(ruledOut().FindStringSubmatch(match)[2]))]
			if !isVerb {
				return match
			}
			r.ruled = append(r.ruled, w)
			return " "
		})
		if r.ruled != nil {
			list = appendWords(nil, r.text)
		}
	}
	list = withVerbs(list)
	r.wants = wishFor(withoutOpening(list))
	r.removes = slices.ContainsFunc(list, func(s requestWord) bool { return verbs()[s.stem] == removing })
	return r
}

// withVerbs replaces each phrase that means a verb, such as "get rid of", by the verb.
func withVerbs(list []requestWord) []requestWord {
	var with []requestWord // nil while there is no phrase
	for i := 0; i < len(list); i++ {
		verb, n := words.Verb(func(at int) string {
			if at += i; at < len(list) {
				return list[at].text
			}
			return ""
		})
		switch {
		case n > 0:
			if with == nil {
				with = append(make([]requestWord, 0, len(list)), list[:i]...)
			}
			with = append(with, requestWord{text: verb, lead: verb, stem: words.Stem(verb)})
			i += n - 1
		case with != nil:
			with = append(with, list[i])
		}
	}
	if with == nil {
		return list
	}
	return with
}

// withoutOpening returns the words after all openings.
func withoutOpening(list []requestWord) []requestWord {
	for len(list) > 0 {
		i := slices.IndexFunc(openings()[list[0].text], func(o opening) bool { return o.begins(list) })
		if i < 0 {
			return list
		}
		list = list[len(openings()[list[0].text][i]):]
	}
	return list
}

// begins reports whether list begins with the opening.
func (o opening) begins(list []requestWord) bool {
	if len(o) > len(list) {
		return false
	}
	for i, words := range o {
		if !slices.Contains(words, list[i].text) {
			return false
		}
	}
	return true
}

// wishFor returns the wish of a request without its opening: reading for a question, otherwise the
// wish of its first word, if this is a verb. Grammar and courtesies are skipped.
func wishFor(list []requestWord) wish {
	if len(list) > 0 && questions[list[0].text] {
		return reading
	}
	for _, s := range list {
		if !words.IsStop(s.lead) && !courtesies[s.lead] {
			return verbs()[words.Stem(s.lead)]
		}
	}
	return anything
}

// wishOf returns the wish of the first verb in the name of another server's tool. Its effect is not
// used, because it may only be assumed.
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

// suits reports whether an action may fulfil the wish of a query.
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

// needsID reports whether a call requires the id of an existing item.
func needsID(e *entry.Entry) bool {
	for _, p := range e.Required() {
		if p.Format == "uuid" || strings.HasSuffix(p.Name, "Id") || strings.HasSuffix(p.Name, "_id") {
			return true
		}
	}
	return false
}
