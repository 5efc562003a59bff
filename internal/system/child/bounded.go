package child

import (
	"bytes"
	"errors"
)

// Bounded keeps what is written to it, and fails at a write that exceeds its limit: as output of a [Command] it ends the
// program. It has no other method that writes, which io.Copy would prefer.
type Bounded struct {
	Limit int  // bytes
	Full  bool // more was written
	text  bytes.Buffer
}

// Write implements [io.Writer].
func (b *Bounded) Write(p []byte) (int, error) {
	if b.Full = b.Full || b.text.Len()+len(p) > b.Limit; b.Full {
		return 0, errors.New("the output is too long")
	}
	return b.text.Write(p)
}

// Bytes returns what was written before the limit.
func (b *Bounded) Bytes() []byte { return b.text.Bytes() }

// String returns what was written before the limit.
func (b *Bounded) String() string { return b.text.String() }
