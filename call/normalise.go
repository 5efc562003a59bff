package call

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/call/judge"
	"github.com/toolfold/toolfold/internal/call/schema"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// target is an entry with what its calls are checked by, made by the first
// of them.
type target struct {
	*entry.Entry
	tool *actionTool // that the entry is called by; nil where its name leads to one action

	compile  sync.Once
	params   []toolfold.Param // as spelt
	today    []toolfold.Param // as the action spells them
	check    entry.Checker
	defaults map[string]json.RawMessage // by today's name
	pages    bool                       // it reads a list that goes on at a cursor
	list     string                     // the result field with it, where no other hint says what to do when it is empty

	render sync.Once
	texts  *errorTexts

	gather sync.Once
	strays map[string]*stray // parameters of the other actions of the family
}

// stray is a parameter that other actions have.
type stray struct {
	owners   []string          // these actions
	defaults []json.RawMessage // in them
}

func (t *target) compiled() *target {
	t.compile.Do(func() {
		t.params, t.today = t.Params(), t.Action.Params()
		t.defaults = map[string]json.RawMessage{}
		for _, p := range t.today {
			if p.Default != nil {
				t.defaults[p.Name] = ordered.MustJSON(p.Default)
			}
		}
		check, err := t.Checker()
		if err != nil {
			panic(err) // a broken declaration, which Validate refuses at start-up
		}
		t.check, t.pages, t.list = check, t.Action.Pages(), listField(t.Action)
	})
	return t
}

// checkResult is the outcome of normalising and validating arguments.
type checkResult struct {
	fields   []string // of the result to keep; empty = all
	filter   string   // jq, over what the fields keep; empty = no filter
	warnings []string
	problems []toolfold.Problem
	dropped  []toolfold.Problem // names that no action has: warnings if the call runs
	sized    bool               // the call chose the size of a page
	lost     bool               // nothing but the action came, though more is required
	forward  *callctx.Forward   // the call that stands in for this one, once it ran
}

// chooses returns the reserved name by which the call asks for a part of its result;
// empty where it takes the whole.
func (in *checkResult) chooses() string {
	switch {
	case len(in.fields) > 0:
		return callctx.ArgFields
	case in.filter != "":
		return callctx.ArgJQ
	}
	return ""
}

// normalise normalises and validates the arguments of a call of t. Afterwards
// they are as the action itself spells them, complete with defaults, unless
// there are problems.
func (t *target) normalise(args *arguments) checkResult {
	t.compiled()
	args.respell(t.Action.Spellings)
	args.rename(t.params)
	p := checkResult{problems: args.problems}
	p.lost = len(args.values) == 0 && len(args.problems) == 0 && len(t.Required()) > 0 && (t.Selector != "" || t.Nests())
	filled := t.filled(args)
	if t.Action.Input != nil {
		t.dropNulls(args)
	} else {
		for _, name := range args.names { // strict hosts send null for every unused parameter
			if value, ok := args.values[name]; ok && value == nil {
				args.drop(name)
			}
		}
	}
	if !t.Takes(callctx.ArgFields) {
		p.takeFields(t.Action, args)
	}
	if !t.Takes(callctx.ArgJQ) {
		p.takeFilter(args)
	}
	p.judgeNames(t, args, filled)
	for _, param := range t.params {
		if value, ok := args.values[param.Name]; ok {
			args.values[param.Name] = p.shorten(jsonx.Pointer("", param.Name), value, param)
		}
	}
	found := t.check.Problems(args.values)
	// A single text may become a list, and then a list of numbers.
	for range 2 {
		if !p.mend(t, args, found) {
			break
		}
		found = t.check.Problems(args.values)
	}
	p.problems = append(p.problems, found...)
	if len(p.problems) > 0 {
		p.problems = append(p.problems, p.dropped...) // one may be what another problem misses
	} else {
		for _, dropped := range p.dropped {
			p.warn("%s has no parameter %q: ignored%s", t.Title(), shorten.Quoted(dropped.Name()), didYouMean(dropped.Suggest))
		}
		for _, text := range t.check.Warnings(args.values) {
			p.warn("%s", text)
		}
		p.dropObsolete(t, args)
		_, p.sized = args.values[t.Spelling(callctx.ArgLimit)]
		args.complete(t)
		p.unbindCursor(t, args)
	}
	p.problems = p.problems[:min(len(p.problems), judge.MaxProblems)]
	return p
}

