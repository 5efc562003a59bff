package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/regex"
)

// errorParts holds the parts of an error that help to fix the call.
type errorParts struct {
	Code, Message, Hint, Usage string
	Problems                   []toolfold.Problem
	Example                    map[string]any
}

// mend changes a refused call as its error suggests and repeats it. It returns why that failed, or
// an empty string if the call succeeded.
func (m mistake) mend(ctx context.Context, c *client, got *reply) (why string) {
	var answer struct{ Error errorParts }
	if err := json.Unmarshal(got.content, &answer); err != nil {
		return "the error is not JSON"
	}
	e := answer.Error
	if strings.HasSuffix(e.Code, "_NOT_FOUND") {
		return m.findID(ctx, c, e)
	}
	call := again{tool: m.tool, arguments: jsonClone(m.arguments), err: e}
	if why := call.mend(m); why != "" {
		return why
	}
	right := entry.Select(m.action)
	if action := call.arguments[callctx.ArgAction]; action != nil && (action != right.Selector || call.tool != right.Tool) {
		return fmt.Sprintf("it leads to %v of %s", action, call.tool)
	}
	second, err := c.call(ctx, call.tool, call.arguments)
	switch {
	case err != nil:
		return err.Error()
	case aboutTheCall(second):
		return fmt.Sprintf("mended to %s it still fails, %s", asJSON(call.arguments), second.content)
	}
	return ""
}

var (
	actionName = regex.Lazy(`\b[a-z_]+\.[a-z_]+\b`)
	oneOf      = regex.Lazy(`there are ([^\s,;]+)`)
)

// findID uses an id from the hint, or calls the action that the hint names to list ids. That call
// must succeed.
func (m mistake) findID(ctx context.Context, c *client, e errorParts) (why string) {
	name := actionName().FindString(e.Hint)
	if name == "" {
		found := oneOf().FindStringSubmatch(e.Hint)
		if found == nil {
			return "the hint names neither an id nor an action that lists them"
		}
		arguments := maps.Clone(m.arguments)
		for name, value := range arguments {
			if value == missingID {
				arguments[name] = found[1]
			}
		}
		second, err := c.call(ctx, m.tool, arguments)
		if err != nil || second.code == e.Code {
			return fmt.Sprintf("with %s it still fails (%v)", found[1], err)
		}
		return ""
	}
	list, err := c.call(ctx, name, map[string]any{})
	if err != nil {
		return err.Error()
	}
	if list.code != "" {
		return fmt.Sprintf("%s answers %s", name, list.content)
	}
	return ""
}

// again is a call that is being corrected.
type again struct {
	tool      string
	arguments map[string]any
	err       errorParts
}

var (
	otherCall = regex.Lazy(`: call (\S+) with action "`)
	otherTool = regex.Lazy(`did you mean "([^"]+)"\?`)
	suchAs    = regex.Lazy(`such as (\S+)`)
)

