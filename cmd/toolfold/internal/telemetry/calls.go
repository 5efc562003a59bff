package telemetry

import (
	"context"
	"encoding/json"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/estimate"
	"github.com/toolfold/toolfold/internal/redact"
)

// Calls is middleware that records every call as a span. A call that stands for
// another one is recorded only where it fails: the other one is recorded itself.
func (t *Tracing) Calls(next call.Func) call.Func {
	return func(ctx context.Context, c *call.Call) toolfold.Answer {
		around := oteltrace.SpanContextFromContext(ctx)
		outermost := !around.IsValid() || around.IsRemote()
		runs := c.Entry != nil && c.Entry.Action.Effect == toolfold.Runs
		if t.o.RunsOnly && outermost && !runs {
			return next(ctx, c)
		}
		name := "call unknown"
		attributes := []attribute.KeyValue{argumentsBytesKey.Int(len(c.Raw)), argumentsTokensKey.Int(estimate.Tokens(c.Raw))}
		if c.Entry != nil {
			full := c.Entry.Action.FullName()
			name = "call " + full
			attributes = append(attributes, actionKey.String(full))
		}
		if c.Entry == nil || c.Entry.Legacy {
			attributes = append(attributes, attribute.String("gen_ai.tool.name", toolfold.Shorten(c.Name)))
		}
		if c.Entry != nil && c.Entry.Action.Forwards() {
			start := t.o.Now()
			answer := next(ctx, c)
			if answer.Err != nil {
				_, span := t.tracer.Start(ctx, name, oteltrace.WithTimestamp(start), oteltrace.WithAttributes(attributes...))
				t.end(span, c, answer)
			}
			return answer
		}
		ctx, span := t.tracer.Start(ctx, name, oteltrace.WithAttributes(attributes...))
		answer := next(ctx, c)
		if runs && outermost && answer.Err == nil {
			t.keep(span.SpanContext(), answer.Content)
		}
		t.end(span, c, answer)
		return answer
	}
}

func (t *Tracing) end(span oteltrace.Span, c *call.Call, answer toolfold.Answer) {
	span.SetAttributes(resultBytesKey.Int(len(answer.Content)), resultTokensKey.Int(estimate.Tokens(answer.Content)))
	if answer.Err != nil {
		span.SetAttributes(errorKey.String(answer.Err.Code))
		span.SetStatus(codes.Error, answer.Err.Message)
	}
	if t.o.Arguments {
		span.SetAttributes(attribute.String("toolfold.arguments", captured(c.Raw)), attribute.String("toolfold.result", captured(answer.Content)))
	}
	span.End()
}

// captured returns JSON as it may be kept: without secrets, and shortened.
func captured(raw json.RawMessage) string {
	var value any
	if len(raw) > 1<<20 || json.Unmarshal(raw, &value) != nil {
		return toolfold.Cut(redact.Text(string(raw[:min(len(raw), maxAttribute)])), maxAttribute)
	}
	text, _ := json.Marshal(redact.Value(value)) // what was decoded can be encoded
	return toolfold.Cut(string(text), maxAttribute)
}
