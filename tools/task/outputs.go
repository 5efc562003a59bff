package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/expression"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// outputs is the variable of the placeholders in a task's input: an object with
// the dependencies by id and by name, each with its output.
const outputs = "tasks"

// refers matches the start of a placeholder of the variable outputs. Other placeholders are data,
// for example in the prompt of an agent to register.
var refers = regex.Lazy(`\{\{\s*` + outputs + `\s*[.?\[]`)

// maxFilled limits the total size of the values in the placeholders of one input, in bytes.
const maxFilled = 4 << 20

// Outcome is a dependency of a task.
type Outcome struct {
	ID, Name string
	Output   json.RawMessage
}

// piece is a part of a text: plain, or the expression of a placeholder for dependencies.
type piece struct {
	plain  string
	expr   *expression.Expression
	source string
	names  []string // of the dependencies
}

func parseText(text string) (pieces []piece, err error) {
	for refers().MatchString(text) {
		at := refers().FindStringIndex(text)[0]
		_, source, after, found, err := expression.Placeholder(text[at:])
		if err == nil && !found {
			break
		}
		var p piece
		if err == nil {
			var mentions expression.Mentions
			p.expr, mentions, err = expression.Compile(source, []string{outputs}, []string{outputs})
			p.source, p.names = source, mentions[outputs]
		}
		if err == nil && len(p.names) == 0 {
			err = errors.New("it names no task")
		}
		if err != nil {
			return nil, fmt.Errorf("{{ %s }}: %w", shorten.Quoted(source), err)
		}
		pieces = append(pieces, piece{plain: text[:at]}, p)
		text = after
	}
	return append(pieces, piece{plain: text}), nil
}

// texts calls f for each text in a value that refers to dependencies, with its JSON pointer, and
// replaces the text by the result.
func texts(value any, at string, f func(pointer, text string) (any, error)) (_ any, err error) {
	switch v := value.(type) {
	case string:
		if refers().MatchString(v) {
			return f(at, v)
		}
	case []any:
		for i := range v {
			if v[i], err = texts(v[i], at+"/"+strconv.Itoa(i), f); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if v[name], err = texts(v[name], jsonx.Pointer(at, name), f); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

// checkReferences refuses all references to tasks that are no dependencies. It
// returns the JSON pointers of the texts that are not known before the
// dependencies have completed, also beside a refusal.
func (s *Service) checkReferences(ctx context.Context, t Task) (open map[string]bool, err error) {
	open = map[string]bool{}
	if !refers().Match(t.Input) {
		return open, nil
	}
	value, err := expression.Decode(t.Input)
	if err != nil {
		return open, err
	}
	dependencies, err := s.Store.Outcomes(ctx, t.Dependencies, false)
	if err != nil {
		return open, fmt.Errorf("reading dependencies: %w", err)
	}
	known := map[string]int{}
	for _, d := range dependencies {
		known[d.ID]++
		known[d.Name]++
	}
	var refused []error
	_, _ = texts(value, "/input", func(pointer, text string) (any, error) {
		open[pointer] = true
		pieces, err := parseText(text)
		if err != nil {
			refused = append(refused, toolfold.Errorf(toolfold.InvalidInput, "%s: %v", shorten.To(pointer, 80), err).
				WithHint(`{{ tasks.NAME.output }} or {{ tasks["ID"].output }} stands for the output of a dependency`))
		}
		for _, p := range pieces {
			for _, name := range p.names {
				switch known[name] {
				case 0:
					refused = append(refused, toolfold.Errorf(toolfold.InvalidInput, "%s refers to %q, which is the name or id of no dependency",
						shorten.To(pointer, 80), shorten.Quoted(name)).
						WithHint("add its taskId to dependencies"))
				case 1:
				default:
					refused = append(refused, toolfold.Errorf(toolfold.InvalidInput, "%s refers to %q, the name of several dependencies",
						shorten.To(pointer, 80), shorten.Quoted(name)).
						WithHint(`refer to one by its id: {{ tasks["ID"].output }}`))
				}
			}
		}
		return text, nil
	})
	return open, errors.Join(refused...)
}

// Refers reports whether the input has placeholders for outputs of dependencies.
func (t Task) Refers() bool { return len(t.Dependencies) > 0 && refers().Match(t.Input) }

// Fill returns the input with its placeholders replaced by outputs of dependencies. Placeholders in
// these outputs are not replaced.
func (t Task) Fill(ctx context.Context, dependencies []Outcome) (json.RawMessage, error) {
	byName := map[string]any{}
	for _, d := range dependencies {
		output, err := expression.Decode(d.Output)
		if err != nil {
			return nil, err
		}
		byName[d.Name] = map[string]any{"output": output}
		byName[d.ID] = byName[d.Name]
	}
	value, err := expression.Decode(t.Input)
	if err != nil {
		return nil, err
	}
	left := maxFilled
	filled, err := texts(value, "/input", func(pointer, text string) (any, error) {
		pieces, err := parseText(text)
		if err != nil {
			return nil, err
		}
		var whole strings.Builder
		for i, p := range pieces {
			if p.expr == nil {
				whole.WriteString(p.plain)
				continue
			}
			value, err := p.expr.Eval(ctx, map[string]any{outputs: byName})
			if err == nil && value == nil {
				err = errors.New("it has no value")
			}
			var text string
			if err == nil {
				text, err = expression.Text(value)
			}
			if left -= len(text); err == nil && left < 0 {
				err = expression.ErrTooMuch
			}
			if err != nil {
				return nil, toolfold.Errorf(toolfold.InvalidInput, "%s: {{ %s }}: %v", pointer, shorten.Quoted(p.source), err)
			}
			if i == 1 && len(pieces) == 3 && pieces[0].plain == "" && pieces[2].plain == "" {
				return value, nil
			}
			whole.WriteString(text)
		}
		return whole.String(), nil
	})
	if err != nil {
		return nil, err
	}
	return ordered.JSON(filled)
}