// mend applies everything that the error suggests. The author of a call knows the action that is
// missing and the meaning of an unknown name: mend uses these if the error contains them.
func (a *again) mend(m mistake) (why string) {
	if found := otherCall().FindStringSubmatch(a.err.Message); found != nil {
		a.tool = found[1]
	} else if found := otherTool().FindStringSubmatch(a.err.Message); found != nil && a.err.Code == toolfold.UnknownTool {
		a.tool = found[1]
	}
	if len(a.err.Problems) == 0 && a.err.Code != toolfold.UnknownTool {
		return "it names no problem"
	}
	for _, p := range a.err.Problems {
		path := strings.TrimPrefix(p.Path, "/"+callctx.ArgParams)
		holder := jsonx.Lookup(a.arguments, path[:strings.LastIndex(path, "/")])
		last := jsonx.UnescapePointer(path[strings.LastIndex(path, "/")+1:])
		object, isObject := holder.(map[string]any)
		value, drop := a.value(p, path)
		switch {
		case path == "/"+callctx.ArgAction && p.Kind == toolfold.ProblemMissing && slices.Contains(p.Allowed, m.action.Name):
			a.arguments[last] = m.action.Name
		case path == "/"+callctx.ArgAction:
			if p.Suggest == "" {
				return "it suggests no action"
			}
			a.arguments[last] = p.Suggest
		case (p.Kind == toolfold.ProblemUnknown || p.Kind == toolfold.ProblemStray) && isObject:
			instead := p.Suggest
			if instead == "" && p.Kind == toolfold.ProblemUnknown {
				if m.name == "" || !regexp.MustCompile(`\b`+m.name+`\b`).MatchString(a.err.Usage+" "+a.err.Message) {
					return "it does not show the parameter that is meant"
				}
				instead = m.name
			}
			if instead != "" {
				object[instead] = object[last]
			}
			delete(object, last)
		case isObject && drop:
			delete(object, last)
		case isObject:
			if p.Kind != toolfold.ProblemMissing || object[last] == nil { // an earlier problem may have set the right value
				object[last] = value
			}
		default:
			list, _ := holder.([]any)
			i, err := strconv.Atoi(last)
			if err != nil || i >= len(list) {
				return "its path leads nowhere"
			}
			list[i] = value
		}
	}
	if list, ok := a.arguments[callctx.ArgFields].([]any); ok && slices.Contains(list, any(nil)) {
		delete(a.arguments, callctx.ArgFields)
	}
	return ""
}

// value returns the value that a problem and the example suggest. drop reports that the parameter
// should be removed.
func (a *again) value(p toolfold.Problem, path string) (value any, drop bool) {
	example := a.err.Example
	if params, ok := example[callctx.ArgParams].(map[string]any); ok {
		example = params
	}
	if value := jsonx.Lookup(example, path); value != nil && p.Kind != toolfold.ProblemEnum {
		return value, false
	}
	now := jsonx.Lookup(a.arguments, path)
	switch p.Kind {
	case toolfold.ProblemEnum:
		if p.Suggest == "" && len(p.Allowed) > 0 {
			return p.Allowed[0], false
		}
		if p.Suggest == "" {
			return nil, true
		}
		return p.Suggest, false
	case toolfold.ProblemRange:
		if p.Max != nil && (p.Min == nil || fmt.Sprint(p.Got) != "" && number(now) > *p.Max) {
			return *p.Max, false
		}
		return *p.Min, false
	case toolfold.ProblemLength:
		if text, ok := now.(string); ok && p.Max != nil && len([]rune(text)) > int(*p.Max) {
			return string([]rune(text)[:int(*p.Max)]), false
		}
		if list, ok := now.([]any); ok && p.Max != nil && len(list) > int(*p.Max) {
			return list[:int(*p.Max)], false
		}
		return nil, true
	case toolfold.ProblemFormat:
		if strings.HasPrefix(p.Want, "nextCursor ") {
			return nil, true // the list starts at its first page
		}
		if found := suchAs().FindStringSubmatch(p.Want); found != nil {
			return found[1], false
		}
		return map[string]any{
			"uuid": missingID, "uri": "https://example.org", "date": "2030-01-01", "email": "a@example.org",
		}[p.Want], false
	case toolfold.ProblemType:
		if len(p.Allowed) > 0 {
			return p.Allowed[0], false
		}
		if p.Min != nil {
			return *p.Min, false
		}
		want, _, _ := strings.Cut(p.Want, " or ")
		return map[string]any{
			"string": "x", "integer": 1, "number": 1, "boolean": true, "object": map[string]any{}, "array": []any{},
		}[want], false
	}
	return nil, true
}

func number(value any) float64 {
	n, _ := strconv.ParseFloat(fmt.Sprint(value), 64)
	return n
}

// jsonClone returns a deep copy of an object.
func jsonClone(object map[string]any) (other map[string]any) {
	text, _ := json.Marshal(object)
	_ = json.Unmarshal(text, &other)
	return other
}
