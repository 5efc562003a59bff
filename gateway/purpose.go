package gateway

import (
	"cmp"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/toolfold/toolfold/gateway/fold"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/internal/text/unseen"
)

// Limits of the text that says what a server is for. A purpose of more words costs every client
// more tokens on every turn than it tells a model.
const (
	purposeWords = 8
	purposeBytes = 44
	textBytes    = 400 // of a text that are searched for the purpose
	mostSummary  = 60  // bytes of a family's summary, as the root package has it
)

// summary returns the text that a family of a plan is listed with, unless its user wrote one: in
// the first family of the server what the server is for, in another the noun, and what
// the family does if its tools are annotated.
func (l *link) summary(k kept, planned fold.Family, tools []definition, first bool) string {
	if planned.Summary != "" {
		return unseen.Removed(planned.Summary)
	}
	subject := english.UpperFirst(telling(cmp.Or(planned.Noun, planned.Range)))
	if first {
		purpose := cmp.Or(l.purpose(k), planned.Name)
		if at := l.distinction(); at != "" {
			purpose += " (" + at + ")"
		}
		if subject != "" {
			purpose += ": " + english.LowerFirst(subject)
		}
		subject = purpose
	}
	subject = telling(cmp.Or(subject, l.title(), planned.Name))
	effect := ""
	if slices.ContainsFunc(tools, definition.annotated) {
		effect = map[bool]string{true: ", reads", false: ", changes"}[planned.Reads]
	}
	return wholeWords(subject, mostSummary-len(effect)) + effect
}

// annotated reports whether a tool says that it reads or changes something.
func (d definition) annotated() bool {
	return d.Annotations.ReadOnlyHint != nil || d.Annotations.DestructiveHint != nil
}

// purpose returns what the server is for, in its own words: of its description or its instructions,
// or else its title, or else its name; empty if not even the name has a letter. Texts count only as far
// as they are accepted.
func (l *link) purpose(k kept) string {
	if k.Accepted[""] == k.own {
		for _, text := range []string{k.Description, k.Instructions} {
			if found := purposeIn(text); found != "" {
				return found
			}
		}
		if title := withoutServer(k.Title); title != "" {
			return wholeWords(title, purposeBytes)
		}
	}
	return l.title()
}

// title returns the user's name of the server as words; empty if it has no letter or digit.
func (l *link) title() string {
	return english.UpperFirst(telling(strings.NewReplacer("_", " ", "-", " ").Replace(l.Name)))
}

// telling returns a text as its reader sees it, on one line; empty if it has no letter or digit.
func telling(text string) string {
	text = strings.ToValidUTF8(unseen.Removed(text), "")
	if !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return ""
	}
	return strings.Join(strings.Fields(text), " ")
}

// purposeAt finds the words behind which a text says what a server is for, and fillers behind these.
var purposeAt = regex.Lazy(`(?i)\b(?:provides?|offers?|gives|enables?|lets|allows|helps|exposes` +
	`|use (?:this|these)(?: server| tools?)?(?: to| for| whenever| when)` +
	`|(?:server|tools?|access|interface|gateway|bridge)(?: for| to| that| which))\s+` +
	`(?:you (?:to )?|users? (?:to )?|tools (?:for|to) |access to )?`)

// accessTo finds who gets access, which says nothing of what to.
var accessTo = regex.Lazy(`^(?:\S+ ){0,4}access to `)

// purposeIn returns the words of a text's first sentences that say what its server is for; empty if
// none do.
func purposeIn(text string) string {
	text = wholeWords(telling(text), textBytes)
	at := purposeAt().FindStringIndex(text)
	if at == nil {
		return ""
	}
	phrase := text[at[1]:]
	if access := accessTo().FindString(phrase); access != "" {
		phrase = phrase[len(access):]
	}
	if end := strings.IndexAny(phrase, ".;:!?([{\n—"); end >= 0 {
		phrase = phrase[:end]
	}
	if part, _, found := strings.Cut(phrase, ","); found && len(strings.Fields(part)) > 2 {
		phrase = part
	}
	phrase = strings.TrimRight(phrase, " ,-–")
	if words := strings.Fields(phrase); len(words) > purposeWords {
		phrase = withoutSmallEnd(strings.Join(words[:purposeWords], " "))
	}
	phrase = wholeWords(phrase, purposeBytes)
	if len(strings.Fields(phrase)) < 2 {
		return ""
	}
	return english.UpperFirst(phrase)
}

