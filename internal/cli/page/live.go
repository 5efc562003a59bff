package page

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// live tells open pages that something may have changed. It looks at most once in every interval, and only while a page
// listens.
type live struct {
	mark  func(context.Context) (string, error) // another text after each change of what the page shows
	every time.Duration
	log   *slog.Logger

	life context.Context // ended by close
	end  context.CancelFunc

	mu      sync.Mutex
	pages   map[chan struct{}]bool // each has room for one change
	stop    context.CancelFunc     // of the goroutine that looks; nil while no page listens
	looking sync.WaitGroup
}

// newLive returns a live with an interval of a second.
func newLive(log *slog.Logger, mark func(context.Context) (string, error)) *live {
	l := &live{mark: mark, every: time.Second, log: log, pages: map[chan struct{}]bool{}}
	l.life, l.end = context.WithCancel(context.Background())
	return l
}

// maxListeners limits the open streams. Each tab that is seen has one.
const maxListeners = 100

// listen returns a channel that gets a value at once, as the page may have changed since it was loaded, and after each
// change; and a function that ends that. ok is false if too many pages listen.
func (l *live) listen() (changes <-chan struct{}, leave func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pages) >= maxListeners {
		return nil, nil, false
	}
	page := make(chan struct{}, 1)
	l.pages[page] = true
	if l.stop != nil {
		page <- struct{}{}
	} else { // the first value comes with the first mark: a change after it is noticed
		var ctx context.Context
		ctx, l.stop = context.WithCancel(l.life)
		l.looking.Go(func() { l.look(ctx) })
	}
	return page, func() { l.leave(page) }, true
}

func (l *live) leave(page chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pages, page)
	if len(l.pages) == 0 && l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

// look compares marks until ctx ends. A mark that cannot be read is no change.
func (l *live) look(ctx context.Context) {
	ticker := time.NewTicker(l.every)
	defer ticker.Stop()
	before, known, failed := "", false, false
	for {
		now, err := l.mark(ctx)
		if err != nil && ctx.Err() == nil && !failed {
			l.log.Warn("looking for changes", "err", err)
		}
		if failed = err != nil; !failed {
			if now != before || !known {
				l.tell()
			}
			before, known = now, true
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (l *live) tell() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for page := range l.pages {
		select {
		case page <- struct{}{}:
		default: // it has not taken the last one
		}
	}
}

// close ends all streams. Nothing looks for changes afterwards.
func (l *live) close() {
	l.end()
	l.looking.Wait()
}

const (
	aliveEvery = 30 * time.Second // a comment then shows whether the browser is still there
	sendWithin = 10 * time.Second
)

// changes is the handler of the stream of changes, see [live.listen]. It ends with the server, and with the
// session of a user who has logged in.
func (p *Page) changes(w http.ResponseWriter, r *http.Request) {
	changed, leave, ok := p.live.listen()
	if !ok {
		http.Error(w, "too many pages listen for changes: close some tabs", http.StatusServiceUnavailable)
		return
	}
	defer leave()
	ctx := r.Context()
	if p.login != nil {
		var done context.CancelFunc
		ctx, done = p.login.untilEnd(r)
		defer done()
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would hold events back until there are many
	out := http.NewResponseController(w)
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	for text := ":\n\n"; ; {
		_ = out.SetWriteDeadline(time.Now().Add(sendWithin)) // not every server has deadlines
		if _, err := fmt.Fprint(w, text); err != nil {
			return
		}
		if err := out.Flush(); err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-p.live.life.Done():
			return
		case <-changed:
			text = "data: changed\n\n"
		case <-alive.C:
			text = ":\n\n"
		}
	}
}

// mark describes all that the page shows: logins at servers, the files of the machine, and the store if there is one.
func (p *Page) mark(ctx context.Context) (string, error) {
	files, err := p.machine.files()
	files = fmt.Sprintln(p.logins.mark()) + files
	if err != nil || !p.stored() {
		return files, err
	}
	store, err := p.storeMark(ctx)
	return files + "\n" + store, err
}
