package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// crowd calls many sessions from many concurrent callers.
func crowd(ctx context.Context, p *place) error {
	a, r := p.attack, p.report
	p.settings = append(p.settings, fmt.Sprint("TOOLFOLD_MAX_SESSIONS=", a.sessions+1))
	s, err := p.start(ctx)
	if err != nil {
		return err
	}
	c := s.client()
	sessions := make([]*client, a.sessions)
	each(workers, func(worker int) {
		for i := worker; i < len(sessions) && ctx.Err() == nil; i += workers {
			session, err := c.initialized(ctx)
			if err != nil {
				r.bad("broken connections", "initialize: %v", err)
				session = c
			}
			sessions[i] = session
		}
	})
	begin, crowded := time.Now(), time.Now().Add(a.crowd)
	var half atomic.Int64
	time.AfterFunc(a.crowd/2, func() { half.Store(int64(s.rss())) })
	var mu sync.Mutex
	var took []time.Duration
	each(a.callers, func(caller int) {
		random := rand.New(rand.NewPCG(a.seed, uint64(caller)))
		var mine []time.Duration
		for time.Now().Before(crowded) && ctx.Err() == nil {
			key := fmt.Sprint("crowd/", random.IntN(1000))
			tool, arguments := "memory", map[string]any{"action": "get", "key": key}
			switch random.IntN(8) {
			case 0:
				arguments = map[string]any{"action": "store", "key": key, "value": map[string]any{"is": key}}
			case 1:
				tool, arguments = "tools", map[string]any{"action": "find", "query": "keep a note"}
			case 2:
				arguments = map[string]any{"action": "stor"}
			case 3:
				arguments = map[string]any{"action": "search", "query": "crowd", "limit": 3}
			}
			start := time.Now()
			got, err := sessions[random.IntN(len(sessions))].call(ctx, tool, arguments)
			mine = append(mine, time.Since(start))
			r.judge(c, arguments, got, err)
		}
		mu.Lock()
		defer mu.Unlock()
		took = append(took, mine...)
	})
	rate := float64(len(took)) / time.Since(begin).Seconds()
	if end, bound := s.rss(), memoryBound(int(half.Load())); end > bound {
		r.bad("memory that grows", "from %d MiB after half the time to %d MiB", half.Load(), end)
	}
	dropped, err := s.metric(ctx, "toolfold_spans_dropped_total")
	if err != nil {
		return err
	}
	if dropped > 0 && rate <= 2000 {
		r.bad("spans dropped at up to 2,000 calls a second", "%.0f", dropped)
	}
	slices.Sort(took)
	if len(took) == 0 {
		return fmt.Errorf("no call was made")
	}
	r.note("%d sessions, %d callers, %d calls, %.0f a second; p50 %s, p99 %s; RSS %d MiB after half the time, %d at "+
		"the end; %.0f spans dropped",
		len(sessions), a.callers, len(took), rate, took[len(took)/2].Round(time.Millisecond), took[len(took)*99/100].Round(time.Millisecond),
		half.Load(), s.rss(), dropped)
	return nil
}

