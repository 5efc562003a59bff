package child

import (
	"bytes"
	"errors"
)

// BoundedBuffer collects written text. A write beyond its limit fails; as output of a [Command] that ends
// the program. It has no method such as ReadFrom, which io.Copy would prefer to Write.
type BoundedBuffer struct {
	Limit int  // bytes
	Full  bool // a write exceeded the limit
	text  bytes.Buffer
}

// Write implements [io.Writer].
func (b *BoundedBuffer) Write(p []byte) (int, error) {
	if b.Full = b.Full || b.text.Len()+len(p) > b.Limit; b.Full {
		return 0, errors.New("the output is too long")
	}
	return b.text.Write(p)
}

// Bytes returns the text written within the limit.
func (b *BoundedBuffer) Bytes() []byte { return b.text.Bytes() }

// String returns the text written within the limit.
func (b *BoundedBuffer) String() string { return b.text.String() }
