package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/provider"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// defaultTurns is the limit of answers of a model with tools, unless the step
// sets maxTurns.
const defaultTurns = 8

// promptAction asks a model, which may call tools before it answers. Its
// output is the answer's text, or the object of a shape.
type promptAction struct {
	prompt          text
	system          *text // nil = the job's
	provider, model string
	maxTokens       int          // zero = the provider's
	tools           []string     // patterns of actions that the model may call; nil = no action
	maxTurns        int          // most answers, calls included
	answer          *answerShape // nil = any text
}

func (a promptAction) run(ctx context.Context, f *frame) (any, error) {
	prompt, err := a.render(ctx, f)
	if err != nil {
		return nil, err
	}
	offered, err := f.run.offer(ctx, a.tools)
	if err != nil {
		return nil, err
	}
	for _, o := range offered {
		prompt.Tools = append(prompt.Tools, o.Offer)
	}
	p, err := f.run.Providers.pick(ctx, a.provider)
	if err != nil {
		return nil, err
	}
	isRetry, calls := false, 0
	for {
		prompt.Final = len(prompt.Turns)+1 >= a.maxTurns || isRetry
		done, err := f.run.ask(ctx, p, prompt)
		if err != nil {
			return nil, err
		}
		if len(done.Calls) > 0 {
			if prompt.Final || len(offered) == 0 {
				return nil, failf(StepFailed, "provider %q: the model called tools when it had to answer, after %d turns", p.name, len(prompt.Turns)).
					hint("raise maxTurns of the step, or ask for less")
			}
			turn := callctx.Turn{Text: done.Text}
			for _, c := range done.Calls {
				calls++
				used, err := f.call(ctx, offered, c, calls)
				if err != nil {
					return nil, err
				}
				turn.Calls = append(turn.Calls, used)
			}
			prompt.Turns = append(prompt.Turns, turn)
			continue
		}
		if a.answer == nil {
			return done.Text, nil
		}
		value, wrong, err := a.answer.read(ctx, done.Text)
		switch {
		case err != nil:
			return nil, err
		case wrong == "":
			return value, nil
		case isRetry:
			return nil, failf(StepFailed, "provider %q: the answer does not satisfy outputSchema: %s", p.name, short(wrong)).
				hint("make outputSchema simpler, write a clearer prompt, or take another model")
		}
		isRetry = true
		prompt.Turns = append(prompt.Turns, callctx.Turn{Text: done.Text, Reply: a.answer.mend(wrong)})
	}
}

// ask sends a prompt and charges for the answer.
func (r *run) ask(ctx context.Context, p namedProvider, prompt callctx.Prompt) (callctx.Completion, error) {
	ctx, end := r.startChat(ctx, p, prompt)
	done, err := p.complete(ctx, prompt)
	end(done, err)
	if err != nil {
		return callctx.Completion{}, err
	}
	if tooMuch := r.chargeOutput(len(done.Text)); tooMuch != nil {
		return callctx.Completion{}, tooMuch
	}
	return done, nil
}

func (a promptAction) render(ctx context.Context, f *frame) (callctx.Prompt, error) {
	filled, err := a.prompt.fill(ctx, f)
	if err != nil {
		return callctx.Prompt{}, expressionFailure("prompt", err)
	}
	own := f.run.system
	if a.system != nil {
		own = *a.system
	}
	system, err := own.fill(ctx, f)
	if err != nil {
		return callctx.Prompt{}, expressionFailure("system prompt", err)
	}
	if f.run.job.Inject != nil {
		more, err := f.run.job.Inject(ctx, filled)
		if err != nil {
			return callctx.Prompt{}, err
		}
		system = strings.TrimSpace(system + "\n\n" + more)
	}
	prompt := callctx.Prompt{Text: filled, System: system, Model: a.model, MaxTokens: a.maxTokens}
	if a.answer != nil {
		prompt.Schema = a.answer.schema.Text
	}
	return prompt, nil
}

// namedAction is an action under its name in a prompt.
type namedAction struct {
	callctx.Offer
	action *toolfold.Action
}

// longestName is the limit of providers for a function's name, in characters.
const longestName = 64

// offer lists the actions that patterns match and the caller may run.
func (r *run) offer(ctx context.Context, patterns []string) ([]namedAction, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	rights := toolfold.OriginOf(ctx).Rights
	var list []namedAction
	for _, a := range offerable(r.Names) {
		if !rights.Allow(a) || !slices.ContainsFunc(patterns, a.AllowedBy) {
			continue
		}
		name := strings.ReplaceAll(a.FullName(), ".", "_")
		name = name[max(0, len(name)-longestName):]
		if slices.ContainsFunc(list, func(o namedAction) bool { return o.Name == name }) {
			return nil, fatal(ToolConfigError, "two of the tools are called %s", name).hint("name one of them only in tools")
		}
		list = append(list, namedAction{callctx.Offer{
			Name: name, Description: strings.TrimSpace(a.Summary + " " + a.Doc),
			Schema: entry.New(a, a.FullName()).InputSchema(),
		}, a})
	}
	switch {
	case len(list) == 0:
		return nil, fatal(ToolNotFound, "nothing that may be called here matches tools %s", short(strings.Join(patterns, ", "))).
			hint("tools.list shows the permitted actions")
	case len(list) > MaxOffers:
		return nil, fatal(ToolConfigError, "tools match %d actions, more than %d", len(list), MaxOffers).
			hint("name those that the model needs: each costs tokens in every turn")
	}
	return list, nil
}

