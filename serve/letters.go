package serve

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Letters passes messages between the servers that share sessions. A server is named by an id that it makes at its
// start. All methods are safe for concurrent use.
type Letters interface {
	// Attend marks a server as attending: it receives letters for the next ten seconds. It returns the peers that do
	// not attend.
	Attend(ctx context.Context, server string, peers []string) (gone []string, err error)

	// Leave ends the attendance of a server.
	Leave(ctx context.Context, server string) error

	// Send stores a letter to a server. While the server has one with the same id, the new one is dropped. Letters
	// that the server does not receive within a minute may be removed.
	Send(ctx context.Context, server string, letter Letter) error

	// Receive removes the letters to a server with the ids in done, and returns some of the other ones, in the order
	// in which they were sent.
	Receive(ctx context.Context, server string, done []string) ([]Letter, error)
}

// Letter is a message of one server to another.
type Letter struct {
	ID      string
	Message []byte // JSON
}

const (
	lettersSoon     = 20 * time.Millisecond  // between two looks for letters, right after one came
	lettersEach     = 250 * time.Millisecond // when none comes
	attendEach      = time.Second            // between two marks of attendance
	attended        = 12 * time.Second       // after a mark, other servers do not send letters any more
	maxPassedAnswer = 64 << 20               // bytes
)

// letters passes retries of calls of 2026-07-28 to the servers on which the calls wait, and their notifications and
// outcome back. It looks for letters only while a call waits here or a retry is passed, and a little longer, so that a
// retry that comes too late is refused at once.
type letters struct {
	store Letters
	calls *pendingCalls // of this server
	log   *slog.Logger
	drain atomic.Pointer[drain] // waits for the retries that are answered here; may be nil

	// silence is the time without the store until exchanges end, and without a letter until the other server is asked.
	silence time.Duration

	life context.Context // done when the server has stopped
	end  context.CancelFunc

	mu      sync.Mutex
	open    map[string]*exchange // by id
	marked  time.Time            // when this server was last marked as attending
	running bool                 // run runs
	hurry   chan struct{}        // capacity 1; a letter is expected
}

// exchange is a retry that reached another server than its call waits at. Both servers have one.
type exchange struct {
	peer   string // the other server
	cancel context.CancelCauseFunc

	// Of the server that received the retry; nil at the server of the call.
	events  chan json.RawMessage // notifications to the client
	outcome chan *outcome        // capacity 1

	// Of the goroutine of run.
	heard time.Time // when the other server sent the last letter, or was asked
	gone  bool      // the other server did not attend at the last look
}

// Errors of retries.
var (
	errCallEnded = &protocolError{code: mcp.INVALID_PARAMS,
		message: "the call of this requestState has ended, or was continued already: " +
			"look whether it was done, then call again without requestState"}
	errServerEnded = &protocolError{code: mcp.INVALID_PARAMS,
		message: "the call of this requestState has ended, or its server process has: " +
			"look whether it was done, then call again without requestState"}
	errCallLost = &protocolError{code: mcp.INTERNAL_ERROR, message: "the server process of this call has ended or cannot be reached: " +
		"look whether the call was done, then call again without requestState"}
	errNotPassed = &protocolError{code: mcp.INTERNAL_ERROR,
		message: "this call waits in another server process, which cannot be reached now: send the request again in a moment"}
)

func newLetters(store SharedSessions, calls *pendingCalls, log *slog.Logger) *letters {
	if store == nil {
		return nil
	}
	l := &letters{store: store, calls: calls, log: log, open: map[string]*exchange{}, hurry: make(chan struct{}, 1),
		silence: usualPatience.silence}
	l.life, l.end = context.WithCancel(context.Background())
	return l
}

// leave ends the attendance of this server, for good.
func (l *letters) leave() {
	l.end()
	l.mu.Lock()
	marked := l.marked
	l.mu.Unlock()
	if marked.IsZero() {
		return
	}
	ctx, done := context.WithTimeout(context.Background(), cancelTime)
	defer done()
	if err := l.store.Leave(ctx, l.calls.process); err != nil {
		l.log.Warn("other servers wait for this one for some seconds", "err", err)
	}
}

// attend begins to receive letters, and returns the peers that do not.
func (l *letters) attend(ctx context.Context, peers ...string) (gone []string, err error) {
	l.mu.Lock()
	if err := l.life.Err(); err != nil {
		l.mu.Unlock()
		return nil, err
	}
	if l.marked = time.Now(); !l.running {
		l.running = true
		go l.run()
	}
	l.mu.Unlock()
	ctx, done := context.WithTimeout(ctx, sharedWithin)
	defer done()
	return l.store.Attend(ctx, l.calls.process, peers)
}