// queries are the most expensive searches, or try to break the query language.
var queries = []string{
	"a", "the", "*", `"`, `""""`, "NEAR(word, 1)", "word OR OR word", "word AND NOT", "(((", "word:word", "-word", "w*", "^word", "{}",
	"\u0000word", "🙂 word", "слово 言葉 كلمة", "' OR 1=1 --", "%", "_", `\`, "SELECT * FROM notes", "word0 word1 word2 word3",
	strings.Repeat("word ", 400), strings.Repeat("x", 1900), strings.Repeat("(", 1500), strings.Repeat(`"a" `, 400),
	strings.Repeat("a b c d ", 200),
}

// hostile runs these queries on many notes.
func hostile(ctx context.Context, p *place) error {
	a, r := p.attack, p.report
	s, err := p.start(ctx)
	if err != nil {
		return err
	}
	c := s.client()
	const size = 64 << 10 // bytes of a note
	each(workers, func(worker int) {
		random := rand.New(rand.NewPCG(a.seed, uint64(worker)))
		for n := worker; n < a.notes<<20/size && ctx.Err() == nil; n += workers {
			var text strings.Builder
			for text.Len() < size {
				fmt.Fprintf(&text, "the word%d a %x ", random.IntN(1000), random.Uint32())
			}
			arguments := map[string]any{"action": "store", "key": fmt.Sprint("hostile/", n), "value": map[string]any{"text": text.String()}}
			got, err := c.call(ctx, "memory", arguments)
			if r.judge(c, "a note", got, err) && got.code != "" {
				r.bad("refused writes", "%s", got.raw)
			}
		}
	})
	var slowest time.Duration
	var of string
	var mu sync.Mutex
	each(4, func(worker int) {
		for i := worker; i < 2*len(queries) && ctx.Err() == nil; i += 4 {
			arguments := map[string]any{"action": "search", "query": queries[i/2], "limit": 1 + 49*(i%2)}
			start := time.Now()
			got, err := c.call(ctx, "memory", arguments)
			mu.Lock()
			if passed := time.Since(start); passed > slowest {
				slowest, of = passed, queries[i/2]
			}
			mu.Unlock()
			r.judge(c, arguments, got, err)
		}
	})
	r.note("%d MiB of notes, %d queries, the slowest, %.20q, took %s; RSS %d MiB", a.notes, len(queries), of,
		slowest.Round(time.Millisecond), s.rss())
	return nil
}

// stopped pauses one of two servers on a store for a while, like a debugger or a sleeping laptop,
// and looks for lost writes.
func stopped(ctx context.Context, p *place) error {
	a, r := p.attack, p.report
	if len(pausing) == 0 {
		return errors.New("this system cannot pause a process: run it on Unix")
	}
	first, err := p.start(ctx)
	if err != nil {
		return err
	}
	second, err := p.start(ctx)
	if err != nil {
		return err
	}
	l := &ledger{}
	loading, stop := context.WithCancel(ctx)
	defer stop()
	var load sync.WaitGroup
	for i, s := range []*server{first, second} {
		load.Go(func() { l.load(loading, r, s.client(), fmt.Sprint("s", i)) })
	}
	l.await(ctx, 20)
	pauses := 0
	for begin := time.Now(); time.Since(begin) < a.stopped && ctx.Err() == nil; pauses++ {
		for _, signal := range pausing {
			if err := first.cmd.Process.Signal(signal); err != nil {
				return err
			}
			time.Sleep(a.stopped / 4)
		}
	}
	stop()
	load.Wait()
	l.account(ctx, r, second.client())
	r.note("stopped %d times for %s, %v", pauses, a.stopped/4, l)
	return nil
}

// upgrade replaces a server by the next version while both are under load. Without -previous both
// have the same version.
func upgrade(ctx context.Context, p *place) error {
	a, r := p.attack, p.report
	p.binary = cmp.Or(a.previous, a.binary)
	s, err := p.start(ctx)
	if err != nil {
		return err
	}
	p.binary = a.binary
	l := &ledger{}
	upgrades := 0
	for range a.upgrades {
		loading, stop := context.WithCancel(ctx)
		var load sync.WaitGroup
		load.Go(func() { l.load(loading, r, s.client(), fmt.Sprint("u", upgrades)) })
		l.await(ctx, l.total()+20)
		next, err := p.start(ctx)
		if err != nil {
			stop()
			load.Wait()
			return fmt.Errorf("starting the next version: %w", err)
		}
		load.Go(func() { l.load(loading, r, next.client(), fmt.Sprint("v", upgrades)) })
		l.await(ctx, l.total()+20) // both work
		s.stop()                   // unanswered writes are not acknowledged
		l.await(ctx, l.total()+20)
		stop()
		load.Wait()
		s = next
		upgrades++
	}
	l.account(ctx, r, s.client())
	versions := "of one version"
	if a.previous != "" {
		versions = "the first from " + a.previous
	}
	r.note("%d upgrades %s, %v", upgrades, versions, l)
	return nil
}
