package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/tools/design/schema"
)

// A pattern that JavaScript reads differently from RE2, or rejects, is refused with what to write instead. Other patterns pass.
func TestPatternsAreReadAlike(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		`^[^]]+$`: `\] in place of ]`, `^[]a]$`: `\] in place of ]`, `\b+`: "without repetition", `^*a`: "without repetition",
		`a${2}`: "without repetition", `a\B??`: "without repetition", `a\-b`: `- in place of \-`, `a\@b`: `@ in place of \@`,
		`[\@]`: `@ in place of \@`, `\s`: `[ \t\n\r\f] in place of \s`, `[^@\s]`: `[ \t\n\r\f] in place of \s`,
		`^\S+$`: `[^ \t\n\r\f] in place of \S`, `a]`: `\] in place of ]`, `a}`: `\} in place of }`, `a{,2}`: `\{ in place of {`,
		`[\w-.]`: `\- in place of -`, `[[:alpha:]]`: "ranges such as a-z", `(?i)a`: "groups as (", `(?P<x>a)`: "groups as (",
		`\Aa`: `in place of \A`, `\pL`: `in place of \p`, `\x41`: `in place of \x`, `\Qa\E`: `in place of \Q`, `\0`: `in place of \0`,
		`(?=a)`: "no lookaround", `(`: "no lookaround",
		`^C:\\Program`: "", `^\\x$`: "", `[(?!]`: "", `[\s\S]*`: "", `^[\S\s]$`: "", `a{2}`: "", `a{2,}?b{2,3}`: "", `[\]\\^-]`: "",
		`[\w.-]`: "", `[-\d]`: "", `[a-z-9]`: "", `[\w\-.]`: "", `(?:a|b)+?c*`: "", `\[\]\{\}\/`: "", `[a[]`: "", `日+`: "", `(^a)*`: "",
		`\\b+`: "", `[$]+`: "",
	} {
		m := schema.Model{Name: "a", Fields: []schema.Field{{Name: "b", Type: schema.String, Details: schema.Details{Pattern: pattern}}}}
		_, problems := schema.Generate(m, schema.Zod)
		switch {
		case want == "" && len(problems) > 0:
			t.Errorf("%s is refused: %v", pattern, problems)
		case want != "" && (len(problems) != 1 || problems[0].Path != "/fields/0/pattern" || !strings.Contains(problems[0].Want, want)):
			t.Errorf("%s: %v, want %s", pattern, problems, want)
		}
	}
}

// The dot of RE2 is every character but the line feed, the dot of JavaScript no line end: the generated pattern takes what
// the declared one takes.
func TestDotsAreReadAlike(t *testing.T) {
	t.Parallel()
	m := schema.Model{Name: "a", Fields: []schema.Field{
		{Name: "b", Type: schema.String, Details: schema.Details{Pattern: `^.\.[.]+\\.[^\].]*[\s\S].$`}},
	}}
	for format, want := range map[string]string{
		schema.Zod:        `^[^\\n]\\.[.]+\\\\[^\\n][^\\].]*[\\s\\S][^\\n]$`,
		schema.JSONSchema: `^[^\\n]\\.[.]+\\\\[^\\n][^\\].]*[\\s\\S][^\\n]$`,
	} {
		generated, problems := schema.Generate(m, format)
		if len(problems) > 0 || !strings.Contains(fmt.Sprint(generated), want) {
			t.Errorf("%s is %v, %v, want %s", format, generated, problems, want)
		}
	}
}
