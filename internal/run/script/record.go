package script

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/script/js"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// header is what a run must have again to repeat itself. Its path is that of call 0.
type header struct {
	Engine string `json:"engine"` // see [js.Version]
	Source string `json:"source"` // digest
	Seed   uint64 `json:"seed,string"`
	Now    int64  `json:"now"` // milliseconds

	// Names are the actions that the script had, because tools of other servers come and go.
	Names []string `json:"names"`

	// Stored are the scripts that it could call, and [js.Confirm].
	Stored []string `json:"stored,omitempty"`

	// Consent is which calls wait for the user; see [Runner.Consent].
	Consent string `json:"consent,omitempty"`
}

// record is the answer to a call in the journal.
type record struct {
	Seq    int             `json:"seq"` // of the hand-over to the script, from 1
	Name   string          `json:"name"`
	Digest string          `json:"digest"` // of the arguments
	Now    int64           `json:"now"`    // milliseconds
	Value  json.RawMessage `json:"value,omitempty"`
	Error  *js.ToolError   `json:"error,omitempty"`
	Did    bool            `json:"did,omitempty"` // there is an error, and it may have changed something
	Inner  *innerCall      `json:"inner,omitempty"`

	// Settled reports that the call ended unknown, and that a caller stated its value. Only Value is
	// set. It is handed over after all other records.
	Settled bool `json:"settled,omitempty"`
}

// Settled returns the record of a call that ended unknown and is known to be done. An empty value is
// null.
func Settled(value json.RawMessage) json.RawMessage {
	return ordered.MustJSON(record{Value: value, Settled: true})
}

// digestOf returns a short digest of a text.
func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// Path returns the path of a call in the journal of a run.
func Path(call int) string { return fmt.Sprintf("/%d", call) }

// pathOf returns the path of a call. The run may be a step of another.
func (r *run) pathOf(call int) string { return r.base + Path(call) }

// readHeader returns the header of an earlier run, or that of a new one, which
// is recorded with the first answers.
func (r *run) readHeader(ctx context.Context) (header, error) {
	h := header{Engine: js.Version(), Source: digestOf([]byte(r.job.Source)), Seed: newSeed(), Now: r.Now().UnixMilli(),
		Consent: r.Consent}
	raw, _ := r.journal.Lookup(r.pathOf(0))
	if raw == nil {
		var err error
		if h.Names, h.Stored, err = r.names(ctx, r.job.Source); err != nil {
			return h, err
		}
		r.unsaved = append(r.unsaved, engine.StepEnd{Path: r.pathOf(0), Record: ordered.MustJSON(h)})
		return h, nil
	}
	var earlier header
	if err := json.Unmarshal(raw, &earlier); err != nil {
		return h, fmt.Errorf("reading the header of a run: %w", err)
	}
	if earlier.Source != h.Source {
		return h, fail(Diverged, "the run was begun with another script").
			hint("task.retry goes on once the script is as it was; else see which writes were done")
	}
	r.replaying = true
	return earlier, nil
}

// earlier returns the record of a call by an earlier run, nil without a record,
// and whether that run had begun the call.
func (r *run) earlier(call int) (rec *record, begun bool, err error) {
	raw, begun := r.journal.Lookup(r.pathOf(call))
	if raw == nil {
		return nil, begun, nil
	}
	if err := json.Unmarshal(raw, &rec); err != nil {
		return nil, begun, fmt.Errorf("reading the record of call %d: %w", call, err)
	}
	return rec, begun, nil
}

// answer returns the recorded answer in the form for the script.
func (rec record) answer(call int) js.Answer {
	return js.Answer{Seq: call, Value: rec.Value, Error: rec.Error, Now: time.UnixMilli(rec.Now).UTC()}
}
