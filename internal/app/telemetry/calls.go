package telemetry

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	oteltrace "go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/estimate"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/tools/trace"
)

// Calls is middleware that records every call as a span. A call that forwards to another call is
// only recorded if it fails, because the other call is recorded itself.
func (t *Tracing) Calls(next call.Func) call.Func {
	return func(ctx context.Context, c *call.Call) toolfold.Answer {
		around := oteltrace.SpanContextFromContext(ctx)
		ctx = naming(ctx, c)
		outermost := !around.IsValid() || around.IsRemote()
		runs := c.Entry != nil && c.Entry.Action.Effect == toolfold.Runs
		if t.o.RunsOnly && outermost && !runs {
			return next(ctx, c)
		}
		if !runs && !t.sends {
			return t.plainly(ctx, c, around, next)
		}
		name := unknownCall
		attributes := []attribute.KeyValue{argumentsBytesKey.Int(len(c.Raw)), argumentsTokensKey.Int(estimate.Tokens(c.Raw))}
		if c.Entry != nil {
			full := c.Entry.Action.FullName()
			name = "call " + full
			attributes = append(attributes, actionKey.String(full))
		}
		if c.Entry == nil || c.Entry.Legacy {
			attributes = append(attributes, toolNameKey.String(calledName(c)))
		}
		if c.Entry != nil && c.Entry.Action.Forwards() {
			start := t.o.Now()
			answer := next(ctx, c)
			if answer.Err != nil {
				_, span := t.tracer.Start(ctx, name, oteltrace.WithTimestamp(start), oteltrace.WithAttributes(attributes...))
				t.endCall(span, c, answer)
			}
			return answer
		}
		ctx, span := t.tracer.Start(ctx, name, oteltrace.WithAttributes(attributes...))
		answer := next(ctx, c)
		if runs && outermost && answer.Err == nil {
			t.keep(span.SpanContext(), answer.Content)
		}
		t.endCall(span, c, answer)
		return answer
	}
}

// namedSession is the session id in the arguments of a call, or of a call around it.
type namedSession string

// naming adds the session id in a call's arguments, if any, to the context.
func naming(ctx context.Context, c *call.Call) context.Context {
	if !bytes.Contains(c.Raw, []byte(sessionParam)) {
		return ctx
	}
	args, ok := c.Arguments()
	if !ok {
		return ctx
	}
	id, _ := args[sessionParam].(string)
	if _, err := uuid.Parse(id); err != nil {
		return ctx
	}
	return callctx.With(ctx, namedSession(strings.ToLower(id)))
}

// sessionParam is the parameter for a session's id.
const sessionParam = "sessionId"

// unknownCall is the span name of a call with an unknown name. The span's label is the name.
const unknownCall = "call unknown"

// calledName returns the called name, shortened and without secrets.
func calledName(c *call.Call) string {
	return shorten.Quoted(hideIn(c.Called()))
}

func (t *Tracing) endCall(span oteltrace.Span, c *call.Call, answer toolfold.Answer) {
	span.SetAttributes(resultBytesKey.Int(len(answer.Content)), resultTokensKey.Int(estimate.Tokens(answer.Content)))
	if answer.Err != nil {
		span.SetAttributes(errorKey.String(answer.Err.Code))
		span.SetStatus(codes.Error, answer.Err.Message)
		if names := argumentNames(c); names != nil {
			span.SetAttributes(argumentNamesKey.StringSlice(names))
		}
	}
	if t.o.Arguments {
		span.SetAttributes(argumentsKey.String(capturedArguments(c)), resultKey.String(capturedResult(c, answer)))
	}
	span.End()
}

// plainCall is the span of a call that runs nothing. It has no attributes and only the store reads
// it, so it does not need the SDK. While the call runs, Tracing.mu guards the fields that its end
// sets.
type plainCall struct {
	noop.Span
	at, around        oteltrace.SpanContext
	start, ended      time.Time
	entry             *entry.Entry // nil if the name is unknown
	name              string       // the called name; empty if it is the action's
	arguments, result trace.Size
	failure           *toolfold.Error
	names             []string // argument names, if the call failed

	capturedArguments, capturedResult string // empty if they are not recorded

	caller []attribute.KeyValue // see callerAttributes
}

// SpanContext implements [oteltrace.Span].
func (s *plainCall) SpanContext() oteltrace.SpanContext { return s.at }

// StartTime returns when the call began.
func (s *plainCall) StartTime() time.Time { return s.start }

// plainly records a call that runs nothing.
func (t *Tracing) plainly(ctx context.Context, c *call.Call, around oteltrace.SpanContext, next call.Func) toolfold.Answer {
	s := &plainCall{around: around, start: t.o.Now(), entry: c.Entry, arguments: sizeOf(c.Raw), caller: callerAttributes(ctx)}
	if c.Entry == nil || c.Entry.Legacy {
		s.name = calledName(c)
	}
	in := oteltrace.SpanContextConfig{TraceID: around.TraceID(), TraceFlags: oteltrace.FlagsSampled, TraceState: around.TraceState()}
	if around.IsValid() {
		in.SpanID = ids{}.NewSpanID(ctx, in.TraceID)
	} else {
		in.TraceID, in.SpanID = ids{}.NewIDs(ctx)
	}
	s.at = oteltrace.NewSpanContext(in)
	forwards := c.Entry != nil && c.Entry.Action.Forwards()
	if !forwards {
		t.start(ctx, s, false)
		ctx = oteltrace.ContextWithSpan(ctx, s)
	}
	answer := next(ctx, c)
	if forwards && answer.Err == nil {
		return answer
	}
	took, result, sent, received := t.o.Now().Sub(s.start), sizeOf(answer.Content), "", ""
	var names []string
	if answer.Err != nil {
		names = argumentNames(c)
	}
	if t.o.Arguments {
		sent, received = capturedArguments(c), capturedResult(c, answer)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s.ended, s.result, s.failure, s.names = s.start.Add(took), result, answer.Err, names
	s.capturedArguments, s.capturedResult = sent, received
	t.add(s)
	return answer
}

func sizeOf(text []byte) trace.Size {
	return trace.Size{Bytes: len(text), Tokens: estimate.Tokens(text)}
}

// convert returns the span in the store's form.
func (s *plainCall) convert() trace.Span {
	span := place(s.at, s.around)
	span.Label, span.Kind, span.Start, span.End = s.name, trace.Other, micros(s.start), micros(s.ended)
	span.Arguments, span.Result = s.arguments, s.result
	if s.entry != nil {
		span.Kind, span.Label = trace.Call, s.entry.Action.FullName()
	}
	for _, kv := range s.caller {
		set(&span, kv)
	}
	if s.name != "" {
		set(&span, toolNameKey.String(s.name))
	}
	if s.failure != nil {
		span.Code = s.failure.Code
		fail(&span, s.failure.Message)
		if s.names != nil {
			set(&span, argumentNamesKey.StringSlice(s.names))
		}
	}
	if s.capturedArguments != "" {
		set(&span, argumentsKey.String(s.capturedArguments))
		set(&span, resultKey.String(s.capturedResult))
	}
	return span
}
