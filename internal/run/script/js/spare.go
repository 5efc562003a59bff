package js

import (
	"sync"
	"time"

	"github.com/toolfold/toolfold/internal/system/child"
)

// worker is a process that runs one program, with the first bytes of its errors.
type worker struct {
	*child.Worker
	errs *child.BoundedBuffer
}

// idle is how long a process waits for its program. Then it ends.
const idle = 30 * time.Second

// spares has the process for the next program: the start of a process takes longer than most
// programs. It is empty before the first program.
var spares = make(chan *worker, 1)

// refills waits for the starts of spare processes that are under way.
var refills sync.WaitGroup

func newWorker() (*worker, error) {
	errs := &child.BoundedBuffer{Limit: 4 << 10}
	w, err := child.StartWorker(processArgument, []string{"TZ=UTC"}, errs)
	return &worker{w, errs}, err
}

// takeSpare returns the spare process; nil if no process waits, or it has ended.
func takeSpare() *worker {
	select {
	case w := <-spares:
		select {
		case <-w.Ended:
			w.End()
		default:
			return w
		}
	default:
	}
	return nil
}

// refill starts a spare process, unless one waits.
func refill() {
	if w := takeSpare(); w != nil {
		keepSpare(w)
	} else if w, err := newWorker(); err == nil { // else the next program reports it
		keepSpare(w)
	}
}

// keepSpare makes a process the spare one, or ends it if there is one.
func keepSpare(w *worker) {
	select {
	case spares <- w:
	default:
		w.End()
	}
}
