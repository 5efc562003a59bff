package everyaction_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/surface"
)

// notPaged are lists without a cursor in results of reading actions, with their limit or the way to
// read on.
var notPaged = map[string]string{
	"memory.get.entries":               "one for each of keys, of which left has those that do not fit",
	"memory.get.missing":               "as many as keys at most",
	"memory.get.left":                  "as many as keys at most",
	"memory.get.tags":                  "16 at most",
	"task.status.dependencies":         "as many as were submitted, which is bounded",
	"task.status.tags":                 "as many as were submitted, which is bounded",
	"task.status.lines":                "the last ones",
	"task.wait.lines":                  "as in task.status",
	"task.wait.dependencies":           "as in task.status",
	"task.wait.tags":                   "as in task.status",
	"agent.get.expertise":              "what was registered, which is bounded",
	"agent.get.capabilities":           "what was registered, which is bounded",
	"agent.get.tags":                   "what was registered, which is bounded",
	"agent.get.workflow":               "what was registered, which is bounded",
	"ability.get.tags":                 "what was registered, which is bounded",
	"ability.get.requires":             "what was registered, which is bounded",
	"ability.get.conflicts":            "what was registered, which is bounded",
	"ability.get.applicableTo":         "what was registered, which is bounded",
	"ability.get.excludeFrom":          "what was registered, which is bounded",
	"ability.inject.injectedAbilities": "maxAbilities",
	"ability.inject.injected":          "maxAbilities",
	"ability.inject.leftOut":           "the next ones only",
	"workflow.describe.steps":          "what is in the file, which is bounded",
	"design.check.findings":            "offset reads on",
	"design.check.breaks":              "offset reads on",
	"design.check.notes":               "one for each kind",
	"guard.list.policies":              "never more than limit may be",
	"guard.list.broken":                "never more than files are read",
	"trace.analyze.slowestSteps":       "the slowest few",
	"trace.analyze.criticalPath":       "the first of them; trace.get has all",
	"trace.analyze.errors":             "the first of them; trace.get has all",
	"trace.analyze.retries":            "the first of them; trace.get has all",
	"trace.analyze.recommendations":    "one for each kind",
	"telemetry_summary.byCategory":     "the ten categories; metrics.list has a cursor",
	"config.show.config":               "the declared settings",
	"config.show.sources":              "the declared settings",
	"config.show.unknown":              "settings of files, which are bounded",
	"tools.find.results":               "the best; further ones answer less and less",
	"tools.find.scripts":               "the best three; script.list has a cursor",
	"tools.describe.tools":             "as many as names at most",
	"tools.describe.errors":            "as many as names at most",
	"tools.load.loaded":                "as many as names at most",
	"tools.load.definitions":           "as many as names at most",
	"tools.load.errors":                "as many as names at most",
	"tools.active.listed":              "what tools/list shows anyway",
	"tools.active.loaded":              "what tools/list shows anyway",
	"workflow.check.problems":          "at most 20; the message counts the rest",
	"workflow.check.unjudged":          "a line for each tool that the steps name, which are at most 100",
	"script.read.calls":                "one number for each action that it calls",
	"script.read.writes":               "empty, as it writes nothing",
	"script.read.unknown":              "empty, as it writes nothing",
	"script.read.unseen":               "at most 10",
	"tools.list.tools":                 "one line for each tool; category narrows it",
}

// Every list in the result of a reading action has a cursor, or a reason why it does not need one.
func TestGrowingAnswersHaveCursors(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, f := range workbench.New(t, surface.Options{}).Families() {
		for _, a := range f.Actions {
			takes := func(name string) bool {
				return slices.ContainsFunc(a.Params(), func(p toolfold.Param) bool { return p.Name == name })
			}
			paged := takes(callctx.ArgLimit) && takes(toolfold.Cursor.Name)
			for _, field := range a.Results() {
				name := a.FullName() + "." + field.Name
				if a.Effect != toolfold.Reads || field.Kind != toolfold.KindArray && field.Values == nil || paged {
					continue
				}
				used[name] = true
				if notPaged[name] == "" {
					t.Errorf("%s can grow, and %s takes no limit and cursor", name, a.FullName())
				}
			}
		}
	}
	for name := range notPaged {
		if !used[name] {
			t.Errorf("%s is no list of an action that reads without a cursor", name)
		}
	}
}

