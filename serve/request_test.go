package serve

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// outbox is an outlet that collects its messages.
type outbox struct{ events, answers []string }

func (o *outbox) event(message []byte) { o.events = append(o.events, string(message)) }

func (o *outbox) answer(message []byte, _ int) { o.answers = append(o.answers, string(message)) }

// A message of several lines is never written. If it is an answer, the request is answered with an
// error, which is logged. Invalid UTF-8 is replaced.
func TestOnlyWholeLinesAreWritten(t *testing.T) {
	t.Parallel()
	for why, test := range map[string]struct {
		message, written string // empty = an error, or no event
	}{
		"one line":        {`{"id":7}`, `{"id":7}`},
		"a line break":    {"{\"id\":7,\"a\":\n{}}", ""},
		"carriage return": {"{\"id\":7,\"a\":\r{}}", ""},
		"not UTF-8":       {"{\"id\":7,\"a\":\"\xff\"}", "{\"id\":7,\"a\":\"\ufffd\"}"},
	} {
		var log bytes.Buffer
		out := &outbox{}
		call := readMessage([]byte(`{"id":7,"method":"tools/call","params":{"name":"do"}}`))
		r := &request{message: call, out: out, log: slog.New(slog.NewTextHandler(&log, nil))}
		if sent := r.send([]byte(test.message)); sent != (test.written != "") || strings.Join(out.events, "") != test.written {
			t.Errorf("%s: the event is %q", why, out.events)
		}
		r.end([]byte(test.message), 200)
		switch answer := strings.Join(out.answers, ""); {
		case test.written != "" && answer != test.written:
			t.Errorf("%s: the answer is %q", why, answer)
		case test.written == "" && !(strings.HasPrefix(answer, `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,`) && json.Valid([]byte(answer))):
			t.Errorf("%s: the answer is %q", why, answer)
		}
		if logged := strings.Contains(log.String(), "method=tools/call name=do"); logged != (test.written == "") {
			t.Errorf("%s: the log says %s", why, log.String())
		}
	}
}

// A notification that cannot be encoded ends neither its call nor the process.
func TestNotificationThatIsNoJSON(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	out := &outbox{}
	r := &request{message: readMessage([]byte(`{"id":7,"method":"tools/call"}`)), out: out, log: slog.New(slog.NewTextHandler(&log, nil))}
	r.notify("notifications/progress", ordered.Map{{Key: "progress", Value: math.NaN()}})
	r.notify(string(mcp.MethodNotificationMessage), json.RawMessage(`{"data":`))
	if out.events != nil || strings.Count(log.String(), "a notification is not sent") != 2 {
		t.Errorf("%q, %s", out.events, log.String())
	}
}

// Members of results are separated by exactly one comma.
func TestTerms(t *testing.T) {
	t.Parallel()
	for _, marks := range []admission{
		{}, {meta: []byte(`"a":1`)}, {rest: []byte(`"b":2,"c":3`)}, {meta: []byte(`"a":1`), rest: []byte(`"b":2`)},
	} {
		for _, members := range []string{``, `"d":4`, `"d":"{"`} {
			for _, meta := range []string{``, `"e":5`} {
				text := string(marks.append([]byte(`{"result":{`+members), []byte(meta)))
				if !json.Valid([]byte(text)) {
					t.Errorf("%+v after %s with %s is %s", marks, members, meta, text)
				}
			}
		}
	}
}
