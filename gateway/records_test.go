package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/upstream"
)

// memoryRecords are records in memory, for several gateways.
type memoryRecords struct {
	mu     sync.Mutex
	all    map[[2]string]memoryRecord
	writes int
	down   error
	before func() // is called once, before the next change
}

type memoryRecord struct {
	text    []byte
	version int64
}

func (m *memoryRecords) Versions(_ context.Context, each func(server, source string, version int64)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, r := range m.all {
		each(key[0], key[1], r.version)
	}
	return m.down
}

func (m *memoryRecords) Read(_ context.Context, server, source string) ([]byte, int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, found := m.all[[2]string{server, source}]
	if found || m.down != nil {
		return bytes.Clone(r.text), r.version, m.down
	}
	for key, r := range m.all {
		if key[0] == server {
			return bytes.Clone(r.text), 0, nil
		}
	}
	return nil, 0, nil
}

func (m *memoryRecords) Replace(_ context.Context, server, source string, text []byte, over int64) (int64, error) {
	m.mu.Lock()
	if before := m.before; before != nil {
		m.before = nil
		m.mu.Unlock()
		before()
		m.mu.Lock()
	}
	defer m.mu.Unlock()
	key := [2]string{server, source}
	if m.down != nil || m.all[key].version != over {
		return 0, m.down
	}
	if m.all == nil {
		m.all = map[[2]string]memoryRecord{}
	}
	m.all[key] = memoryRecord{bytes.Clone(text), over + 1}
	m.writes++
	return over + 1, nil
}

func (m *memoryRecords) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = err
}

func (m *memoryRecords) interrupt(before func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = before
}

// oneOf is a server as one replica reaches it: what it lists may differ from replica to replica.
type oneOf struct {
	mu     sync.Mutex
	answer upstream.Answer
}

func (o *oneOf) lists(tools ...string) *oneOf {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answer = upstream.Answer{Tools: []json.RawMessage{}}
	for _, tool := range tools {
		name, text, _ := strings.Cut(tool, " ")
		o.answer.Tools = append(o.answer.Tools, json.RawMessage(`{"name":"`+name+`","description":"`+text+`","inputSchema":{"type":"object"}}`))
	}
	return o
}

