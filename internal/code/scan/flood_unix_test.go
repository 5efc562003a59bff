//go:build unix

package scan

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// flooded scans a file of a trusted workspace whose eslint prints a text. The time limit only
// guards against hours.
func flooded(t *testing.T, output func(file string) string) *Report {
	t.Helper()
	onlyTools(t, t.TempDir())
	s := Scanner{Dir: t.TempDir(), Trusted: func() bool { return true }}
	s.write(t, "a.js", strings.Repeat("f();\n", 50_000))
	fakeTool(t, filepath.Join(s.Dir, "node_modules/.bin/eslint"), output(filepath.Join(s.Dir, "a.js")), 1)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	report, err := s.Scan(ctx, Request{Purpose: Bugs, Paths: []string{"."}, MaxFiles: 10})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// The cost of a tool's reports is linear in their length.
func TestToolReportsMuch(t *testing.T) {
	report := flooded(t, func(file string) string {
		var all strings.Builder
		for i := range 40_000 {
			fmt.Fprintf(&all, `{"ruleId":"no-x","severity":2,"message":"m","line":%d,"column":1},`, i)
		}
		return `[{"filePath":"` + file + `","messages":[` + strings.TrimSuffix(all.String(), ",") + `]}]`
	})
	if len(report.Findings) != MaxFindings || report.Truncated == "" {
		t.Errorf("%d findings, truncated: %q, skipped %v", len(report.Findings), report.Truncated, report.Skipped)
	}
}

// Output that would need much more memory than its length is not parsed.
func TestHugeToolOutput(t *testing.T) {
	report := flooded(t, func(file string) string {
		return `[{"filePath":"` + file + `","messages":[` + strings.Repeat("null,", 2_000_000) + `null]}]`
	})
	if text := fmt.Sprint(report.Skipped); !strings.Contains(text, "eslint did not work: its output has more than") {
		t.Errorf("skipped %s", text)
	}
}