// dropNulls takes out nulls that the schema of a tool declared elsewhere refuses: there a
// null may also mean something.
func (t *target) dropNulls(args *arguments) {
	isNull := func(name string) bool { value, ok := args.values[name]; return ok && value == nil }
	for dropped := slices.ContainsFunc(args.names, isNull); dropped; { // each time the first problems are known
		dropped = false
		for _, problem := range t.check.Problems(args.values) {
			for _, name := range slices.Clone(args.names) {
				if isNull(name) && jsonx.Pointer("", name) == problem.Path {
					args.drop(name)
					dropped = true
				}
			}
		}
	}
}

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", name)
}

// dropObsolete takes out of a call by a legacy name the values that only the legacy
// tool took.
func (p *checkResult) dropObsolete(t *target, args *arguments) {
	if !t.Legacy {
		return
	}
	for _, param := range t.today {
		name := t.Spelling(param.Name)
		if text, _ := args.values[name].(string); param.Obsolete(text) {
			args.drop(name)
			p.warn("%s %q has no effect: ignored", name, text)
		}
	}
}

// unbindCursor refuses the cursor of another list, or of the same with other
// filters, where it would lead to a page without the entries that follow.
func (p *checkResult) unbindCursor(t *target, args *arguments) {
	text, _ := args.values[toolfold.Cursor.Name].(string)
	if !t.pages || text == "" {
		return
	}
	cursor, ok := strings.CutPrefix(text, listMark(listOf(t.Action, args)))
	if !ok {
		p.problems = append(p.problems, toolfold.Problem{Path: "/" + toolfold.Cursor.Name, Kind: toolfold.ProblemFormat,
			Want: "nextCursor of " + t.Action.FullName() + " with the same parameters"})
		return
	}
	args.set(toolfold.Cursor.Name, cursor, nil)
}

// listOf names the list that a call reads: its action and all arguments except
// the ones that choose the page.
func listOf(a *toolfold.Action, args *arguments) string {
	filters := maps.Clone(args.values)
	delete(filters, toolfold.Cursor.Name)
	delete(filters, callctx.ArgLimit)
	return a.FullName() + string(ordered.MustJSON(filters))
}

// maxFields bounds how many result fields a call may name.
const maxFields = 100

// takeFields takes include_fields out of args and checks it.
func (p *checkResult) takeFields(a *toolfold.Action, args *arguments) {
	value, ok := args.take(callctx.ArgFields)
	if !ok {
		return
	}
	if single, ok := value.(string); ok {
		value, _, _ = convert(single, "array")
	}
	list, ok := value.([]any)
	path := "/" + callctx.ArgFields
	switch {
	case !ok:
		p.problems = append(p.problems, toolfold.Problem{Path: path, Kind: toolfold.ProblemType, Want: "array", Got: jsonx.TypeName(value)})
		return
	case len(list) > maxFields:
		p.problems = append(p.problems, toolfold.Problem{Path: path, Kind: toolfold.ProblemLength, Max: new(float64(maxFields)), Got: len(list)})
		return
	}
	results := a.Results()
	var allowed []string
	for i, item := range list {
		name, ok := item.(string)
		at := jsonx.Index(path, i)
		switch {
		case !ok:
			p.problems = append(p.problems, toolfold.Problem{Path: at, Kind: toolfold.ProblemType, Want: "string", Got: jsonx.TypeName(item)})
		case declares(a, results, name):
			p.fields = append(p.fields, name)
		default:
			if allowed == nil {
				allowed = schema.Paths(results)
			}
			p.problems = append(p.problems, toolfold.Problem{
				Path: at, Kind: toolfold.ProblemEnum, Got: shorten.Quoted(name), Allowed: allowed, Suggest: suggest.Nearest(name, allowed),
			})
		}
		if len(p.problems) == judge.MaxProblems {
			return
		}
	}
}

// declares reports whether a field, without its ranges, is one of the results.
func declares(a *toolfold.Action, results []toolfold.Param, field string) bool {
	path, ok := plain(field)
	return ok && (a.OpenResult() || schema.Declares(results, path))
}

// filled reports whether a call holds every parameter that its tool declares: a
// host has filled in what the model left out.
func (t *target) filled(args *arguments) bool {
	if t.tool == nil {
		return false
	}
	for name := range t.tool.params() {
		if _, present := args.values[name]; !present {
			return false
		}
	}
	return true
}

