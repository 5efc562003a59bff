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

// The model that made the mistake pays for the error: it costs at most 200 tokens. Such JSON has
// more than three bytes a token.
const (
	maxErrorBytes = 640
	maxProblems   = 10 // listed; the rest are counted
	maxPath       = 80 // characters of a path, which may have a name chosen by the caller
	maxAllowed    = 12 // values of a shortened list
)

// explain completes an error about arguments. The message names every problem, and usage and
// example show this action. It returns the encoded error. While it exceeds maxErrorBytes, these are
// dropped in turn: long lists of values, types of optional parameters, the message, the usage (the
// example remains), lists of values next to a suggestion, and problems from the end. A message or
// usage from the action is never dropped; the example is dropped in place of its usage.
func (t *target) explain(err *toolfold.Error) (encoded json.RawMessage) {
	e, visible := t.Entry, t.errorTexts()
	original := *err
	all := len(err.Problems)
	err.Problems = slices.Clone(err.Problems[:min(all, maxProblems)])
	texts := make([]string, len(err.Problems))
	for i := range err.Problems {
		err.Problems[i].Path = shorten.To(err.Problems[i].Path, maxPath)
		texts[i] = err.Problems[i].Text()
	}
	if err.Usage == "" { // an action may set the usage of a part of its arguments
		err.Usage = visible.usage
	}
	if err.Example = e.FromCanonical(err.Example); err.Example == nil { // an action may set a better example
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

// errorTexts are the texts about a target that its errors show.
type errorTexts struct {
	usage, shortUsage string
	example           json.RawMessage
}

// errorTexts makes the texts at the first error of the target.
func (t *target) errorTexts() *errorTexts {
	t.render.Do(func() {
		use := t.Entry
		// Nesting distinguishes the parameters from the form's own names.
		if use.Selector != "" && use.Form == "" && (t.Takes(callctx.ArgAction) || t.Takes(callctx.ArgParams)) {
			use = use.In(entry.FormObject)
		}
		t.texts = &errorTexts{use.Usage(entry.DetailTypes), use.Usage(entry.DetailNames), use.Example()}
	})
	return t.texts
}
