package runner

import (
	stdcmp "cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the golden files")

// recorded returns the files that the recorded outputs are about.
func recorded(t testing.TB) map[string]*Text {
	archive, err := txtar.ParseFile("testdata/project.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*Text{}
	for _, f := range archive.Files {
		files[f.Name] = NewText(string(f.Data))
	}
	return files
}

// Each reader parses the recorded output of its tool. The golden file has a line per report, with
// its byte position, its kinds as a fault and as a refactoring, and the line after its fix.
func TestReaders(t *testing.T) {
	files := recorded(t)
	for _, r := range All {
		t.Run(r.Name, func(t *testing.T) {
			output, err := os.ReadFile(filepath.Join("testdata", r.Name+".out"))
			if err != nil {
				t.Fatal(err)
			}
			reports, err := r.Read(output)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, report := range reports {
				name := strings.TrimPrefix(report.File, "DIR/")
				text := files[name]
				if text == nil {
					t.Errorf("%s is no file of the project", report.File)
					continue
				}
				if report.Rule == "" {
					fmt.Fprintf(&got, "%s is not read: %s\n", name, report.Message)
					continue
				}
				line, column := text.Position(text.Offset(r.Count, report.At))
				bug, refactoring := r.Kind(report, true), r.Kind(report, false)
				fmt.Fprintf(&got, "%s:%d:%d %s %s [%s|%s] %s\n", name, line, column, report.Rule,
					Level(report.Word, bug), bug, refactoring, strings.ReplaceAll(report.Message, "\n", " "))
				if len(report.Fix) > 0 {
					fmt.Fprintf(&got, "\t%s\n", fixedLine(text, r.Count, report))
				}
			}
			golden := filepath.Join("testdata", r.Name+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// fixedLine returns the line of a report after its fix.
func fixedLine(text *Text, c Count, report Report) string {
	edits := slices.Clone(report.Fix)
	slices.SortFunc(edits, func(a, b Edit) int { return stdcmp.Compare(text.Offset(c, b.From), text.Offset(c, a.From)) })
	after := text.text
	for _, e := range edits {
		after = after[:text.Offset(c, e.From)] + e.Text + after[text.Offset(c, e.To):]
	}
	line, _ := text.Position(text.Offset(c, report.At))
	lines := strings.Split(after, "\n")
	return lines[min(line, len(lines))-1]
}

// Every runner has all required fields. If it has no Apart, its file explains why.
func TestRunnersAreComplete(t *testing.T) {
	for _, r := range All {
		if r.Name == "" || r.Job == "" || r.Files == nil || r.Config == nil || r.Args == nil || r.Install == "" || r.Read == nil {
			t.Errorf("%s lacks a field", r.Name)
		}
		if r.Count.Line > 1 || r.Count.Column > 1 {
			t.Errorf("%s counts from %d and %d", r.Name, r.Count.Line, r.Count.Column)
		}
		if r.Apart != nil && strings.Contains(strings.Join(r.Apart.Args, " "), "{config}") && r.Apart.Config == "" {
			t.Errorf("%s has no configuration of its own", r.Name)
		}
	}
}

// Output that is not a report is an error, not an empty report.
func TestNoReport(t *testing.T) {
	for _, r := range All {
		if list, err := r.Read([]byte("panic: no such thing\n")); err == nil {
			t.Errorf("%s read %v", r.Name, list)
		}
	}
}

func FuzzReaders(f *testing.F) {
	for _, r := range All {
		output, err := os.ReadFile(filepath.Join("testdata", r.Name+".out"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(output, "é := \"😀\"\n\r\nx\xff")
	}
	f.Add([]byte(`[{"filePath":"a","messages":[{"ruleId":"x","line":-9223372036854775808,"column":9223372036854775807,`+
		`"fix":{"range":[-5,9223372036854775807]}}]}]`), "a\n")
	f.Fuzz(func(t *testing.T, output []byte, content string) {
		text := NewText(content)
		for _, r := range All {
			reports, _ := r.Read(output)
			for _, report := range reports {
				places := []Place{report.At}
				for _, e := range report.Fix {
					places = append(places, e.From, e.To)
				}
				for _, p := range places {
					at := text.Offset(r.Count, p)
					if at < 0 || at > len(content) {
						t.Fatalf("%s: %+v is at %d of %d", r.Name, p, at, len(content))
					}
					if line, column := text.Position(at); line < 1 || column < 1 {
						t.Fatalf("%s: %d is %d:%d", r.Name, at, line, column)
					}
				}
			}
		}
	})
}

// Positions are counted in the tool's unit. One outside of the text becomes the nearest one inside.
func TestOffset(t *testing.T) {
	text := NewText("é😀x\nab\n")
	for _, test := range []struct {
		count Count
		place Place
		want  int
	}{
		{Count{Bytes, 1, 1}, Place{Line: 1, Column: 7}, 6}, {Count{Runes, 1, 1}, Place{Line: 1, Column: 3}, 6},
		{Count{UTF16, 1, 1}, Place{Line: 1, Column: 4}, 6}, {Count{UTF16, 0, 0}, Place{Line: 0, Column: 3}, 6},
		{Count{UTF16, 1, 1}, Place{Column: 5, Whole: true}, 8}, {Count{Bytes, 1, 1}, Place{Column: 8, Whole: true}, 8},
		{Count{Runes, 1, 1}, Place{Line: 2, Column: 99}, 10}, {Count{Runes, 1, 1}, Place{Line: 9, Column: 1}, 11},
		{Count{Runes, 1, 1}, Place{Line: -1, Column: 1}, 0}, {Count{UTF16, 1, 1}, Place{Column: -1, Whole: true}, 0},
		{Count{UTF16, 1, 1}, Place{Column: 99, Whole: true}, 11},
	} {
		if got := text.Offset(test.count, test.place); got != test.want {
			t.Errorf("%+v %+v: %d, want %d", test.count, test.place, got, test.want)
		}
	}
}

// Severities are higher for security, and errors also for types.
func TestLevel(t *testing.T) {
	for _, test := range []struct{ word, kind, want string }{
		{"error", "logic-error", "medium"}, {"ERROR", "security", "high"}, {"error", "type-error", "high"},
		{"warning", "other", "low"}, {"warning", "type-error", "low"}, {"warning", "security", "medium"},
		{"", "logic-error", "medium"}, {"", "security", "high"}, {"odd", "other", "medium"}, {"style", "other", "info"},
		{"HIGH", "other", "high"}, {"note", "security", "low"},
	} {
		if got := Level(test.word, test.kind); got != test.want {
			t.Errorf("%s of %s: %s, want %s", test.word, test.kind, got, test.want)
		}
	}
}
