package ability

import (
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/rank/ranktest"
	"github.com/toolfold/toolfold/internal/text/words"
)

// labelledTask is a task with the abilities that help with it.
type labelledTask struct {
	task string
	want []string
}

func readTasks(t *testing.T, file string) []labelledTask {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var tasks []labelledTask
	for line := range strings.Lines(string(text)) {
		if task, ids, ok := strings.Cut(line, "=>"); ok && !strings.HasPrefix(line, "#") {
			tasks = append(tasks, labelledTask{strings.TrimSpace(task), strings.Fields(ids)})
		}
	}
	return tasks
}

// everyOther returns every second task, starting with first.
func everyOther(list []labelledTask, first int) []labelledTask {
	var half []labelledTask
	for i := first; i < len(list); i += 2 {
		half = append(half, list[i])
	}
	return half
}

// result counts the abilities picked for tasks.
type result struct {
	wanted, picked, right float64 // abilities
	first                 int     // tasks whose best pick is right
	astray                int     // tasks that no ability helps with, but that got one
}

func measure(tasks []labelledTask, pick func(task string) []string) result {
	var r result
	for _, judged := range tasks {
		got := pick(judged.task)
		r.wanted += float64(len(judged.want))
		r.picked += float64(len(got))
		for i, id := range got {
			if slices.Contains(judged.want, id) {
				r.right++
				if i == 0 {
					r.first++
				}
			}
		}
		if len(judged.want) == 0 && len(got) > 0 {
			r.astray++
		}
	}
	return r
}

// filesOf returns the abilities of the sample workspace.
func filesOf(t *testing.T) library {
	t.Helper()
	l, err := New(nil, workspace.Folder{Dir: "testdata/workspace"}).inFiles(t.Context())
	if err != nil || len(l.broken) > 0 || len(l.abilities) < 20 {
		t.Fatalf("%d abilities, broken: %v", len(l.abilities), l.broken)
	}
	return l
}

// ofTrades returns the abilities of testdata/trades.
func ofTrades(t *testing.T) library {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/trades/abilities.txtar")
	if err != nil {
		t.Fatal(err)
	}
	l := library{abilities: map[string]Ability{}}
	for _, f := range archive.Files {
		a, broken := parse(f.Name, string(f.Data))
		if broken != nil {
			t.Fatalf("%s: %+v", f.Name, broken)
		}
		l.abilities[a.ID] = a
	}
	return l
}

// plainFTS5 returns a function that picks the best three by SQLite's full-text index.
func plainFTS5(t *testing.T, l library) func(task string) []string {
	var list []ranktest.Document
	for _, a := range l.sort() {
		list = append(list, ranktest.Document{ID: a.ID,
			Text: strings.Join([]string{a.DisplayName, strings.Join(a.Tags, " "), a.Category, a.Description, a.Content}, "\n")})
	}
	find := ranktest.FTS5(t, list)
	return func(task string) []string { return find(task, 3) }
}

// Fitting abilities are found, and others are not. The floors are a little below the measured
// values.
func TestRelevance(t *testing.T) {
	t.Parallel()
	files, trades := filesOf(t), ofTrades(t)
	tradeTasks := readTasks(t, "testdata/trades/tasks.txt")
	for _, set := range []struct {
		name              string
		library           library
		tasks             []labelledTask
		precision, recall float64
		astray            int
	}{
		{"files", files, readTasks(t, "testdata/tasks.txt"), 0.88, 0.88, 0},
		{"files, held out", files, readTasks(t, "testdata/tasks-heldout.txt"), 0.82, 0.95, 0},
		{"trades", trades, everyOther(tradeTasks, 0), 0.75, 0.78, 0},
		{"trades, held out", trades, everyOther(tradeTasks, 1), 0.74, 0.86, 2},
		{"other words", trades, readTasks(t, "testdata/trades/tasks-hard-tune.txt"), 0, 0, 2},
		{"other words, held out", trades, readTasks(t, "testdata/trades/tasks-hard-held.txt"), 0, 0, 0},
	} {
		x := &index{entries: map[string]entry{}}
		ours := measure(set.tasks, func(task string) (ids []string) {
			fitting, _ := relevant(set.library, "coder", x.find(set.library, task))
			for _, h := range fitting {
				ids = append(ids, h.id)
			}
			return ids
		})
		for name, r := range map[string]result{"ours": ours, "plain FTS5, best three": measure(set.tasks, plainFTS5(t, set.library))} {
			t.Logf("%-21s %-22s recall %.2f, precision %.2f, %d of %d tasks with the best first, %d astray",
				set.name, name, r.right/r.wanted, r.right/r.picked, r.first, len(set.tasks), r.astray)
		}
		if ours.right/ours.picked < set.precision || ours.right/ours.wanted < set.recall || ours.astray > set.astray {
			t.Errorf("%s: that is worse than precision %.2f, recall %.2f, %d astray", set.name, set.precision, set.recall, set.astray)
		}
	}
}

// Tasks in other words share no stem with the helpful ability, except stop words.
func TestTasksInOtherWords(t *testing.T) {
	t.Parallel()
	l := ofTrades(t)
	for _, half := range []string{"tune", "held"} {
		tasks := readTasks(t, "testdata/trades/tasks-hard-"+half+".txt")
		if len(tasks) < 47 {
			t.Errorf("%d tasks of the %s half are left of 47", len(tasks), half)
		}
		for i, judged := range tasks {
			for _, id := range judged.want {
				a, ok := l.abilities[id]
				if !ok {
					t.Errorf("task %d of the %s half wants %s, which is no ability", i+1, half, id)
				}
				text := stems(strings.Join([]string{id, a.DisplayName, strings.Join(a.Tags, " "), a.Category, a.Description, a.Content}, "\n"))
				for stem := range stems(judged.task) {
					if text[stem] {
						t.Errorf("task %d of the %s half has a word of %s", i+1, half, id)
					}
				}
			}
		}
	}
}

// stems returns the stems of the words in a text, without stop words.
func stems(text string) map[string]bool {
	list := map[string]bool{}
	for w := range words.Split(text) {
		for _, p := range append(w.Parts, w.Text) {
			if !words.IsStop(p) {
				list[words.Stem(p)] = true
			}
		}
	}
	return list
}

// Two words match the compound of both, and the other way round, and a pair matches its synonym.
func TestRelevanceOfJoinedWords(t *testing.T) {
	t.Parallel()
	l := library{abilities: map[string]Ability{}}
	for id, content := range map[string]string{"apart": "How we roll out a release.", "joined": "Read the changelog before you merge.",
		"pair": "Open a pull request."} {
		l.abilities[id] = Ability{ID: id, Enabled: true, Content: content}
	}
	x := &index{entries: map[string]entry{}}
	for task, want := range map[string]string{"the rollout": "apart", "write the change log": "joined", "look at the PR": "pair"} {
		if hits := x.find(l, task); len(hits) != 1 || hits[0].id != want {
			t.Errorf("%q finds %v, want %s", task, hits, want)
		}
	}
}
