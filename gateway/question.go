package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/call/turns"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/upstream"
)

// maxQuestions is how many questions, other than for roots, a server may ask in one call.
const maxQuestions = 20

// serverMeta is the _meta member that names the server in its requests to a model.
const serverMeta = "toolfold/server"

// openCall is a call that runs or waits. It may wait for an answer of its client, or for its turn to
// ask.
type openCall struct {
	link  *link
	ctx   context.Context         // ends with the call
	end   context.CancelCauseFunc // ends the call
	alive *time.Timer             // ends the call after too long a silence
	tool  string                  // empty for other requests

	work turns.Work // whose turn it is

	mu        sync.Mutex
	done      func() // ends its turn; nil while it has none
	waits     int    // number of current waits
	questions int    // questions so far
}

// run waits for the call's turn, unless the call is paused. It reports false if the call ended before.
func (c *openCall) run() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done != nil || c.waits > 0 {
		return true
	}
	c.done, _ = c.link.turns.Take(c.ctx, c.work)
	return c.done != nil
}

// stop ends the run of the call.
func (c *openCall) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave()
}

// leave ends the turn of the call. The caller holds the lock.
func (c *openCall) leave() {
	if c.done != nil {
		c.done()
		c.done = nil
	}
}

// pause begins a wait that is not the server's fault: it takes no turn and does not count as silence.
func (c *openCall) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits++
	c.alive.Stop()
	c.leave()
}

// resume ends a pause. It waits for a turn.
func (c *openCall) resume() {
	c.mu.Lock()
	c.waits--
	c.mu.Unlock()
	if c.ctx.Err() == nil && c.run() {
		c.beat()
	}
}

// beat restarts the time limit of the call, unless it is paused.
func (c *openCall) beat() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waits == 0 {
		c.alive.Reset(c.link.Timeout)
	}
}

// count counts a question, and reports false if there were too many.
func (c *openCall) count() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.questions++
	return c.questions <= maxQuestions
}

func (l *link) enter(c *openCall) (leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[*openCall]bool{}
	}
	l.open[c] = true
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, c)
	}
}

// ask answers a question that belongs to no call. This can only be a request for roots, which servers
// may make only if all calls are from one client.
func (l *link) ask(taken context.Context, q upstream.Question) (json.RawMessage, error) {
	if q.Method != upstream.Roots {
		return nil, errors.New("the server has no running call")
	}
	l.mu.Lock()
	var asker *openCall
	for c := range l.open {
		if client := callctx.ClientOf(c.ctx); asker == nil || client != nil && client.Offers(q.Method) {
			asker = c
		}
	}
	l.mu.Unlock()
	if asker == nil {
		return nil, errors.New("the server has no running call whose client could answer")
	}
	return l.askOf(taken, asker, q)
}

// askOf passes a question of the server to the client of a call. The call may take as long as its
// client, unless another call has to ask. withdrawn ends if the server takes the question back.
func (l *link) askOf(withdrawn context.Context, c *openCall, q upstream.Question) (json.RawMessage, error) {
	asks := q.Method != upstream.Roots
	if asks && c.tool != "" && !l.isAsking(c.tool) {
		l.gateway.work.Go(func() { l.noteQuestion(c.tool) })
	}
	client := callctx.ClientOf(c.ctx)
	switch offered := client != nil && client.Offers(q.Method); {
	case asks && !c.count():
		err := toolfold.Errorf(toolfold.UpstreamError, "%s: the server %s asked more than %d questions in this call; the call was cancelled",
			c.tool, l.Name, maxQuestions).WithHint("it may have been done: check before you call again; other tools work")
		c.end(err)
		return nil, err
	case !offered && asks && c.tool != "":
		return nil, fmt.Errorf("the client of this call does not support %s, or the call runs as a task without a client; "+
			"%s will not run as a task from now on", q.Method, c.tool)
	case !offered:
		return nil, fmt.Errorf("the client of this request does not support %s", q.Method)
	}
	question := callctx.Question{Key: q.Key, Method: q.Method}
	if len(q.Params) > 0 || asks { // clients do not accept null params
		params := q.Params
		if len(params) == 0 {
			params = json.RawMessage("{}")
		}
		params, err := l.forClients(q.Method, params)
		if err != nil {
			return nil, fmt.Errorf("the params of %s: %w", q.Method, err)
		}
		question.Params = l.sign(q.Method, params)
		if id := pageOf(q.Method, params); id != "" {
			l.pages.add(c.ctx, id)
		}
	}
	c.pause()
	defer c.resume()
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	defer context.AfterFunc(withdrawn, cancel)()
	go l.giveWay(ctx, c, client, q.Demand)
	return client.Ask(ctx, question)
}

