package ability

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/workspace"
)

// judged is a task with the abilities that help with it.
type judged struct {
	task string
	want []string
}

func readTasks(t *testing.T, file string) []judged {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var tasks []judged
	for line := range strings.Lines(string(text)) {
		if task, ids, ok := strings.Cut(line, "=>"); ok && !strings.HasPrefix(line, "#") {
			tasks = append(tasks, judged{strings.TrimSpace(task), strings.Fields(ids)})
		}
	}
	return tasks
}

// tally counts abilities: helpful ones, picked ones, and both.
type tally struct{ wanted, picked, right float64 }

func (c *tally) add(want, got []string) {
	c.wanted += float64(len(want))
	c.picked += float64(len(got))
	for _, id := range got {
		if slices.Contains(want, id) {
			c.right++
		}
	}
}

// What fits a task is found, and what does not stays out. The floors are a
// little below what was measured.
func TestRelevance(t *testing.T) {
	t.Parallel()
	s := New(nil, workspace.Folder{Dir: "testdata/workspace"})
	library, err := s.inFiles(t.Context())
	if err != nil || len(library.broken) > 0 || len(library.abilities) < 20 {
		t.Fatalf("%d abilities, broken: %v", len(library.abilities), library.broken)
	}
	for _, set := range []struct {
		file              string
		precision, recall float64
		astray            int // tasks that no ability helps with and that get one
	}{
		{"testdata/tasks.txt", 0.80, 0.78, 0},
		{"testdata/tasks-heldout.txt", 0.74, 0.90, 1},
	} {
		var c tally
		astray := 0
		for _, judged := range readTasks(t, set.file) {
			var got []string
			for _, a := range relevant(library, "coder", s.index.find(library, judged.task)) {
				got = append(got, a.ID)
			}
			c.add(judged.want, got)
			if len(judged.want) == 0 && len(got) > 0 {
				astray++
				t.Logf("%q: no ability helps, got %v", judged.task, got)
			}
		}
		precision, recall := c.right/c.picked, c.right/c.wanted
		t.Logf("%s: precision %.2f, recall %.2f, %d astray", set.file, precision, recall, astray)
		if precision < set.precision || recall < set.recall || astray > set.astray {
			t.Errorf("that is worse than %+v", set)
		}
	}
}
