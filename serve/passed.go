package serve

import (
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// passed is the content of a letter: one of its members beside Exchange and From is set.
type passed struct {
	Exchange, From string

	// To the server of the call.
	Retry  *retry `json:",omitempty"`
	Check  bool   `json:",omitempty"` // asks for an outcome if the exchange is unknown
	Cancel bool   `json:",omitempty"`

	// To the server that received the retry.
	Event   json.RawMessage `json:",omitempty"`
	Outcome *outcome        `json:",omitempty"`
}

// Names of the letters of an exchange. Of events there are many.
const (
	nameRetry   = "retry"
	nameCheck   = "check"
	nameStop    = "stop"
	nameOutcome = "outcome"
)

func (m passed) letterID(name string) string { return m.Exchange + " " + name }

// retry is a request that continues a call.
type retry struct {
	State, Key    string // see [pendingCalls.leave]
	Responses     map[string]json.RawMessage
	Method        mcp.MCPMethod
	Tool          string
	ProgressToken json.RawMessage `json:",omitempty"`
	Info          server.RequestProtocolInfo
	Caller, Host  string // for the log
}

// outcome is the result of a retry: an answer or questions. It is empty if no call waits under the state.
type outcome struct {
	Answer *passedAnswer   `json:",omitempty"`
	Asks   json.RawMessage `json:",omitempty"`
	Lost   bool            `json:",omitempty"` // the result is not known
}

// passedAnswer has the members of a [toolfold.Answer].
type passedAnswer struct {
	Content    json.RawMessage       `json:",omitempty"`
	Reply      json.RawMessage       `json:",omitempty"`
	Err        *passedError          `json:",omitempty"`
	Failed     bool                  `json:",omitempty"`
	Typed      bool                  `json:",omitempty"`
	TaskID     string                `json:",omitempty"`
	RestID     string                `json:",omitempty"`
	Deprecated *toolfold.Deprecation `json:",omitempty"`
}

// passedError has the members of a [toolfold.Error], also those that clients do not get.
type passedError struct {
	toolfold.Error
	Lacking   string
	Protocol  int64
	Uncertain bool
}

// read returns the result of a retry.
func (o *outcome) read() (answer toolfold.Answer, asks *ordered.Map, failed *protocolError) {
	switch {
	case o.Lost:
		return answer, nil, errCallLost
	case o.Asks != nil:
		members, _ := ordered.Read(o.Asks)
		return answer, &members, nil
	case o.Answer == nil:
		return answer, nil, errCallEnded
	}
	a := o.Answer
	answer = toolfold.Answer{Content: a.Content, Reply: a.Reply, Failed: a.Failed, Typed: a.Typed, TaskID: a.TaskID, RestID: a.RestID,
		Deprecated: a.Deprecated}
	if a.Err != nil {
		answer.Err = &a.Err.Error
		answer.Err.Lacking, answer.Err.Protocol, answer.Err.Uncertain = a.Err.Lacking, a.Err.Protocol, a.Err.Uncertain
	}
	return answer, nil, nil
}

// outcomeOf returns the outcome with an answer, or with questions if asks is not nil.
func outcomeOf(answer toolfold.Answer, asks *ordered.Map) outcome {
	if asks != nil {
		return outcome{Asks: ordered.MustJSON(asks)}
	}
	a := &passedAnswer{Content: answer.Content, Reply: answer.Reply, Failed: answer.Failed, Typed: answer.Typed, TaskID: answer.TaskID,
		RestID: answer.RestID, Deprecated: answer.Deprecated}
	if e := answer.Err; e != nil {
		a.Err = &passedError{*e, e.Lacking, e.Protocol, e.Uncertain}
	}
	return outcome{Answer: a}
}

// request returns the request of a retry, whose client is reached by letters.
func (t *retry) request(l *letters, m passed) *request {
	content := &message{method: t.Method, tool: t.Tool}
	content.meta.progressToken = t.ProgressToken
	return &request{
		message: content, caller: &caller{name: t.Caller}, clientHost: t.Host, log: l.log,
		admission: &admission{info: &t.Info}, out: &letterOutlet{letters: l, m: m},
	}
}

// letterOutlet sends notifications of a call to the server that received its newest request.
type letterOutlet struct {
	letters *letters
	m       passed
	count   int
	failed  bool // the store did not take one; the later ones are dropped
}

func (o *letterOutlet) event(message []byte) {
	if o.failed {
		return
	}
	o.count++
	err := o.letters.send(o.letters.life, o.m.From, fmt.Sprintf("event %09d", o.count),
		passed{Exchange: o.m.Exchange, Event: json.RawMessage(message)})
	if o.failed = err != nil; o.failed {
		o.letters.log.Warn("notifications of a call do not reach the server of its client", "err", err)
	}
}

func (o *letterOutlet) answer([]byte, int) {}
