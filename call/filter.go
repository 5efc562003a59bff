package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/call/jq"
	"github.com/toolfold/toolfold/internal/call/judge"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// maxFiltered limits the results that filters run over, in bytes.
const maxFiltered = 8 << 20

// takeFilter takes jq from args and checks it before the action runs.
func (p *checkResult) takeFilter(args *arguments) {
	value, ok := args.take(callctx.ArgJQ)
	if !ok {
		return
	}
	filter, ok := value.(string)
	if filter = strings.TrimSpace(filter); ok && filter == "" {
		return
	}
	problem := toolfold.Problem{Path: "/" + callctx.ArgJQ}
	switch {
	case !ok:
		problem.Kind, problem.Want, problem.Got = toolfold.ProblemType, "string", jsonx.TypeName(value)
	case len(filter) > jq.MaxFilter:
		problem.Kind, problem.Max, problem.Got = toolfold.ProblemLength, new(float64(jq.MaxFilter)), len(filter)
	default:
		err := jq.Check(filter)
		if err == nil {
			p.filter = filter
			return
		}
		problem.Kind, problem.Want = toolfold.ProblemFormat, "jq filter: "+err.Error()
	}
	if len(p.problems) < judge.MaxProblems {
		p.problems = append(p.problems, problem)
	}
}

// filter returns the output of jq for a result: an object, or the value as result, or several
// values as results. It warns if the output is empty or the list has another page. If jq fails and
// the action only reads, it returns an error, else the whole result with a warning. raw is the
// result before fields were selected; it has the cursor of a list.
func (c *Call) filter(ctx context.Context, raw, content json.RawMessage) (json.RawMessage, error) {
	var values []json.RawMessage
	err := fmt.Errorf("the result has %d bytes, the limit is %d", len(content), maxFiltered)
	if len(content) <= maxFiltered {
		values, err = jq.Run(ctx, c.input.filter, content)
	}
	var there []string
	for _, m := range children(content) {
		if name, err := unquote(m.name); err == nil {
			there = append(there, name)
		}
	}
	has := "the result has " + strings.Join(there[:min(len(there), maxWarnings)], ", ")
	switch {
	case err != nil && c.Entry.Action.Effect == toolfold.Reads:
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, jq.ErrBusy) {
			return nil, toolfold.Errorf(toolfold.TimedOut, "%s: %s: %v", c.Entry.Title(), callctx.ArgJQ, err).
				WithHint("call again, or choose parts with %s", callctx.ArgFields)
		}
		return nil, toolfold.Errorf(toolfold.InvalidInput, "%s: %s: %v; %s", c.Entry.Title(), callctx.ArgJQ, err, has).
			About(toolfold.ProblemRefused, callctx.ArgJQ).WithHint("correct %s, or omit it to see the result", callctx.ArgJQ)
	case err != nil:
		c.input.warn("it was done, and this is the whole result: %s failed: %v", callctx.ArgJQ, err)
		return content, nil
	}
	nothing := true
	for _, value := range values {
		nothing = nothing && string(value) == "null"
	}
	if nothing {
		c.input.warn("%s made nothing of it: %s", callctx.ArgJQ, has)
	}
	var page struct{ NextCursor string }
	if c.target.pages && json.Unmarshal(raw, &page) == nil && page.NextCursor != "" {
		c.input.warn("%s read one page; %s %q has the next", callctx.ArgJQ, toolfold.Cursor.Name, page.NextCursor)
	}
	switch {
	case len(values) != 1:
		return ordered.MustJSON(ordered.Map{{Key: "results", Value: values}}), nil
	case values[0][0] == '{':
		return values[0], nil
	}
	return ordered.MustJSON(ordered.Map{{Key: "result", Value: values[0]}}), nil
}
