package queue

import (
	"context"
	"database/sql"
	"encoding/json"
	"sync"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riversqlite"
)

// River learns of new jobs from PostgreSQL's notifications and polls SQLite.
// A bell takes the place of the notifications for workers in the process that
// inserts; the others poll.

func sqliteDriver(pool *sql.DB) *riversqlite.Driver { return riversqlite.New(pool) }

// ringing is River's SQLite driver with a bell.
type ringing struct {
	*riversqlite.Driver
	bell *bell
}

// SupportsListener implements [riverdriver.Driver].
func (ringing) SupportsListener() bool { return true }

// GetListener implements [riverdriver.Driver].
func (r ringing) GetListener(*riverdriver.GetListenenerParams) riverdriver.Listener {
	return &ear{bell: r.bell}
}

// insertTopic is what River calls notifications of new jobs.
const insertTopic = "river_insert"

// bell reaches the listeners of one process. The zero value is ready.
type bell struct {
	mu   sync.Mutex
	ears map[*ear]chan string // queue ids
}

// ring tells the listeners of new jobs in a queue. It never waits: a listener
// that has much to do finds the job when it polls.
func (b *bell) ring(queueID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, heard := range b.ears {
		select {
		case heard <- queueID:
		default:
		}
	}
}

func (b *bell) add(e *ear) chan string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ears == nil {
		b.ears = map[*ear]chan string{}
	}
	b.ears[e] = make(chan string, 64)
	return b.ears[e]
}

func (b *bell) remove(e *ear) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.ears, e)
}

// ear is a River listener on a bell. Topics make no difference to it: there
// is only one.
type ear struct {
	bell *bell

	mu    sync.Mutex
	heard chan string
}

// Connect implements [riverdriver.Listener].
func (e *ear) Connect(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = e.bell.add(e)
	return nil
}

// Close implements [riverdriver.Listener].
func (e *ear) Close(context.Context) error {
	e.bell.remove(e)
	return nil
}

// WaitForNotification implements [riverdriver.Listener].
func (e *ear) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	e.mu.Lock()
	heard := e.heard
	e.mu.Unlock()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case queueID := <-heard:
		payload, err := json.Marshal(map[string]string{"queue": queueID})
		return &riverdriver.Notification{Topic: insertTopic, Payload: string(payload)}, err
	}
}

// Listen implements [riverdriver.Listener].
func (e *ear) Listen(context.Context, string) error { return nil }

// Unlisten implements [riverdriver.Listener].
func (e *ear) Unlisten(context.Context, string) error { return nil }

// Ping implements [riverdriver.Listener].
func (e *ear) Ping(context.Context) error { return nil }

// Schema implements [riverdriver.Listener].
func (e *ear) Schema() string { return "" }

// SetAfterConnectExec implements [riverdriver.Listener]. It is for tests of
// River's own.
func (e *ear) SetAfterConnectExec(string) {}
