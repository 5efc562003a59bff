package everyaction_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/tokens"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
)

// maxErrorTokens limits the cost of an error for a model, in tokens.
const maxErrorTokens = 200

// Every example, broken in every way, can be corrected from the error alone: by its problems and
// values of its example.
func TestErrorsCorrectCalls(t *testing.T) {
	t.Parallel()
	for _, mode := range surface.Modes() {
		for _, form := range entry.Forms() {
			b := workbench.New(t, surface.Options{Mode: mode, Level: lazy.Lazy, Params: form})
			for _, e := range b.Entries() {
				shown := e
				switch {
				case e.Legacy == (mode == surface.Legacy) && (e.Legacy || e.Selector != ""):
					shown = e.In(form)
				case form != entry.FormFlat || mode == surface.Legacy:
					continue // as in the other tests
				}
				t.Run(fmt.Sprint(mode, " ", form, " ", e.Title(), " as ", e.Tool), func(t *testing.T) {
					t.Parallel()
					for _, broken := range breakages(e) {
						broken.args = nest(shown, broken.args)
						checkRepair(t, b, shown, broken)
					}
				})
			}
		}
	}
}

// nest converts flat arguments to the form in which calls of an entry are shown.
func nest(e *entry.Entry, args map[string]any) map[string]any {
	if !e.Nests() {
		return args
	}
	call, params := map[string]any{}, map[string]any{}
	for name, value := range args {
		if name != callctx.ArgAction && (e.Selector != "" || e.Nested(name)) {
			params[name] = value
		} else {
			call[name] = value
		}
	}
	call[callctx.ArgParams] = params
	if e.Form == entry.FormText {
		call[callctx.ArgParams] = string(ordered.MustJSON(params))
	}
	return call
}

func checkRepair(t *testing.T, b *workbench.Bench, e *entry.Entry, broken breakage) {
	t.Helper()
	answer := b.Call(e, ordered.MustJSON(broken.args))
	if !isAboutArguments(answer) {
		t.Errorf("%s: %s is accepted: %s", broken.how, ordered.MustJSON(broken.args), answer.Content)
		return
	}
	if cost, err := tokens.Count(string(answer.Content)); err != nil || cost > maxErrorTokens {
		t.Errorf("%s: the error costs %d tokens (%v): %s", broken.how, cost, err, answer.Content)
	}
	repaired := mend(t, broken.args, answer.Content)
	again := b.Call(e, ordered.MustJSON(repaired))
	for last := answer; last.Err.Hint != "" && isAboutArguments(again); { // one error does not report all faults
		last = again
		repaired = mend(t, repaired, again.Content)
		again = b.Call(e, ordered.MustJSON(repaired))
	}
	if isAboutArguments(again) {
		t.Errorf("%s: mended to %s it still fails\nfirst: %s\nthen: %s",
			broken.how, ordered.MustJSON(repaired), answer.Content, again.Content)
	}
}

func isAboutArguments(a toolfold.Answer) bool {
	return a.Err != nil && len(a.Err.Problems) > 0
}

// breakage is an example with a fault.
type breakage struct {
	how  string
	args map[string]any
}

func breakages(e *entry.Entry) []breakage {
	var list []breakage
	everything := workbench.Arguments(e)
	add := func(how string, change func(args map[string]any)) {
		args := workbench.Arguments(e)
		change(args)
		change(everything)
		list = append(list, breakage{how, args})
	}
	for _, p := range e.Required() {
		add("without "+p.Name, func(args map[string]any) { delete(args, p.Name) })
	}
	for _, p := range e.Params() {
		for _, wrong := range wrongValues(p) {
			add(fmt.Sprintf("%s = %.20v", p.Name, wrong), func(args map[string]any) { args[p.Name] = wrong })
		}
	}
	if !e.Legacy {
		for name, value := range workbench.Arguments(e) {
			if name != callctx.ArgAction {
				add("misspelt "+name, func(args map[string]any) { delete(args, name); args[name+"x"] = value })
			}
		}
		if e.Action.Effect != toolfold.Reads {
			add("with a parameter that nobody has", func(args map[string]any) { args["qqqq"] = 1 })
		}
		if stray, ok := strayParam(e); ok && e.Action.Effect != toolfold.Reads {
			add("with a sibling's "+stray, func(args map[string]any) { args[stray] = "stray" })
		}
	}
	if !e.Action.Forwards() {
		add("with a field that the result has not", func(args map[string]any) { args[callctx.ArgFields] = []any{"qqqq"} })
	}
	if e.Selector != "" {
		list = append(list, withoutAction(e)...)
	}
	return append(list, breakage{"everything at once", everything})
}

