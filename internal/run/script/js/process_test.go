package js

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/testwait"
)

// begin starts a program that waits for an answer.
func begin(t *testing.T, ctx context.Context, p Program) *Process {
	t.Helper()
	p.Names = names
	process, turn, err := Start(ctx, p)
	if err != nil || len(turn.Calls) != 1 || turn.End != nil {
		t.Fatalf("%+v, %v", turn, err)
	}
	t.Cleanup(process.Close)
	return process
}

// These tests use places that they share with no other test: they do not run in parallel.

func TestKilled(t *testing.T) {
	p := begin(t, testwait.Context(t), Program{Source: "await memory.get()"})
	if err := p.worker.Process().Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.worker.Ended
	_, err := p.Resume(t.Context(), Answer{Seq: 1})
	if !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), p.worker.State().String()) {
		t.Errorf("%v", err)
	}
}

// A process that is killed while its program runs is not reported as one that took too long.
func TestKilledWhileRunning(t *testing.T) {
	p := begin(t, testwait.Context(t), Program{Source: "await memory.get(); for (;;);", Limits: Limits{Running: time.Hour}})
	if err := p.in.Encode(Answer{Seq: 1}); err != nil {
		t.Fatal(err)
	}
	go p.worker.Kill()
	if turn, err := p.turn(t.Context()); !errors.Is(err, ErrEnded) {
		t.Errorf("%+v, %v", turn, err)
	}
}

