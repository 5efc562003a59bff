// Package fold decides which tools of another MCP server become one tool: those that act on the same
// thing and have the same kind of effect.
//
// Tools that only read are kept apart from the rest. The hints of a folded tool thus hold for all its
// actions, and a host can allow the reading one. Schemas do not matter: tools of one noun share few
// parameters, often with different meanings, so every action keeps its own schema.
//
// A [Plan] is data. It depends only on the server's name and its list, is the same on every machine,
// and its user may replace it.
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
	"unicode/utf8"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// Tool holds the properties of a tool that a plan depends on.
type Tool struct {
	Name  string
	Reads bool // its annotations say that it changes nothing
	Size  int  // bytes of its name, description and schema; 0 = unknown
}

// Plan maps each tool of a server to a family and action.
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

// WithoutMadeSummaries returns the plan without the summaries that earlier versions generated. They are
// now generated from the noun, the effect and the server's purpose when a family is listed.
func (p Plan) WithoutMadeSummaries() Plan {
	p = p.Clone()
	for i, f := range p.Families {
		rest, reads := strings.CutPrefix(f.Summary, "Read ")
		if !reads {
			rest, _ = strings.CutPrefix(f.Summary, "Change ")
		}
		switch {
		case f.Bare && strings.HasPrefix(f.Summary, "Tool "), f.Summary == "Only reads", f.Summary == "Changes things",
			rest != f.Summary && rest == f.Noun:
			p.Families[i].Summary = ""
		case rest != f.Summary && f.Noun == "" && strings.Contains(rest, " to "):
			p.Families[i].Summary, p.Families[i].Range = "", rest
		}
	}
	return p
}

// Tool returns the server's own name of the tool with this name. The name may be family and action, the
// tool, or server and tool. Tool is empty if the plan has no such tool.
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
	Summary string   `yaml:"summary,omitempty"` // at most 60 characters; if empty, the noun and the server's purpose are listed
	Noun    string   `yaml:"noun,omitempty"`    // later tools with this noun join; empty takes tools that join no other family
	Range   string   `yaml:"range,omitempty"`   // first and last noun of a family that was cut by the alphabet
	Reads   bool     `yaml:"reads"`             // its tools only read; otherwise they may do anything
	Bare    bool     `yaml:"bare,omitempty"`    // its only action is called without an action argument
	Actions []Action `yaml:"actions"`
}

// Action is a tool of the server, as part of its family.
type Action struct {
	Name string `yaml:"action"`
	Tool string `yaml:"tool"` // the server's own name
}

const (
	maxSummary   = 60 // characters
	maxName      = 40 // characters of a family's name
	maxBase      = 24 // of these, for the server's name
	maxAction    = 64 // characters of an action's name
	writeTwin    = "_write"
	readTwin     = "_read"
	fewTools     = 14  // tools of one effect that become one family, with any nouns
	fewSmall     = 3   // tools that may cost less unfolded
	foldedSize   = 240 // bytes of a folded tool in a list, without actions
	actionSize   = 16  // bytes of each action
	leastGroup   = 3   // tools of one noun that make a family while many are left
	niceGroup    = 4   // tools of one noun that always make a family
	mostNouns    = 24  // families of one effect with their own noun: each costs as much as seven actions
	rangeLetters = 4   // most letters of a range's first and last noun in a family's name
	partSize     = 40  // most tools in a family that was cut by the alphabet
)

// Server holds the properties of a server, other than its tools, that a plan depends on.
type Server struct {
	Name  string
	Alone bool // every tool becomes its own family

	// NameInUse reports whether a name is in use outside of the server. Families do not get such a name,
	// nor one that makes such a name together with an action. Nil means that no name is in use.
	NameInUse func(string) bool
}

// Make plans the families of a server.
func Make(s Server, tools []Tool) Plan {
	plan, _, _ := Plan{}.Join(context.Background(), s, tools) // fails only if its context ends
	return plan
}

