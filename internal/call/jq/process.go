package jq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/turns"
	"github.com/toolfold/toolfold/internal/system/child"
)

// processArgument is the only argument of a filter process.
const processArgument = "toolfold: filters"

const (
	maxProcesses = 3 // at a time, two for one caller
	idle         = 30 * time.Second
	grace        = time.Second // for a process to start, and to report its end
)

// Exit codes of a filter process.
const (
	tookTooLong = 3
	tookTooMuch = 4
	outOfMemory = 2  // of the Go runtime; also a filter that crashes it
	raceMemory  = 66 // of the race detector
)

// Any program with this package runs filters here, before the rest of the program starts.
func init() {
	if len(os.Args) != 2 || os.Args[1] != processArgument {
		return
	}
	// The process ends by itself and starts no others, so it needs no keeper.
	if child.LimitMemory(4*maxMemory, 4*maxMemory) != nil { // for sudden allocations; watch ends it before that
		os.Exit(1)
	}
	debug.SetMemoryLimit(maxMemory / 4 * 3) // collects garbage before watch counts it
	go watch()
	answerAll(os.Stdin, os.Stdout)
	os.Exit(0)
}

// watch ends the process if it uses too much memory.
func watch() {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for range time.Tick(5 * time.Millisecond) {
		if metrics.Read(sample); sample[0].Value.Uint64() <= maxMemory {
			continue
		}
		runtime.GC() // also sweeps; dead objects count until then
		if metrics.Read(sample); sample[0].Value.Uint64() > maxMemory {
			os.Exit(tookTooMuch)
		}
	}
}

// answerAll answers the questions of in, until it ends or is idle.
func answerAll(in io.Reader, out io.Writer) {
	questions, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		idleTimer := time.AfterFunc(idle, func() { os.Exit(0) })
		var q question
		if questions.Decode(&q) != nil {
			return
		}
		idleTimer.Stop()
		limit := time.AfterFunc(maxTime, func() { os.Exit(tookTooLong) })
		a := answerTo(context.Background(), q)
		limit.Stop()
		if answers.Encode(a) != nil {
			return
		}
	}
}

// process is a filter process that runs one filter at a time.
type process struct {
	*child.Worker
	encoder *json.Encoder
	decoder *json.Decoder
	used    bool // has answered before
}

// maxWait limits how long a filter waits for its turn.
const maxWait = 5 * time.Second

// ErrBusy is the error of a filter that did not get its turn in time.
var ErrBusy = fmt.Errorf("filters of other calls kept it waiting for %s", maxWait)

var (
	schedule      = turns.New(maxProcesses)
	idleProcesses = make(chan *process, maxProcesses)
)

// ask lets a process answer a question.
func ask(ctx context.Context, q question) (a answer, err error) {
	work := turns.Of(toolfold.OriginOf(ctx), maxProcesses)
	work.Most, work.Wait = min(work.Most, maxProcesses-1), maxWait
	end, err := schedule.Take(ctx, work)
	if errors.Is(err, turns.ErrBusy) {
		return a, ErrBusy
	}
	if err != nil {
		return a, err
	}
	defer end()
	for {
		p, err := idleOrNew()
		if err != nil {
			return a, fmt.Errorf("starting a process for filters: %w", err)
		}
		a, err = p.ask(ctx, q)
		if err == nil {
			p.used = true
			idleProcesses <- p
			return a, nil
		}
		p.End()
		if ctx.Err() != nil {
			return a, ctx.Err()
		}
		switch code := p.State().ExitCode(); {
		case code == tookTooLong || errors.Is(err, context.DeadlineExceeded):
			return a, fmt.Errorf("it took longer than %s", maxTime)
		case code == tookTooMuch || code == outOfMemory || code == raceMemory:
			return a, fmt.Errorf("it needed more than %d MB of memory", maxMemory>>20)
		case p.used: // it was idle or was killed, perhaps not because of this question
			continue
		}
		return a, fmt.Errorf("the filter's process ended: %s; call again", p.State())
	}
}

// idleOrNew returns an idle process, or starts one.
func idleOrNew() (*process, error) {
	select {
	case p := <-idleProcesses:
		return p, nil
	default:
	}
	worker, err := child.StartWorker(processArgument, nil, nil)
	if err != nil {
		return nil, err
	}
	return &process{Worker: worker, encoder: json.NewEncoder(worker.In), decoder: json.NewDecoder(worker.Out)}, nil
}

// ask returns the answer of the process. After an error the process must be ended.
func (p *process) ask(ctx context.Context, q question) (a answer, err error) {
	limited, stop := context.WithTimeout(ctx, maxTime+grace)
	defer stop()
	defer context.AfterFunc(limited, p.Kill)()
	if err = p.encoder.Encode(q); err == nil {
		err = p.decoder.Decode(&a)
	}
	if limited.Err() != nil {
		return a, limited.Err()
	}
	return a, err
}
