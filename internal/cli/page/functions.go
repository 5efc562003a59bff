package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/cli/workbench"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/internal/text/unseen"
	"github.com/toolfold/toolfold/tools/task"
	"github.com/toolfold/toolfold/tools/trace"
)

// functions are those that templates call.
var functions = template.FuncMap{
	"text":       shown,
	"views":      func() []place { return places },
	"strings":    func(all ...string) []string { return all },
	"number":     english.Grouped,
	"count":      english.Count,
	"path":       url.PathEscape,
	"share":      share,
	"sub":        func(a, b int) int { return a - b },
	"times":      func(a, b int) int { return a * b },
	"clock":      func(t time.Time) string { return t.Local().Format("15:04") },
	"moment":     moment,
	"button":     buttonOf,
	"members":    members,
	"question":   func(token string, task any, q question) asking { return asking{q, token, shown(task)} },
	"goon":       func(token string, task any, s *scriptView) goingOn { return goingOn{s, token, shown(task)} },
	"time":       func(t time.Time) string { return t.Local().Format(time.DateTime) },
	"query":      query,
	"costbar":    func(part, whole int) []int { return []int{part, whole} },
	"tree":       func(find string, branches []branch) tree { return tree{find, branches} },
	"json":       encoded,
	"span":       func(d time.Duration) string { return length(float64(d) / float64(time.Millisecond)) },
	"length":     func(ms any) string { return length(number(ms)) },
	"original":   original,
	"definition": definition,
	"indented":   indented,
	"toolname":   workbench.ToolName,
	"hundredth":  func(part, whole int) int { return (share(part, whole) + 9) / 10 },
	"periods":    func() []period { return periods[:] },
	"ms": func(d time.Duration) string {
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', -1, 64)
	},
	"unix":     func(t time.Time) int64 { return t.Unix() },
	"statuses": func(of string) []string { return statuses[of] },
}

// place is a view in the page's navigation.
type place struct{ Name, Path string }

var places = []place{
	{"overview", "/"}, {"servers", "/servers"}, {"actions", "/tools"}, {"calls", "/calls"}, {"charts", "/charts"}, {"tasks", "/tasks"},
	{"notes", "/notes"}, {"sessions", "/sessions"}, {"settings", "/settings"},
}

// statuses are the values of the filters by status.
var statuses = map[string][]string{
	"trace":   {trace.Success, trace.Failure, trace.Running},
	"task":    task.States(),
	"session": {work.SessionActive, work.SessionCompleted, work.SessionFailed},
}

// shown writes foreign text with its hidden and directing characters visible. A missing member of a result is
// nil, and empty text.
func shown(text any) string {
	if text == nil {
		return ""
	}
	return unseen.Escaped(fmt.Sprint(text))
}

// moment writes a time of a result, which is in RFC 3339, for this machine's time zone.
func moment(text any) string {
	t, err := time.Parse(time.RFC3339, fmt.Sprint(text))
	if err != nil {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// query returns a path with a query of names and values. Values that are nil or empty are left out.
func query(path string, pairs ...any) string {
	values := url.Values{}
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != nil && pair[1] != "" {
			values.Set(pair[0].(string), fmt.Sprint(pair[1]))
		}
	}
	return path + "?" + values.Encode()
}

// encoded writes a value of a result as JSON.
func encoded(value any) (string, error) {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // html/template escapes it
	encoder.SetIndent("", "  ")
	err := encoder.Encode(value)
	return strings.TrimSuffix(text.String(), "\n"), err
}

// share returns part of whole in thousandths, at least one if there is a part: the width of a bar. They are
// numbers, or nil for zero.
func share(part, whole any) int {
	p, w := number(part), number(whole)
	if w <= 0 || p <= 0 {
		return 0
	}
	return max(1, min(1000, int(p*1000/w)))
}

func number(value any) float64 {
	switch n := value.(type) {
	case int:
		return float64(n)
	case json.Number:
		f, _ := n.Float64()
		return f
	default:
		return 0
	}
}

// length writes a duration in milliseconds with three digits.
func length(ms float64) string {
	switch {
	case ms < 1:
		return fmt.Sprintf("%.0f µs", ms*1000)
	case ms < 999.5:
		return fmt.Sprintf("%.3g ms", ms)
	default:
		return (time.Duration(ms) * time.Millisecond).Round(10 * time.Millisecond).String()
	}
}

// definition returns a tool as its server lists it, indented. It is empty for toolfold's own actions.
func definition(a *toolfold.Action) string { return indented(a.Definition) }

// indented returns JSON with its members in a line each, or an empty text for nil.
func indented(raw json.RawMessage) string {
	var text bytes.Buffer
	if raw == nil || json.Indent(&text, raw, "", "  ") != nil {
		return ""
	}
	return text.String()
}
