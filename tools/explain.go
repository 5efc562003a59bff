package tools

import (
	"fmt"
	"strings"
)

// maxProblems is how many problems an error spells out: enough for any honest
// mistake, few enough that garbage does not flood a model's context.
const maxProblems = 8

// explain completes an error about arguments: its message names every
// problem, its usage and example show the shape of just this action.
func (e *Entry) explain(err *Error) {
	if len(err.Problems) > maxProblems {
		err.Hint = fmt.Sprintf("%d more problems are not shown", len(err.Problems)-maxProblems)
		err.Problems = err.Problems[:maxProblems]
	}
	if err.Message == "" {
		err.Message = e.Title() + ": " + summarise(err.Problems)
	}
	err.Usage = e.Usage()
	err.Example = e.Example()
}

func summarise(problems []Problem) string {
	list := make([]string, len(problems))
	for i, p := range problems {
		list[i] = p.Text()
	}
	return strings.Join(list, "; ")
}