// giveWay ends a call if its client is silent for QuestionTimeout while another call waits to ask.
func (l *link) giveWay(ctx context.Context, c *openCall, client callctx.Client, demand <-chan struct{}) {
	begun := time.Now()
	select {
	case <-demand:
	case <-ctx.Done():
		return
	}
	for {
		sign := client.Seen()
		if sign.Before(begun) {
			sign = begun
		}
		left := l.QuestionTimeout - time.Since(sign)
		if left <= 0 {
			c.end(toolfold.Errorf(toolfold.TimedOut, "%s: the call was cancelled: its client left a question of the server %s unanswered "+
				"and sent nothing for %s, and another call is waiting to ask", c.tool, l.Name, l.QuestionTimeout).
				WithHint("it may have been done: check, and call again when the user can answer"))
			return
		}
		select {
		case <-time.After(left):
		case <-ctx.Done():
			return
		}
	}
}

// sign adds the server's name to the params of a question. For a user it is at the beginning of the
// message, for a model in _meta.
func (l *link) sign(method string, params json.RawMessage) json.RawMessage {
	members, _ := ordered.Read(params)
	raw := func(name string) json.RawMessage {
		value, _ := members.Get(name)
		text, _ := value.(json.RawMessage)
		return text
	}
	switch method {
	case upstream.Elicit:
		message := l.Name + " asks"
		if text, _ := ordered.Text(raw("message")); text != "" {
			message += ": " + text
		}
		members.Set("message", message)
	case upstream.Sample:
		meta, _ := ordered.Read(raw("_meta"))
		meta.Set(serverMeta, l.Name)
		members.Set("_meta", meta)
	default:
		return params
	}
	return ordered.MustJSON(members)
}

// isAsking reports whether a tool has asked its client before.
func (l *link) isAsking(tool string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return tool != "" && slices.Contains(l.record.Asking, tool)
}

// noteQuestion stores that a tool asks its client. Its later calls do not become tasks, because tasks
// cannot ask.
func (l *link) noteQuestion(tool string) {
	switch added, err := l.addQuestion(tool); {
	case err != nil:
		l.gateway.options.Log.Warn("keeping that a tool asks its client", "upstream", l.Name, "tool", tool, "err", err)
	case added:
		l.gateway.tell()
	}
}

// addQuestion reports false if the tool is already known to ask.
func (l *link) addQuestion(tool string) (added bool, err error) {
	err = l.change(l.gateway.life, saves, func(k *record) error {
		if added = !slices.Contains(k.Asking, tool); added {
			k.Asking = append(slices.Clone(k.Asking), tool)
		}
		return nil
	})
	return added, err
}

// maxData limits the data of a refused call that a model gets, in bytes.
const maxData = 2000

// pagesOf lists the pages that the user must open before a call, as named in the server's error. The
// ids are those of the server's later notifications.
func pagesOf(refused *toolfold.Error) (urls, ids []string) {
	const required = -32042 // URLElicitationRequiredError
	var data struct {
		Elicitations []struct{ URL, ElicitationID string }
	}
	if refused.Protocol != required || json.Unmarshal(refused.Data, &data) != nil {
		return nil, nil
	}
	for _, e := range data.Elicitations {
		if at, err := url.Parse(e.URL); err == nil && at.Scheme != "" && len(e.URL) <= maxData {
			urls, ids = append(urls, at.String()), append(ids, e.ElicitationID)
		}
	}
	return urls, ids
}

// pageOf returns the id of the page that a question sends the user to; empty for other questions.
func pageOf(method string, params json.RawMessage) string {
	var p struct{ Mode, ElicitationID string }
	if method != upstream.Elicit || json.Unmarshal(params, &p) != nil || p.Mode != "url" {
		return ""
	}
	return p.ElicitationID
}

// maxPages is how many pages of a server are remembered. The oldest is forgotten first.
const maxPages = 1000

// pages maps the server's page ids to the clients that were sent there.
type pages struct {
	mu      sync.Mutex
	clients map[string]callctx.CompletedFunc
	ids     []string // the oldest first
}

// add records that the client of a call was sent to a page.
func (p *pages) add(ctx context.Context, id string) {
	client := callctx.Of[callctx.CompletedFunc](ctx)
	if id == "" || client == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.clients == nil {
		p.clients = map[string]callctx.CompletedFunc{}
	}
	if _, known := p.clients[id]; !known {
		if p.ids = append(p.ids, id); len(p.ids) > maxPages {
			delete(p.clients, p.ids[0])
			p.ids = slices.Delete(p.ids, 0, 1)
		}
	}
	p.clients[id] = client
}

// take removes and returns the client that was sent to a page; nil if there is no such client.
func (p *pages) take(id string) callctx.CompletedFunc {
	p.mu.Lock()
	defer p.mu.Unlock()
	client, known := p.clients[id]
	if known {
		delete(p.clients, id)
		p.ids = slices.DeleteFunc(p.ids, func(other string) bool { return other == id })
	}
	return client
}

// onCompleted notifies the client that was sent to a page that the user has finished there.
func (l *link) onCompleted(params json.RawMessage) {
	const method = "notifications/elicitation/complete"
	var p struct{ ElicitationID string }
	_ = json.Unmarshal(params, &p)
	client := l.pages.take(p.ElicitationID)
	if client == nil {
		l.gateway.options.Log.Debug("a page is done to which no client of this process was sent", "upstream", l.Name)
		return
	}
	if params, err := l.forClients(method, params); err == nil {
		client(params)
	}
}
