package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/regex"
)

// mistake is a call with one error in it.
type mistake struct {
	kind      string
	action    *toolfold.Action // intended
	tool      string
	arguments map[string]any

	// name is the intended parameter if the call has an unknown one, otherwise empty. mend may use
	// it if the error shows it.
	name string

	// harmless means that the call may run with a warning, because it only reads.
	harmless bool
}

// The faults that wrong looks for.
const (
	dropped  = "parameters dropped without a word"
	accepted = "wrong values taken"
	unmended = "too many calls that their error does not mend"
	astray   = "too many names that lead elsewhere"
)

// wrong makes calls with one mistake each, derived from the families, and corrects refused calls by
// their errors alone. Nearly all must then succeed, and no parameter may be dropped silently.
func wrong(ctx context.Context, p *place) error {
	a, r := p.attack, p.report
	families := app.Families()
	known, s, err := p.furnished(ctx, families)
	if err != nil {
		return err
	}
	c := s.client()
	refused, mended := map[string]int{}, map[string]int{}
	var kinds, samples []string
	calls, warned, state := 0, 0, 0
	for _, f := range families {
		g := &mistakes{rand.New(rand.NewPCG(a.seed, uint64(len(f.Name))<<32+uint64(f.Name[0]))), f, known}
		for _, m := range g.some(a.size.wrong) {
			calls++
			arguments := map[string]any{"name": m.tool, "arguments": m.arguments}
			got, err := c.call(ctx, m.tool, m.arguments)
			if !r.judge(c, arguments, got, err) {
				continue
			}
			switch {
			case got.code == "" && m.name != "" && !strings.Contains(string(got.content), m.strange()):
				r.bad(dropped, "%s: %s answers %s", m.kind, asJSON(arguments), got.content)
				continue
			case got.code == "" && m.harmless:
				warned++
				continue
			case got.code == "":
				r.bad(accepted, "%s: %s answers %s", m.kind, asJSON(arguments), got.content)
				continue
			case !aboutTheCall(got) && !strings.HasSuffix(got.code, "_NOT_FOUND"):
				state++ // an entry is in the wrong state for the call
				continue
			}
			if !slices.Contains(kinds, m.kind) {
				kinds = append(kinds, m.kind)
			}
			refused[m.kind]++
			why := m.mend(ctx, c, got)
			if why == "" {
				mended[m.kind]++
				continue
			}
			samples = append(samples, fmt.Sprintf("%s: %s, %s: %s", m.kind, why, asJSON(arguments), got.content))
		}
	}
	all, good := 0, 0
	var figures []string
	slices.Sort(kinds)
	for _, kind := range kinds {
		all, good = all+refused[kind], good+mended[kind]
		figures = append(figures, fmt.Sprintf("%s %d/%d", kind, mended[kind], refused[kind]))
		if strings.HasPrefix(kind, "name") && mended[kind]*100 < refused[kind]*95 {
			r.bad(astray, "%s: %d of %d lead to the action", kind, mended[kind], refused[kind])
		}
	}
	r.note("%d wrong calls, %d of %d refused ones mended by their error alone, %d run with a warning, %d refused for another reason (%s)",
		calls, good, all, warned, state, strings.Join(figures, ", "))
	if good*100 < all*98 {
		for _, sample := range samples {
			r.bad(unmended, "%s", sample)
		}
	}
	return nil
}

// strange returns the name in the call that is not a parameter of the action.
func (m mistake) strange() string {
	for name := range m.arguments {
		if name != callctx.ArgAction && !slices.ContainsFunc(m.action.Params(), func(p toolfold.Param) bool { return p.Name == name }) {
			return name
		}
	}
	return ""
}

// aboutTheCall reports whether an answer refuses a call because of its arguments.
func aboutTheCall(got *reply) bool {
	return slices.Contains([]string{toolfold.InvalidInput, toolfold.InvalidAction, toolfold.UnknownTool}, got.code)
}

// placeholder matches ids in declared examples.
var placeholder = regex.Lazy(`^([0-9a-f])[0-9a-f]{7}-[0-9a-f]{4}-4000-8000-[0-9a-f]{12}$|^1{8}-`)

