package tools

import (
	"fmt"
	"slices"
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
// would make it too long is said shorter: long lists of values, the usage, for
// which the example stands, the message, and at last some of the problems.
func (e *Entry) explain(err *Error) {
	all := len(err.Problems)
	err.Problems = slices.Clone(err.Problems[:min(all, maxProblems)])
	for i := range err.Problems {
		err.Problems[i].Path = shorten(err.Problems[i].Path, maxPath)
	}
	err.Usage, err.Example = e.Usage(), e.Example()
	if err.Message == "" {
		err.Message = e.Title() + ": " + summarise(err.Problems)
	}
	for _, shorten := range []func(*Error){
		cutAllowed,
		func(err *Error) { err.Usage = e.shortUsage() },
		func(err *Error) { e.countProblems(err, all, 3) },
		func(err *Error) { err.Usage = "" },
		dropAllowed,
		func(err *Error) { e.countProblems(err, all, 2) },
	} {
		if isShort(err, all) {
			return
		}
		shorten(err)
	}
	for !isShort(err, all) && len(err.Problems) > 1 {
		err.Problems = err.Problems[:len(err.Problems)-1]
	}
}

// countProblems leaves the message to say how many problems there are, when
// they are many.
func (e *Entry) countProblems(err *Error, all, many int) {
	if all >= many {
		err.Message = fmt.Sprintf("%s: %d problems", e.Title(), all)
	}
}

// isShort says how many problems are hidden, and tells whether the error is short
// enough.
func isShort(err *Error, all int) bool {
	if hidden := all - len(err.Problems); hidden > 0 {
		err.Hint = fmt.Sprintf("%d more problems are not shown", hidden)
	}
	return len(ordered.MustJSON(err)) <= maxErrorBytes
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
	for i, p := range err.Problems {
		if len(p.Allowed) > maxAllowed {
			err.Problems[i].Allowed = append(p.Allowed[:maxAllowed:maxAllowed], "…")
		}
	}
}

// dropAllowed leaves out the values where one is suggested, and the result
// fields, which describe has.
func dropAllowed(err *Error) {
	for i, p := range err.Problems {
		if p.Suggest != "" || strings.HasPrefix(p.Path, "/"+IncludeFields) {
			err.Problems[i].Allowed = nil
		}
	}
}
