package cli

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/test/testwait"
)

// The store is opened for calls of upstreams also if it could not be opened for the first one.
func TestUpstreamsAreRecordedLater(t *testing.T) {
	t.Parallel()
	m := newSandbox(t)
	dir := filepath.Join(m.home, "later")
	m.store = "sqlite://" + filepath.Join(dir, "t.db")
	m.write(t, filepath.Join(m.home, "config", "toolfold", "config.json"),
		`{"upstreams":{"up":{"command":"toolfold","args":["serve","--store=memory:","--tier=core"]}}}`)
	m.learn(t)
	c := m.client(t)
	list := func() { c.expect(t, "tool_call", `{"name":"up.memory","arguments":{"action":"list"}}`) }
	list()
	time.Sleep(time.Second) // the folder is still missing
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "the store is opened", func() bool {
		list()
		_, err := os.Stat(filepath.Join(dir, "t.db"))
		return err == nil
	})
}
