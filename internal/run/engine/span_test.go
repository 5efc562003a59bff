package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// described is a span with the name of its parent and its attributes.
func described(spans tracetest.SpanStubs, s tracetest.SpanStub) string {
	parent := "-"
	for _, other := range spans {
		if other.SpanContext.SpanID() == s.Parent.SpanID() {
			parent = other.Name
		}
	}
	parts := []string{s.Name, "in " + parent}
	set := attribute.NewSet(s.Attributes...)
	for _, kv := range set.ToSlice() {
		parts = append(parts, string(kv.Key)+"="+kv.Value.String())
	}
	if s.Status.Description != "" {
		parts = append(parts, s.Status.Code.String()+": "+s.Status.Description)
	}
	return strings.Join(parts, " ")
}

func TestSpans(t *testing.T) {
	t.Parallel()
	exporter := tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(sdk.WithSyncer(exporter))
	e := newEndpoint(t)
	caller := newCaller()
	r := &Runner{Caller: caller, Providers: e.providers(nil), Tracer: provider}
	succeed(t, r.Run(t.Context(), Job{Kind: AgentJob, ID: "writer", Session: "s1", Program: compiled(t, `
- {stepId: ask, type: prompt, config: {prompt: secret words}}
- {stepId: each, type: loop, config: {items: [1], steps: [{stepId: note, type: tool, config: {tool: echo}}]}}
`)}))
	r.Run(t.Context(), Job{Kind: WorkflowJob, ID: "w", Program: compiled(t, `[{stepId: x, type: tool, config: {tool: none}}]`)})
	spans := exporter.GetSpans()
	var got []string
	for _, s := range spans {
		if s.InstrumentationScope.Name != scopeName {
			t.Errorf("the scope is %s", s.InstrumentationScope.Name)
		}
		got = append(got, described(spans, s))
	}
	want := []string{
		"chat m in step ask gen_ai.operation.name=chat gen_ai.provider.name=openai gen_ai.request.model=m gen_ai.response.model=m-2026 " +
			"gen_ai.usage.input_tokens=7 gen_ai.usage.output_tokens=1 toolfold.provider=api",
		"step ask in invoke_agent writer toolfold.step.id=ask toolfold.step.type=prompt",
		"execute_tool echo in step each gen_ai.operation.name=execute_tool gen_ai.tool.name=echo toolfold.step.id=note toolfold.step.type=tool",
		"step each in invoke_agent writer toolfold.step.id=each toolfold.step.type=loop",
		"invoke_agent writer in - gen_ai.agent.id=writer gen_ai.agent.name=writer gen_ai.conversation.id=s1 gen_ai.operation.name=invoke_agent",
		"execute_tool none in invoke_workflow w error.type=TOOL_NOT_FOUND gen_ai.operation.name=execute_tool gen_ai.tool.name=none " +
			"toolfold.step.id=x toolfold.step.type=tool " +
			`Error: there is no tool "none"`,
		`invoke_workflow w in - error.type=TOOL_NOT_FOUND gen_ai.operation.name=invoke_workflow gen_ai.workflow.name=w ` +
			`Error: there is no tool "none"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkToolStep(b *testing.B) {
	caller := &fakeCaller{tools: newCaller().tools}
	r := &Runner{Caller: caller}
	job := Job{Kind: WorkflowJob, ID: "w", Program: compiled(b,
		`[{stepId: a, type: tool, config: {tool: echo, arguments: {n: "{{ 1 + 1 }}"}}}]`)}
	for b.Loop() {
		if result := r.Run(context.Background(), job); result.Failure != nil {
			b.Fatal(result.Failure)
		}
		caller.calls = caller.calls[:0]
	}
}

func BenchmarkCompile(b *testing.B) {
	list := steps(b, `
- {stepId: a, type: tool, config: {tool: memory.list, arguments: {prefix: "{{ input.p }}"}}}
- {stepId: b, type: conditional, config: {condition: "len(steps.a.keys) > 3", then: [
    {stepId: c, type: prompt, config: {prompt: "{{ steps.a }}"}}]}}
`)
	for b.Loop() {
		if _, faults := Compile(Definition{Steps: list}, nil); faults != nil {
			b.Fatal(faults)
		}
	}
}
