// Package fold decides which tools of another MCP server become one tool: those
// that act on the same thing and have the same kind of effect.
//
// What reads is kept apart from what does more, so that the hints of a folded
// tool are true of everything it does and a host can let the reading one pass.
// Schemas play no part: tools of one noun share few parameters, and those often
// with another meaning, so every action keeps its own.
//
// A [Plan] is data. It follows from the server's name and its list alone, is the
// same on every machine, and may be written otherwise by its user.
//
// It is not a stable API: see docs/stability.md.
package fold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// Tool holds the properties of a tool that a plan depends on.
type Tool struct {
	Name  string
	Reads bool // it says that it changes nothing
	Size  int  // bytes of its name, description and schema; 0 = many
}

// Plan says which family and action each tool of a server becomes.
type Plan struct {
	Families []Family `yaml:"families"`
}

// Clone returns a copy that shares nothing with the plan.
func (p Plan) Clone() Plan {
	p.Families = slices.Clone(p.Families)
	for i := range p.Families {
		p.Families[i].Actions = slices.Clone(p.Families[i].Actions)
	}
	return p
}

// Tool returns the tool of a server, by the server's own name, that a name stands for: as family and
// action, as the tool, or as that with the server's name. It is empty where the plan has none such.
func (p Plan) Tool(server, name string) string {
	for _, f := range p.Families {
		for _, a := range f.Actions {
			switch name {
			case f.Name + "." + a.Name, f.Name + "_" + a.Name, a.Tool, server + "." + a.Tool:
				return a.Tool
			}
			if f.Bare && name == f.Name {
				return a.Tool
			}
		}
	}
	return ""
}

// Family is one folded tool.
type Family struct {
	Name    string   `yaml:"name"`
	Summary string   `yaml:"summary"`        // at most 60 characters, shown in every listing
	Noun    string   `yaml:"noun,omitempty"` // later tools that act on it join; empty takes tools that join no other
	Reads   bool     `yaml:"reads"`          // its tools only read; the others may do anything
	Bare    bool     `yaml:"bare,omitempty"` // its one action is called without an action argument
	Actions []Action `yaml:"actions"`
}

// Action is one tool of the server, in its family.
type Action struct {
	Name string `yaml:"action"`
	Tool string `yaml:"tool"` // the server's own name
}

const (
	maxSummary = 60 // characters
	maxName    = 40 // characters of a family's name
	maxBase    = 24 // of these, for the server
	maxAction  = 64 // characters of an action's name
	writeTwin  = "_write"
	readTwin   = "_read"
	elsewhere  = "_mcp" // follows a server's name that is one of ours
	fewTools   = 14     // of one effect, that are one family whatever they act on
	fewSmall   = 3      // tools that may cost less as they are
	foldedSize = 240    // bytes of a folded tool in a list, without its actions
	actionSize = 16     // and of each of these
	leastGroup = 3      // tools that are worth a family of their own while many are left
	niceGroup  = 4      // tools that always are, where there are more than a few
	mostNouns  = 24     // families of one effect that have a noun of their own: each costs as much as seven actions
	partSize   = 40     // tools of one family where more than these are left
)

// Server holds the properties of a server that a plan depends on, beside its tools.
type Server struct {
	Name  string
	Alone bool // every tool is a family of its own

	// Taken reports whether a name is used by others: no family gets it, nor a name under
	// which with an action it could be taken for one. Nil = none is.
	Taken func(string) bool
}

// Make plans the families of a server.
func Make(s Server, tools []Tool) Plan {
	plan, _, _ := Plan{}.Join(context.Background(), s, tools) // fails only with its context
	return plan
}