// sharing returns a gateway to a server named srv, on records in r and copies in dir.
func sharing(t *testing.T, r gateway.Records, dir string, o *oneOf, more ...func(*gateway.Options)) *gateway.Gateway {
	t.Helper()
	options := gateway.Options{Upstreams: []gateway.Upstream{{Name: "srv"}}, Dir: dir, Records: r, Log: slog.New(slog.DiscardHandler),
		Connect: func(context.Context, gateway.Upstream, upstream.Client) (gateway.Session, error) {
			return listing{answer: func() upstream.Answer {
				o.mu.Lock()
				defer o.mu.Unlock()
				return o.answer
			}}, nil
		}}
	for _, set := range more {
		set(&options)
	}
	g, err := gateway.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// offered returns the tools that a gateway offers, as they are listed.
func offered(g *gateway.Gateway) string {
	var list []string
	for _, f := range g.Families() {
		for _, a := range f.Actions {
			list = append(list, string(a.Definition))
		}
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

func offers(g *gateway.Gateway, text string) bool { return strings.Contains(offered(g), text) }

// What one replica holds back, another one does too; an approval, a rejection and a plan of any process reach both, and
// their followers hear of it.
func TestSharedRecords(t *testing.T) {
	t.Parallel()
	r := &memoryRecords{}
	one, two := (&oneOf{}).lists("get_a good", "set_a good"), (&oneOf{}).lists("get_a good", "set_a good")
	a, b := sharing(t, r, t.TempDir(), one), sharing(t, r, t.TempDir(), two)
	told := make(chan struct{}, 100)
	a.Follow(gateway.Follower{})
	b.Follow(gateway.Follower{Families: func([]*toolfold.Family) { told <- struct{}{} }})
	refresh(t, a, "srv")
	testwait.Until(t, "the list of one is offered at the other", func() bool { return offers(b, "get_a") })
	<-told
	refresh(t, b, "srv")
	if r.writes != 1 {
		t.Errorf("the same list was stored %d times", r.writes)
	}

	one.lists("get_a evil", "set_a good")
	refresh(t, a, "srv")
	testwait.Until(t, "the other holds it back", func() bool { return heldBack(t, b, "srv") == "get_a" })
	if offers(a, "get_a") || offers(b, "get_a") || !offers(b, "set_a") {
		t.Errorf("offered %s and %s", offered(a), offered(b))
	}
	shell := sharing(t, r, t.TempDir(), one, func(o *gateway.Options) { o.Joins = true })
	held, err := shell.HeldTools("srv")
	if err != nil || !shell.Shares("srv") || len(held) != 1 || !strings.Contains(string(held[0].Was), "good") {
		t.Fatalf("held %v, %v", held, err)
	}
	if _, err := shell.Reject("srv", held...); err != nil {
		t.Fatal(err)
	}
	rejected := func(g *gateway.Gateway) bool {
		held, err := g.HeldTools("srv")
		return err == nil && len(held) == 1 && held[0].Rejected
	}
	testwait.Until(t, "it is rejected at both", func() bool { return rejected(a) && rejected(b) })
	if _, err := shell.Approve("srv", held...); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "it is offered at both", func() bool { return offers(a, `"evil"`) && offers(b, `"evil"`) })
	plan, _ := shell.Plan("srv")
	plan.Families[0].Name = "renamed"
	if err := shell.UsePlan("srv", plan, ""); err != nil {
		t.Fatal(err)
	}
	renamed := func(g *gateway.Gateway) bool {
		return slices.ContainsFunc(g.Families(), func(f *toolfold.Family) bool { return f.Name == "renamed" })
	}
	testwait.Until(t, "both have the plan", func() bool { return renamed(a) && renamed(b) })
}

// The first list that is stored is accepted, and no other: a replica that is sent another one first holds back what
// differs, also if both store at the same time.
func TestFirstRecordWins(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"one after the other", "at the same time"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			r := &memoryRecords{}
			a := sharing(t, r, t.TempDir(), (&oneOf{}).lists("get_a good"))
			b := sharing(t, r, t.TempDir(), (&oneOf{}).lists("get_a evil", "get_b new"))
			if at == "at the same time" {
				r.interrupt(func() { refresh(t, a, "srv") })
			} else {
				refresh(t, a, "srv")
			}
			refresh(t, b, "srv")
			if held := heldBack(t, b, "srv"); held != "get_a get_b" || offered(b) != "" {
				t.Errorf("held %s, offered %s", held, offered(b))
			}
			if _, err := a.Replan("srv"); err != nil { // reads what is stored
				t.Fatal(err)
			}
			if held := heldBack(t, a, "srv"); held != "get_a get_b" {
				t.Errorf("held by the first %s", held)
			}
		})
	}
}

// No decision is lost if two processes decide at the same time.
func TestDecisionsAtOnce(t *testing.T) {
	t.Parallel()
	r := &memoryRecords{}
	one := (&oneOf{}).lists("get_a good", "get_b good")
	a := sharing(t, r, "", one)
	refresh(t, a, "srv")
	one.lists("get_a changed", "get_b changed")
	refresh(t, a, "srv")
	b := sharing(t, r, "", one)
	held, err := b.HeldTools("srv")
	if err != nil || len(held) != 2 {
		t.Fatalf("held %v, %v", held, err)
	}
	r.interrupt(func() {
		if _, err := b.Approve("srv", held[0]); err != nil {
			t.Error(err)
		}
	})
	if _, err := a.Approve("srv", held[1]); err != nil {
		t.Fatal(err)
	}
	if last := sharing(t, r, "", one); heldBack(t, last, "srv") != "" || !offers(last, "get_a") || !offers(last, "get_b") {
		t.Errorf("still held: %s", heldBack(t, last, "srv"))
	}
}

