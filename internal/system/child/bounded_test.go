package child

import (
	"io"
	"os"
	"testing"
)

// The limit also applies to io.Copy, by which output of programs is written.
func TestBounded(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = w.Write(make([]byte, 4000))
		w.Close()
	}()
	b := &BoundedBuffer{Limit: 3999}
	if _, err := io.Copy(b, r); err == nil || !b.Full {
		t.Errorf("%d bytes were kept, %v", len(b.Bytes()), err)
	}
	b = &BoundedBuffer{Limit: 3}
	if _, err := b.Write([]byte("abc")); err != nil || b.Full || b.String() != "abc" {
		t.Errorf("%q, %v", b.String(), err)
	}
}