func TestEndOfContext(t *testing.T) {
	ctx, stop := context.WithCancel(testwait.Context(t))
	process := begin(t, ctx, Program{Source: "await memory.get()"})
	stop()
	<-process.worker.Ended
	if _, err := process.Resume(t.Context(), Answer{Seq: 1}); err == nil {
		t.Error("an ended process takes an answer")
	}

	running := begin(t, testwait.Context(t), Program{Source: "await memory.get(); for (;;);", Limits: Limits{Running: time.Hour}})
	ctx, stop = context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	if _, err := running.Resume(ctx, Answer{Seq: 1}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	<-running.worker.Ended

	if _, _, err := Start(ctx, Program{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestClose(t *testing.T) {
	p := begin(t, testwait.Context(t), Program{Source: "await memory.get()"})
	p.Close()
	p.Close()
	if p.worker.State() == nil {
		t.Error("the process still runs")
	}
	if _, err := p.Resume(t.Context(), Answer{Seq: 1}); !errors.Is(err, ErrEnded) {
		t.Error(err)
	}
}

// A process ends with its input, also while its program runs: its parent is gone.
func TestParentGone(t *testing.T) {
	p := begin(t, testwait.Context(t), Program{Source: "await memory.get(); for (;;);", Limits: Limits{Running: time.Hour}})
	if err := p.in.Encode(Answer{Seq: 1}); err != nil {
		t.Fatal(err)
	}
	p.worker.In.Close()
	<-p.worker.Ended
	if !p.worker.State().Success() {
		t.Error(p.worker.State())
	}
}

// Programs that wait for answers let other programs run, up to the number of processes. One caller has
// at most some of them: one more of its programs waits for the end of one, or of its context, while
// another caller's program runs.
func TestPlaces(t *testing.T) {
	caller := func(name string) context.Context {
		return callctx.With(testwait.Context(t), toolfold.Origin{Session: name})
	}
	first := begin(t, caller("a"), Program{Source: "await memory.get()"})
	for range maxOfCaller - 1 {
		begin(t, caller("a"), Program{Source: "await memory.get()"})
	}
	ctx, stop := context.WithTimeout(caller("a"), 10*time.Millisecond)
	defer stop()
	if _, _, err := Start(ctx, Program{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one more process: %v", err)
	}
	for range maxProcesses - maxOfCaller {
		begin(t, caller("b"), Program{Source: "await memory.get()"})
	}
	ctx, stop = context.WithTimeout(caller("b"), 10*time.Millisecond)
	defer stop()
	if _, _, err := Start(ctx, Program{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("more than all processes: %v", err)
	}
	if err := Check("return 1"); err != nil { // does not wait
		t.Error(err)
	}
	ended := make(chan error)
	go func() {
		_, _, err := Start(caller("a"), Program{})
		ended <- err
	}()
	if turn, err := first.Resume(t.Context(), Answer{Seq: 1}); err != nil || turn.End == nil {
		t.Errorf("%+v, %v", turn, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The clock of a program stands while it waits.
func TestClockStands(t *testing.T) {
	const running = 300 * time.Millisecond
	p := begin(t, testwait.Context(t), Program{Source: "await memory.get(); return 1", Limits: Limits{Running: running}})
	began := time.Now()
	testwait.Until(t, "more than its running time has passed", func() bool { return time.Since(began) > 2*running })
	turn, err := p.Resume(t.Context(), Answer{Seq: 1})
	if err != nil || turn.End == nil || string(turn.End.Result) != "1" {
		t.Errorf("%+v, %v", turn, err)
	}
}

// The running time of all turns counts.
func TestRunningTime(t *testing.T) {
	s := play(t, Program{
		Source: "for (;;) { await memory.get(); for (let i = 0; i < 1e4; i++) Math.random() }", Limits: Limits{Running: time.Second / 2},
	}, echo)
	if s.End.Failure == nil || s.End.Failure.Kind != Limit || len(s.Calls) < 2 {
		t.Errorf("%+v after %d calls", s.End, len(s.Calls))
	}
}

func TestInput(t *testing.T) {
	if _, _, err := Start(testwait.Context(t), Program{Input: json.RawMessage("{")}); err == nil || errors.Is(err, ErrEnded) {
		t.Error(err)
	}
	deep := json.RawMessage(strings.Repeat("[", 9000) + strings.Repeat("]", 9000))
	_, turn, err := Start(testwait.Context(t), Program{Input: deep})
	if err != nil || turn.End == nil || turn.End.Failure == nil || turn.End.Failure.Kind != Limit {
		t.Errorf("%+v, %v", turn, err)
	}
}

// A process has no environment, no files and no descriptors but its pipes.
func TestConfined(t *testing.T) {
	p := begin(t, testwait.Context(t), Program{Source: "await memory.get()"})
	if got := p.limits; got != (Limits{}).withDefaults() {
		t.Errorf("%+v", got)
	}
	confined(t, p.worker.Process().Pid)
}

func BenchmarkRun(b *testing.B) {
	b.Run("empty", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := Start(b.Context(), Program{Now: start2026}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("call", func(b *testing.B) {
		p, _, err := Start(b.Context(), Program{Source: "for (;;) await memory.get()", Names: names, Limits: Limits{Running: time.Hour}})
		if err != nil {
			b.Fatal(err)
		}
		defer p.Close()
		value := json.RawMessage(`{"items":[` + strings.Repeat(`{"key":"a","n":1},`, 9) + `{"key":"b","n":2}]}`)
		for seq := 1; b.Loop(); seq++ {
			if _, err := p.Resume(b.Context(), Answer{Seq: seq, Value: value}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// The process of the next program starts when one has ended. If it ends before it gets its program, for
// example because it was idle, another process runs the program.
func TestSpare(t *testing.T) {
	first := begin(t, testwait.Context(t), Program{Source: "await memory.get()"})
	first.Close()
	for _, ends := range []bool{false, true} {
		testwait.Until(t, "there is a spare process", func() bool { return len(spares) == 1 })
		refills.Wait() // of earlier tests: they would take the place of this one
		spare := <-spares
		if ends {
			if err := spare.Process().Kill(); err != nil { // it may still count as alive
				t.Fatal(err)
			}
		}
		spares <- spare
		p := begin(t, testwait.Context(t), Program{Source: "await memory.get(); return 1"})
		if used := p.worker == spare.Worker; used == ends {
			t.Errorf("ended %t, used %t", ends, used)
		}
		if turn, err := p.Resume(t.Context(), Answer{Seq: 1}); err != nil || turn.End == nil || string(turn.End.Result) != "1" {
			t.Errorf("%+v, %v", turn, err)
		}
	}
}
