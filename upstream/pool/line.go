package pool

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/toolfold/toolfold/upstream"
)

// frame is a message between a session and the host. Both have the same version, except for [kindOpen],
// [kindGone], [kindRestart], [kindPIDs], and the [kindResult] of these two.
type frame struct {
	Kind         kind
	ID           int64              `json:",omitempty"`    // of a request or question; its result repeats it
	Of           int64              `json:",omitempty"`    // the request during which a question is asked
	Key          string             `json:",omitempty"`    // the server's key of a question in place of a result
	Asks         bool               `json:",omitempty"`    // the tool of a call is known to ask
	Waits        bool               `json:",omitempty"`    // a call begins to wait for its turn; false ends the wait
	Text         string             `json:",omitempty"`    // a tool, a method, a URI, or an error message
	Method       string             `json:",omitempty"`    // of a request that is not a tool call
	Level        string             `json:",omitempty"`    // log level of a call
	Capabilities json.RawMessage    `json:"Can,omitempty"` // the capabilities of the call's client; nil = those of the session
	Meta         json.RawMessage    `json:",omitempty"`    // of a call
	Code         int64              `json:",omitempty"`    // of a server's error
	Lacking      string             `json:",omitempty"`    // of a server's error, see [upstream.ProtocolError]
	Progress     *upstream.Progress `json:",omitempty"`
	Body         []byte             `json:"-"` // JSON, byte by byte
}

// kind is the type of a frame.
type kind string

const (
	kindOpen    kind = "open"    // first frame of a session; the body is an [opening]
	kindRestart kind = "restart" // only frame of its connection: restarts the servers with the name in Text
	kindPIDs    kind = "pids"    // only frame of its connection: asks for the processes of the servers with the name in Text
	kindList    kind = "list"
	kindCall    kind = "call"
	kindWatch   kind = "watch" // a resource
	kindUnwatch kind = "unwatch"
	kindCancel  kind = "cancel" // a request
	kindAnswer  kind = "answer" // to a question

	kindReady     kind = "ready" // the session is open
	kindResult    kind = "result"
	kindFailed    kind = "failed"    // error of a request or a question
	kindRefused   kind = "refused"   // error from the server
	kindLost      kind = "lost"      // the answer is missing or unreadable; the server goes on
	kindGone      kind = "gone"      // this host takes no more requests; use another one
	kindProgress  kind = "progress"  // of a call
	kindLog       kind = "log"       // of a call
	kindChanged   kind = "changed"   // a list has changed
	kindUpdated   kind = "updated"   // a watched resource has changed
	kindCompleted kind = "completed" // the params of the server's notification are in Text
	kindStray     kind = "stray"     // the start of a text of the server that answers nothing
	kindAsk       kind = "ask"       // a question of the server during a call
	kindTakenBack kind = "takenBack" // the server took a question back
	kindWanted    kind = "wanted"    // another call waits for the answer to a question
	kindQueue     kind = "queue"     // a call begins or stops waiting for its turn
)

// Limits of a frame in bytes, and of the time to write it.
const (
	maxHead   = 1 << 20
	maxBody   = 128 << 20
	writeTime = 10 * time.Second
)

// line carries frames over a connection.
type line struct {
	conn   net.Conn
	in     *bufio.Reader
	memory *upstream.Memory // for the results that are read

	mu sync.Mutex // held while writing a frame
}

func newLine(conn net.Conn, memory *upstream.Memory) *line {
	return &line{conn: conn, in: bufio.NewReader(conn), memory: memory}
}

func (l *line) write(f frame) error {
	head, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if len(head) > maxHead || len(f.Body) > maxBody {
		return fmt.Errorf("a message of %d bytes is too long", len(head)+len(f.Body))
	}
	out := make([]byte, 8, 8+len(head)+len(f.Body))
	binary.BigEndian.PutUint32(out, uint32(len(head)))
	binary.BigEndian.PutUint32(out[4:], uint32(len(f.Body)))
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.conn.SetWriteDeadline(time.Now().Add(writeTime))
	_, err = l.conn.Write(append(append(out, head...), f.Body...))
	return err
}

func (l *line) read() (frame, error) {
	var sizes [8]byte
	if _, err := io.ReadFull(l.in, sizes[:]); err != nil {
		return frame{}, err
	}
	head, body := binary.BigEndian.Uint32(sizes[:]), binary.BigEndian.Uint32(sizes[4:])
	if head > maxHead || body > maxBody {
		return frame{}, fmt.Errorf("a message of %d bytes is too long", uint64(head)+uint64(body))
	}
	text := make([]byte, head)
	if _, err := io.ReadFull(l.in, text); err != nil {
		return frame{}, err
	}
	var f frame
	if err := json.Unmarshal(text, &f); err != nil {
		return frame{}, err
	}
	if body == 0 {
		return f, nil
	}
	memory := l.memory
	if f.Kind != kindResult { // only a skipped result can be reported to its caller
		memory = nil
	}
	var err error
	if f.Body, err = memory.Read(l.in, int64(body)); errors.Is(err, upstream.ErrNoMemory) {
		f.Kind, f.Text, err = kindLost, err.Error()+": call it again later, ask for less, or raise upstreamMegabytes", nil
	}
	return f, err
}
