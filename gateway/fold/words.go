package fold

import (
	"slices"
	"strings"
	"sync"
	"unicode"
)

// wordsOf splits a tool's name into words of lower-case ASCII letters and digits. It splits at every
// other character, before a capital after a small letter or digit (getIssue), and at the end of an
// acronym (APIKey).
func wordsOf(name string) []string {
	runes := []rune(name)
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, string(word))
			word = nil
		}
	}
	for i, r := range runes {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			end()
			continue
		}
		if unicode.IsUpper(r) && i > 0 {
			after := unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1])
			acronymEnds := unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if after || acronymEnds {
				end()
			}
		}
		word = append(word, unicode.ToLower(r))
	}
	end()
	return words
}

// verbs lists words for the effect of a tool. If a name begins or ends with one, the rest of the name
// is the tool's subject.
var verbs = sync.OnceValue(func() map[string]bool {
	return wordSet(`
	abort accept activate add analyze append apply approve archive assign attach authenticate authorize batch begin block build
	calculate call cancel change check checkout clear clone close commit compare complete compute configure confirm connect convert
	copy count create deactivate debug decline decode delete deploy describe destroy detach detect diff disable disconnect discover
	dismiss dispatch download drag drop duplicate edit emulate enable encode end evaluate exec execute explain export extract fetch
	fill filter find finish follow fork format forward generate get grant handle hide hover import index init insert inspect install
	invite invoke join kill launch leave link list load lock log login logout lookup make manage mark merge modify monitor move
	mute navigate notify open parse patch pause perform pin ping play poll post press preview process promote publish purge push
	put query read rebuild receive recover refresh register reject release remove rename render reopen replace reply report
	reprioritize request reset resize resolve restart restore resume retrieve retry return revert revoke run save scan schedule
	search select send set share show simulate snapshot sort split star start stop store stream submit subscribe suggest summarize
	suspend swap switch sync tag take terminate test toggle track transfer transform translate trigger type unarchive unassign
	unblock unfollow uninstall unlink unlock unmute unpin unpublish unregister unresolve unshare unstar unsubscribe unwatch update
	upgrade upload upsert use validate verify view wait watch write`)
})

// fillers lists words that do not describe a tool.
var fillers = sync.OnceValue(func() map[string]bool {
	return wordSet("a an the to for from of in on by with and or at into as is my")
})

// nounVerbs lists verbs that are also nouns: a tool may act on a commit or a release. Other verbs are
// never the noun of a family.
var nounVerbs = sync.OnceValue(func() map[string]bool {
	return wordSet(`
	archive batch block build call change check commit diff export filter fork format import index link load lock log login merge
	patch pin poll post preview process push query release report request scan schedule search snapshot star store stream tag
	test trigger type upload view`)
})

// vague lists words that name a side of a thing, and not a thing of their own.
var vague = sync.OnceValue(func() map[string]bool {
	return wordSet("all batch bulk by detail details id info information list many multiple new one single tool")
})

// genericVerbs lists verbs that name neither a thing nor an area.
var genericVerbs = sync.OnceValue(func() map[string]bool {
	return wordSet("add create delete describe fetch find get list read remove set show update")
})

// isNoun reports whether a phrase can be the noun of a family. server holds the words of the server's
// name. If names go from the area to the verb, areas such as monitor are allowed.
func isNoun(phrase, server []string, areas bool) bool {
	named := func(word string) bool { return slices.Contains(server, word) || slices.Contains(server, word+"s") }
	names := func(word string) bool {
		return !vague()[word] && !genericVerbs()[word] && (areas || !verbs()[word] || nounVerbs()[word])
	}
	twice := len(slices.Compact(slices.Clone(phrase))) < len(phrase)
	return !twice && !slices.ContainsFunc(phrase, named) && names(phrase[0]) && names(phrase[len(phrase)-1])
}

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(text) {
		set[word] = true
	}
	return set
}

// singular returns an English noun in the singular, judged by its ending.
func singular(word string) string {
	ends := func(endings ...string) bool {
		return slices.ContainsFunc(endings, func(ending string) bool { return strings.HasSuffix(word, ending) })
	}
	switch {
	case len(word) < 4 || ends("ss", "us", "is"):
		return word
	case ends("ies") && len(word) > 4:
		return word[:len(word)-3] + "y"
	case ends("sses", "shes", "ches", "xes", "zes"):
		return word[:len(word)-2]
	case ends("s"):
		return word[:len(word)-1]
	}
	return word
}

// singulars converts each word of a noun to the singular.
func singulars(noun string) string {
	words := strings.Fields(noun)
	for i, word := range words {
		words[i] = singular(word)
	}
	return strings.Join(words, " ")
}

// subject returns the words for the thing a tool acts on, in the singular, without fillers. It leaves
// out the verb at the beginning, else at the end; if names go from the area to the verb, only the one
// at the end. A verb or filler alone is its own subject.
func subject(words []string, areas bool) []string {
	rest := words
	switch {
	case len(rest) > 1 && verbs()[rest[0]] && !(areas && verbs()[rest[len(rest)-1]]):
		rest = rest[1:]
	case len(rest) > 1 && verbs()[rest[len(rest)-1]]:
		rest = rest[:len(rest)-1]
	}
	var nouns []string
	for _, word := range rest {
		if !fillers()[word] {
			nouns = append(nouns, singular(word))
		}
	}
	if len(nouns) == 0 {
		return words
	}
	return nouns
}
