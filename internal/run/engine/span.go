package engine

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolfold/toolfold/internal/call/callctx"
)

// scopeName is the instrumentation scope of the engine's spans. It stays when the package moves.
const scopeName = "github.com/toolfold/toolfold/internal/engine"

// Attributes of spans that have no name in OpenTelemetry's conventions.
const (
	RunKey      = attribute.Key("toolfold.run.id") // of a call that ran an agent or workflow: its id
	StepKey     = attribute.Key("toolfold.step.id")
	TaskKey     = attribute.Key("toolfold.task.id")
	AttemptsKey = attribute.Key("toolfold.attempts") // of a step or task with more than one attempt

	// ToleratedKey is true for a failed step with continueOnError.
	ToleratedKey = attribute.Key("toolfold.tolerated")
)

// Names and attributes of spans follow OpenTelemetry's conventions for
// generative AI, as far as they go. A span never holds a prompt or an answer.
func (r *Runner) tracer() trace.Tracer {
	if r.Tracer != nil {
		return r.Tracer.Tracer(scopeName)
	}
	return otel.Tracer(scopeName)
}

// startRun opens the span of a run; the returned function ends it. The span of
// the call around it has the action and its error.
func (r *Runner) startRun(ctx context.Context, job Job) (context.Context, func(*Failure)) {
	operation := "invoke_" + string(job.Kind)
	attributes := []attribute.KeyValue{attribute.String("gen_ai.operation.name", operation)}
	if job.Kind == AgentJob {
		attributes = append(attributes, attribute.String("gen_ai.agent.id", job.ID), attribute.String("gen_ai.agent.name", job.ID))
	} else {
		attributes = append(attributes, attribute.String("gen_ai.workflow.name", job.ID))
	}
	if job.Session != "" {
		attributes = append(attributes, attribute.String("gen_ai.conversation.id", job.Session))
	}
	call := trace.SpanFromContext(ctx)
	call.SetAttributes(RunKey.String(job.ID))
	ctx, span := r.tracer().Start(ctx, operation+" "+job.ID, trace.WithAttributes(attributes...))
	return ctx, func(f *Failure) {
		endSpan(span, f)
		if f != nil {
			fail(call, f)
		}
	}
}

// startStep opens the span of a step, all of its attempts included.
func (r *Runner) startStep(ctx context.Context, n *node) (context.Context, func(*Failure)) {
	name := "step " + n.id
	attributes := []attribute.KeyValue{
		StepKey.String(n.id), attribute.String("toolfold.step.type", n.kind),
	}
	if call, ok := n.act.(toolAction); ok {
		name = "execute_tool " + call.name
		attributes = append(attributes, attribute.String("gen_ai.operation.name", "execute_tool"),
			attribute.String("gen_ai.tool.name", call.name))
	}
	ctx, span := r.tracer().Start(ctx, name, trace.WithAttributes(attributes...))
	return ctx, func(f *Failure) {
		if f != nil && n.goesOn {
			span.SetAttributes(ToleratedKey.Bool(true))
		}
		endSpan(span, f)
	}
}

// startCall opens the span of a call by a model. The failure also goes to the model.
func (r *Runner) startCall(ctx context.Context, c StepResult) (context.Context, func(*Failure)) {
	ctx, span := r.tracer().Start(ctx, "execute_tool "+c.Tool, trace.WithAttributes(
		StepKey.String(c.StepID), attribute.String("toolfold.step.type", TypeTool),
		attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", c.Tool),
	))
	return ctx, func(f *Failure) {
		if f != nil {
			span.SetAttributes(ToleratedKey.Bool(true))
		}
		endSpan(span, f)
	}
}

// startChat opens the span of one request to a model.
func (r *Runner) startChat(ctx context.Context, p namedProvider, prompt callctx.Prompt) (context.Context, func(callctx.Completion, error)) {
	name := "chat"
	attributes := []attribute.KeyValue{
		attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.provider.name", p.config.Type),
		attribute.String("toolfold.provider", p.name),
	}
	if model := p.fill(prompt).Model; model != "" {
		name += " " + model
		attributes = append(attributes, attribute.String("gen_ai.request.model", model))
	}
	ctx, span := r.tracer().Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
	return ctx, func(done callctx.Completion, err error) {
		span.SetAttributes(answerAttributes(done)...)
		var f *Failure
		if err != nil && !errors.As(err, &f) {
			f = &Failure{Code: StepFailed, Message: err.Error()}
		}
		endSpan(span, f)
	}
}

func answerAttributes(c callctx.Completion) []attribute.KeyValue {
	var list []attribute.KeyValue
	if c.Model != "" {
		list = append(list, attribute.String("gen_ai.response.model", c.Model))
	}
	if c.InputTokens > 0 || c.OutputTokens > 0 {
		list = append(list, attribute.Int("gen_ai.usage.input_tokens", c.InputTokens),
			attribute.Int("gen_ai.usage.output_tokens", c.OutputTokens))
	}
	return list
}

func endSpan(span trace.Span, f *Failure) {
	if f != nil {
		fail(span, f)
	}
	span.End()
}

func fail(span trace.Span, f *Failure) {
	span.SetAttributes(attribute.String("error.type", f.Code))
	span.SetStatus(codes.Error, f.Message)
}