// Join adds the tools without an action to the plan. It returns the new plan and the names of the added
// tools. It renames nothing, but moves a tool that no longer only reads out of a reading family.
// Actions of missing tools stay, in case the tools come back. Join fails only if its context ends.
func (p Plan) Join(ctx context.Context, s Server, tools []Tool) (joined Plan, added []string, err error) {
	b := builder{
		ctx: ctx, server: s.Name, prefix: sharedPrefix(tools), nameInUse: s.NameInUse,
		tools: map[string]bool{}, toolWords: map[string]bool{}, subjects: map[string]bool{},
		plurals: map[string]string{}, names: map[string]bool{}, paths: map[string]bool{}, counts: map[string]int{},
	}
	if b.nameInUse == nil {
		b.nameInUse = func(string) bool { return false }
	}
	reads := map[string]bool{}
	for _, t := range tools {
		reads[t.Name] = t.Reads
		b.tools[t.Name] = true
	}
	b.read(tools)
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
		var rest []parsedTool
		for _, t := range tools {
			if placed[t.Name] || t.Reads != reading {
				continue
			}
			placed[t.Name] = true
			added = append(added, t.Name)
			rest = append(rest, b.parse(t))
		}
		start, isNew := len(b.families), len(p.Families) == 0
		if only := len(tools) == 1 && isNew; s.Alone || only {
			b.separate(rest, only && !s.Alone)
			continue
		}
		b.place(rest, reading, isNew)
		// The family named after the server comes first: its summary has the server's purpose.
		slices.SortStableFunc(b.families[start:], func(x, y Family) int {
			return cmp.Compare(min(len(x.Noun), 1), min(len(y.Noun), 1))
		})
	}
	if err := ctx.Err(); err != nil {
		return Plan{}, nil, err
	}
	return Plan{b.families}, added, nil
}

// parsedTool is a tool with the words of its name and of its subject, the thing it acts on.
type parsedTool struct {
	Tool
	words, subject []string
	text           string // the words of the subject, with a blank around each
}

// parse returns a tool with its words.
func (b *builder) parse(t Tool) parsedTool {
	words := b.words(t.Name)
	nouns := subject(words, b.areas)
	return parsedTool{t, words, nouns, " " + strings.Join(nouns, " ") + " "}
}

// has reports whether the tool acts on a noun, which may be several words.
func (t parsedTool) has(noun string) bool { // in the singular
	return strings.Contains(t.text, " "+noun+" ")
}

type builder struct {
	ctx       context.Context // if it ends, planning stops unfinished
	server    string
	tools     map[string]bool   // by the server's names
	toolWords map[string]bool   // words of the tools' names, in the singular
	subjects  map[string]bool   // of the tools, in the singular
	plurals   map[string]string // words that occur only in the plural, by their singular
	mixed     bool              // some tools only read, and some do not
	areas     bool              // most names go from the area to the verb, such as acr_registry_list
	base      string            // first words of the families' names
	prefix    int               // number of words that all tools' names begin with
	nameInUse func(string) bool
	families  []Family

	names  map[string]bool // names of the families; the value is Reads
	paths  map[string]bool // family_action for each action
	counts map[string]int  // the highest number that was put after a name, by name
}