// furnished starts a server in a trusted workspace that holds the entries of declared examples. It
// returns the examples with the ids of these entries.
func (p *place) furnished(ctx context.Context, families []*toolfold.Family) (map[*toolfold.Action]map[string]any, *server, error) {
	folder := filepath.Join(p.workspace, ".toolfold", "workflows")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, nil, err
	}
	const workflow = `{"name":"Counts","steps":[{"stepId":"count","type":"tool","config":{"tool":"memory.stats","arguments":{}}}]}`
	if err := os.WriteFile(filepath.Join(folder, "count-notes.json"), []byte(workflow), 0o600); err != nil {
		return nil, nil, err
	}
	if text, err := p.command(ctx, "trust", p.workspace).CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("trusting the workspace: %w: %s", err, text)
	}
	s, err := p.start(ctx)
	if err != nil {
		return nil, nil, err
	}
	c, ids := s.client(), map[string]any{}
	examples := map[*toolfold.Action]map[string]any{}
	for _, f := range families {
		for _, action := range f.Actions {
			example := map[string]any{}
			if err := json.Unmarshal([]byte(action.Example), &example); err != nil {
				return nil, nil, err
			}
			for name, value := range example {
				if text, ok := value.(string); ok && placeholder().MatchString(text) && ids[name] != nil {
					example[name] = ids[name]
				}
			}
			examples[action] = example
			got, err := c.call(ctx, action.FullName(), example)
			if err != nil {
				return nil, nil, err
			}
			var result map[string]any
			if got.code == "" && json.Unmarshal(got.content, &result) == nil {
				for name, value := range result {
					if text, ok := value.(string); ok && strings.HasSuffix(name, "Id") && ids[name] == nil {
						ids[name] = text
					}
				}
			}
		}
	}
	return examples, s, nil
}

// mistakes makes wrong calls of one family.
type mistakes struct {
	*rand.Rand
	family   *toolfold.Family
	examples map[*toolfold.Action]map[string]any
}

// some returns n mistakes, about equally many of each kind.
func (g *mistakes) some(n int) []mistake {
	byKind := map[string][]mistake{}
	for _, a := range g.family.Actions {
		if a.Forwards() {
			continue // another action validates its calls
		}
		for _, m := range slices.Concat(g.names(a), g.params(a), g.values(a)) {
			byKind[m.kind] = append(byKind[m.kind], m)
		}
	}
	kinds := slices.Sorted(maps.Keys(byKind))
	for _, kind := range kinds {
		g.Shuffle(len(byKind[kind]), func(i, j int) { byKind[kind][i], byKind[kind][j] = byKind[kind][j], byKind[kind][i] })
	}
	var list []mistake
	for left := true; left && len(list) < n; {
		left = false
		for _, kind := range kinds {
			if of := byKind[kind]; len(of) > 0 && len(list) < n {
				list, byKind[kind], left = append(list, of[0]), of[1:], true
			}
		}
	}
	return list
}

// call returns the tool of an action and a copy of its example.
func (g *mistakes) call(a *toolfold.Action) (tool string, arguments map[string]any) {
	arguments = maps.Clone(g.examples[a])
	e := entry.Select(a)
	if e.Selector != "" {
		arguments[callctx.ArgAction] = e.Selector
	}
	return e.Tool, arguments
}

// names returns calls with wrong action names: misspelt ones, and verbs that only this action of
// the family has among its words.
func (g *mistakes) names(a *toolfold.Action) (list []mistake) {
	tool, right := g.call(a)
	add := func(kind, tool string, change func(arguments map[string]any)) {
		arguments := maps.Clone(right)
		change(arguments)
		list = append(list, mistake{kind: kind, action: a, tool: tool, arguments: arguments})
	}
	without := func(arguments map[string]any) { delete(arguments, callctx.ArgAction) }
	if right[callctx.ArgAction] == nil {
		return nil
	}
	add("action missing", tool, without)
	add("action of another type", tool, func(arguments map[string]any) { arguments[callctx.ArgAction] = []any{a.Name} })
	verbs := []string{g.misspelt(a.Name)}
	for word := range strings.SplitSeq(a.Words, ", ") {
		if word != "" && !strings.Contains(word, " ") && !g.othersSay(a, word) && a.Effect != toolfold.Deletes {
			verbs = append(verbs, word)
		}
	}
	for i, verb := range verbs {
		kind := "synonym"
		if i == 0 {
			kind = "misspelt"
		}
		add("name of "+kind+" action", tool, func(arguments map[string]any) { arguments[callctx.ArgAction] = verb })
		add("name tool_"+kind, tool+"_"+verb, without)
		add("name tool."+kind, tool+"."+verb, without)
		add("name "+kind+"_tool", verb+"_"+tool, without)
		add("name "+kind+"Tool", verb+strings.ToUpper(tool[:1])+tool[1:], without)
	}
	return list
}

// othersSay reports whether another action of the family has this word or name.
func (g *mistakes) othersSay(a *toolfold.Action, word string) bool {
	return slices.ContainsFunc(g.family.Actions, func(other *toolfold.Action) bool {
		names := []string{other.Name}
		for _, old := range other.Legacy {
			names = append(names, strings.TrimPrefix(old.Name, g.family.Name+"_"))
		}
		return slices.Contains(names, word) || other != a && slices.Contains(strings.Split(other.Words, ", "), word)
	})
}

