package files_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/test/golden"
	"github.com/toolfold/toolfold/migration"
	"github.com/toolfold/toolfold/migration/files"
)

// mark is a marked range of a file.
type mark struct {
	start, end int
	isUse      bool
}

// marks removes the marks from a file of the corpus.
func marks(t *testing.T, name, marked string) (text string, places []mark) {
	t.Helper()
	var b strings.Builder
	for rest := marked; ; {
		i := strings.IndexAny(rest, "«‹")
		if i < 0 {
			b.WriteString(rest)
			return b.String(), places
		}
		b.WriteString(rest[:i])
		isUse := strings.HasPrefix(rest[i:], "«")
		opening, closing := "‹", "›"
		if isUse {
			opening, closing = "«", "»"
		}
		inside, after, ok := strings.Cut(rest[i+len(opening):], closing)
		if !ok {
			t.Fatalf("%s: a mark is not closed: %.40s", name, rest[i:])
		}
		places = append(places, mark{b.Len(), b.Len() + len(inside), isUse})
		b.WriteString(inside)
		rest = after
	}
}

// finds counts the marked names that a search found.
type finds struct{ files, uses, found, decoys, wrong int }

func (f *finds) add(g finds) {
	f.files, f.uses, f.found, f.decoys, f.wrong = f.files+g.files, f.uses+g.uses, f.found+g.found, f.decoys+g.decoys, f.wrong+g.wrong
}

func (f finds) recall() float64    { return 100 * float64(f.found) / float64(max(1, f.uses)) }
func (f finds) precision() float64 { return 100 * float64(f.found) / float64(max(1, f.found+f.wrong)) }

func (f finds) String() string {
	return fmt.Sprintf("%2d files, %3d of %3d uses found (recall %3.0f %%), %d of %3d others taken for one (precision %3.0f %%)",
		f.files, f.found, f.uses, f.recall(), f.wrong, f.decoys, f.precision())
}

// legacyWord matches text that must be marked: a legacy name as a word.
func legacyWord() *regexp.Regexp {
	var names []string
	for _, f := range app.Families() {
		for _, a := range f.Actions {
			for _, old := range a.Legacy {
				if old.Name != f.Name {
					names = append(names, old.Name)
				}
			}
		}
	}
	return regexp.MustCompile(`\b(` + strings.Join(names, "|") + `)\b`)
}

// The corpus has files after public repositories, in which uses and similar texts are marked. A
// search finds nearly all uses and little else. It only changes marked places, a second search
// changes nothing, and files that parsed still parse.
func TestCorpus(t *testing.T) {
	t.Parallel()
	search := files.Search{Rewriter: migration.NewRewriter(app.Families()), Servers: []string{"my_server"}}
	open, held := map[string]*finds{}, map[string]*finds{}
	var report strings.Builder
	word := legacyWord()
	paths, _ := filepath.Glob("testdata/corpus/*.txtar")
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		kind := strings.TrimSuffix(filepath.Base(path), ".txtar")
		open[kind], held[kind] = &finds{}, &finds{}
		for _, file := range archive.Files {
			marked := string(file.Data)
			if strings.Contains(file.Name, "crlf") {
				marked = strings.ReplaceAll(marked, "\n", "\r\n")
			}
			into := open[kind]
			if strings.HasPrefix(filepath.Base(file.Name), "held") {
				into = held[kind]
			}
			into.add(judgeFile(t, search, word, kind+"/"+file.Name, marked, &report))
		}
	}
	if p := open["planted"]; p.files != 25 || p.uses != 88 || p.decoys != 34 {
		t.Errorf("planted has %s, want 25 files with 88 uses and 34 others", p)
	}
	total := map[string]*finds{"open": {}, "held out": {}}
	for _, kind := range slices.Sorted(maps.Keys(open)) {
		if n := open[kind].files + held[kind].files; n < 8 {
			t.Errorf("%s has %d files, fewer than 8", kind, n)
		}
		both := *open[kind]
		both.add(*held[kind])
		t.Logf("%-10s %s", kind, both)
		total["open"].add(*open[kind])
		total["held out"].add(*held[kind])
		if both.recall() < 95 || both.precision() < 95 {
			t.Errorf("%s: recall %.0f %%, precision %.0f %%: less than 95", kind, both.recall(), both.precision())
		}
	}
	t.Logf("%-10s %s", "open", total["open"])
	t.Logf("%-10s %s", "held out", total["held out"])
	if os.Getenv("CORPUS_REPORT") != "" {
		t.Log("\n" + report.String())
	}
	golden.Compare(t, "testdata/corpus.txt", report.String())
}

