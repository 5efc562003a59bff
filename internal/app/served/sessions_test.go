package served_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/config"
	"github.com/toolfold/toolfold/tools/memory"
)

// TestSearchNamesSessions checks that memory.search finds a session by a note, unless the caller
// may not list sessions.
func TestSearchNamesSessions(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		db := storage.Lazy(store)
		t.Cleanup(func() { db.Close() })
		runner := func(rights *toolfold.Rights) toolfold.Caller {
			s := surface.New(surface.Options{Log: quiet, Rights: rights})
			families, err := app.Mount(app.Host{
				Open: db.Open, Files: config.Files{Workspace: t.TempDir()}, Caller: s.Runner, Discovery: s.Discovery, Log: quiet,
				Now: time.Now, NewID: uuid.NewString, WorkspaceName: "vm:/shop", Rights: rights,
			})
			if err == nil {
				err = s.Put(families...)
			}
			if err != nil {
				t.Fatal(err)
			}
			return s.Runner
		}
		all := runner(nil)
		opened, err := toolfold.Do[struct{ SessionID string }](t.Context(), all, "session.create",
			map[string]string{"initiator": "ann", "task": "Ship 2.1"})
		if err == nil {
			_, err = toolfold.Do[json.RawMessage](t.Context(), all, "session.note",
				map[string]string{"sessionId": opened.SessionID, "agentId": "ann", "note": "The zeppelin gate is locked."})
		}
		if err != nil {
			t.Fatal(err)
		}
		search := func(c toolfold.Caller, query string) memory.SearchOut {
			out, err := toolfold.Do[memory.SearchOut](t.Context(), c, "memory.search", map[string]string{"query": query})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		out := search(all, "is the zeppelin locked?")
		want := memory.FoundSession{SessionID: opened.SessionID, Task: "Ship 2.1", Status: "active"}
		if len(out.Sessions) != 1 || out.Sessions[0] != want || out.Total != 0 ||
			out.Message != "no entry matches; session.status shows the notes of the sessions" {
			t.Errorf("got %+v", out)
		}
		if out := search(all, "zeppelin airport"); out.Sessions != nil {
			t.Errorf("without one of the words: got %+v", out.Sessions)
		}
		denied := runner(permission.Rules{Deny: []string{"session.list"}}.Rights())
		if out := search(denied, "zeppelin"); out.Sessions != nil {
			t.Errorf("without the right: got %+v", out.Sessions)
		}
	})
}