// read collects the words that the tools' names use.
func (b *builder) read(tools []Tool) {
	first, last := 0, 0 // names that begin or end with a verb
	allWords := map[string]bool{}
	for _, t := range tools {
		b.mixed = b.mixed || t.Reads != tools[0].Reads
		words := b.words(t.Name)
		b.toolWords[singulars(strings.Join(words, " "))] = true
		switch {
		case verbs()[words[0]] && !nounVerbs()[words[0]]:
			first++
		case verbs()[words[len(words)-1]]:
			last++
		}
		for _, word := range words {
			allWords[word] = true
		}
	}
	b.areas = last > first
	for _, t := range tools {
		b.subjects[strings.TrimSpace(b.parse(t).text)] = true
	}
	for word := range allWords {
		if one := singular(word); !allWords[one] {
			b.plurals[one] = word
		}
	}
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

// hasFamily reports whether a family has this name.
func (b *builder) hasFamily(name string) bool { _, is := b.names[name]; return is }

// words returns the words of a tool's name without the prefix that all names share. For a name without
// ASCII letters or digits it returns "tool".
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

// sharedPrefix counts the words, before any verb, that all names begin with. Each name keeps at least
// one word.
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

// place puts tools of one effect into families: existing ones, new ones for the most shared nouns, and
// one for the rest.
func (b *builder) place(tools []parsedTool, reading, isNew bool) {
	var rest []parsedTool
	for _, t := range tools {
		if f := b.familyFor(t, reading); f != nil {
			b.add(f, t)
		} else {
			rest = append(rest, t)
		}
	}
	if isNew && len(rest) > fewTools {
		rest = b.placeByNouns(rest, reading)
	}
	if isNew && len(rest) > partSize {
		b.part(rest, reading)
		return
	}
	if len(rest) == 0 {
		return
	}
	parts := b.partsOf(reading)
	if len(parts) == 0 {
		if size := sizeOf(rest); len(rest) <= fewSmall && size > 0 && size < foldedSize+actionSize*len(rest) {
			b.separate(rest, false)
			return
		}
		b.open("", reading)
		parts = []part{{family: len(b.families) - 1}}
	}
	for _, t := range rest {
		later := slices.IndexFunc(parts[1:], func(p part) bool { return slices.Compare(p.from, t.subject) > 0 })
		if later < 0 {
			later = len(parts) - 1
		}
		b.add(&b.families[parts[later].family], t)
	}
}

// part splits the remaining tools, in the order of their subjects, into families of about the same
// size. The range is part of their names.
func (b *builder) part(tools []parsedTool, reading bool) {
	slices.SortStableFunc(tools, func(x, y parsedTool) int {
		return cmp.Or(slices.Compare(x.subject, y.subject), slices.Compare(x.words, y.words))
	})
	n := (len(tools) + partSize - 1) / partSize
	var parts [][]parsedTool
	for i := range n {
		parts = append(parts, tools[i*len(tools)/n:(i+1)*len(tools)/n])
	}
	letters := 1
	for ; letters < rangeLetters && !apart(parts, letters); letters++ {
	}
	for _, tools := range parts {
		first, last := tools[0].subject[0], tools[len(tools)-1].subject[0]
		f := b.append(Family{Name: b.nameOf(cut(first, letters)+" "+cut(last, letters), reading), Reads: reading})
		f.Range = cut(b.spelling(first)+" to "+b.spelling(last), maxSummary)
		for _, t := range tools {
			b.add(f, t)
		}
	}
}

// apart reports whether the ranges of all parts differ when cut to that many letters.
func apart(parts [][]parsedTool, letters int) bool {
	seen := map[string]bool{}
	for _, tools := range parts {
		seen[cut(tools[0].subject[0], letters)+" "+cut(tools[len(tools)-1].subject[0], letters)] = true
	}
	return len(seen) == len(parts)
}

// part is a family without a noun.
type part struct {
	family int
	from   []string // subject of its first tool
}

// partsOf returns the families without a noun, in the order of their ranges.
func (b *builder) partsOf(reading bool) (parts []part) {
	for i, f := range b.families {
		if f.Noun == "" && f.Reads == reading && !f.Bare && len(f.Actions) > 0 {
			parts = append(parts, part{i, b.parse(Tool{Name: f.Actions[0].Tool}).subject})
		}
	}
	slices.SortStableFunc(parts, func(x, y part) int { return slices.Compare(x.from, y.from) })
	return parts
}

// sizeOf adds up the sizes of tools; 0 if one is unknown.
func sizeOf(tools []parsedTool) (size int) {
	for _, t := range tools {
		if t.Size == 0 {
			return 0
		}
		size += t.Size
	}
	return size
}

// separate makes a family of every tool. It uses the tool's own name if that is free, because a longer
// one would cost more. The only tool of a server gets a name with the server's name in it.
func (b *builder) separate(tools []parsedTool, only bool) {
	for _, t := range tools {
		name := b.nameOf(strings.Join(t.words, " "), t.Reads)
		free := plainName().MatchString(t.Name) && len(t.Name) <= maxName &&
			!b.nameInUse(t.Name) && !b.nameInUse(t.Name+writeTwin) && !b.hasFamily(t.Name)
		if free && (!only || strings.Contains(joinWords(t.Name), joinWords(b.base))) {
			name = t.Name
		}
		b.add(b.append(Family{Name: name, Reads: t.Reads, Bare: true}), t)
	}
}

// joinWords returns a name without its separators.
func joinWords(name string) string { return strings.ReplaceAll(name, "_", "") }

// familyFor returns the family with the longest noun that the tool acts on; nil if there is no such
// family.
func (b *builder) familyFor(t parsedTool, reading bool) *Family {
	var best *Family
	for i := range b.families {
		f := &b.families[i]
		if f.Reads == reading && f.Noun != "" && t.has(singulars(f.Noun)) && (best == nil || len(f.Noun) > len(best.Noun)) {
			best = f
		}
	}
	return best
}

// placeByNouns opens families for the nouns that most tools share, and returns the remaining tools.
func (b *builder) placeByNouns(tools []parsedTool, reading bool) (rest []parsedTool) {
	shared := phrasesOf(tools, wordsOf(b.server), b.areas)
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

// phrases holds the sequences of words in the subjects of tools.
type phrases struct {
	list []phrase
	of   [][]share // per tool
}

// phrase is up to three words.
type phrase struct {
	text      string
	tools     []int // indexes of the tools with this phrase
	remaining int   // number of these not yet in a family
	score     int   // of a family of the remaining tools
}

// share is a tool's part of the score of a phrase.
type share struct{ phrase, score int }

// phrasesOf returns the phrases that can be the noun of a family: not the server's name, nor a verb. A
// phrase scores more at the end of a subject, and most at the beginning of a name without a verb there.
// In names that begin with an area, such as acr_registry_list, only the area counts.
func phrasesOf(tools []parsedTool, server []string, areas bool) *phrases {
	p, known := &phrases{of: make([][]share, len(tools))}, map[string]int{}
	for i, t := range tools {
		for from := range t.subject {
			for to := from + 1; to <= min(from+3, len(t.subject)); to++ {
				if areas && from > 0 || !isNoun(t.subject[from:to], server, areas) {
					continue
				}
				text := strings.Join(t.subject[from:to], " ")
				at, is := known[text]
				if !is {
					at = len(p.list)
					known[text] = at
					p.list = append(p.list, phrase{text: text})
				}
				score := 2
				switch {
				case from == 0 && (areas || !verbs()[t.words[0]]):
					score = 4
				case to == len(t.subject):
					score = 3
				}
				p.add(i, share{at, score})
			}
		}
	}
	return p
}

// add counts a phrase of a tool. A phrase counts once for each tool.
func (p *phrases) add(tool int, s share) {
	if slices.ContainsFunc(p.of[tool], func(have share) bool { return have.phrase == s.phrase }) {
		return
	}
	p.of[tool] = append(p.of[tool], s)
	one := &p.list[s.phrase]
	one.tools = append(one.tools, tool)
	one.remaining++
	one.score += s.score
}

// remove removes a tool that has joined a family.
func (p *phrases) remove(tool int) {
	for _, s := range p.of[tool] {
		p.list[s.phrase].remaining--
		p.list[s.phrase].score -= s.score
	}
}

// best returns the phrase with the highest score that at least that many tools share; nil if there is
// no such phrase. Words at the end score most, as "alert" in secret scanning alert. Ties go to the
// longest phrase, then to the first in the alphabet.
func (p *phrases) best(least int) (best *phrase) {
	for i := range p.list {
		one := &p.list[i]
		if one.remaining < least || best != nil && one.score < best.score {
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
	noun = b.spelling(noun)
	return b.append(Family{Name: b.nameOf(noun, reading), Noun: noun, Reads: reading})
}

// spelling returns a noun as the tools' names spell it: in the plural if they never use the singular,
// as for postgres.
func (b *builder) spelling(noun string) string {
	words := strings.Fields(noun)
	for i, word := range words {
		words[i] = cmp.Or(b.plurals[word], word)
	}
	return strings.Join(words, " ")
}

// nameOf returns a free name for a family: server or server_noun. A family that does more than read
// gets the suffix _write if the server has tools of both kinds.
func (b *builder) nameOf(noun string, reading bool) string {
	twin := map[bool]string{true: readTwin, false: writeTwin}[reading]
	stem := b.base
	if noun != "" {
		stem += "_" + strings.ReplaceAll(noun, " ", "_")
	}
	stem = strings.TrimRight(cut(stem, maxName-len(writeTwin)-2), "_")
	free := func(name string) bool {
		return !b.nameInUse(name) && !b.nameInUse(name+writeTwin) && !b.hasFamily(name)
	}
	tried := stem + twin
	for n := max(1, b.counts[tried]); ; n++ {
		b.counts[tried] = n // smaller numbers stay in use
		name := stem
		if n > 1 {
			name = fmt.Sprintf("%s%d", stem, n)
		}
		if free(name) && (reading || !b.mixed) {
			return name
		}
		reads, is := b.names[name]
		if same := is && reads == reading; !same && free(name+twin) {
			return name + twin
		}
	}
}

// Elsewhere is appended to the name of a server that equals a name of ours, in its families' names.
const Elsewhere = "_mcp"

// baseOf returns the beginning of the names of a server's families: its name in lower case, with
// [Elsewhere] if that name is ours.
func (b *builder) baseOf(server string) string {
	base := Base(server)
	if b.nameInUse(base) {
		base += Elsewhere
	}
	return base
}

// Base returns the beginning of the names of a server's families. A family of one tool may be named
// after the tool instead.
func Base(server string) string {
	base := strings.Join(wordsOf(server), "_")
	if base == "" || base[0] < 'a' {
		base = strings.TrimRight("mcp_"+base, "_")
	}
	return strings.TrimRight(cut(base, maxBase), "_")
}

// add puts a tool into a family. The action's name leaves out the family's noun.
func (b *builder) add(f *Family, t parsedTool) {
	used := func(name string) bool {
		if f.Name == b.server && name != t.Name && b.tools[name] {
			return true // it would look like the server's own name of another tool
		}
		return b.paths[f.Name+"_"+name] || b.nameInUse(f.Name+"."+name) || b.nameInUse(f.Name+"_"+name)
	}
	long := actionName(t.words)
	name, tried := long, f.Name+"."+long
	if short := withoutNoun(t.words, strings.Fields(f.Noun)); !b.misleads(short) {
		name = actionName(short)
	}
	for n := 1; b.ctx.Err() == nil && (name == "" || used(name)); n++ {
		if n == 1 {
			name = long
			continue
		}
		n = max(n, b.counts[tried])
		b.counts[tried] = n // smaller numbers stay in use
		count := fmt.Sprintf("_%d", n)
		name = strings.TrimRight(cut(cmp.Or(long, "tool"), maxAction-len(count)), "_") + count
	}
	b.paths[f.Name+"_"+name] = true
	f.Actions = append(f.Actions, Action{name, t.Name})
}

// misleads reports whether a shortened name looks like another tool, or acts on another tool's subject:
// delete_issue for delete_issue_note, if there are issues too.
func (b *builder) misleads(words []string) bool {
	acts := strings.Join(subject(words, b.areas), " ")
	return b.toolWords[singulars(strings.Join(words, " "))] || len(words) > 1 && b.subjects[acts]
}

// withoutNoun returns the words of a tool's name without the noun at their beginning or end, and
// without fillers next to it. A noun in the middle stays: otherwise create_issue_note would become
// create_note.
func withoutNoun(words, noun []string) []string {
	is := func(words []string) bool {
		return slices.EqualFunc(words, noun, func(word, of string) bool { return singular(word) == singular(of) })
	}
	n := len(words) - len(noun)
	switch {
	case len(noun) == 0 || n < 1:
		return words
	case is(words[n:]):
		words = words[:n]
		for len(words) > 1 && fillers()[words[len(words)-1]] {
			words = words[:len(words)-1]
		}
	case is(words[:len(noun)]):
		words = words[len(noun):]
		for len(words) > 1 && fillers()[words[0]] {
			words = words[1:]
		}
	}
	return words
}

// actionName joins words to an action's name; empty for no words.
func actionName(words []string) string {
	name := strings.Join(words, "_")
	if name != "" && name[0] < 'a' {
		name = "tool_" + name
	}
	return strings.TrimRight(cut(name, maxAction), "_")
}

func cut(text string, most int) string { return text[:min(len(text), most)] }

var plainName = regex.Lazy(`^[a-z][a-z0-9_]*$`)

// Fault is an error in a plan written by a user.
type Fault struct {
	Family, Action int // indexes in the plan; -1 = the fault is of the whole plan, or of the whole family
	Reason         string
}

// Error implements error.
func (f *Fault) Error() string { return f.Reason }

// Check reports the errors in a plan written by a user, joined. Each is a [Fault]. Every tool must be exactly one
// action, and a tool that does more than read must not be in a reading family.
func (p Plan) Check(tools []Tool, taken func(string) bool) error {
	var faults []error
	fault := func(family, action int, format string, args ...any) {
		faults = append(faults, &Fault{family, action, fmt.Sprintf(format, args...)})
	}
	reads, seen, names := map[string]bool{}, map[string]string{}, map[string]bool{}
	for _, t := range tools {
		reads[t.Name] = t.Reads
	}
	for i, f := range p.Families {
		if !plainName().MatchString(f.Name) || len(f.Name) > maxName {
			fault(i, -1, "family %q: a name has small letters, digits and _, at most %d of them", f.Name, maxName)
		}
		if names[f.Name] || taken != nil && taken(f.Name) {
			fault(i, -1, "family %s: the name is in use", f.Name)
		}
		names[f.Name] = true
		if f.Bare && len(f.Actions) > 1 {
			fault(i, -1, "%s: a bare family has one action: leave bare out, or move the other actions", f.Name)
		}
		if n := utf8.RuneCountInString(f.Summary); n > maxSummary {
			fault(i, -1, "%s: the summary has %d characters, at most %d", f.Name, n, maxSummary)
		}
		actions := map[string]bool{}
		for j, a := range f.Actions {
			if !plainName().MatchString(a.Name) || len(a.Name) > maxAction {
				fault(i, j, "%s: action %q: a name has small letters, digits and _, at most %d of them", f.Name, a.Name, maxAction)
			}
			if actions[a.Name] {
				fault(i, j, "%s: action %s is there twice", f.Name, a.Name)
			}
			actions[a.Name] = true
			if a.Tool == "" {
				fault(i, j, "%s: action %s names no tool", f.Name, a.Name)
				continue
			}
			if before := seen[a.Tool]; before != "" {
				fault(i, j, "tool %q is there twice, in %s and %s", a.Tool, before, f.Name)
			}
			seen[a.Tool] = f.Name
			if now, there := reads[a.Tool]; there && f.Reads && !now {
				fault(i, j, "%s: tool %q does more than read", f.Name, a.Tool)
			}
		}
	}
	for _, t := range tools {
		if seen[t.Name] == "" {
			fault(-1, -1, "tool %q is in no family", t.Name)
		}
	}
	return errors.Join(faults...)
}
