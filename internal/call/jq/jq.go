// Package jq runs jq filters over results.
//
// A filter of a few characters can ask for any amount of time and memory, so
// it runs in a process of this program's executable that may take little of
// both. The process is kept for the next filters, and ends when none comes for
// a while, when this process ends, and when a filter exceeds a limit.
package jq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/itchyny/gojq"
)

// Limits of a run.
const (
	maxTime   = 5 * time.Second
	maxMemory = 256 << 20 // bytes
	maxOutput = 1 << 20   // bytes of all values
)

// MaxFilter is the most bytes of a filter.
const MaxFilter = 4000

// Check reports why a text is no filter, with the place of the fault where that is
// known; nil where it is one.
func Check(filter string) error {
	_, err := compile(filter)
	return err
}

// compile compiles a filter. It reaches no file, module or variable of the
// environment.
func compile(filter string) (*gojq.Code, error) {
	query, err := gojq.Parse(filter)
	if err != nil {
		var fault *gojq.ParseError
		if errors.As(err, &fault) {
			return nil, fmt.Errorf("%w at character %d", err, utf8.RuneCountInString(filter[:min(fault.Offset, len(filter))]))
		}
		return nil, err
	}
	return gojq.Compile(query)
}

// Run returns the values that a filter makes of a JSON value. The error is that of
// ctx, [ErrBusy], or says, to who wrote the filter, why it failed or which limit it exceeds.
func Run(ctx context.Context, filter string, value json.RawMessage) ([]json.RawMessage, error) {
	answer, err := ask(ctx, question{filter, value})
	if err != nil {
		return nil, err
	}
	if answer.Failure != "" {
		return nil, errors.New(answer.Failure)
	}
	return answer.Values, nil
}

// question is a filter to run, answer what came of it.
type (
	question struct {
		Filter string
		Value  json.RawMessage
	}
	answer struct {
		Values  []json.RawMessage
		Failure string // empty where all went well
	}
)

// answered runs a filter in this process.
func answered(ctx context.Context, q question) (a answer) {
	code, err := compile(q.Filter)
	if err != nil {
		return answer{Failure: err.Error()}
	}
	dec := json.NewDecoder(strings.NewReader(string(q.Value)))
	dec.UseNumber() // numbers stay as they are written
	var value any
	if err := dec.Decode(&value); err != nil {
		return answer{Failure: err.Error()}
	}
	room := maxOutput
	for values := code.RunWithContext(ctx, value); ; {
		next, more := values.Next()
		if !more {
			return a
		}
		if err, failed := next.(error); failed {
			var halt *gojq.HaltError
			if errors.As(err, &halt) && halt.Value() == nil {
				return a
			}
			return answer{Failure: err.Error()}
		}
		encoded, err := gojq.Marshal(next)
		if err != nil {
			return answer{Failure: err.Error()}
		}
		if room -= len(encoded) + 1; room < 0 {
			return answer{Failure: fmt.Sprintf("its output exceeds %d bytes", maxOutput)}
		}
		a.Values = append(a.Values, encoded)
	}
}