// withoutServer returns a title without words that every server's title may have.
func withoutServer(title string) string {
	words := slices.DeleteFunc(strings.Fields(telling(title)), func(word string) bool {
		return slices.Contains([]string{"mcp", "server", "the", "mcp-server"}, strings.ToLower(word))
	})
	return strings.Join(words, " ")
}

// wholeWords returns a text if it fits into a number of bytes, and else the words of it that fit. A
// first word that does not fit is cut at a whole character.
func wholeWords(text string, most int) string {
	if len(text) <= most {
		return text
	}
	cut := strings.ToValidUTF8(text[:most], "")
	if blank := strings.LastIndexByte(text[:most+1], ' '); blank > 0 {
		cut = text[:blank]
	}
	return cmp.Or(withoutSmallEnd(cut), cut)
}

// withoutSmallEnd returns a text that was cut, without the small words, commas and dashes at its end.
func withoutSmallEnd(text string) string {
	for {
		text = strings.TrimRight(text, " ,-–")
		last := text[strings.LastIndexByte(text, ' ')+1:]
		if !slices.Contains(strings.Fields("a an and as at by for from in is of on or the to via with"), last) {
			return text
		}
		text = text[:len(text)-len(last)]
	}
}

// distinction returns the folder or host by which the server differs from another of the same kind;
// empty if there is none. It shows no flag, environment, header,
// path of a URL or query, which may hold secrets.
func (l *link) distinction() string {
	mine := l.places()
	for _, other := range l.gateway.links {
		if other == l || !l.twin(other) {
			continue
		}
		theirs := other.places()
		for _, place := range mine {
			if !slices.Contains(theirs, place) {
				return place
			}
		}
	}
	return ""
}

// launchers are programs that run another, which their first argument names.
var launchers = strings.Fields("bun bunx deno docker go node npx pipx pnpm podman python python3 uv uvx yarn")

// twin reports whether two servers are of one kind: the same program, or the same path at another host. Servers at
// one host are not: what tells them apart is in the path or the query, which may hold secrets.
func (l *link) twin(other *link) bool {
	mine, theirs := l.Server, other.Server
	if mine.URL != "" || theirs.URL != "" {
		a, err := url.Parse(mine.URL)
		b, err2 := url.Parse(theirs.URL)
		return err == nil && err2 == nil && a.Host != "" && b.Host != "" && a.Hostname() != b.Hostname() && a.Path == b.Path
	}
	if len(mine.Argv) == 0 || len(theirs.Argv) == 0 || mine.Argv[0] != theirs.Argv[0] {
		return false
	}
	if !slices.Contains(launchers, strings.TrimSuffix(path.Base(strings.ReplaceAll(mine.Argv[0], `\`, "/")), ".exe")) {
		return true
	}
	named := func(argv []string) string {
		i := slices.IndexFunc(argv[1:], func(arg string) bool {
			return !strings.HasPrefix(arg, "-") && arg != "run" && arg != "exec" && arg != "dlx"
		})
		if i < 0 {
			return ""
		}
		return argv[1+i]
	}
	return named(mine.Argv) == named(theirs.Argv)
}

// secretFlag matches a flag whose value may be a secret, even if it looks like a folder.
var secretFlag = regex.Lazy(`(?i)^-.*(?:key|token|secret|pass|cred|auth)`)

// folder matches an argument that is a path and nothing else.
var folder = regex.Lazy(`^(?:\.{0,2}/|~/|[A-Za-z]:[\\/])`)

// places returns the host that the server is reached at, or the folders that it is started with, each by the end of
// its name. It never returns the path of a URL: with some services the path is the key.
func (l *link) places() (places []string) {
	if at, err := url.Parse(l.Server.URL); err == nil && at.Host != "" {
		return []string{at.Hostname()}
	}
	for i, arg := range l.Server.Argv {
		if i == 0 || !folder().MatchString(arg) || secretFlag().MatchString(l.Server.Argv[i-1]) {
			continue
		}
		places = append(places, path.Base(strings.ReplaceAll(arg, `\`, "/")))
	}
	if l.Server.Dir != "" {
		places = append(places, path.Base(strings.ReplaceAll(l.Server.Dir, `\`, "/")))
	}
	return places
}
