package scan

import ("testing";"os";"fmt";"time";"runtime";"strings")

func TestTry(t *testing.T) {
	dir, path := os.Getenv("SCAN_DIR"), os.Getenv("SCAN_PATH")
	if dir == "" { t.Skip() }
	for _, p := range []Purpose{Bugs, Refactorings} {
	start := time.Now()
	r, err := Scanner{Dir: dir, Trusted: func() bool { return true }}.Scan(t.Context(), Request{Purpose: p, Paths: strings.Split(path,","), MaxFiles: 10000, MinConfidence: 0.7})
	if err != nil { t.Fatal(err) }
	var m runtime.MemStats; runtime.ReadMemStats(&m)
	fmt.Println(p, len(r.Findings), r.Files, r.Analysers, time.Since(start), m.Sys>>20, r.Truncated)
	count := map[string]int{}
	for _, s := range r.Skipped { fmt.Println("  skip", s) }
	for _, f := range r.Findings { count[f.Rule]++
		if os.Getenv("SCAN_V") != "" || count[f.Rule] <= 3 { fmt.Printf("  %s:%d:%d %s %s %s %.2f fix=%v %s | %s\n", f.File, f.Line, f.Column, f.Rule, f.Kind, f.Level, f.Confidence, f.Fixable(), f.Message, f.Snippet) } }
	fmt.Println(count)
	}
}