// The record of a machine is carried over, unless there is one; then its file is copied. Processes that join share
// nothing of their own.
func TestRecordCarriedOver(t *testing.T) {
	t.Parallel()
	folder := func(name string, tools ...string) string {
		dir := t.TempDir()
		o := (&oneOf{}).lists("get_a good", "get_b good")
		g := sharing(t, nil, dir, o)
		refresh(t, g, "srv")
		o.lists(tools...)
		refresh(t, g, "srv")
		plan, _ := g.Plan("srv")
		plan.Families[0].Name = name
		if err := g.UsePlan("srv", plan, ""); err != nil {
			t.Fatal(err)
		}
		g.Close()
		return dir
	}
	first, second := folder("named_first", "get_a first", "get_b good"), folder("named_second", "get_a good", "get_b second")
	r, never := &memoryRecords{}, (&oneOf{}).lists("get_a evil")
	joins := sharing(t, r, folder("named_alone", "get_a first", "get_b good"), never, func(o *gateway.Options) { o.Joins = true })
	held, err := joins.HeldTools("srv")
	if err == nil {
		_, err = joins.Approve("srv", held...)
	}
	if len(held) != 1 || err != nil || heldBack(t, joins, "srv") != "" || joins.Shares("srv") || r.writes != 0 {
		t.Errorf("a process that joins: held %v, %v, %d records are shared", held, err, r.writes)
	}
	var log text
	logged := func(o *gateway.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) }
	a, b := sharing(t, r, first, never, logged), sharing(t, r, second, never, logged)
	for name, g := range map[string]*gateway.Gateway{"the first": a, "the second": b} {
		plan, known := g.Plan("srv")
		if held := heldBack(t, g, "srv"); held != "get_a" || !known || plan.Families[0].Name != "named_first" || !g.Shares("srv") {
			t.Errorf("%s: held %s, plan %v", name, held, plan)
		}
	}
	own, err := filepath.Glob(filepath.Join(second, "srv-*.own.json"))
	if err != nil || len(own) != 1 {
		t.Fatalf("the record of before is %v, %v", own, err)
	}
	if text, err := os.ReadFile(own[0]); err != nil || !bytes.Contains(text, []byte("named_second")) {
		t.Errorf("the record of before is %s, %v", text, err)
	}
	if n := strings.Count(log.String(), "takes the place of this machine's"); n != 1 || !strings.Contains(log.String(), own[0]) {
		t.Errorf("logged %s", log.String())
	}
	if own, _ := filepath.Glob(filepath.Join(first, "srv-*.own.json")); len(own) > 0 {
		t.Errorf("the record that was carried over is there twice: %s", own)
	}
	alone := sharing(t, nil, second, never) // without Records again
	if plan, _ := alone.Plan("srv"); heldBack(t, alone, "srv") != "get_a" || plan.Families[0].Name != "named_first" {
		t.Errorf("the copy holds %s, plan %v", heldBack(t, alone, "srv"), plan)
	}
}