// lists calls f with every action that reads pages and has no required parameters, and with the
// name of its list.
func lists(b *workbench.Bench, f func(a *toolfold.Action, list string)) {
	for _, family := range b.Families() {
		for _, a := range family.Actions {
			takesCursor := slices.ContainsFunc(a.Params(), func(p toolfold.Param) bool { return p.Name == toolfold.Cursor.Name })
			i := slices.IndexFunc(a.Results(), func(p toolfold.Param) bool { return p.Kind == toolfold.KindArray })
			if a.Effect == toolfold.Reads && takesCursor && i >= 0 {
				f(a, a.Results()[i].Name)
			}
		}
	}
}

// alwaysPresent are members of items that are present even if they are false, zero or the default of a
// parameter of the family.
var alwaysPresent = map[string]string{
	"ability.list.abilities.enabled":      "recorded",
	"ability.list.abilities.priority":     "recorded",
	"agent.list.agents.enabled":           "recorded",
	"design.list.designs.format":          "recorded",
	"metrics.list.metrics.dataPointCount": "recorded",
	"queue.list.queues.defaultPriority":   "recorded",
	"queue.list.queues.isPaused":          "recorded",
	"queue.list.queues.maxConcurrency":    "recorded",
	"queue.list.queues.stats.completed":   "recorded",
	"queue.list.queues.stats.failed":      "recorded",
	"queue.list.queues.stats.pending":     "recorded",
	"queue.list.queues.stats.queued":      "recorded",
	"queue.list.queues.stats.running":     "recorded",
	"trace.get.spans.arguments.bytes":     "a size",
	"trace.get.spans.arguments.tokens":    "a size",
	"trace.get.spans.depth":               "a place in the tree",
	"trace.get.spans.offsetMs":            "a point in time",
	"trace.get.spans.result.bytes":        "a size",
	"trace.get.spans.result.tokens":       "a size",
}

// Items of lists omit empty, false, zero and default values.
func TestListsAreBrief(t *testing.T) {
	t.Parallel()
	b := workbench.Crammed(t, surface.Options{})
	for _, f := range b.Families() {
		for _, a := range f.Actions {
			b.Runner.Call(t.Context(), a.FullName(), json.RawMessage(a.Example))
		}
	}
	seen, excused := 0, map[string]bool{}
	var judge func(a *toolfold.Action, path string, item any)
	judge = func(a *toolfold.Action, path string, item any) {
		members, _ := item.(map[string]any)
		for name, value := range members {
			seen++
			path, text := path+"."+name, fmt.Sprint(value)
			switch isRedundant := value == false || value == 0.0 || isDefault(a.Family, name, text); {
			case value == nil, text == "", text == "[]", text == "map[]", isRedundant && alwaysPresent[path] == "":
				t.Errorf("%s is %q", path, text)
			case isRedundant:
				excused[path] = true
			}
			judge(a, path, value)
		}
	}
	lists(b, func(a *toolfold.Action, list string) {
		for _, args := range []string{a.Example, `{}`} {
			answer := b.Runner.Call(t.Context(), a.FullName(), json.RawMessage(args))
			var result map[string]any
			if answer.Err != nil || json.Unmarshal(answer.Content, &result) != nil {
				continue
			}
			items, _ := result[list].([]any)
			for _, item := range items {
				judge(a, a.FullName()+"."+list, item)
			}
		}
	})
	for path := range alwaysPresent {
		if !excused[path] {
			t.Errorf("%s says something: it needs no exception", path)
		}
	}
	if seen < 200 {
		t.Errorf("only %d members were seen", seen)
	}
}

