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

// Limits of the text for a server's purpose. Longer texts cost every client more tokens on every turn
// than they help a model.
const (
	purposeWords = 8
	purposeBytes = 44
	textBytes    = 400 // of a text that is searched for the purpose
	mostSummary  = 60  // bytes of a family's summary, the limit of the root package
)

// summary returns the text to list a planned family with. The user's own text wins. The first family of
// the server gets the server's purpose, other families their noun. The effect is added if tools are
// annotated.
func (l *link) summary(k record, planned fold.Family, tools []definition, first bool) string {
	if planned.Summary != "" {
		return unseen.Removed(planned.Summary)
	}
	subject := english.UpperFirst(legible(cmp.Or(planned.Noun, planned.Range)))
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
	subject = legible(cmp.Or(subject, l.title(), planned.Name))
	effect := ""
	if slices.ContainsFunc(tools, definition.annotated) {
		effect = map[bool]string{true: ", reads", false: ", changes"}[planned.Reads]
	}
	return wholeWords(subject, mostSummary-len(effect)) + effect
}

// annotated reports whether the tool's annotations state its effect.
func (d definition) annotated() bool {
	return d.Annotations.ReadOnlyHint != nil || d.Annotations.DestructiveHint != nil
}

// purpose returns the server's purpose, from its description or instructions, else its title, else its
// name. It is empty if the name has no letter or digit either. Texts count only if they are accepted.
func (l *link) purpose(k record) string {
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

// title returns the user's name for the server as words; empty if it has no letter or digit.
func (l *link) title() string {
	return english.UpperFirst(legible(strings.NewReplacer("_", " ", "-", " ").Replace(l.Name)))
}

// legible returns the visible text on one line; empty if it has no letter or digit.
func legible(text string) string {
	text = strings.ToValidUTF8(unseen.Removed(text), "")
	if !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return ""
	}
	return strings.Join(strings.Fields(text), " ")
}

// purposeAt matches the words after which a text states the server's purpose, and fillers after them.
var purposeAt = regex.Lazy(`(?i)\b(?:provides?|offers?|gives|enables?|lets|allows|helps|exposes` +
	`|use (?:this|these)(?: server| tools?)?(?: to| for| whenever| when)` +
	`|(?:server|tools?|access|interface|gateway|bridge)(?: for| to| that| which))\s+` +
	`(?:you (?:to )?|users? (?:to )?|tools (?:for|to) |access to )?`)

// accessTo matches the part of a phrase that only names who gets access.
var accessTo = regex.Lazy(`^(?:\S+ ){0,4}access to `)

// purposeIn returns the words of a text's first sentences that state the server's purpose; empty if
// there are no such words.
func purposeIn(text string) string {
	text = wholeWords(legible(text), textBytes)
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

// withoutServer returns a title without words that any server's title may have.
func withoutServer(title string) string {
	words := slices.DeleteFunc(strings.Fields(legible(title)), func(word string) bool {
		return slices.Contains([]string{"mcp", "server", "the", "mcp-server"}, strings.ToLower(word))
	})
	return strings.Join(words, " ")
}

// wholeWords returns as many words of a text as fit into most bytes. If the first word does not fit, it
// is cut at a whole character.
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

// withoutSmallEnd returns a cut text without small words, commas and dashes at its end.
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

// distinction returns the folder or host that distinguishes the server from another one of the same
// kind; empty if there is no such server, or if no folder or host differs. It never contains a flag, environment, header, URL path or
// query: these may hold secrets.
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

// launchers are programs that run another program, named by their first argument.
var launchers = strings.Fields("bun bunx deno docker go node npx pipx pnpm podman python python3 uv uvx yarn")

// twin reports whether two servers are of one kind: the same program, or the same path at another host.
// Two servers at one host are not, because only the path or query differs, which may hold secrets.
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

// places returns the server's host, or the last elements of the folders that it is started with. It
// never returns the path of a URL: with some services the path is the key.
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
