// Package jq runs jq filters over results.
//
// A filter of a few characters can take any amount of time and memory. It therefore runs in a
// separate process of this executable, with limits for both. The process is kept for further
// filters. It ends when it is idle for a while, when this process ends, and when a filter exceeds a
// limit.
package jq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/itchyny/gojq"

	"github.com/toolfold/toolfold/internal/text/jsonx"
)

// Limits of a run.
const (
	maxTime   = 5 * time.Second
	maxMemory = 256 << 20 // bytes
	maxOutput = 1 << 20   // bytes of all values
)

// MaxFilter limits a filter, in bytes.
const MaxFilter = 4000

// Check returns the error of an invalid filter, with its position if that is known; nil if the
// filter is valid.
func Check(filter string) error {
	_, err := compile(filter)
	return err
}

// compile compiles a filter that cannot read files, modules or environment variables.
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

// Run returns the output of a filter for a JSON value. The error is ctx's, [ErrBusy], or the reason
// why the filter failed, in words for its author.
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

// question is a filter to run, and answer its outcome.
type (
	question struct {
		Filter string
		Value  json.RawMessage
	}
	answer struct {
		Values  []json.RawMessage
		Failure string // empty for success
	}
)

// answerTo runs a filter in this process.
func answerTo(ctx context.Context, q question) (a answer) {
	code, err := compile(q.Filter)
	if err != nil {
		return answer{Failure: err.Error()}
	}
	var value any
	if err := jsonx.Decode(q.Value, &value); err != nil {
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