// Join returns the plan with the tools that it has no action for yet, and their
// names. Nothing that it has is renamed, but a tool that no longer only reads
// leaves a family that does. Actions of tools that are gone stay, for when they
// come back. The error is that of the context.
func (p Plan) Join(ctx context.Context, s Server, tools []Tool) (joined Plan, added []string, err error) {
	b := builder{
		ctx: ctx, server: s.Name, prefix: sharedPrefix(tools), taken: s.Taken, tools: map[string]bool{},
		names: map[string]bool{}, paths: map[string]bool{}, counts: map[string]int{},
	}
	if b.taken == nil {
		b.taken = func(string) bool { return false }
	}
	reads := map[string]bool{}
	for _, t := range tools {
		reads[t.Name] = t.Reads
		b.tools[t.Name] = true
	}
	placed := map[string]bool{}
	for _, f := range p.Families {
		f.Actions = slices.DeleteFunc(slices.Clone(f.Actions), func(a Action) bool {
			now, there := reads[a.Tool]
			return there && f.Reads && !now || placed[a.Tool]
		})
		for _, a := range f.Actions {
			placed[a.Tool] = true
		}
		b.append(f)
	}
	b.base = b.baseOf(s.Name)
	for _, reading := range []bool{true, false} {
		var rest []subjected
		for _, t := range tools {
			if placed[t.Name] || t.Reads != reading {
				continue
			}
			placed[t.Name] = true
			added = append(added, t.Name)
			words := b.words(t.Name)
			nouns := subject(words)
			rest = append(rest, subjected{t, words, nouns, " " + strings.Join(nouns, " ") + " "})
		}
		if s.Alone {
			b.separate(rest)
		} else {
			b.place(rest, reading, len(p.Families) == 0)
		}
	}
	if err := ctx.Err(); err != nil {
		return Plan{}, nil, err
	}
	return Plan{b.families}, added, nil
}

// subjected is a tool with the words of its name and of what it acts on.
type subjected struct {
	Tool
	words, subject []string
	text           string // the words of the subject, each between blanks
}

// has reports whether the tool acts on a noun, which may be several words.
func (t subjected) has(noun string) bool {
	return strings.Contains(t.text, " "+noun+" ")
}

type builder struct {
	ctx      context.Context // once it has ended, the plan is not finished
	server   string
	tools    map[string]bool // by the server's names
	base     string          // that names of families begin with
	prefix   int             // words that all names of tools begin with
	taken    func(string) bool
	families []Family

	names  map[string]bool // of the families, each with whether it reads
	paths  map[string]bool // family_action, which leads to one action
	counts map[string]int  // of numbers that were tried after a name
}

// append adds a family.
func (b *builder) append(f Family) *Family {
	b.names[f.Name] = f.Reads
	for _, a := range f.Actions {
		b.paths[f.Name+"_"+a.Name] = true
	}
	b.families = append(b.families, f)
	return &b.families[len(b.families)-1]
}

// named reports whether a family has a name.
func (b *builder) named(name string) bool { _, is := b.names[name]; return is }

// words returns the words of a tool's name without words that all names have. A name
// without letters and digits of ASCII is called tool.
func (b *builder) words(name string) []string {
	words := wordsOf(name)
	if len(words) > b.prefix {
		words = words[b.prefix:]
	}
	if len(words) == 0 {
		return []string{"tool"}
	}
	return words
}

// sharedPrefix counts the words that all names begin with, up to a verb. Each name keeps
// one.
func sharedPrefix(tools []Tool) int {
	if len(tools) < 2 {
		return 0
	}
	first := wordsOf(tools[0].Name)
	shared := len(first) - 1
	if i := slices.IndexFunc(first, func(word string) bool { return verbs()[word] }); i >= 0 {
		shared = min(shared, i)
	}
	for _, t := range tools[1:] {
		words := wordsOf(t.Name)
		n := 0
		for n < min(shared, len(words)-1) && words[n] == first[n] {
			n++
		}
		shared = n
	}
	return max(shared, 0)
}