// needed reports whether this server has to attend.
func (l *letters) needed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open) > 0 || l.calls.some()
}

// expects reports whether letters may come. If not, run has to end.
func (l *letters) expects() bool {
	needed := l.needed()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = needed || time.Since(l.marked) < attended
	return l.running
}

// run receives letters while they are needed.
func (l *letters) run() {
	var done []string // ids of letters that the store can remove
	pause, looked, answered, warned := lettersSoon, time.Now(), time.Now(), false
	for len(done) > 0 || l.expects() {
		select {
		case <-l.life.Done():
			return
		case <-l.hurry:
			pause = lettersSoon
		case <-time.After(pause):
			pause = min(2*pause, lettersEach)
		}
		received, err := l.receive(done)
		if err == nil {
			if done = received; len(done) > 0 {
				pause = lettersSoon
			}
			if l.needed() && time.Since(looked) >= attendEach {
				looked, err = time.Now(), l.look()
			}
		}
		if err == nil {
			answered, warned = time.Now(), false
			continue
		}
		pause = attendEach
		if !warned && l.life.Err() == nil {
			l.log.Warn("calls that wait here cannot be continued from other servers: the store does not answer", "err", err)
			warned = true
		}
		if time.Since(answered) > l.silence {
			l.each(func(_ string, x *exchange) { x.cancel(errCallLost) })
		}
	}
}

// receive removes the letters that are done, handles other ones, and returns their ids.
func (l *letters) receive(done []string) (received []string, err error) {
	ctx, end := context.WithTimeout(l.life, 2*sharedWithin) // for long letters
	defer end()
	list, err := l.store.Receive(ctx, l.calls.process, done)
	if err != nil {
		return nil, err
	}
	received = make([]string, len(list))
	for i, letter := range list {
		received[i] = letter.ID
	}
	for _, letter := range list {
		var m passed
		if err := json.Unmarshal(letter.Message, &m); err != nil {
			l.log.Error("a letter of another server cannot be read", "err", err)
			continue
		}
		if cancelled := slices.Contains(received, m.letterID(nameStop)); m.Retry == nil || !cancelled {
			l.handle(m)
		}
	}
	return received, nil
}

func (l *letters) handle(m passed) {
	l.mu.Lock()
	x := l.open[m.Exchange]
	l.mu.Unlock()
	if x != nil {
		x.heard = time.Now()
	}
	switch {
	case x == nil && m.Retry != nil:
		l.begin(m)
	case x == nil && m.Check:
		go l.report(m, outcome{Lost: true})
	case x == nil, m.Retry != nil, m.Check: // over, or running
	case m.Cancel:
		x.cancel(nil)
	case m.Event != nil:
		select {
		case x.events <- m.Event:
		default: // its client does not read
		}
	case m.Outcome != nil:
		select {
		case x.outcome <- m.Outcome:
		default: // sent twice
		}
	}
}

// look marks this server as attending, ends exchanges with servers that do not attend, and asks silent ones. A server
// that misses one look may have sent its last letter since.
func (l *letters) look() error {
	peers := map[string]bool{} // whether they have gone
	l.each(func(_ string, x *exchange) { peers[x.peer] = false })
	list := make([]string, 0, len(peers))
	for id := range peers {
		list = append(list, id)
	}
	gone, err := l.attend(l.life, list...)
	if err != nil {
		return err
	}
	for _, id := range gone {
		peers[id] = true
	}
	l.each(func(id string, x *exchange) {
		if x.gone && peers[x.peer] {
			x.cancel(errCallLost)
		}
		x.gone = peers[x.peer]
		if x.outcome != nil && time.Since(x.heard) > l.silence {
			x.heard = time.Now()
			go func() { _ = l.send(l.life, x.peer, nameCheck, passed{Exchange: id, Check: true}) }()
		}
	})
	return nil
}

// each calls do for the open exchanges.
func (l *letters) each(do func(id string, x *exchange)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, x := range l.open {
		do(id, x)
	}
}

// enter opens an exchange; leave ends it.
func (l *letters) enter(id string, x *exchange) (leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x.heard = time.Now()
	l.open[id] = x
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		x.cancel(nil)
		delete(l.open, id)
	}
}

// send sends a letter. name differs between the letters of an exchange to a server.
func (l *letters) send(ctx context.Context, to, name string, m passed) error {
	m.From = l.calls.process
	text, err := ordered.JSON(m)
	if err != nil {
		return fmt.Errorf("encoding a letter: %w", err)
	}
	ctx, done := context.WithTimeout(ctx, sharedWithin+time.Duration(len(text)>>20)*time.Second) // a long one takes long to store
	defer done()
	return l.store.Send(ctx, to, Letter{ID: m.letterID(name), Message: text})
}

