package scan

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A package that keeps the compiler busy for hours ends with its time, is
// named, and leaves no process behind; the fast rules have run. The compiler has
// the limit of memory.
func TestHostilePackageEnds(t *testing.T) {
	t.Parallel()
	name := fmt.Sprintf("hostile%d", os.Getpid())
	dir := t.TempDir()
	var source strings.Builder
	source.WriteString("package a\n\nfunc F(a int) { a = a }\n\ntype A0 struct{ a int }\n")
	for i := 1; i < 60; i++ {
		fmt.Fprintf(&source, "type A%d struct{ a, b A%d }\n", i, i-1)
	}
	source.WriteString("\nvar X A59\n")
	for file, text := range map[string]string{
		"go.mod": "module " + name + "\n\ngo 1.22\n", "a/a.go": source.String(),
		"b/b.go": "package b\n\nimport _ \"" + name + "/a\"\n\nfunc F(a int) { a = a }\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	compilers := func() (pids []string) {
		running, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range running {
			if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), name) {
				pids = append(pids, filepath.Dir(file))
			}
		}
		return pids
	}
	limits := make(chan string, 1)
	go func() {
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			for _, pid := range compilers() {
				if text, err := os.ReadFile(filepath.Join(pid, "limits")); err == nil && len(text) > 0 {
					limits <- string(text)
					return
				}
			}
		}
		limits <- "no compiler was seen"
	}()
	report, err := Scanner{Dir: dir, limit: 3 * time.Second}.Scan(t.Context(), Request{Purpose: Bugs, Paths: []string{"."}, MaxFiles: 10})
	if err != nil {
		t.Fatal(err)
	}
	if report.Files != 2 || !strings.Contains(fmt.Sprint(report.Skipped), "it took longer than 3s") {
		t.Errorf("%d files, skipped %v", report.Files, report.Skipped)
	}
	if text := <-limits; !strings.Contains(strings.Join(strings.Fields(text), " "), fmt.Sprintf("Max data size %d %[1]d bytes", apartMemory)) {
		t.Errorf("the compiler's limits: %s", text)
	}
	if left := compilers(); left != nil {
		t.Errorf("processes are left: %v", left)
	}
}

// A process that runs the fast rules has 500 MB, and reads files as large as any
// that is looked at.
func TestFastRulesHaveLittleMemory(t *testing.T) {
	t.Parallel()
	fast, whole := job{Files: []string{"a.js"}}, job{Folders: []goFolder{{"a", 1}}}
	if fast.memory() != 500<<20 || whole.memory() != apartMemory {
		t.Errorf("%d and %d bytes", fast.memory(), whole.memory())
	}
	s := Scanner{Dir: t.TempDir()}
	for i := range 4 {
		line := "export const value%d = [1, `two ${three}`, { four: (five) => five.six(seven, 8) }];\n"
		var text strings.Builder
		for n := 0; text.Len() < maxFile-200; n++ {
			fmt.Fprintf(&text, line, n)
		}
		s.write(t, fmt.Sprintf("a%d.ts", i), text.String())
	}
	if report := s.must(t, Request{Purpose: Refactorings, Fast: true}); report.Files != 4 || report.Skipped != nil {
		t.Errorf("%d files, skipped %v", report.Files, report.Skipped)
	}
}