// place puts tools of one effect into families: the existing ones, new ones of the
// nouns that most of them share, and one for the rest.
func (b *builder) place(tools []subjected, reading, anew bool) {
	var rest []subjected
	for _, t := range tools {
		if f := b.familyFor(t, reading); f != nil {
			b.add(f, t)
		} else {
			rest = append(rest, t)
		}
	}
	if anew && len(rest) > fewTools {
		rest = b.placeByNouns(rest, reading)
	}
	if anew && len(rest) > partSize {
		b.part(rest, reading)
		return
	}
	if len(rest) == 0 {
		return
	}
	f := b.family("", reading)
	switch size := sizeOf(rest); {
	case f == nil && len(rest) <= fewSmall && size > 0 && size < foldedSize+actionSize*len(rest):
		b.separate(rest)
		return
	case f == nil:
		f = b.open("", reading)
	}
	for _, t := range rest {
		b.add(f, t)
	}
}

// part puts tools that are left into families of about the same size, by the alphabet of what they act
// on. The first takes tools that come later.
func (b *builder) part(tools []subjected, reading bool) {
	slices.SortStableFunc(tools, func(x, y subjected) int {
		return cmp.Or(slices.Compare(x.subject, y.subject), slices.Compare(x.words, y.words))
	})
	parts := (len(tools) + partSize - 1) / partSize
	for i := range parts {
		part := tools[i*len(tools)/parts : (i+1)*len(tools)/parts]
		f := b.open("", reading)
		if nouns := [2]string{strings.Join(part[0].subject, " "), strings.Join(part[len(part)-1].subject, " ")}; nouns[0] != nouns[1] {
			f.Summary = cut(map[bool]string{true: "Read ", false: "Change "}[reading]+nouns[0]+" to "+nouns[1], maxSummary)
		}
		for _, t := range part {
			b.add(f, t)
		}
	}
}

// sizeOf adds up the sizes of tools; 0 where one is not known.
func sizeOf(tools []subjected) (size int) {
	for _, t := range tools {
		if t.Size == 0 {
			return 0
		}
		size += t.Size
	}
	return size
}

// separate gives every tool a family of its own, under its own name where that is free: a
// longer one would cost more.
func (b *builder) separate(tools []subjected) {
	for _, t := range tools {
		noun := strings.Join(t.words, " ")
		name := b.nameOf(noun, t.Reads)
		if plainName().MatchString(t.Name) && len(t.Name) <= maxName && !b.taken(t.Name) && !b.taken(t.Name+writeTwin) && !b.named(t.Name) {
			name = t.Name
		}
		b.add(b.append(Family{Name: name, Summary: cut("Tool "+noun, maxSummary), Reads: t.Reads, Bare: true}), t)
	}
}

// familyFor returns the family of the longest noun that a tool acts on; nil for
// none.
func (b *builder) familyFor(t subjected, reading bool) *Family {
	var best *Family
	for i := range b.families {
		f := &b.families[i]
		if f.Reads == reading && f.Noun != "" && t.has(f.Noun) && (best == nil || len(f.Noun) > len(best.Noun)) {
			best = f
		}
	}
	return best
}

func (b *builder) family(noun string, reading bool) *Family {
	for i := range b.families {
		if f := &b.families[i]; f.Noun == noun && f.Reads == reading && !f.Bare {
			return f
		}
	}
	return nil
}

// placeByNouns opens families of the nouns that most tools share, and returns the other tools.
func (b *builder) placeByNouns(tools []subjected, reading bool) (rest []subjected) {
	shared := phrasesOf(tools)
	placed, left := make([]bool, len(tools)), len(tools)
	for opened := 0; opened < mostNouns && b.ctx.Err() == nil; opened++ {
		least := leastGroup
		if left <= fewTools {
			least = niceGroup
		}
		noun := shared.best(least)
		if noun == nil {
			break
		}
		f := b.open(noun.text, reading)
		for _, i := range noun.tools {
			if placed[i] {
				continue
			}
			placed[i] = true
			left--
			shared.remove(i)
			b.add(f, tools[i])
		}
	}
	for i, t := range tools {
		if !placed[i] {
			rest = append(rest, t)
		}
	}
	return rest
}

// phrases are words next to each other in the subjects of tools.
type phrases struct {
	list []phrase
	of   [][]share // of each tool
}

// phrase is up to three words.
type phrase struct {
	text  string
	tools []int // that have it, by their index
	left  int   // of these that are not in a family
	score int   // of a family of them
}