// processOf returns the server that made a state, see [pendingCalls.process].
func processOf(state string) (id string, ok bool) {
	id, call, _ := strings.Cut(state, "-")
	_, err := hex.DecodeString(id)
	return id + "-", err == nil && len(id) == processDigits && uuid.Validate(call) == nil
}

// pass sends the retry of a call to the server on which it waits, and returns the result.
func (l *letters) pass(
	ctx context.Context, r *request, key string, responses map[string]json.RawMessage,
) (answer toolfold.Answer, asks *ordered.Map, failed *protocolError) {
	state := textOfJSON(r.params.state)
	owner, ok := processOf(state)
	if !ok {
		return answer, nil, errServerEnded
	}
	ctx, cancel := context.WithCancelCause(ctx)
	x := &exchange{peer: owner, cancel: cancel, events: make(chan json.RawMessage, maxPending), outcome: make(chan *outcome, 1)}
	id := uuid.NewString()
	defer l.enter(id, x)()
	gone, err := l.attend(ctx, owner)
	switch {
	case ctx.Err() != nil: // await reports it
	case err != nil:
		l.log.Warn("the retry of a call is not passed to the server on which the call waits", "err", err)
		return answer, nil, errNotPassed
	case len(gone) > 0:
		return answer, nil, errServerEnded
	}
	letter := passed{Exchange: id, Retry: &retry{
		State: state, Key: key, Responses: responses, Method: r.method, Tool: r.about(), ProgressToken: r.meta.progressToken,
		Info: *r.admission.info, Caller: r.caller.name, Host: r.clientHost,
	}}
	if err = l.send(ctx, owner, nameRetry, letter); err != nil { // it may be stored all the same; sent twice, it counts once
		err = l.send(ctx, owner, nameRetry, letter)
	}
	if err != nil && ctx.Err() == nil {
		l.log.Warn("it is not known whether the retry of a call reached the server on which the call waits", "err", err)
		return answer, nil, errCallLost
	}
	select {
	case l.hurry <- struct{}{}:
	default:
	}
	return l.await(ctx, r, id, x)
}

// await passes the notifications of a call to its client until the outcome comes.
func (l *letters) await(
	ctx context.Context, r *request, id string, x *exchange,
) (answer toolfold.Answer, asks *ordered.Map, failed *protocolError) {
	for {
		select {
		case event := <-x.events:
			r.send(event)
		case result := <-x.outcome:
			for len(x.events) > 0 {
				r.send(<-x.events)
			}
			return result.read()
		case <-ctx.Done():
			_ = l.send(context.WithoutCancel(ctx), x.peer, nameStop, passed{Exchange: id, Cancel: true})
			if errors.Is(context.Cause(ctx), errCallLost) {
				return answer, nil, errCallLost
			}
			return toolfold.Errorf(toolfold.Cancelled, "the call was cancelled").Answer(), nil, nil
		}
	}
}

// begin answers a retry that reached another server.
func (l *letters) begin(m passed) {
	ctx, cancel := context.WithCancelCause(l.life)
	leave := l.enter(m.Exchange, &exchange{peer: m.From, cancel: cancel})
	go func() {
		defer leave()
		p := l.calls.leave(m.Retry.State, m.Retry.Key)
		if p == nil {
			l.report(m, outcome{})
			return
		}
		r := m.Retry.request(l, m)
		r.cancel = cancel
		if d := l.drain.Load(); d != nil {
			defer d.enter(r)()
		}
		p.goOn(r)
		p.take(m.Retry.Responses)
		answer, asks := p.wait(ctx)
		r.end(nil, 0)
		if bytes := len(answer.Content) + len(answer.Reply); bytes > maxPassedAnswer {
			answer = toolfold.Errorf(toolfold.LimitReached, "the call was done, but its answer is too long to pass between servers "+
				"(%d bytes, the limit is %d)", bytes, maxPassedAnswer).Answer()
		}
		l.report(m, outcomeOf(answer, asks))
	}()
}

// report sends the outcome of a retry to the server that received it.
func (l *letters) report(m passed, result outcome) {
	for began := time.Now(); ; {
		err := l.send(l.life, m.From, nameOutcome, passed{Exchange: m.Exchange, Outcome: &result})
		if err == nil || l.life.Err() != nil {
			return
		}
		if time.Since(began) > l.silence { // the other server asks for it, and then reports that it is lost
			l.log.Error("the outcome of a call does not reach the server of its client", "err", err)
			return
		}
		select {
		case <-l.life.Done():
		case <-time.After(attendEach):
		}
	}
}
