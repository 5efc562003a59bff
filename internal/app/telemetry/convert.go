package telemetry

import (
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/text/redact"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/tools/trace"
)

// Attributes of spans.
const (
	actionKey          = attribute.Key("toolfold.action") // full name; absent if the called name is unknown
	argumentsBytesKey  = attribute.Key("toolfold.arguments.bytes")
	argumentsTokensKey = attribute.Key("toolfold.arguments.tokens") // estimated
	resultBytesKey     = attribute.Key("toolfold.result.bytes")
	resultTokensKey    = attribute.Key("toolfold.result.tokens") // estimated
	errorKey           = attribute.Key("error.type")
	toolNameKey        = attribute.Key("gen_ai.tool.name") // the called name, if it is not the action's
	argumentsKey       = attribute.Key(trace.ArgumentsAttribute)
	argumentNamesKey   = attribute.Key(trace.ArgumentNamesAttribute)
	resultKey          = attribute.Key("toolfold.result")
	callerKey          = attribute.Key(trace.CallerAttribute)
	sessionKey         = attribute.Key("session.id")          // the client's session; absent from 2026-07-28 on
	replicaKey         = attribute.Key("service.instance.id") // host name and process ID
)

const (
	maxMessage    = 500     // characters
	maxAttribute  = 8 << 10 // characters of a stored attribute
	maxAttributes = 32
)

// convert returns a span in the store's form.
func convert(s span) trace.Span {
	if s, plain := s.(*plainCall); plain {
		return s.convert()
	}
	return convertSDK(s.(sdk.ReadOnlySpan))
}

// place returns a span with its ids, its parent and the status success.
func place(at, parent oteltrace.SpanContext) trace.Span {
	span := trace.Span{
		TraceID: at.TraceID().String(), ID: at.SpanID().String(), Root: !parent.IsValid() || parent.IsRemote(), Status: trace.Success,
	}
	if parent.IsValid() {
		span.Parent = parent.SpanID().String()
	}
	return span
}

// fail marks a span as failed.
func fail(span *trace.Span, message string) {
	span.Status, span.Message = trace.Failure, redact.Text(shorten.To(message, maxMessage))
}

func convertSDK(s sdk.ReadOnlySpan) trace.Span {
	span := place(s.SpanContext(), s.Parent())
	span.Label, span.Kind, span.Start, span.End = s.Name(), trace.Other, micros(s.StartTime()), micros(s.EndTime())
	run := ""
	for _, kv := range s.Attributes() {
		switch kv.Key {
		case actionKey:
			span.Kind, span.Label = trace.Call, kv.Value.AsString()
		case toolNameKey:
			if s.Name() == unknownCall {
				span.Label = kv.Value.AsString()
			}
			set(&span, kv)
		case engine.RunKey:
			run = kv.Value.AsString()
		case engine.StepKey:
			span.Kind, span.Label = trace.Step, "step "+kv.Value.AsString()
		case engine.TaskKey:
			span.Kind, span.Task = trace.Task, kv.Value.AsString()
			set(&span, kv)
		case "gen_ai.operation.name":
			switch kv.Value.AsString() {
			case "invoke_agent":
				span.Kind = trace.Agent
			case "invoke_workflow":
				span.Kind = trace.Workflow
			case "chat":
				span.Kind = trace.Model
			}
		case argumentsBytesKey:
			span.Arguments.Bytes = int(kv.Value.AsInt64())
		case argumentsTokensKey:
			span.Arguments.Tokens = int(kv.Value.AsInt64())
		case resultBytesKey:
			span.Result.Bytes = int(kv.Value.AsInt64())
		case resultTokensKey:
			span.Result.Tokens = int(kv.Value.AsInt64())
		case engine.AttemptsKey:
			if n := int(kv.Value.AsInt64()); n > 1 {
				span.Attempts = n
			}
		case engine.ToleratedKey:
			span.Tolerated = kv.Value.AsBool()
		case errorKey:
			span.Code = kv.Value.AsString()
		case "gen_ai.agent.id", "gen_ai.workflow.name", "toolfold.step.type": // contained in the label and the kind
		default:
			set(&span, kv)
		}
	}
	if run != "" && span.Kind == trace.Call {
		span.Label += " " + run
	}
	if s.Status().Code == codes.Error {
		fail(&span, s.Status().Description)
	}
	return span
}

func set(span *trace.Span, kv attribute.KeyValue) {
	if span.Attributes == nil {
		span.Attributes = map[string]string{}
	}
	if len(span.Attributes) < maxAttributes {
		span.Attributes[string(kv.Key)] = shorten.To(kv.Value.String(), maxAttribute)
	}
}

// skipped reports whether a span is not stored: reading traces should not add traces.
func skipped(s trace.Span) bool {
	return s.Root && s.Kind == trace.Call && strings.HasPrefix(s.Label, trace.Family.Name+".")
}

func micros(t time.Time) time.Time {
	return t.UTC().Truncate(time.Microsecond)
}
