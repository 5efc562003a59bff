package lazy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Limits of the stored answers of calls whose answer was cut.
const (
	storageTime    = time.Hour
	maxStored      = 10_000
	maxStoredBytes = 16 << 20
)

// storedAnswer is the whole of an answer that was cut. To read it, a caller needs the id, which
// cannot be guessed, and the same token and rights as the answered call.
type storedAnswer struct {
	id     string
	reader string // result of the function reader
	answer json.RawMessage
	until  time.Time
	again  bool // the call can be repeated
}

// Answers stores answers that were cut for all servers that use it. It is safe for concurrent use.
type Answers interface {
	// Put stores an answer until a time. Storing an id again only extends its time.
	Put(ctx context.Context, id, reader string, answer json.RawMessage, until time.Time) error
	// Get returns an answer of a reader; found is false if it has none with this id.
	Get(ctx context.Context, id, reader string) (answer json.RawMessage, found bool, err error)
}

// ShareAnswers stores answers also where other servers read them. It must be called before the surface is served. An
// answer that cannot be stored there stays in this process; failed is called with the reason.
func (d *Discovery) ShareAnswers(store Answers, failed func(error)) {
	d.shared, d.unshared = store, failed
}

// sharedWithin limits the time for the store of other servers.
const sharedWithin = 5 * time.Second

// Keep stores an answer for an hour, or until newer answers need its room. It returns the answer's
// id and the call that reads it. Both are empty if the answer is too large or the caller of ctx may
// not call tools.rest. Storing the same answer again keeps its id and extends its time. If again is
// set, the call can be repeated, and its answer is dropped first.
func (d *Discovery) Keep(ctx context.Context, answer json.RawMessage, again bool) (id, usage string) {
	id, usage = d.keepHere(ctx, answer, again)
	if d.shared == nil || usage == "" {
		return id, usage
	}
	ctx, done := context.WithTimeout(ctx, sharedWithin)
	defer done()
	if err := d.shared.Put(ctx, id, reader(ctx), answer, d.now().Add(storageTime)); err != nil {
		d.unshared(err)
	}
	return id, usage
}

// keepHere is Keep in the memory of this process.
func (d *Discovery) keepHere(ctx context.Context, answer json.RawMessage, again bool) (id, usage string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget()
	id = uuid.NewString()
	reader := reader(ctx)
	same := slices.IndexFunc(d.answers, func(k storedAnswer) bool { return k.reader == reader && bytes.Equal(k.answer, answer) })
	if same >= 0 {
		id = d.answers[same].id
	}
	usage = d.StoredAnswer(ctx, restAction, map[string]string{"id": id})
	if len(answer) > maxStoredBytes || usage == "" {
		return "", ""
	}
	if same >= 0 {
		again = again && d.answers[same].again
		d.answers = slices.Delete(d.answers, same, same+1)
	}
	d.answers = append(d.answers, storedAnswer{id, reader, answer, d.now().Add(storageTime), again})
	size := 0
	for _, k := range d.answers {
		size += len(k.answer)
	}
	for len(d.answers) > maxStored || size > maxStoredBytes {
		i := max(0, slices.IndexFunc(d.answers, func(k storedAnswer) bool { return k.again }))
		size -= len(d.answers[i].answer)
		d.answers = slices.Delete(d.answers, i, i+1)
	}
	return id, usage
}

// restAction is the action that returns stored answers.
const restAction = "tools.rest"

// StoredAnswer returns how the caller of ctx calls an action, by its full name, with these arguments:
// the tool and its arguments. It is empty if the caller may not see the action.
func (d *Discovery) StoredAnswer(ctx context.Context, action string, arguments any) string {
	view := d.View(ctx)
	a, ok := view.byID[action]
	if !ok {
		return ""
	}
	e := view.callable(view.entry(entry.New(a, action)))
	return fmt.Sprintf("%s %s", e.CalledBy(), e.FromCanonical(ordered.MustJSON(arguments)))
}

// reader identifies the callers that may read an answer. It includes the rights, because a token
// can have other rights at another address.
func reader(ctx context.Context) string {
	from := toolfold.OriginOf(ctx)
	if from.Rights == nil {
		return from.Token
	}
	return from.Token + "\n" + from.Rights.Text
}

// StoredRest returns a stored answer. Only callers with the token and the rights of the answered call
// find it. An error means that another server may have it.
func (d *Discovery) StoredRest(ctx context.Context, id string) (answer json.RawMessage, ok bool, err error) {
	if answer, ok := d.restHere(ctx, id); ok || d.shared == nil {
		return answer, ok, nil
	}
	ctx, done := context.WithTimeout(ctx, sharedWithin)
	defer done()
	return d.shared.Get(ctx, id, reader(ctx))
}

// restHere is StoredRest in the memory of this process.
func (d *Discovery) restHere(ctx context.Context, id string) (answer json.RawMessage, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget()
	for _, k := range d.answers {
		if k.id == id && k.reader == reader(ctx) {
			return k.answer, true
		}
	}
	return nil, false
}

// forget drops expired answers. The lock must be held.
func (d *Discovery) forget() {
	for len(d.answers) > 0 && d.now().After(d.answers[0].until) {
		d.answers = d.answers[1:]
	}
}