func withoutAction(e *entry.Entry) []breakage {
	missing, unknown := workbench.Arguments(e), workbench.Arguments(e)
	delete(missing, callctx.ArgAction)
	unknown[callctx.ArgAction] = e.Selector + "x"
	return []breakage{{"without the action", missing}, {"misspelt action", unknown}}
}

// wrongValues returns invalid values of a parameter.
func wrongValues(p toolfold.Param) []any {
	var list []any
	switch {
	case p.Kind == toolfold.KindAny:
		return nil
	case p.Kind == toolfold.KindArray && p.Items.Loose:
		return nil
	case p.Kind == toolfold.KindArray && p.Items.Kind == toolfold.KindString:
		list = append(list, []any{map[string]any{}})
	case p.Kind == toolfold.KindString, p.Kind == toolfold.KindArray, p.Kind == toolfold.KindObject:
		list = append(list, 7)
	default:
		list = append(list, "neither")
	}
	if len(p.Enum) > 0 {
		list = append(list, "qqqq", p.Enum[0]+"x")
	}
	if p.Format != "" {
		list = append(list, "qqqq")
	}
	if p.MaxLen > 0 {
		list = append(list, strings.Repeat("x", p.MaxLen+1))
	}
	if p.MaxItems > 0 {
		list = append(list, slices.Repeat([]any{"x"}, p.MaxItems+1))
	}
	if p.Min != nil {
		list = append(list, *p.Min-1)
	}
	if p.Max != nil {
		list = append(list, *p.Max+1)
	}
	return list
}

// strayParam returns a parameter of a sibling that the action does not have.
func strayParam(e *entry.Entry) (name string, ok bool) {
	own := e.Params()
	for _, sibling := range e.Action.Family.Actions {
		for _, p := range sibling.Params() {
			if !slices.ContainsFunc(own, func(q toolfold.Param) bool { return q.Name == p.Name }) {
				return p.Name, true
			}
		}
	}
	return "", false
}

// mend corrects a call by its error.
func mend(t *testing.T, args map[string]any, content json.RawMessage) map[string]any {
	t.Helper()
	var answer struct {
		Error struct {
			Problems []toolfold.Problem
			Example  map[string]any
		}
	}
	if err := json.Unmarshal(content, &answer); err != nil {
		t.Fatal(err)
	}
	repaired := maps.Clone(args)
	params, isText := paramsOf(repaired)
	examples, _ := paramsOf(answer.Error.Example)
	examples = maps.Clone(examples)
	maps.Copy(examples, answer.Error.Example)
	for _, p := range answer.Error.Problems {
		path, inside := strings.CutPrefix(strings.TrimPrefix(p.Path, "/"), callctx.ArgParams+"/")
		name := strings.Split(path, "/")[0]
		if inside {
			mendOne(params, name, p, examples)
		} else {
			mendOne(repaired, name, p, examples)
		}
	}
	if isText {
		repaired[callctx.ArgParams] = string(ordered.MustJSON(params))
	} else if _, had := repaired[callctx.ArgParams]; had || len(params) > 0 {
		repaired[callctx.ArgParams] = params
	}
	return repaired
}

// paramsOf returns a decoded copy of the params of a call, and whether they were text.
func paramsOf(args map[string]any) (params map[string]any, isText bool) {
	params = map[string]any{}
	switch value := args[callctx.ArgParams].(type) {
	case map[string]any:
		params = maps.Clone(value)
	case string:
		if err := json.Unmarshal([]byte(value), &params); err != nil {
			panic(err)
		}
		isText = true
	}
	return params, isText
}

func mendOne(args map[string]any, name string, p toolfold.Problem, example map[string]any) {
	value, known := example[name]
	switch {
	case p.Kind == toolfold.ProblemUnknown && p.Suggest != "":
		args[p.Suggest] = args[name]
		delete(args, name)
	case name == callctx.ArgAction:
		args[name] = p.Suggest
	case known:
		args[name] = value
	default:
		delete(args, name)
	}
}
