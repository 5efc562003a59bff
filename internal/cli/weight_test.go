package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// mainPackage is the package of the program.
const mainPackage = "../../cmd/toolfold"

// releaseTags leave manual pages, which nobody needs, out of a release: they link a Markdown parser.
const releaseTags = "urfave_cli_no_docs"

// build builds a program like a release, except for the revision: git refuses to read it in another
// user's folder.
func build(t testing.TB, path string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "program.exe")
	command := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-tags", releaseTags, "-ldflags=-s -w", "-o", binary, path)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// The program, and a server built with the library, have budgets for size on disk, linked packages and
// their work before main, which every start pays for. A value over its budget is logged, and fails from
// 10 % over it. A commit that raises a budget explains what it is for.
func TestWeight(t *testing.T) {
	t.Parallel()
	for path, limit := range map[string]struct{ megabytes, packages, modules, initAllocs, initKilobytes int }{
		// Five modules, less than 0.1 MB and 150 allocations, find bodies and rows that are never
		// closed in Go. Three modules measure the width of a terminal and its characters, for tables.
		// Checking API documents takes 0.3 MB, a quarter of it official schemas. The import graph for
		// drawings of existing code is one package and 0.16 MB. One package converts messages of other
		// servers, so that they cannot pass for ours. Keepers of programs, memory at rest and patterns
		// of rules are one each. The command new with the server that it writes is 0.02 MB, when 0.019
		// of 54 were left. The engine of scripts is one module and 2.65 MB.
		mainPackage: {megabytes: 58, packages: 955, modules: 95, initAllocs: 49_950, initKilobytes: 4850},
		// Prompts, resources, questions of tasks and the reasons in refusals brought it just over 14
		// MB. Results of handlers use the package for other servers' messages too, and rules have a
		// package for patterns.
		"../../examples/notes": {megabytes: 15, packages: 340, modules: 24, initAllocs: 26_500, initKilobytes: 2350},
	} {
		binary := build(t, path)
		info, err := os.Stat(binary)
		if err != nil {
			t.Fatal(err)
		}
		allocs, size, worst := initialisation(t, binary)
		for _, held := range []struct {
			what         string
			value, limit int
		}{
			{"MB on disk", int(info.Size()+999_999) / 1_000_000, limit.megabytes},
			{"linked packages", lines(t, "list", "-deps", "-tags", releaseTags, path), limit.packages},
			{"linked modules", strings.Count(output(t, "version", "-m", binary), "\n\tdep\t"), limit.modules},
			{"allocations before main", allocs, limit.initAllocs},
			{"KB allocated before main", size >> 10, limit.initKilobytes},
		} {
			t.Logf("%s: %d %s", path, held.value, held.what)
			switch {
			case held.value*10 > held.limit*11:
				t.Errorf("%s: %d %s, over %d by more than 10 %%; before main allocate most:\n%s", path, held.value, held.what, held.limit, worst)
			case held.value > held.limit:
				t.Logf("warning: over the budget of %d %s", held.limit, held.what)
			}
		}
	}
}

// Every way to build a release uses the flags of this test.
func TestWeighedFlags(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"Makefile", "Dockerfile", ".goreleaser.yaml"} {
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, flag := range []string{"-trimpath", "-s -w", releaseTags, "CGO_ENABLED=0"} {
			if !strings.Contains(string(text), flag) {
				t.Errorf("%s builds without %s", file, flag)
			}
		}
	}
}

// initialisation returns the allocations of a program's packages before main, and the ten largest.
func initialisation(t *testing.T, binary string) (allocs, size int, worst string) {
	t.Helper()
	command := exec.Command(binary, "-h")
	command.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, _ := command.CombinedOutput() // -h may be an error
	type packageInit struct {
		name         string
		size, allocs int
	}
	var list []packageInit
	for line := range strings.Lines(string(trace)) {
		var p packageInit
		var at, took float64
		if n, _ := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes, %d allocs", &p.name, &at, &took, &p.size, &p.allocs); n == 5 {
			list = append(list, p)
			size, allocs = size+p.size, allocs+p.allocs
		}
	}
	if allocs == 0 {
		t.Fatalf("no trace of initialisation in %s", trace)
	}
	slices.SortFunc(list, func(a, b packageInit) int { return cmp.Compare(b.size, a.size) })
	for _, p := range list[:min(10, len(list))] {
		worst += fmt.Sprintf("%9d bytes %6d allocations %s\n", p.size, p.allocs, p.name)
	}
	return allocs, size, worst
}

func output(t testing.TB, arguments ...string) string {
	t.Helper()
	command := exec.Command("go", arguments...)
	command.Env = append(os.Environ(), "CGO_ENABLED=0") // like build: cgo adds a package
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(arguments, " "), err)
	}
	return string(out)
}

func lines(t testing.TB, arguments ...string) int {
	return strings.Count(output(t, arguments...), "\n")
}

// firstLists are the messages of a client that requests the list of tools.
const firstLists = `{"jsonrpc":"2.0","id":1,"method":"initialize",` +
	`"params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`

// BenchmarkStart starts a server and waits for its first list. It prints the time relative to a server
// with one family in the same run.
func BenchmarkStart(b *testing.B) {
	start := func(argv ...string) time.Duration {
		command := exec.Command(argv[0], argv[1:]...)
		command.Env = append(os.Environ(), "HOME="+b.TempDir(), "XDG_DATA_HOME=", "XDG_CONFIG_HOME=")
		in, err := command.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := command.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		if err := command.Start(); err != nil {
			b.Fatal(err)
		}
		if _, err := in.Write([]byte(firstLists)); err != nil {
			b.Fatal(err)
		}
		reader := bufio.NewReaderSize(out, 1<<20)
		for {
			line, err := reader.ReadBytes('\n')
			if err != nil {
				b.Fatal(err)
			}
			if bytes.Contains(line, []byte(`"tools":[`)) {
				break
			}
		}
		took := time.Since(began)
		in.Close()
		if err := command.Wait(); err != nil {
			b.Fatal(err)
		}
		return took
	}
	toolfold, notes := build(b, mainPackage), build(b, "../../examples/notes")
	var whole, small time.Duration
	for b.Loop() {
		whole += start(toolfold, "serve")
		small += start(notes)
	}
	b.ReportMetric(float64(whole)/float64(small), "×notes")
	b.ReportMetric(float64(whole.Milliseconds())/float64(b.N), "ms/start")
}
