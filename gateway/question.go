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
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/upstream"
)

// maxQuestions bounds the questions of a server to the client of one call, roots not counted.
const maxQuestions = 20

// serverMeta is the member of the _meta of a server's request to a model that names the server.
const serverMeta = "toolfold/server"

// openCall is a call that runs, or waits: for an answer of its client, or for its turn to ask.
type openCall struct {
	link  *link
	ctx   context.Context         // ends with the call
	end   context.CancelCauseFunc // ends the call
	alive *time.Timer             // ends the call when it was silent for too long
	tool  string                  // empty for a request of another kind

	mu    sync.Mutex
	slot  bool // it has one of the link's slots
	waits int  // what it waits for
	asked int  // questions so far
}

// run waits until the call may run beside others, unless it waits for something else. It reports false if the call
// ended before.
func (c *openCall) run() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.slot || c.waits > 0 {
		return true
	}
	select {
	case c.link.slots <- struct{}{}:
		c.slot = true
	case <-c.ctx.Done():
	}
	return c.slot
}

// stop ends the run of the call.
func (c *openCall) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave()
}

// leave gives the slot to another call. The lock is held.
func (c *openCall) leave() {
	if c.slot {
		c.slot = false
		<-c.link.slots
	}
}

// pause begins a wait that is not the server's: it takes no slot, and none of the time of the call.
func (c *openCall) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits++
	c.alive.Stop()
	c.leave()
}

// resume ends such a wait. It waits for a slot.
func (c *openCall) resume() {
	c.mu.Lock()
	c.waits--
	c.mu.Unlock()
	if c.ctx.Err() == nil && c.run() {
		c.beat()
	}
}

// beat begins the time limit of the call anew, unless it waits.
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
	c.asked++
	return c.asked <= maxQuestions
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

// ask answers what the server asks that is of no call: for roots, which servers may do only if all calls are of one
// client.
func (l *link) ask(taken context.Context, q upstream.Question) (json.RawMessage, error) {
	if q.Method != upstream.Roots {
		return nil, errors.New("the server has no running call")
	}
	l.mu.Lock()
	var asking *openCall
	for c := range l.open {
		if client := callctx.ClientOf(c.ctx); asking == nil || client != nil && client.Offers(q.Method) {
			asking = c
		}
	}
	l.mu.Unlock()
	if asking == nil {
		return nil, errors.New("the server has no running call whose client could answer")
	}
	return l.askOf(taken, asking, q)
}

// askOf asks the client of a call for the server. The call may take as long as the client does, unless another has to
// ask. Taken ends where the server takes the question back.
func (l *link) askOf(taken context.Context, c *openCall, q upstream.Question) (json.RawMessage, error) {
	asks := q.Method != upstream.Roots
	if asks && c.tool != "" && !l.isAsking(c.tool) {
		l.gateway.work.Go(func() { l.noteAsking(c.tool) })
	}
	asked := callctx.ClientOf(c.ctx)
	switch offered := asked != nil && asked.Offers(q.Method); {
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
	if len(q.Params) > 0 || asks { // clients take none for null
		params := q.Params
		if len(params) == 0 {
			params = json.RawMessage("{}")
		}
		params, err := l.taken(q.Method, params)
		if err != nil {
			return nil, fmt.Errorf("the params of %s: %w", q.Method, err)
		}
		question.Params = l.signed(q.Method, params)
		if id := pageOf(q.Method, params); id != "" {
			l.pages.add(c.ctx, id)
		}
	}
	c.pause()
	defer c.resume()
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	defer context.AfterFunc(taken, cancel)()
	go l.giveWay(ctx, c, asked, q.Wanted)
	return asked.Ask(ctx, question)
}

// giveWay ends a call whose client is silent while another call has to ask, until its question is answered.
func (l *link) giveWay(ctx context.Context, c *openCall, asked callctx.Client, wanted <-chan struct{}) {
	begun := time.Now()
	select {
	case <-wanted:
	case <-ctx.Done():
		return
	}
	for {
		sign := asked.Seen()
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

// signed returns the params of a question with the name of the server: a user reads it at the beginning of the message.
func (l *link) signed(method string, params json.RawMessage) json.RawMessage {
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
	return tool != "" && slices.Contains(l.kept.Asking, tool)
}

// noteAsking keeps that a tool asks its client: later calls of it are no tasks, which
// cannot.
func (l *link) noteAsking(tool string) {
	switch added, err := l.addAsking(tool); {
	case err != nil:
		l.gateway.options.Log.Warn("keeping that a tool asks its client", "upstream", l.Name, "tool", tool, "err", err)
	case added:
		l.gateway.tell()
	}
}

// addAsking reports false for a tool that is known to ask.
func (l *link) addAsking(tool string) (added bool, err error) {
	l.changing.Lock()
	defer l.changing.Unlock()
	k := l.latest()
	if slices.Contains(k.Asking, tool) {
		return false, nil
	}
	k.Asking = append(slices.Clone(k.Asking), tool)
	return true, l.adopt(l.gateway.life, k)
}

// maxData bounds the data of a refused call, in bytes, that a model gets.
const maxData = 2000

// pagesOf lists the pages that the user has to open before a call, as the error of a server names them, and the ids by
// which the server reports that they are done.
func pagesOf(refused *toolfold.Error) (urls, ids []string) {
	const required = -32042 // URL elicitation
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

// maxPages bounds the pages of a server of which it is known who was sent there. The oldest is forgotten first.
const maxPages = 1000

// pages are the pages that clients were sent to, by the id that the server gave.
type pages struct {
	mu      sync.Mutex
	clients map[string]callctx.Completed
	ids     []string // the oldest first
}

// add notes that the client of a call was sent to a page.
func (p *pages) add(ctx context.Context, id string) {
	client := callctx.Of[callctx.Completed](ctx)
	if id == "" || client == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.clients == nil {
		p.clients = map[string]callctx.Completed{}
	}
	if _, known := p.clients[id]; !known {
		if p.ids = append(p.ids, id); len(p.ids) > maxPages {
			delete(p.clients, p.ids[0])
			p.ids = slices.Delete(p.ids, 0, 1)
		}
	}
	p.clients[id] = client
}

// take returns the client that was sent to a page, once; nil for none.
func (p *pages) take(id string) callctx.Completed {
	p.mu.Lock()
	defer p.mu.Unlock()
	client, known := p.clients[id]
	if known {
		delete(p.clients, id)
		p.ids = slices.DeleteFunc(p.ids, func(other string) bool { return other == id })
	}
	return client
}

// completed tells the client that was sent to a page that the user is done there.
func (l *link) completed(params json.RawMessage) {
	const method = "notifications/elicitation/complete"
	var p struct{ ElicitationID string }
	_ = json.Unmarshal(params, &p)
	client := l.pages.take(p.ElicitationID)
	if client == nil {
		l.gateway.options.Log.Debug("a page is done to which no client of this process was sent", "upstream", l.Name)
		return
	}
	if params, err := l.taken(method, params); err == nil {
		client(params)
	}
}