// share is the part of one tool in the score of a phrase.
type share struct{ phrase, score int }

// phrasesOf returns the phrases of tools. One at the end of a subject counts more.
func phrasesOf(tools []subjected) *phrases {
	p, known := &phrases{of: make([][]share, len(tools))}, map[string]int{}
	for i, t := range tools {
		for from := range t.subject {
			for to := from + 1; to <= min(from+3, len(t.subject)); to++ {
				text := strings.Join(t.subject[from:to], " ")
				at, is := known[text]
				if !is {
					at = len(p.list)
					known[text] = at
					p.list = append(p.list, phrase{text: text})
				}
				score := 2
				if to == len(t.subject) {
					score = 3
				}
				p.add(i, share{at, score})
			}
		}
	}
	return p
}

// add counts a phrase of a tool, once if the tool has it twice.
func (p *phrases) add(tool int, s share) {
	if slices.ContainsFunc(p.of[tool], func(have share) bool { return have.phrase == s.phrase }) {
		return
	}
	p.of[tool] = append(p.of[tool], s)
	one := &p.list[s.phrase]
	one.tools = append(one.tools, tool)
	one.left++
	one.score += s.score
}

// remove takes out a tool that is in a family.
func (p *phrases) remove(tool int) {
	for _, s := range p.of[tool] {
		p.list[s.phrase].left--
		p.list[s.phrase].score -= s.score
	}
}

// best returns the phrase that makes the best family of at least so many tools, nil for none: words
// that many tools share, above all at the end, as "alert" in secret scanning alert. Of equals it is
// the longest, then the first in the alphabet.
func (p *phrases) best(least int) (best *phrase) {
	for i := range p.list {
		one := &p.list[i]
		if one.left < least || best != nil && one.score < best.score {
			continue
		}
		if best == nil || cmp.Or(
			cmp.Compare(one.score, best.score),
			cmp.Compare(strings.Count(one.text, " "), strings.Count(best.text, " ")),
			cmp.Compare(best.text, one.text),
		) > 0 {
			best = one
		}
	}
	return best
}

// open adds a family without actions.
func (b *builder) open(noun string, reading bool) *Family {
	summary := map[bool]string{true: "Read", false: "Change"}[reading]
	if noun == "" {
		summary = map[bool]string{true: "Only reads", false: "Changes things"}[reading]
	} else {
		summary += " " + noun
	}
	return b.append(Family{Name: b.nameOf(noun, reading), Summary: cut(summary, maxSummary), Noun: noun, Reads: reading})
}

// nameOf returns a free name for a family: server or server_noun, with _write
// where the other effect has that name.
func (b *builder) nameOf(noun string, reading bool) string {
	twin := map[bool]string{true: readTwin, false: writeTwin}[reading]
	stem := b.base
	if noun != "" {
		stem += "_" + strings.ReplaceAll(noun, " ", "_")
	}
	stem = strings.TrimRight(cut(stem, maxName-len(writeTwin)-2), "_")
	free := func(name string) bool { return !b.taken(name) && !b.taken(name+writeTwin) && !b.named(name) }
	tried := stem + twin
	for n := max(1, b.counts[tried]); ; n++ {
		b.counts[tried] = n // those before stay in use
		name := stem
		if n > 1 {
			name = fmt.Sprintf("%s%d", stem, n)
		}
		if free(name) {
			return name
		}
		reads, is := b.names[name]
		if same := is && reads == reading; !same && free(name+twin) {
			return name + twin
		}
	}
}

// baseOf returns what the names of a server's families begin with: its name in
// small letters, and _mcp after one that is ours.
func (b *builder) baseOf(server string) string {
	base := Base(server)
	if b.taken(base) {
		base += elsewhere
	}
	return base
}

// Base returns the text that the names of a server's families begin with, unless a family has the
// name of its one tool.
func Base(server string) string {
	base := strings.Join(wordsOf(server), "_")
	if base == "" || base[0] < 'a' {
		base = strings.TrimRight("mcp_"+base, "_")
	}
	return strings.TrimRight(cut(base, maxBase), "_")
}