// params returns calls with missing, misspelt and additional parameters.
func (g *mistakes) params(a *toolfold.Action) (list []mistake) {
	tool, right := g.call(a)
	reads := a.Effect == toolfold.Reads
	for _, p := range a.Required.Params() {
		arguments := maps.Clone(right)
		delete(arguments, p.Name)
		list = append(list, mistake{kind: "parameter missing", action: a, tool: tool, arguments: arguments})
	}
	for name, value := range right {
		if name == callctx.ArgAction {
			continue
		}
		for kind, other := range map[string]string{
			"misspelt": g.misspelt(name), "in snake case": snake(name), "cut": lastWord(name), "in the plural": name + "s",
		} {
			if slices.ContainsFunc(a.Params(), func(p toolfold.Param) bool { return p.Name == other }) {
				continue
			}
			arguments := maps.Clone(right)
			delete(arguments, name)
			arguments[other] = value
			list = append(list, mistake{kind: "parameter " + kind, action: a, tool: tool, arguments: arguments, name: name, harmless: reads})
		}
	}
	for _, sibling := range g.family.Actions {
		for name, value := range g.examples[sibling] {
			if !slices.ContainsFunc(a.Params(), func(p toolfold.Param) bool { return p.Name == name }) {
				arguments := maps.Clone(right)
				arguments[name] = value
				list = append(list, mistake{kind: "parameter of a sibling", action: a, tool: tool, arguments: arguments, name: name, harmless: reads})
			}
		}
	}
	arguments := maps.Clone(right)
	arguments[callctx.ArgFields] = []any{"qqqq"}
	return append(list, mistake{kind: "field that the result has not", action: a, tool: tool, arguments: arguments})
}

// values returns calls with invalid values and unknown ids.
func (g *mistakes) values(a *toolfold.Action) (list []mistake) {
	tool, right := g.call(a)
	for _, p := range a.Params() {
		add := func(kind string, value any) {
			arguments := maps.Clone(right)
			arguments[p.Name] = value
			list = append(list, mistake{kind: "value: " + kind, action: a, tool: tool, arguments: arguments})
		}
		switch {
		case p.Name == toolfold.Cursor.Name:
			add("cursor that no list gave", "AAECAw")
			continue
		case p.Kind == toolfold.KindAny || p.Loose:
			continue
		case p.Kind == toolfold.KindString:
			add("type", map[string]any{"value": "x"})
		case p.Kind == toolfold.KindArray && p.Items != nil && p.Items.Kind == toolfold.KindString && !p.Items.Loose:
			add("type", []any{map[string]any{}})
		case p.Kind == toolfold.KindObject:
			add("type", "neither")
		case p.Kind != toolfold.KindArray:
			add("type", "neither")
		}
		if len(p.Enum) > 0 {
			add("enum", g.misspelt(p.Enum[g.IntN(len(p.Enum))]))
			add("enum", "qqqq")
		}
		switch p.Format {
		case "date-time":
			add("date", []any{"tomorrow", "2030-01-01", "01/02/2030", "1893456000", "2030-01-01 12:00"}[g.IntN(5)])
		case "":
		default:
			add("format", "qqqq")
		}
		if p.MaxLen > 0 && p.MaxLen < 100_000 {
			add("length", strings.Repeat("x", p.MaxLen+1))
		}
		if p.Min != nil {
			add("range", *p.Min-1)
		}
		if p.Max != nil {
			add("range", *p.Max+1)
		}
		if strings.HasSuffix(p.Name, "Id") && right[p.Name] != nil && a.Effect != toolfold.Adds && len(p.Enum) == 0 {
			add("id", missingID)
			list[len(list)-1].harmless = true // an empty result may be valid
		}
	}
	return list
}

// missingID is an id that no entry has.
const missingID = "00000000-0000-4000-8000-00000000ffff"

// misspelt changes or drops a letter of a name, or swaps two.
func (g *mistakes) misspelt(name string) string {
	if len(name) < 4 {
		return name + name[len(name)-1:]
	}
	i := 1 + g.IntN(len(name)-2)
	switch g.IntN(3) {
	case 0:
		return name[:i] + name[i+1:]
	case 1:
		if name[i] != name[i+1] {
			return name[:i] + name[i+1:i+2] + name[i:i+1] + name[i+2:]
		}
	}
	return name[:i] + "x" + name[i+1:]
}

func snake(name string) string {
	var text strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			text.WriteByte('_')
		}
		text.WriteRune(unicode.ToLower(r))
	}
	return text.String()
}

// lastWord returns the last word of a name, as models shorten it (agentId: id). A name of one word
// gets a prefix.
func lastWord(name string) string {
	if i := strings.LastIndexFunc(name, unicode.IsUpper); i > 0 {
		return strings.ToLower(name[i:])
	}
	return "the_" + name
}