// isDefault reports whether a text is the default of a parameter of the family.
func isDefault(f *toolfold.Family, name, text string) bool {
	return slices.ContainsFunc(f.Actions, func(a *toolfold.Action) bool {
		return slices.ContainsFunc(a.Params(), func(p toolfold.Param) bool {
			return p.Name == name && p.Default != nil && fmt.Sprint(p.Default) == text
		})
	})
}

// Empty lists, filters without matches and searches without hits return a next step.
func TestEmptyFindSuggestsNextStep(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{})
	tried := 0
	lists(b, func(a *toolfold.Action, list string) {
		calls := []string{a.Example}
		if len(a.Required) == 0 {
			calls = append(calls, `{}`)
		}
		for _, p := range a.Optional.Params() {
			if p.Kind == toolfold.KindString && p.Format == "" && len(p.Enum) == 0 && p.Name != toolfold.Cursor.Name && len(a.Required) == 0 {
				calls = append(calls, fmt.Sprintf(`{%q:"qqqq"}`, p.Name))
			}
		}
		for _, args := range calls {
			answer := b.Runner.Call(t.Context(), a.FullName(), json.RawMessage(args))
			var result map[string]any
			if answer.Err != nil || json.Unmarshal(answer.Content, &result) != nil {
				continue
			}
			if items, _ := result[list].([]any); len(items) > 0 {
				continue
			}
			tried++
			if !strings.Contains(string(answer.Content), `"message":"`) && !strings.Contains(string(answer.Content), `"hint":"`) &&
				!strings.Contains(string(answer.Content), `"warnings":["`) {
				t.Errorf("%s %s: %s", a.FullName(), args, answer.Content)
			}
		}
	})
	if tried < 15 {
		t.Errorf("only %d lists were empty", tried)
	}
}

// otherTotals are lists whose count has another name than total, because legacy tools had this name
// or total would be misunderstood.
var otherTotals = map[string]string{
	"memory.export":  "count of the page, as recorded; memory.list has the total",
	"memory.stats":   "totalEntries and namespaceCount, as recorded",
	"session.status": "noteCount: the result is a session, not a list",
	"trace.get":      "spanCount: the result is a trace, not a list",
}

// Results of all families use the same words for the same thing: total, hasMore, nextCursor and
// metricName, and removed or deleted as the action is called.
func TestResultsUseTheSameWords(t *testing.T) {
	t.Parallel()
	usual := map[string]string{ // other words for it
		"totalCount": "total", "size": "total", "length": "total", "number": "count", "results_count": "count", "metric": "metricName",
		"more": "hasMore", "next": "nextCursor", "next_cursor": "nextCursor", "cursor": "nextCursor", "msg": "message", "errorMessage": "error",
		"created": "createdAt", "updated_at": "updatedAt", "duration": "durationMs", "session": "sessionId", "agent": "agentId",
	}
	paged := 0
	for _, f := range workbench.New(t, surface.Options{}).Families() {
		for _, a := range f.Actions {
			has := map[string]toolfold.Kind{}
			for _, field := range a.Results() {
				has[field.Name] = field.Kind
				if word := usual[field.Name]; word != "" {
					t.Errorf("%s has the result %s: the word is %s", a.FullName(), field.Name, word)
				}
			}
			if _, pages := has["nextCursor"]; pages {
				paged++
				_, total := has["total"]
				if _, more := has["hasMore"]; total == (otherTotals[a.FullName()] != "") || !more && a.FullName() != "session.status" {
					t.Errorf("%s pages with total %t and hasMore %t", a.FullName(), total, more)
				}
			}
			did := map[string]string{"remove": "removed", "unset": "removed", "delete": "deleted", "bulk_delete": "deleted"}
			if want := did[a.Name]; want != "" {
				if _, ok := has[want]; !ok {
					t.Errorf("%s does not tell with %s what it did", a.FullName(), want)
				}
			}
		}
	}
	if paged < 12 {
		t.Errorf("only %d actions read pages", paged)
	}
}
