package gateway_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/surface"
)

// An unusable record affects only its server. The server is asked again, and tools that are not known
// to be accepted are held back. The other servers use their records.
func TestBadRecord(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string, text []byte) error{
		"too large": func(path string, _ []byte) error { return os.Truncate(path, 64<<20+1) },
		"damaged":   func(path string, text []byte) error { return os.WriteFile(path, text[:len(text)-9], 0o600) },
		"empty":     func(path string, _ []byte) error { return os.WriteFile(path, nil, 0o600) },
		"no plan fits": func(path string, text []byte) error {
			return os.WriteFile(path, bytes.Replace(text, []byte(`"Name":"get_two"`), []byte(`"Name":"X y"`), 1), 0o600)
		},
		"a folder": func(path string, _ []byte) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.MkdirAll(filepath.Join(path, "inside"), 0o700)
		},
		"unreadable": func(path string, _ []byte) error { // like missing permissions, but also for root
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Symlink(filepath.Join(filepath.Dir(path), "..", "outside"), path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var list []gateway.Upstream
			var files []string
			for _, server := range []string{"one", "two", "three"} {
				u, file := playedServer(t, server, `{"tools":[{"name":"get_`+server+`","description":"`+long+`","inputSchema":{"type":"object"}}]}`)
				list, files = append(list, u), append(files, file)
			}
			_, g := offering(t, dir, surface.Options{}, list...)
			g.Close()
			record := recordIn(t, dir, "two-*.json")
			text, err := os.ReadFile(record)
			if err != nil {
				t.Fatal(err)
			}
			if err := spoil(record, text); err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			g, err = gateway.New(gateway.Options{Upstreams: list, Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			if why := g.Absent()["two"]; !strings.Contains(why, "is unusable") || len(g.Families()) != 2 {
				t.Errorf("%d families, two: %q", len(g.Families()), why)
			}
			if !strings.Contains(log.String(), filepath.Base(record)) {
				t.Errorf("the log names no file: %s", log.String())
			}
			g.Close()
			s, g := offering(t, dir, surface.Options{}, list...)
			for i, want := range []int{1, 2, 1} {
				if n := starts(t, files[i]); n != want {
					t.Errorf("server %d was started %d times, want %d", i, n, want)
				}
			}
			held, err := g.HeldTools("two")
			if err != nil || (len(held) == 0) != (name == "no plan fits") {
				t.Errorf("%d are held back, %v", len(held), err)
			}
			if answer := s.Client.Call(t.Context(), "two.get_two", nil); answer.IsError() != (len(held) > 0) {
				t.Errorf("two, before it is approved: %s", answer.Content)
			}
			if _, err := g.Approve("two", held...); err != nil {
				t.Error(err)
			}
			for _, server := range []string{"one", "two", "three"} {
				if answer := s.Client.Call(t.Context(), server+".get_"+server, nil); answer.IsError() {
					t.Errorf("%s: %s", server, answer.Content)
				}
			}
			if why := g.Trouble()["two"]; (why != "") != (name == "a folder") {
				t.Errorf("two, when it was asked: %q", why)
			}
		})
	}
}

// Parts of lists above a limit are left out and reported with the limit and its setting, also after a
// restart. The rest is offered.
func TestLimitsOfLists(t *testing.T) {
	t.Parallel()
	tools := []string{}
	for i := range 5 {
		tools = append(tools, fmt.Sprintf(`{"name":"get_%d","description":%q,"inputSchema":{"type":"object","title":%q}}`, i, long,
			strings.Repeat("x", 200*(i%2))))
	}
	u, _ := playedServer(t, "srv", `{"tools":[`+strings.Join(tools, ",")+`]}`)
	u.Limits = gateway.Limits{Tools: 2, Schema: 150}
	dir := t.TempDir()
	for range 2 {
		s, g := offering(t, dir, surface.Options{}, u)
		why := g.Trouble()["srv"]
		for _, want := range []string{
			"2 tools are left out: a schema has more than 150 bytes (schemaLimit): get_1, get_3",
			"the last 1 tool is left out: there are more than 2 (maxTools)",
		} {
			if !strings.Contains(why, want) {
				t.Errorf("%q, want %q", why, want)
			}
		}
		answer, _, _ := g.Listing("srv")
		if n := len(s.Families()[0].Actions); n != 2 || len(answer.Tools) != 2 {
			t.Errorf("%d actions of %d tools", n, len(answer.Tools))
		}
		g.Close()
	}
}
