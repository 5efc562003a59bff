package scan

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every line with "quiet" has a fault that a comment suppresses, and every other line with "heard"
// a fault that no comment suppresses.
func TestSuppressions(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a.py": `
x = None
if x is 5: pass  # noqa  quiet
if x is 5: pass  # noqa: F632 quiet
if x is 5: pass  # noqa: E501 heard
if x is 5: pass  # a reason # noqa: F401,F632 quiet
if x is 5: pass  # noqation heard
if x is 5: pass  # pylint: disable=literal-comparison  quiet
if x is 5: pass  # pylint: disable=line-too-long  heard
# pylint: disable-next=R0123
if x is 5: pass  # quiet
if x is 5: pass  # heard
yaml.load(x)  # nosec quiet
yaml.load(x)  # nosec B506 quiet
if x is 5: pass  # nosec heard
log.info("%s", x, x)  # type: ignore[misc] quiet
if x is 5: pass  # type: ignore heard
if (x is
    5):  # noqa: F632
    pass
def f():
    # pylint: disable=literal-comparison
    if x is 5: pass  # quiet
    if x is 5:  # quiet
        if x is 5: pass  # quiet
if x is 5: pass  # heard
`,
		"a.ts": `
if (a === NaN) b() // eslint-disable-line -- quiet
if (a === NaN) b() // eslint-disable-line use-isnan -- because, quiet
if (a === NaN) b() // eslint-disable-line no-eval -- use-isnan heard
// eslint-disable-next-line use-isnan, no-eval
if (a === NaN) b() // quiet
if (a === NaN) b() // heard
/* eslint-disable use-isnan */
if (a === NaN) b() // quiet
if (a = 1) b() // heard
/* eslint-enable use-isnan */
if (a === NaN) b() // heard
// biome-ignore lint/suspicious/useIsNan: known
if (a === NaN) b() // quiet
// biome-ignore lint/style/useConst: no
if (a === NaN) b() // heard
// @ts-ignore
;(a?.b).c() // quiet
// @ts-expect-error: known
;(a?.b).c() // quiet
// @ts-ignore
if (a = 1) b() // heard
// oxlint-disable-next-line use-isnan
if (a === NaN) b() // quiet
// deno-lint-ignore no-cond-assign
if (a = 1) b() // quiet
if (a = 1) b() // NOSONAR quiet
`,
		"a.go": `
package a

import "crypto/tls"

var a = tls.Config{InsecureSkipVerify: true} //nolint quiet
var b = tls.Config{InsecureSkipVerify: true} //nolint:gosec // known, quiet
var c = tls.Config{InsecureSkipVerify: true} //nolint:errcheck // gosec heard
var d = tls.Config{InsecureSkipVerify: true} // #nosec G402 quiet
//nolint:gosec
var e = tls.Config{InsecureSkipVerify: true} // quiet
var f = tls.Config{InsecureSkipVerify: true} // heard

//nolint:gosec,lll
func g() {
	_ = tls.Config{InsecureSkipVerify: true} // quiet
	if true {
		_ = tls.Config{InsecureSkipVerify: true} // quiet
	}
}

func h() {
	_ = tls.Config{InsecureSkipVerify: true} // heard
}
`,
	} {
		s := Scanner{Dir: t.TempDir()}
		s.write(t, name, text)
		report := s.must(t, Request{Purpose: Bugs, Fast: true})
		var lines []int
		quiet := 0
		for i, line := range strings.Split(text, "\n") {
			if strings.HasSuffix(line, "heard") {
				lines = append(lines, i+1)
			}
			if strings.HasSuffix(line, "quiet") {
				quiet++
			}
		}
		var got []int
		for _, f := range report.Findings {
			got = append(got, f.Line)
		}
		slices.Sort(got)
		if diff := cmp.Diff(lines, got); diff != "" {
			t.Errorf("%s: found at lines %s", name, diff)
		}
		if report.Suppressed < quiet || report.Suppressed > quiet+2 {
			t.Errorf("%s: %d suppressed, want %d", name, report.Suppressed, quiet)
		}
	}
}

// Comments also suppress findings of go vet and staticcheck, and only of the named linters.
func TestSuppressedAnalysers(t *testing.T) {
	t.Parallel()
	s := Scanner{Dir: t.TempDir()}
	s.write(t, "go.mod", "module example.com/x\n\ngo 1.24\n")
	s.write(t, "a.go", `package x

import "time"

func a() {
	time.Sleep(1) //nolint:staticcheck // known
	time.Sleep(1) //lint:ignore SA1004 known
	time.Sleep(1) //nolint:govet,staticcheck
	time.Sleep(1) // heard
}
`)
	report := s.must(t, Request{Purpose: Bugs})
	for _, f := range report.Findings {
		if f.Rule == "staticcheck/SA1004" && f.Line != 9 {
			t.Errorf("found: %s:%d %s", f.File, f.Line, f.Rule)
		}
	}
	if report.Suppressed == 0 || len(report.Findings) == 0 {
		t.Errorf("%d findings, %d suppressed", len(report.Findings), report.Suppressed)
	}
}

// The names of other linters are only mapped to existing rules.
func TestLinterNamesMapToRules(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, r := range slices.Concat(rules()[Bugs], rules()[Refactorings]) {
		known[r.name] = true
	}
	for _, c := range goRules() {
		known[c.analyzer.Name] = true
	}
	for name := range otherNames {
		if !known[name] {
			t.Errorf("no rule is called %s", name)
		}
	}
}