// add puts a tool into a family, under what of its name the family does not say.
func (b *builder) add(f *Family, t subjected) {
	used := func(name string) bool {
		if f.Name == b.server && name != t.Name && b.tools[name] {
			return true // it would read as the server's own name of another tool
		}
		return b.paths[f.Name+"_"+name] || b.taken(f.Name+"."+name) || b.taken(f.Name+"_"+name)
	}
	short, long := actionName(t.words, f.Noun), actionName(t.words, "")
	name, tried := short, f.Name+"."+long
	for n := 1; b.ctx.Err() == nil && (name == "" || used(name)); n++ {
		if n == 1 {
			name = long
			continue
		}
		n = max(n, b.counts[tried])
		b.counts[tried] = n // those before stay in use
		count := fmt.Sprintf("_%d", n)
		name = strings.TrimRight(cut(cmp.Or(long, "tool"), maxAction-len(count)), "_") + count
	}
	b.paths[f.Name+"_"+name] = true
	f.Actions = append(f.Actions, Action{name, t.Name})
}

// actionName joins the words of a tool's name, without a noun and what leads to it, and
// without articles; empty where nothing is left.
func actionName(words []string, noun string) string {
	nouns := strings.Fields(noun)
	for i := 0; len(nouns) > 0 && i+len(nouns) <= len(words); i++ {
		same := true
		for j, word := range nouns {
			same = same && singular(words[i+j]) == word
		}
		if !same {
			continue
		}
		before, after := words[:i], words[i+len(nouns):]
		for len(before) > 0 && len(after) == 0 && fillers()[before[len(before)-1]] {
			before = before[:len(before)-1]
		}
		for len(after) > 0 && len(before) == 0 && fillers()[after[0]] {
			after = after[1:]
		}
		words = slices.Concat(before, after)
		break
	}
	var kept []string
	for i, word := range words {
		if article := word == "a" || word == "an" || word == "the"; !article || i == len(words)-1 {
			kept = append(kept, word)
		}
	}
	name := strings.Join(kept, "_")
	if name != "" && name[0] < 'a' {
		name = "tool_" + name
	}
	return strings.TrimRight(cut(name, maxAction), "_")
}

func cut(text string, most int) string { return text[:min(len(text), most)] }

var plainName = regex.Lazy(`^[a-z][a-z0-9_]*$`)

// Check says what is wrong with a plan that a user wrote: every tool must be
// exactly one action, and what does more than read in no family that reads.
func (p Plan) Check(tools []Tool, taken func(string) bool) error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	reads, seen, names := map[string]bool{}, map[string]string{}, map[string]bool{}
	for _, t := range tools {
		reads[t.Name] = t.Reads
	}
	for _, f := range p.Families {
		if !plainName().MatchString(f.Name) || len(f.Name) > maxName {
			fault("family %q: a name has small letters, digits and _, at most %d of them", f.Name, maxName)
		}
		if names[f.Name] || taken != nil && taken(f.Name) {
			fault("family %s: the name is in use", f.Name)
		}
		names[f.Name] = true
		actions := map[string]bool{}
		for _, a := range f.Actions {
			if !plainName().MatchString(a.Name) || len(a.Name) > maxAction {
				fault("%s: action %q: a name has small letters, digits and _, at most %d of them", f.Name, a.Name, maxAction)
			}
			if actions[a.Name] {
				fault("%s: action %s is there twice", f.Name, a.Name)
			}
			actions[a.Name] = true
			if before := seen[a.Tool]; before != "" {
				fault("tool %q is there twice, in %s and %s", a.Tool, before, f.Name)
			}
			seen[a.Tool] = f.Name
			if now, there := reads[a.Tool]; there && f.Reads && !now {
				fault("%s: tool %q does more than read", f.Name, a.Tool)
			}
		}
	}
	for _, t := range tools {
		if seen[t.Name] == "" {
			fault("tool %q is in no family", t.Name)
		}
	}
	return errors.Join(faults...)
}