// judgeNames takes out parameters that the action does not have: silently
// where a host added them to a call, or filled in all parameters and they say
// nothing; with a warning where the action only reads or is called by its legacy
// name; else as a problem.
func (p *checkResult) judgeNames(t *target, args *arguments, filled bool) {
	count := 0
	for _, param := range t.params {
		if _, is := args.values[param.Name]; is {
			count++
		}
	}
	if count == len(args.values) {
		return
	}
	var absent []string // parameters that a misspelt name could have meant
	own := map[string]string{}
	for _, param := range t.params {
		if _, present := args.values[param.Name]; !present {
			absent = append(absent, param.Name)
			for _, other := range param.Also {
				absent, own[other] = append(absent, other), param.Name
			}
		}
	}
	nearest := func(name string) string {
		near := suggest.Nearest(name, absent)
		return cmp.Or(own[near], near)
	}
	absent = append(absent, callctx.ArgFields, callctx.ArgJQ)
	for _, name := range slices.Sorted(maps.Keys(args.values)) {
		if slices.ContainsFunc(t.params, func(p toolfold.Param) bool { return p.Name == name }) {
			continue
		}
		value := args.values[name]
		owners, isDefault := t.siblings(name, value)
		if t.Action.Input != nil && !addedByHosts[name] {
			strange := nearest(name) != "" || t.Selector != "" && len(owners) > 0 && t.Action.Effect != toolfold.Reads
			if !strange || t.Action.Unchecked() {
				continue // its schema says what else it takes
			}
		}
		args.drop(name)
		if addedByHosts[name] {
			continue
		}
		problem := toolfold.Problem{Path: jsonx.Pointer("", name)}
		switch {
		case filled && (isEmpty(value) || isDefault) && t.tool.params()[name]:
			continue
		case len(owners) > 0 && t.Legacy:
			p.warn("%s has no parameter %q: ignored", t.Title(), shorten.Quoted(name))
			continue
		case len(owners) > 0 && t.Action.Effect == toolfold.Reads:
			p.warn("%s has no parameter %q: ignored (it belongs to %s)", t.Title(), name, strings.Join(owners, ", "))
			continue
		case len(p.problems) >= judge.MaxProblems:
			return
		case len(p.dropped) > maxWarnings:
			continue // the call holds something else, and says so
		case len(owners) > 0:
			problem.Kind, problem.BelongsTo = toolfold.ProblemStray, owners
			for _, param := range t.params {
				if param.InsteadOf == name {
					problem.Suggest = param.Name
				}
			}
		default:
			problem.Kind, problem.Suggest = toolfold.ProblemUnknown, nearest(name)
		}
		if problem.Kind == toolfold.ProblemUnknown && (t.Legacy || t.Action.Effect == toolfold.Reads && problem.Suggest == "") {
			p.dropped = append(p.dropped, problem)
			continue
		}
		p.problems = append(p.problems, problem)
	}
}

// maxWarnings bounds the warnings of a result: enough to see that the call was
// meant for something else.
const maxWarnings = 8

func (p *checkResult) warn(format string, args ...any) {
	switch {
	case len(p.warnings) < maxWarnings:
		p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
	case len(p.warnings) == maxWarnings:
		p.warnings = append(p.warnings, "there are more")
	}
}

// siblings lists the other actions of the family that have a parameter, and
// reports whether value is its default in one of them.
func (t *target) siblings(name string, value any) (owners []string, isDefault bool) {
	t.gather.Do(func() {
		t.strays = map[string]*stray{}
		for _, sibling := range t.Action.Family.Actions {
			if sibling == t.Action {
				continue
			}
			for _, p := range sibling.Params() {
				s := t.strays[p.Name]
				if s == nil {
					s = &stray{}
					t.strays[p.Name] = s
				}
				s.owners = append(s.owners, sibling.Name)
				if p.Default != nil {
					s.defaults = append(s.defaults, ordered.MustJSON(p.Default))
				}
			}
		}
	})
	s := t.strays[name]
	if s == nil {
		return nil, false
	}
	sent := ordered.MustJSON(value)
	return s.owners, slices.ContainsFunc(s.defaults, func(d json.RawMessage) bool { return bytes.Equal(d, sent) })
}

// isEmpty reports whether a value is empty, false or 0, as strict hosts
// fill in what they have to send.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case bool:
		return !v
	case json.Number:
		f, err := v.Float64()
		return err == nil && f == 0
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// shorten notes the lists and maps that hold more than they may and cuts them,
// so that what is wrong with their members costs no more than the call.
func (p *checkResult) shorten(path string, value any, param toolfold.Param) any {
	tooMany := func(n int) bool {
		if param.MaxItems == 0 || n <= param.MaxItems {
			return false
		}
		p.problems = append(p.problems, toolfold.Problem{Path: path, Kind: toolfold.ProblemLength, Max: new(float64(param.MaxItems)), Got: n})
		return true
	}
	switch v := value.(type) {
	case []any:
		if tooMany(len(v)) {
			v = v[:param.MaxItems]
		}
		for i := 0; param.Items != nil && i < len(v) && len(p.problems) < judge.MaxProblems; i++ {
			v[i] = p.shorten(jsonx.Index(path, i), v[i], *param.Items)
		}
		return v
	case map[string]any:
		if tooMany(len(v)) {
			known := map[string]any{}
			for _, name := range slices.Sorted(maps.Keys(v))[:param.MaxItems] {
				known[name] = v[name]
			}
			return known
		}
		for _, member := range param.Members() {
			if inner, present := v[member.Name]; present {
				v[member.Name] = p.shorten(jsonx.Pointer(path, member.Name), inner, member)
			}
		}
	}
	return value
}

