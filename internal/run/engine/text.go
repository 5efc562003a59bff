package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/toolfold/toolfold/internal/run/expression"
)

// text is a text with placeholders {{ … }}.
type text struct {
	parts []part
}

// part is a piece of plain text, or the expression of a placeholder with its
// source.
type part struct {
	plain  string
	expr   *expression.Expression
	source string
}

// compileText compiles the placeholders of a text with compile, and returns all that are faulty.
func compileText(s string, compile func(source string) (*expression.Expression, error)) (t text, faults []error) {
	for {
		before, source, after, found, err := expression.Placeholder(s)
		if err != nil {
			return text{}, append(faults, err)
		}
		if before != "" {
			t.parts = append(t.parts, part{plain: before})
		}
		if !found {
			return t, faults
		}
		compiled, err := compile(source)
		if err != nil {
			faults = append(faults, fmt.Errorf("{{ %s }}: %w", shortSource(source), err))
		}
		t.parts = append(t.parts, part{expr: compiled, source: source})
		s = after
	}
}

func shortSource(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}

// value returns the text filled in. If the text is a single placeholder, it
// returns the value of any type.
func (t text) value(ctx context.Context, f *frame) (any, error) {
	if len(t.parts) == 1 && t.parts[0].expr != nil {
		value, err := t.parts[0].expr.Eval(ctx, f.env())
		if err != nil {
			return nil, fmt.Errorf("{{ %s }}: %w", shortSource(t.parts[0].source), err)
		}
		return value, nil
	}
	return t.fill(ctx, f)
}

// fill replaces each placeholder by its value as text. A placeholder without a
// value is an error: a prompt with a hole has another meaning.
func (t text) fill(ctx context.Context, f *frame) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		if p.expr == nil {
			b.WriteString(p.plain)
			continue
		}
		filled, err := p.fill(ctx, f)
		if err != nil {
			return "", fmt.Errorf("{{ %s }}: %w", shortSource(p.source), err)
		}
		if b.WriteString(filled); b.Len() > expression.MaxText {
			return "", expression.ErrTooMuch
		}
	}
	return b.String(), nil
}

func (p part) fill(ctx context.Context, f *frame) (string, error) {
	value, err := p.expr.Eval(ctx, f.env())
	if err != nil {
		return "", err
	}
	if value == nil {
		return "", errors.New(`it has no value; give one, or a default with ?? as in {{ input.name ?? "" }}`)
	}
	return expression.Text(value)
}

// template is a JSON value with placeholders in its texts.
type template struct {
	text    *text
	literal any
	object  map[string]template
	list    []template
}

// eval returns the template with its placeholders filled in.
func (t template) eval(ctx context.Context, f *frame) (any, error) {
	switch {
	case t.text != nil:
		return t.text.value(ctx, f)
	case t.object != nil:
		filled := make(map[string]any, len(t.object))
		for name, inner := range t.object {
			value, err := inner.eval(ctx, f)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			filled[name] = value
		}
		return filled, nil
	case t.list != nil:
		filled := make([]any, len(t.list))
		for i, inner := range t.list {
			value, err := inner.eval(ctx, f)
			if err != nil {
				return nil, fmt.Errorf("%d: %w", i, err)
			}
			filled[i] = value
		}
		return filled, nil
	}
	return t.literal, nil
}
