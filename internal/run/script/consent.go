package script

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/ask"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// The calls that wait for the consent of the user, see [Runner.Consent].
const (
	Never       = "never"
	Destructive = "destructive" // actions that may destroy something, by their hints
	Writes      = "writes"      // actions that do more than read
)

// The answers of the user to calls that wait.
const (
	These = "these calls"
	All   = "all calls of these tools in this run"
	Stop  = "stop the run"
)

// stricter returns the one of two values of [Runner.Consent] for which more calls wait.
func stricter(a, b string) string {
	order := []string{Never, Destructive, Writes}
	return order[max(slices.Index(order, a), slices.Index(order, b), 0)]
}

// consent is the answer of the user to a call that waits. Its record is replaced by that of the call.
type consent struct {
	Call   string `json:"call"`   // digest of the action and the arguments
	Answer string `json:"answer"` // see [These]
}

// consentAnswer is the end of a question about calls.
type consentAnswer struct {
	calls  []*call
	answer string
	err    error
}

// consentMark is the member of a path below a call. No step has it: a tilde in an id is escaped.
const consentMark = "/~consent"

// ConsentPath returns the path of the consent to a call in the journal of a run.
func ConsentPath(call int) string { return Path(call) + consentMark }

// Consented returns the record of an answer to a call that waits.
func Consented(u Unknown, answer string) json.RawMessage {
	return ordered.MustJSON(consent{Call: u.Waits, Answer: answer})
}

// grantPath returns the path of the consent to all calls of an action in this run.
func (r *run) grantPath(action string) string { return jsonx.Pointer(r.pathOf(0)+consentMark, action) }

// digest identifies the action and the arguments of a call.
func (c *call) digest() string { return digestOf([]byte(c.Name + "\n" + string(c.Args))) }

// needsConsent reports whether a call waits for the user by the setting. A call with a stated outcome is not made.
func (r *run) needsConsent(c *call) bool {
	if r.consent == Never || c.record != nil || c.reads || r.job.ReadsOnly {
		return false
	}
	return r.consent == Writes || !r.all(c.Name, func(h toolfold.Hints) bool { return !h.Destructive })
}

// answerTo returns the answer of the user to a call, empty if there is none for this action with these arguments. It
// records consent to all calls of the action with the next records.
func (r *run) answerTo(c *call) string {
	if !r.granted[c.Name] {
		record, _ := r.journal.Lookup(r.grantPath(c.Name))
		r.granted[c.Name] = record != nil
	}
	if r.granted[c.Name] {
		return These
	}
	var given consent
	record, _ := r.journal.Lookup(r.pathOf(c.Seq) + consentMark)
	if json.Unmarshal(record, &given) != nil || given.Call != c.digest() {
		return ""
	}
	if given.Answer == All {
		r.granted[c.Name] = true
		r.mu.Lock()
		defer r.mu.Unlock()
		r.unsaved = append(r.unsaved, engine.StepEnd{Path: r.grantPath(c.Name), Record: ordered.MustJSON(All)})
	}
	return given.Answer
}

// hold takes the calls that wait for the user from the queue, and asks about all of them that no question is about.
func (r *run) hold(ctx context.Context) error {
	all := append(r.held, r.queue...)
	r.held, r.queue = nil, nil
	for _, c := range all {
		if !r.needsConsent(c) {
			r.queue = append(r.queue, c)
			continue
		}
		switch r.answerTo(c) {
		case Stop:
			return fail(ask.Declined, "the user stopped the run at call %d, %s", c.Seq, c.Name).
				hint("do not run it again unless the user asks for it")
		case These, All:
			r.queue = append(r.queue, c)
		default:
			r.held = append(r.held, c)
		}
	}
	if len(r.held) == 0 || r.asking {
		return nil
	}
	return r.askAbout(ctx, slices.Clone(r.held))
}

// askAbout asks the user about calls. Before, the journal has the answers that they depend on.
func (r *run) askAbout(ctx context.Context, calls []*call) error {
	if err := r.save(ctx); err != nil {
		return err
	}
	var paths []string
	for _, c := range calls {
		paths = append(paths, r.pathOf(c.Seq)+consentMark)
	}
	if err := r.journal.Begin(ctx, paths...); err != nil {
		return err
	}
	r.asking = true
	go func() {
		answer, err := AskConsent(r.reading, waiting(calls))
		r.verdicts <- consentAnswer{calls, answer, err}
	}()
	return nil
}