// judgeFile searches a file and counts the finds.
func judgeFile(t *testing.T, s files.Search, word *regexp.Regexp, name, marked string, report *strings.Builder) (f finds) {
	t.Helper()
	text, places := marks(t, name, marked)
	for _, at := range word.FindAllStringIndex(text, -1) {
		if !slices.ContainsFunc(places, func(p mark) bool { return p.start <= at[0] && at[1] <= p.end }) {
			t.Errorf("%s: %q is not marked as a use or as none", name, text[at[0]:at[1]])
		}
	}
	f.files = 1
	_, file, _ := strings.Cut(name, "/")
	found := s.File(file, []byte(text))
	hit := map[int]bool{}
	for _, u := range found.Uses {
		i := slices.IndexFunc(places, func(p mark) bool { return u.Offset < p.end && p.start < u.Offset+len(u.Name) })
		verdict := "ok"
		switch {
		case i < 0 || !places[i].isUse:
			f.wrong++
			verdict = "WRONG"
		default:
			hit[i] = true
		}
		byHand := ""
		if u.ByHand {
			byHand = " by hand"
		}
		if verdict != "ok" {
			t.Logf("%s:%d: %s is no use of ours (%s)", name, u.Line, u.Name, u.Kind)
		}
		fmt.Fprintf(report, "%s:%d: %s: %s → %s%s\n", name, u.Line, u.Kind, u.Name, u.Now, byHand)
	}
	for i, p := range places {
		switch {
		case !p.isUse:
			f.decoys++
		case hit[i]:
			f.uses, f.found = f.uses+1, f.found+1
		default:
			f.uses++
			t.Logf("%s:%d: %s is not found", name, 1+strings.Count(text[:p.start], "\n"), text[p.start:p.end])
		}
	}
	unharmed(t, s, name, file, text, found)
	return f
}

// unharmed fails the test if more than uses changed, or if a second search changes the file again.
func unharmed(t *testing.T, s files.Search, name, file, text string, found files.Result) {
	t.Helper()
	again := s.File(file, found.Now)
	if string(again.Now) != string(found.Now) {
		t.Errorf("%s changes again:\n%s\n%s", name, found.Now, again.Now)
	}
	for _, u := range again.Uses {
		if !u.ByHand {
			t.Errorf("%s:%d: %s is still there", name, u.Line, u.Name)
		}
	}
	before, after := strings.SplitAfter(text, "\n"), strings.SplitAfter(string(found.Now), "\n")
	if len(before) != len(after) {
		t.Errorf("%s has %d lines and then %d", name, len(before), len(after))
		return
	}
	for i := range before {
		line := i + 1
		if before[i] != after[i] && !slices.ContainsFunc(found.Uses, func(u files.Use) bool { return !u.ByHand && abs(u.Line-line) <= 4 }) {
			t.Errorf("%s:%d changed without a use: %q became %q", name, line, before[i], after[i])
		}
		if strings.HasSuffix(before[i], "\r\n") != strings.HasSuffix(after[i], "\r\n") {
			t.Errorf("%s:%d ends otherwise", name, line)
		}
	}
}

func abs(n int) int { return max(n, -n) }