// mend changes args where a problem leaves only one reading, and reports
// whether it changed anything.
func (p *checkResult) mend(t *target, args *arguments, problems []toolfold.Problem) bool {
	changed := false
	for _, problem := range problems {
		cut := strings.LastIndex(problem.Path, "/")
		if cut < 0 { // all arguments together: only who made the call can choose
			continue
		}
		holder := jsonx.Lookup(args.values, problem.Path[:cut])
		last := jsonx.UnescapePointer(problem.Path[cut+1:])
		top, _, _ := strings.Cut(problem.Path[1:], "/")
		top = jsonx.UnescapePointer(top)
		switch {
		case problem.Kind == toolfold.ProblemUnknown && t.Legacy:
			delete(holder.(map[string]any), last)
			args.touch(top, nil)
			p.warn("%s has no parameter %q: ignored", t.Title(), shorten.Quoted(problem.Name()))
			changed = true
		case problem.Kind == toolfold.ProblemType:
			value := jsonx.Lookup(args.values, problem.Path)
			if object := t.ofText(top, value); object != nil && cut == 0 {
				args.set(top, object, nil)
				changed = true
				continue
			}
			for want := range strings.SplitSeq(problem.Want, judge.TypeOr) {
				converted, text, ok := convert(value, want)
				if !ok {
					continue
				}
				if cut != 0 {
					text = nil
				}
				args.touch(top, text) // what a caller wrote as text keeps its order
				if list, isList := holder.([]any); isList {
					i, _ := strconv.Atoi(last)
					list[i] = converted
				} else {
					holder.(map[string]any)[last] = converted
				}
				changed = true
				break
			}
		}
	}
	return changed
}

// ofText returns the object that a text stands for as a parameter; nil if it stands for none, or is the JSON of an
// object itself.
func (t *target) ofText(name string, value any) map[string]any {
	text, isText := value.(string)
	i := slices.IndexFunc(t.params, func(p toolfold.Param) bool { return p.Name == name })
	if !isText || i < 0 || t.params[i].OfText == nil {
		return nil
	}
	if _, _, isObject := convert(value, string(toolfold.KindObject)); isObject {
		return nil
	}
	object := map[string]any{}
	for member, given := range t.params[i].OfText {
		if object[member] = given; given == nil {
			object[member] = text
		}
	}
	return object
}

// convert reads value as the wanted JSON type where it can only mean that. The
// text is the JSON that a string held.
func convert(value any, want string) (converted any, text json.RawMessage, ok bool) {
	written, isText := value.(string)
	switch {
	case want == "array" && !isText:
		return []any{value}, nil, true
	case !isText:
		return nil, nil, false
	}
	text = json.RawMessage(strings.TrimSpace(written))
	if wrapped, err := parseArguments(slices.Concat([]byte(`{"v":`), text, []byte{'}'})); err == nil && len(wrapped.values) == 1 {
		parsed := wrapped.values["v"]
		kind := jsonx.TypeName(parsed)
		if kind == want || kind == "number" && want == "integer" {
			return parsed, text, true
		}
	}
	if want == "array" {
		return []any{value}, nil, true
	}
	return nil, nil, false
}

// completeValue writes whole numbers as such and fills in the defaults of members.
// It reports whether anything differs from value.
func completeValue(value any, p toolfold.Param) (completed any, changed bool) {
	switch v := value.(type) {
	case json.Number:
		// 10.0 and 1e1 are integers in JSON Schema, but not in Go.
		if p.Kind == toolfold.KindInteger && strings.ContainsAny(v.String(), ".eE") {
			f, _ := v.Float64()
			return json.Number(strconv.FormatFloat(f, 'f', 0, 64)), true
		}
	case []any:
		for i := 0; p.Items != nil && i < len(v); i++ {
			item, differs := completeValue(v[i], *p.Items)
			v[i], changed = item, changed || differs
		}
	case map[string]any:
		for _, member := range p.Members() {
			inner, present := v[member.Name]
			switch {
			case present:
				item, differs := completeValue(inner, member)
				v[member.Name], changed = item, changed || differs
			case member.Default != nil:
				v[member.Name], changed = member.Default, true
			}
		}
	}
	return value, changed
}
