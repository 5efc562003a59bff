package scan

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A package whose type check takes forever ends at its limit, is reported, and leaves no process
// behind. No compiler sees it, and its importers are analysed. The compiler that go fix needs for
// another package has limits of memory and time.
func TestHostilePackageEnds(t *testing.T) {
	t.Parallel()
	name := fmt.Sprintf("hostile%dend", os.Getpid()) // unique to this run
	var large strings.Builder
	large.WriteString("type A0 struct{ a int }\n")
	for i := 1; i < 60; i++ {
		fmt.Fprintf(&large, "type A%d struct{ a, b A%d }\n", i, i-1)
	}
	s := Scanner{Dir: t.TempDir(), limit: time.Second}
	s.write(t, "go.mod", "module "+name+"\n\ngo 1.22\n")
	s.write(t, "a/a.go", "package a\n\nimport \"unsafe\"\n\nfunc F(a int) { a = a }\n\n"+large.String()+"const size = unsafe.Sizeof(A59{})\n")
	s.write(t, "b/b.go", "package b\n\nimport _ \""+name+"/a\"\n\nfunc F(a int) { a = a }\n")
	seen := watch(t, name)
	report := s.must(t, Request{Purpose: Bugs})
	if report.Files != 2 || !strings.Contains(fmt.Sprint(report.Skipped), "it took more than 1s of processor time, only the fast rules ran") {
		t.Errorf("%d files, skipped %v", report.Files, report.Skipped)
	}
	if limits := seen(); limits != "" {
		t.Errorf("a compiler ran, with limits %s", limits)
	}
	s.write(t, "a/a.go", "package a\n\nfunc F() { F0(1) }\n\n"+copies(40))
	s.limit, seen = 0, watch(t, name)
	report = s.must(t, Request{Purpose: Refactorings})
	limits := strings.Join(strings.Fields(seen()), " ")
	for _, want := range []string{fmt.Sprintf("Max data size %d %[1]d bytes", apartMemory), " 11 seconds"} {
		if !strings.Contains(limits, want) {
			t.Errorf("the compiler's limits are not %q: %s", want, limits)
		}
	}
	if !strings.Contains(fmt.Sprint(report.Skipped), "modernize looked neither at it") {
		t.Errorf("skipped %v", report.Skipped)
	}
}

// watch returns a function that returns the limits of a process whose command line contains a name,
// if one was seen since. It reports such processes that still run.
func watch(t *testing.T, name string) (seen func() string) {
	t.Helper()
	compilers := func() (pids []string) {
		running, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			t.Error(err)
		}
		for _, file := range running {
			if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), name) {
				pids = append(pids, filepath.Dir(file))
			}
		}
		return pids
	}
	limits, stop := make(chan string), make(chan struct{})
	go func() {
		last := ""
		for {
			select {
			case <-stop:
				limits <- last
				return
			default:
			}
			for _, pid := range compilers() {
				if text, err := os.ReadFile(filepath.Join(pid, "limits")); err == nil && len(text) > 0 {
					last = string(text)
				}
			}
			time.Sleep(5 * time.Millisecond) // shorter than a compiler runs
		}
	}()
	return func() string {
		close(stop)
		if left := compilers(); left != nil {
			t.Errorf("processes are left: %v", left)
		}
		return <-limits
	}
}

// A scanner process has 500 MB, and can read files of the maximum size.
func TestFastRulesHaveLittleMemory(t *testing.T) {
	t.Parallel()
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