// offerable lists the actions that a model may be offered. Discovery actions are
// left out: they call actions by name, which the patterns of a step could not
// limit. The list is empty for nil names.
func offerable(names Names) []*toolfold.Action {
	if names == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(names.Actions()), func(a *toolfold.Action) bool { return a.Family.Category == callctx.Discovery })
}

// call runs the nth call of a prompt's model as a step of the run. Errors of the
// action go to the model, which can repair the call; an error of call ends the prompt.
func (f *frame) call(ctx context.Context, list []namedAction, c callctx.UsedOffer, nth int) (callctx.UsedOffer, error) {
	if f.run.steps.Add(1) > maxExecutions {
		return c, over("the run took %d steps, which is the most", maxExecutions)
	}
	if strings.TrimSpace(string(c.Arguments)) == "" {
		c.Arguments = json.RawMessage(`{}`)
	}
	at := slices.IndexFunc(list, func(o namedAction) bool { return o.Name == c.Name })
	result := StepResult{StepID: fmt.Sprintf("%s/%d", f.step, nth), Tool: shorten.Quoted(c.Name)}
	if at >= 0 {
		result.Tool = list[at].action.FullName()
	}
	start := f.run.now()
	ctx, end := f.run.startCall(ctx, result)
	var answer toolfold.Answer
	if at >= 0 {
		if list[at].action.Effect != toolfold.Reads {
			if err := f.begin(ctx); err != nil {
				return c, err
			}
		}
		answer = cmp.Or(f.run.Bounded, f.run.Caller).Call(withoutJournal(f.progress.forCall(ctx)), result.Tool, c.Arguments)
	} else {
		var names []string
		for _, o := range list {
			names = append(names, o.Name)
		}
		answer = entry.Unknown(c.Name).WithHint("there are %s", short(strings.Join(names, ", "))).Answer()
	}
	if answer.Err != nil {
		result.Error = toolFailure(result.Tool, answer.Err)
		result.Error.StepID = result.StepID
	}
	end(result.Error)
	result.Success, result.DurationMs = answer.Err == nil, f.run.now().Sub(start).Milliseconds()
	f.run.mu.Lock()
	f.run.calls = append(f.run.calls, result)
	f.run.mu.Unlock()
	if err := context.Cause(ctx); err != nil {
		return c, err
	}
	if tooMuch := f.run.chargeOutput(len(answer.Content)); tooMuch != nil {
		return c, tooMuch
	}
	c.Result, c.Failed = answer.Content, answer.Err != nil
	return c, nil
}

// Trial is the answer of a provider to a question for one word.
type Trial struct {
	Provider, Model, Answer string
	Duration                time.Duration
	Failure                 *Failure // nil for success
}

// Try asks a provider, or the default one where name is empty, for one word.
func (ps *Providers) Try(ctx context.Context, name string) Trial {
	trial := Trial{Provider: name}
	p, err := ps.pick(ctx, name)
	if err == nil {
		trial.Provider = p.name
		limited, cancel := context.WithTimeoutCause(ctx, defaultTimeout, errTimeout)
		defer cancel()
		start := time.Now()
		var done callctx.Completion
		done, err = p.complete(limited, callctx.Prompt{Text: "Answer with the one word: ready"})
		trial.Duration, trial.Model, trial.Answer = time.Since(start), done.Model, strings.TrimSpace(done.Text)
		ctx = limited
	}
	if err != nil {
		trial.Failure, trial.Answer = asFailure(ctx, err), ""
	}
	return trial
}

// promptUse is a prompt of a definition, as far as it can be checked against the
// providers that are set.
type promptUse struct {
	step, at string // at is the JSON pointer of its config
	provider string // empty = the default one
	calls    bool   // its model may call tools
}

// Check returns the prompts that their provider cannot answer, and warnings
// about providers that do not exist: those can still be set before a run.
// Settings that cannot be read are not checked.
func (ps *Providers) Check(p *Program) (faults Faults, warnings []string) {
	s, err := ps.read()
	if err != nil {
		return nil, nil
	}
	for _, a := range p.asks {
		name := cmp.Or(a.provider, s.Usual())
		config, known := s.Providers[name]
		switch {
		case known && config.Type == provider.Command && a.calls:
			faults = append(faults, Fault{Step: a.step, Problem: toolfold.Problem{
				Path: a.at + "/tools", Kind: toolfold.ProblemFormat,
				Want: fmt.Sprintf("list for a provider of type %s or %s; %q is a command, and %s", provider.OpenAI, provider.Sampling, name, noCalls),
			}})
		case !known && a.provider != "":
			warning := fmt.Sprintf("no provider is called %q%s", shorten.Quoted(a.provider), suggestion(suggest.Nearest(a.provider, s.Names())))
			if !slices.Contains(warnings, warning) {
				warnings = append(warnings, warning)
			}
		}
	}
	return faults, warnings
}
