package tools

import (
	"fmt"
	"strings"

	"github.com/toolfold/toolfold/internal/ordered"
)

// An error is paid for by the model that made the mistake: it costs at most
// 200 tokens. JSON of this kind has more than three bytes a token.
const (
	maxErrorBytes = 640
	maxProblems   = 10 // spelled out; the rest are counted
	maxPath       = 80 // characters of a path, which may hold a name of the caller's
	maxAllowed    = 12 // values of a list that is cut
)

// explain completes an error about arguments: its message names every
// problem, its usage and example show the shape of just this action. What
// would make it too long is said shorter: the message, long lists of values,
// and at last the usage, for which the example stands.
func (e *Entry) explain(err *Error) {
	if more := len(err.Problems) - maxProblems; more > 0 {
		err.Problems = err.Problems[:maxProblems]
		err.Hint = fmt.Sprintf("%d more problems are not shown", more)
	}
	for i := range err.Problems {
		err.Problems[i].Path = shorten(err.Problems[i].Path, maxPath)
	}
	err.Usage, err.Example = e.Usage(), e.Example()
	if err.Message == "" {
		err.Message = e.Title() + ": " + summarise(err.Problems)
	}
	for _, shorten := range []func(*Error){
		func(err *Error) { err.Message = fmt.Sprintf("%s: %d problems", e.Title(), len(err.Problems)) },
		cutAllowed,
		func(err *Error) { err.Usage = "" },
		dropAllowed,
	} {
		if len(ordered.MustJSON(err)) <= maxErrorBytes {
			return
		}
		shorten(err)
	}
}

func summarise(problems []Problem) string {
	list := make([]string, len(problems))
	for i, p := range problems {
		list[i] = p.Text()
	}
	return strings.Join(list, "; ")
}

// cutAllowed shows only some of the values that are allowed.
func cutAllowed(err *Error) {
	problems := append([]Problem(nil), err.Problems...)
	for i, p := range problems {
		if len(p.Allowed) > maxAllowed {
			problems[i].Allowed = append(p.Allowed[:maxAllowed:maxAllowed], "…")
		}
	}
	err.Problems = problems
}

// dropAllowed leaves out the values where one is suggested, and the result
// fields, which describe has.
func dropAllowed(err *Error) {
	problems := append([]Problem(nil), err.Problems...)
	for i, p := range problems {
		if p.Suggest != "" || strings.HasPrefix(p.Path, "/"+IncludeFields) {
			problems[i].Allowed = nil
		}
	}
	err.Problems = problems
}
