package call

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// An error is paid for by the model that made the mistake: it costs at most
// 200 tokens. JSON of this kind has more than three bytes a token.
const (
	maxErrorBytes = 640
	maxProblems   = 10 // spelled out; the rest are counted
	maxPath       = 80 // characters of a path, which may hold a name of the caller's
	maxAllowed    = 12 // values of a list that is cut
)

// explain completes an error about arguments: its message names every problem,
// its usage and example show the shape of just this action. If it exceeds
// maxErrorBytes, these go in turn until it fits: long lists of values, the
// types of optional parameters, the message, the usage (the example shows the
// shape too), lists of values that a suggestion stands for, and at last
// problems from the end. A message or usage that the action gave stays, and the
// example goes in its place. It returns the error encoded.
func (t *target) explain(err *toolfold.Error) (encoded json.RawMessage) {
	e, visible := t.Entry, t.shownInErrors()
	original := *err
	all := len(err.Problems)
	err.Problems = slices.Clone(err.Problems[:min(all, maxProblems)])
	texts := make([]string, len(err.Problems))
	for i := range err.Problems {
		err.Problems[i].Path = shorten.To(err.Problems[i].Path, maxPath)
		texts[i] = err.Problems[i].Text()
	}
	if err.Usage == "" { // an action may know that of what is wrong inside an argument
		err.Usage = visible.usage
	}
	if err.Example = e.FromCanonical(err.Example); err.Example == nil { // an action may know a truer one
		err.Example = visible.example
	}
	if err.Message == "" {
		err.Message = e.Title() + ": " + strings.Join(texts, "; ")
	}
	count := func(atLeast int) {
		if all >= atLeast && original.Message == "" {
			err.Message = fmt.Sprintf("%s: %d problems", e.Title(), all)
		}
	}
	fits := func() bool {
		if hidden := all - len(err.Problems); hidden > 0 {
			err.Hint = fmt.Sprintf("%d more problems are not shown", hidden)
		}
		encoded = ordered.MustJSON(err)
		return len(encoded) <= maxErrorBytes
	}
	for _, shorten := range []func(){
		func() {
			for i, p := range err.Problems {
				if len(p.Allowed) > maxAllowed {
					err.Problems[i].Allowed = append(p.Allowed[:maxAllowed:maxAllowed], "…")
				}
			}
		},
		func() {
			if original.Usage == "" {
				err.Usage = visible.shortUsage
			}
		},
		func() { count(3) },
		func() {
			if err.Usage = original.Usage; original.Usage != "" {
				err.Example = nil
			}
		},
		func() {
			for i, p := range err.Problems {
				if p.Suggest != "" || strings.HasPrefix(p.Path, "/"+callctx.ArgFields) {
					err.Problems[i].Allowed = nil
				}
			}
		},
		func() { count(2) },
	} {
		if fits() {
			return encoded
		}
		shorten()
	}
	for !fits() && len(err.Problems) > 1 {
		err.Problems = err.Problems[:len(err.Problems)-1]
	}
	return encoded
}

// shownInErrors are the texts about a target that its errors show.
type shownInErrors struct {
	usage, shortUsage string
	example           json.RawMessage
}

// shownInErrors renders the texts for the first error of the target.
func (t *target) shownInErrors() *shownInErrors {
	t.render.Do(func() {
		shown := t.Entry
		// Their place tells parameters from the form's own names.
		if shown.Selector != "" && shown.Form == "" && (t.Takes(callctx.ArgAction) || t.Takes(callctx.ArgParams)) {
			shown = shown.In(entry.FormObject)
		}
		t.shown = &shownInErrors{shown.Usage(entry.DetailTypes), shown.Usage(entry.DetailNames), shown.Example()}
	})
	return t.shown
}