// consented records the answer of the user. Without an answer the run ends.
func (r *run) consented(ctx context.Context, v consentAnswer) error {
	r.asking = false
	if v.err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if v.err != nil {
		for _, c := range r.held {
			c.waits = true
		}
		return errUnknown
	}
	var ends []engine.StepEnd
	for _, c := range v.calls {
		record := ordered.MustJSON(consent{Call: c.digest(), Answer: v.answer})
		ends = append(ends, engine.StepEnd{Path: r.pathOf(c.Seq) + consentMark, Record: record})
	}
	return r.journal.Finish(ctx, ends...)
}

// waiting lists calls that wait for the user.
func waiting(calls []*call) (list []Unknown) {
	for _, c := range calls {
		list = append(list, Unknown{Call: c.Seq, Action: c.Name, Arguments: shortened(c.Args, maxArguments), Waits: c.digest()})
	}
	return list
}

// AskConsent asks the user about calls that wait, in one form, and returns one of the answers from [These] on. An
// error means that there is no answer.
func AskConsent(ctx context.Context, calls []Unknown) (answer string, err error) {
	schema := ordered.MustJSON(map[string]any{
		"type": "object", "required": []string{"answer"},
		"properties": map[string]any{"answer": map[string]any{
			"type": "string", "title": "Answer", "enum": []string{These, All, Stop},
			"description": "For the calls with digest " + digestOfAll(calls),
		}},
	})
	filled, err := ask.User(ctx, ask.Form{Name: "consent", Text: consentQuestion(calls), Schema: schema})
	if err != nil {
		return "", err
	}
	if !filled.Accepted() {
		return Stop, nil
	}
	var content struct {
		Answer string `json:"answer"`
	}
	if err := json.Unmarshal(filled.Content, &content); err != nil {
		return "", fmt.Errorf("reading the user's answer: %w", err)
	}
	return content.Answer, nil
}

// digestOfAll identifies calls, whose arguments a question shortens: an answer is never taken for that to other calls.
func digestOfAll(calls []Unknown) string {
	var all strings.Builder
	for _, u := range calls {
		fmt.Fprintf(&all, "%d %s\n", u.Call, u.Waits)
	}
	return digestOf([]byte(all.String()))
}

// Limits of a question about calls.
const (
	maxShown       = 5   // calls of an action
	askedArguments = 120 // bytes of the arguments of a call, about
)

// consentQuestion returns the text of a question about calls, by action.
func consentQuestion(calls []Unknown) string {
	var actions []string
	shown, number := map[string][]string{}, map[string]int{}
	for _, u := range calls {
		if number[u.Action]++; number[u.Action] == 1 {
			actions = append(actions, u.Action)
		}
		if number[u.Action] <= maxShown {
			shown[u.Action] = append(shown[u.Action], string(shortened(u.Arguments, askedArguments)))
		}
	}
	text := fmt.Sprintf("A script wants to make %d calls that change something, from its call %d on:", len(calls), calls[0].Call)
	if len(calls) == 1 {
		text = fmt.Sprintf("A script wants to make a call that changes something, its call %d:", calls[0].Call)
	}
	for _, action := range actions {
		text += fmt.Sprintf("\n%s ×%d: %s", action, number[action], strings.Join(shown[action], ", "))
		if more := number[action] - len(shown[action]); more > 0 {
			text += fmt.Sprintf(", and %d more", more)
		}
	}
	return text
}

// withoutConsent returns the failure of a run with a call that waits for a user who could not be asked.
func (r *run) withoutConsent(c *call) *Failure {
	f := fail(engine.Interrupted, "call %d, %s, was not made: it waits for the user, and nobody could be asked", c.Seq, c.Name)
	if r.toAnswer(f, c); r.base != "" {
		f.hint("within a step nobody is asked: run the script by script.run, or change the setting scriptsConfirm")
	}
	return f
}
