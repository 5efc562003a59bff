package toolfoldtest_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/toolfoldtest"
)

var greetings = toolfold.Family{
	Name: "greeting", Summary: "Greetings",
	Actions: []*toolfold.Action{{
		Name: "say", Legacy: toolfold.Was("greet"), Summary: "Say a greeting.", Effect: toolfold.Reads,
		Required: toolfold.Fields{toolfold.String{Name: "to", Doc: "Who is greeted.", MinLen: 1}},
		Example:  `{"to": "Ada"}`, Run: toolfold.Method(say),
	}},
}

type greeter struct{}

type sayIn struct {
	To string `json:"to"`
}

type sayOut struct {
	Text string `json:"text" doc:"The greeting."`
}

func say(_ greeter, _ context.Context, in sayIn) (sayOut, error) {
	return sayOut{"Hello " + in.To}, nil
}

// A test calls families like a client: by every name, with all checks. Actions call other actions
// by a runner too.
func ExampleRunner() {
	family, err := toolfold.Mount(greetings, func(context.Context) (greeter, error) { return greeter{}, nil })
	if err != nil {
		fmt.Println(err)
		return
	}
	runner := toolfoldtest.Runner(family)
	for _, call := range [][2]string{{"greeting.say", `{"to": "Ada"}`}, {"greet", `{"to": "Bo"}`}, {"greeting.say", `{}`}} {
		answer := runner.Call(context.Background(), call[0], json.RawMessage(call[1]))
		if answer.IsError() {
			fmt.Println(answer.Err)
			continue
		}
		fmt.Println(string(answer.Content))
	}
	// Output:
	// {"text":"Hello Ada"}
	// {"text":"Hello Bo"}
	// INVALID_INPUT: greeting.say: to is missing
}
