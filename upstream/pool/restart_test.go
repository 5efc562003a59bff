//go:build unix

package pool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/upstream"
	"github.com/toolfold/toolfold/upstream/pool"
)

// A restart waits for running calls, holds back new ones, and ends the process with its sessions. Later
// sessions get another process. A program of another version can restart too, without replacing the
// host.
func TestRestart(t *testing.T) {
	p, dir := newPool(t, "1"), t.TempDir()
	if pids, err := p.PIDs(t.Context(), "files"); err != nil || len(pids) > 0 {
		t.Errorf("without a host: processes %v, %v", pids, err)
	}
	if did, err := p.Restart(t.Context(), "files", time.Minute); err != nil || did != (pool.RestartReport{}) {
		t.Errorf("without a host: %+v, %v", did, err)
	}
	server := playing(dir)
	server.Name = "files"
	question, answer := make(chan bool), make(chan bool)
	a := connect(t, p, server, upstream.Client{Name: "t", Ask: func(context.Context, upstream.Question) (json.RawMessage, error) {
		question <- true
		<-answer
		return json.RawMessage(`{"action":"accept","content":{}}`), nil
	}})
	b := connect(t, p, server, upstream.Client{Name: "t"})
	pid := call(t, b, "pid")
	for name, want := range map[string]string{"files": "[" + strings.Fields(pid)[0] + "]", "other": "[]"} {
		testwait.Until(t, "the process of "+name+" is known", func() bool { // its id comes by another pipe than its answers
			pids, err := at(p.Dir, "2").PIDs(t.Context(), name)
			return err == nil && fmt.Sprint(pids) == want
		})
	}
	failed := make(chan error, 2)
	go func() {
		_, err := a.Call(t.Context(), upstream.Call{Tool: "ask", Arguments: json.RawMessage(`{}`)})
		failed <- err
	}()
	<-question
	type result struct {
		did pool.RestartReport
		err error
	}
	restarted := make(chan result, 1)
	go func() {
		did, err := at(p.Dir, "2").Restart(t.Context(), "files", testwait.Limit)
		restarted <- result{did, err}
	}()
	testwait.Until(t, "who comes has another process", func() bool {
		c := connect(t, p, server, upstream.Client{Name: "t"})
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // a session of the first process waits until that has ended
		defer cancel()
		result, err := c.Call(ctx, upstream.Call{Tool: "pid", Arguments: json.RawMessage(`{}`)})
		return err == nil && !strings.Contains(string(result), strings.Fields(pid)[0]+" ")
	})
	held := make(chan error, 1)
	go func() {
		_, err := b.Call(t.Context(), upstream.Call{Tool: "pid", Arguments: json.RawMessage(`{}`)})
		held <- err
	}()
	close(answer)
	if err := <-failed; err != nil {
		t.Errorf("the call that ran: %v", err)
	}
	if err := <-held; !errors.Is(err, upstream.ErrGone) {
		t.Errorf("a call during the restart: %v", err)
	}
	// Sessions that looked for another process, and their calls, may still have reached the first.
	if r := <-restarted; r.err != nil || r.did.Processes != 1 || r.did.Sessions < 2 || r.did.Waited < 1 || r.did.Cut != 0 {
		t.Errorf("it did %+v, %v", r.did, r.err)
	}
	<-a.Gone()
	<-b.Gone()
	again := connect(t, p, server, upstream.Client{Name: "t"})
	if call(t, again, "pid") == pid {
		t.Error("the process still runs")
	}
	begun := make(chan bool, 1)
	go func() {
		_, err := again.Call(t.Context(), upstream.Call{
			Tool: "wait", Arguments: json.RawMessage(`{}`), Progress: func(upstream.Progress) { begun <- true },
		})
		failed <- err
	}()
	<-begun
	if did, err := p.Restart(t.Context(), "files", time.Millisecond); err != nil || did.Sessions != 1 || did.Waited != 0 || did.Cut != 1 {
		t.Errorf("with a call that does not end it did %+v, %v", did, err)
	}
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "it was restarted by its user") {
		t.Errorf("the call that did not end: %v", err)
	}
	if did, err := p.Restart(t.Context(), "other", time.Minute); err != nil || did.Processes != 0 {
		t.Errorf("a server that does not run: %+v, %v", did, err)
	}
}

// A host of an older version, which does not know the request, is reported.
func TestRestartAtOldHost(t *testing.T) {
	p := newPool(t, "1")
	listener, err := net.Listen("unix", filepath.Join(p.Dir, "upstreams.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		if conn, err := listener.Accept(); err == nil {
			_, _ = conn.Read(make([]byte, 1000))
			_ = conn.Close()
		}
	}()
	if _, err := p.Restart(t.Context(), "files", time.Minute); !errors.Is(err, pool.ErrOldHost) {
		t.Errorf("it says %v", err)
	}
}
