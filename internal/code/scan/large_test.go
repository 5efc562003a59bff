package scan

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// alarms bounds the faults found in net/http and the packages below it, tests included. With Go
// 1.26 there are 8 in 112 files, and none is about a value that is never closed.
const alarms = 12

// Well-tested code has few findings, because most of them would be false.
func TestFalseAlarms(t *testing.T) {
	t.Parallel()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	s := Scanner{Dir: filepath.Join(strings.TrimSpace(string(root)), "src")}
	report := s.must(t, Request{Purpose: Bugs, Paths: []string{"net/http"}})
	t.Logf("%d findings in %d files", len(report.Findings), report.Files)
	if report.Files < 80 {
		t.Errorf("only %d files were scanned", report.Files)
	}
	if len(report.Findings) > alarms {
		t.Errorf("%d findings, more than %d:\n%s", len(report.Findings), alarms, strings.Join(places(report.Findings), "\n"))
	}
	if report.Skipped != nil {
		t.Errorf("skipped: %v", report.Skipped)
	}
}

// manyFiles writes a workspace of n files: nine in ten are TypeScript, the others Go, in packages
// of fifty.
func manyFiles(t *testing.T, n int) Scanner {
	t.Helper()
	s := Scanner{Dir: t.TempDir()}
	s.write(t, "go.mod", "module example.com/many\n\ngo 1.24\n")
	var typescript strings.Builder
	for i := range 20 {
		fmt.Fprintf(&typescript, "export function area%d(w: number, h: number): number {\n  return w * h;\n}\n", i)
	}
	typescript.WriteString("if (w === NaN) h();\n")
	for i := range n {
		if i%10 > 0 {
			s.write(t, fmt.Sprintf("web/d%d/f%d.ts", i/100, i), typescript.String())
			continue
		}
		s.write(t, fmt.Sprintf("go/p%d/f%d.go", i/500, i),
			fmt.Sprintf("package p%d\n\n%s\nfunc f%d(x int) int {\n\tx = x\n\treturn x\n}\n", i/500,
				strings.Repeat("// filler\n", 50), i))
	}
	return s
}

// full reports whether to run at full size, which takes minutes.
func full() bool { return os.Getenv("TOOLFOLD_LOAD") != "" }

// Ten thousand files take less than 1 GB, and two thousand half of that. Progress goes from zero to
// all, never back.
func TestManyFiles(t *testing.T) {
	n, most := 2_000, uint64(500)
	if full() {
		n, most = 10_000, 1000
	}
	total := n + n/10
	s := manyFiles(t, n)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	reports, last := 0, 0
	var largest atomic.Uint64
	report := s.must(t, Request{Purpose: Bugs, Progress: func(done, of int, message string) {
		if done < last || done > of || message == "" || of != total {
			t.Errorf("progress from %d to %d of %d: %q", last, done, of, message)
		}
		reports, last = reports+1, done
		var now runtime.MemStats
		if reports%20 == 0 {
			runtime.ReadMemStats(&now)
			largest.Store(max(largest.Load(), now.Sys))
		}
	}})
	runtime.ReadMemStats(&after)
	largest.Store(max(largest.Load(), after.Sys))
	t.Logf("%d reports of progress, %d MB taken from the system", reports, largest.Load()>>20)
	if report.Files != n || len(report.Findings) != n || report.Skipped != nil {
		t.Errorf("%d files, %d findings, skipped %v", report.Files, len(report.Findings), report.Skipped)
	}
	if reports < n/100 || last != total {
		t.Errorf("%d reports of progress, the last of %d", reports, last)
	}
	if mb := largest.Load() >> 20; mb > most {
		t.Errorf("%d MB were taken", mb)
	}
}

// A cancelled scan ends soon, in every phase.
func TestCancel(t *testing.T) {
	s := manyFiles(t, 2000)
	for _, at := range []string{"scanning files", "analysing Go packages"} {
		ctx, cancel := context.WithCancel(t.Context())
		cancelled, after := false, 0
		_, err := s.Scan(ctx, Request{Purpose: Bugs, Paths: []string{"."}, MaxFiles: 10_000, Progress: func(done, _ int, message string) {
			if cancelled {
				after++
			} else if message == at || done >= 2000 {
				cancelled = true
				cancel()
			}
		}})
		cancel()
		if !errors.Is(err, context.Canceled) || after > 10 {
			t.Errorf("cancelled while %s: %v, and it was reported %d times after", at, err, after)
		}
	}
}
