package scan

import (
	"strings"
	"testing"
	"time"
)

// A rule's question about a whole file is computed once, however often the rule asks.
func TestLongFilesAreScanned(t *testing.T) {
	t.Parallel()
	s := Scanner{Dir: t.TempDir()}
	for name, line := range map[string]string{
		"a.js": "x.trim();\n", "b.js": "p.test(s);\n", "c.ts": "if (a === 1) load(b);\n",
	} {
		s.write(t, name, strings.Repeat(line, maxFile/len(line)-1))
	}
	if report := s.must(t, Request{Purpose: Bugs, Fast: true}); report.Skipped != nil || report.Files != 3 {
		t.Errorf("%d files, skipped %v", report.Files, report.Skipped)
	}
}

// A script that makes a parser use all time or stack only loses its own findings.
func TestHostileScripts(t *testing.T) {
	t.Parallel()
	s := Scanner{Dir: t.TempDir()}
	for i, text := range []string{"(", "[", "{", "!", "a=>", "a?", "<a>", "`${",
		"x=", "-", "new ", "(a,", "if(a)", "a.b(", "class a{b(){", "'\n", "/", "@a ",
		"a<", "async(", "x as "} {
		line := strings.Repeat(text, maxFile/len(text)/500*500)
		var broken strings.Builder
		for i, r := range line {
			if broken.WriteRune(r); i%400 == 399 && text != "'\n" {
				broken.WriteByte('\n')
			}
		}
		s.write(t, "h"+string(rune('a'+i))+".tsx", broken.String()[:min(maxFile, broken.Len())])
		s.write(t, "h"+string(rune('a'+i))+"ok.ts", "if (a === NaN) b()\n")
	}
	start := time.Now()
	report := s.must(t, Request{Purpose: Bugs, Fast: true})
	t.Logf("%v, %d skipped", time.Since(start), len(report.Skipped))
	found := 0
	for _, f := range report.Findings {
		if strings.HasSuffix(f.File, "ok.ts") {
			found++
		}
	}
	if found != 21 || len(report.Skipped) == 0 {
		t.Errorf("%d of 21 files beside hostile ones were looked at; skipped %v", found, report.Skipped)
	}
	for _, skipped := range report.Skipped {
		if strings.HasSuffix(skipped.Path, "ok.ts") || strings.Contains(skipped.Reason, "exit status") {
			t.Errorf("%s: %s", skipped.Path, skipped.Reason)
		}
	}
}