// While the records do not answer, the last known ones are used: changes are held back, no first list is accepted, and
// no decision is made. What could not be stored is stored later.
func TestRecordsDown(t *testing.T) {
	t.Parallel()
	r, dir := &memoryRecords{}, t.TempDir()
	one := (&oneOf{}).lists("get_a good", "get_b good")
	before := sharing(t, r, dir, one)
	refresh(t, before, "srv")
	before.Close()
	r.fail(errors.New("it is down"))

	var log text
	a := sharing(t, r, dir, one.lists("get_a evil", "get_b good"), func(o *gateway.Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	if !offers(a, "get_a") || !strings.Contains(log.String(), "does not answer") {
		t.Errorf("offered %s, logged %s", offered(a), log.String())
	}
	refresh(t, a, "srv")
	if offers(a, "get_a") || !offers(a, "get_b") || heldBack(t, a, "srv") != "get_a" {
		t.Errorf("offered %s", offered(a))
	}
	held, err := a.HeldTools("srv")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Approve("srv", held...); err == nil || !strings.Contains(err.Error(), "it is down") || offers(a, "get_a") {
		t.Errorf("approved with %v", err)
	}
	r.fail(nil)
	cut := sharing(t, r, t.TempDir(), one, func(o *gateway.Options) { o.Upstreams[0].Name = "new" })
	r.interrupt(func() { r.fail(errors.New("it is down")) }) // after it was read
	if err := cut.Refresh(t.Context(), "new"); err == nil || !strings.Contains(err.Error(), "it is down") || offered(cut) != "" {
		t.Errorf("a first list is accepted that was not stored: %s, %v", offered(cut), err)
	}
	fresh := sharing(t, r, t.TempDir(), one)
	if err := fresh.Refresh(t.Context(), "srv"); err == nil || !strings.Contains(err.Error(), "it is down") || offered(fresh) != "" {
		t.Errorf("a first list is accepted: %s, %v", offered(fresh), err)
	}

	r.fail(nil)
	a.Follow(gateway.Follower{})
	testwait.Until(t, "what is held back is stored", func() bool { return heldBack(t, sharing(t, r, "", one), "srv") == "get_a" })
	fresh.Follow(gateway.Follower{})
	testwait.Until(t, "the other has the record", func() bool { return offers(fresh, "get_b") && !offers(fresh, "get_a") })
}

// A server at another command is another server, whose definitions have to be those that were accepted. Both records stay.
func TestRecordsOfOtherCommand(t *testing.T) {
	t.Parallel()
	r := &memoryRecords{}
	one, two := (&oneOf{}).lists("get_a good"), (&oneOf{}).lists("get_a good", "get_b good")
	a := sharing(t, r, "", one)
	refresh(t, a, "srv")
	b := sharing(t, r, "", two, func(o *gateway.Options) { o.Upstreams[0].Server.Argv = []string{"other"} })
	if offered(b) != "" {
		t.Errorf("the list of another command is offered: %s", offered(b))
	}
	refresh(t, b, "srv")
	if heldBack(t, b, "srv") != "get_b" || !offers(b, "get_a") || len(r.all) != 2 {
		t.Errorf("held %s, %d records", heldBack(t, b, "srv"), len(r.all))
	}
	if last := sharing(t, r, "", one); heldBack(t, last, "srv") != "" || !offers(last, "get_a") {
		t.Errorf("held at the first command %s", heldBack(t, last, "srv"))
	}
}

// A damaged record accepts nothing, and is replaced by the next list.
func TestDamagedSharedRecord(t *testing.T) {
	t.Parallel()
	r := &memoryRecords{}
	one := (&oneOf{}).lists("get_a good")
	refresh(t, sharing(t, r, "", one), "srv")
	for key, k := range r.all {
		r.all[key] = memoryRecord{append(k.text, 'x'), k.version + 1}
	}
	other := sharing(t, &memoryRecords{all: maps.Clone(r.all)}, "", one, func(o *gateway.Options) {
		o.Upstreams[0].Server.Argv = []string{"other"}
	})
	if refresh(t, other, "srv"); heldBack(t, other, "srv") != "get_a ~" {
		t.Errorf("held at another command %s", heldBack(t, other, "srv"))
	}
	g := sharing(t, r, "", one)
	if offered(g) != "" {
		t.Errorf("offered %s", offered(g))
	}
	refresh(t, g, "srv")
	if heldBack(t, g, "srv") != "get_a ~" {
		t.Errorf("held %s", heldBack(t, g, "srv"))
	}
	if next := sharing(t, r, "", one); heldBack(t, next, "srv") != "get_a ~" {
		t.Errorf("held later %s", heldBack(t, next, "srv"))
	}
}

// text collects what is logged.
type text struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *text) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *text) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
