package upstream

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// entries returns the lines of a journal without their times.
func entries(t *testing.T, path string) (texts []string) {
	t.Helper()
	lines, err := ReadJournal(path, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		_, text, _ := strings.Cut(line, "Z ")
		texts = append(texts, text)
	}
	return texts
}

func TestJournal(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "upstreams", "files.log")
	if lines, err := ReadJournal(path, 5); lines != nil || err != nil {
		t.Errorf("without a file: %q, %v", lines, err)
	}
	s := Server{Argv: []string{"x", "--token", "argument-secret"}, Env: []string{"KEY=secret-value", "MODE=short"}, Journal: path}
	j := s.journal()
	for _, text := range []string{
		"one\nKEY is secret-", "value\r\n\x1b[31mred\x1b[0m \u202eodd\n\n", "argument-secret password=hunter22 \xff\nlast",
	} {
		if n, err := j.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatalf("wrote %d, %v", n, err)
		}
	}
	j.note(refusedEntry, refusedText(Call{Tool: "ok"}, &ProtocolError{Code: -32602, Message: "a\nb"}))
	j.note(failedEntry, refusedText(Call{}, errors.New("ours"))) // empty
	j.end()
	long := strings.Repeat("x", 2*maxPending)
	_, _ = j.Write([]byte(long + "\nafter\n"))
	want := []string{
		"stderr  one", "stderr  KEY is xxxxx", "stderr  red odd", "stderr  xxxxx password=xxxxx \uFFFD",
		"refused tools/call ok: a b (-32602)", "stderr  last", "", "stderr  after",
	}
	got := entries(t, path)
	if len(got) != len(want) || len(got[6]) > maxEntry+20 || !strings.HasPrefix(got[6], "stderr  xxx") {
		t.Fatalf("it has %q", got)
	}
	for i := range want {
		if i != 6 && got[i] != want[i] {
			t.Errorf("line %d is %q, want %q", i, got[i], want[i])
		}
	}
	if last, _ := ReadJournal(path, 1); len(last) != 1 || !strings.HasSuffix(last[0], "after") {
		t.Errorf("the last line is %q", last)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	var none *journal
	none.note(failedEntry, "x")
	none.end()
}

// Several writers lose or tear no line, and the two files stay within their limits.
func TestJournalTurnsOver(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "files.log")
	const writers, lines = 4, 100 // more than one file, less than two
	text := strings.Repeat("y", 1000)
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			j := Server{Journal: path}.journal()
			for i := range lines {
				fmt.Fprintf(j, "%d %d %s\n", w, i, text)
			}
		})
	}
	wait.Wait()
	last := map[string]int{}
	for _, line := range entries(t, path) {
		var w, i int
		var rest string
		if n, err := fmt.Sscanf(line, "stderr %d %d %s", &w, &i, &rest); n != 3 || err != nil || rest != text {
			t.Fatalf("a line is torn: %q", line)
		}
		key := fmt.Sprint(w)
		if i != last[key] {
			t.Errorf("writer %d: line %d in place of %d", w, i, last[key])
		}
		last[key] = i + 1
	}
	for w := range writers {
		if last[fmt.Sprint(w)] != lines {
			t.Errorf("of writer %d there are %d lines", w, last[fmt.Sprint(w)])
		}
	}
	for _, name := range []string{path, path + former} {
		if info, err := os.Stat(name); err != nil || info.Size() > maxJournal+8000 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}
