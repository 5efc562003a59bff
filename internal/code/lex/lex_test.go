package lex_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/code/lex"
)

// Each lexer splits texts into its language's tokens, with the right offsets.
func TestTokens(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		read       func(string) *lex.Source
		text, want string
	}{
		"go":         {lex.Go, "a := `x\r\ny` // why\nf(\"b\", 1.5)", "a|:=|`x\r\ny`|f|(|\"b\"|,|1.5|)"},
		"javascript": {lex.JavaScript, "a = /b\"/ + `x ${c} y`; // why\n'd'", "a|=|/b\"/|+|`x ${|c|} y`|;|'d'"},
		"elements": {lex.JSX, "f(<p a-b='c' {...d}>Don't #{e} <br/>it's {g ? <b>{`x${h}`}</b>=5 : <></>}>=</p>, i < j) // why",
			"f|(|<|p|a|-|b|=|'c'|{|...|d|}|>|{|e|}|<|br|/|>|{|g|?|<|b|>|{|`x${|h|}`|}|<|/|b|>|=|5|:|<|>|<|/|>|}|<|/|p|>|,|i|<|j|)"},
		"type parameters":  {lex.JSX, "f = <T,>(x: T) => g<T>(x) // why", "f|=|<|T|,|>|(|x|:|T|)|=>|g|<|T|>|(|x|)"},
		"no element":       {lex.JSX, "a = (<b>c) // why", "a|=|(|<|b|>|c|)"},
		"a mark in Python": {lex.Python, "\ufeffa = 1 # why\n", "a|=|1|\n|"},
		"python":           {lex.Python, "a = f'b' # why\n\"\"\"c\nd\"\"\"\n", "a|=|f'b'|\n|\"\"\"c\nd\"\"\"|\n|"},
	} {
		s := c.read(c.text)
		var got []string
		for _, token := range s.Tokens {
			got = append(got, token.Text)
			if c.text[token.Start:token.End()] != token.Text {
				t.Errorf("%s: %q does not stand at %d", name, token.Text, token.Start)
			}
		}
		if diff := cmp.Diff(c.want, strings.Join(got, "|")); diff != "" || len(s.Comments) != 1 || s.Fault != "" {
			t.Errorf("%s: %d comments, fault %q\n%s", name, len(s.Comments), s.Fault, diff)
		}
	}
	if s := lex.Python("x = 'a\n"); s.Fault != "the string is not closed" || s.FaultAt != 4 {
		t.Errorf("a string that is not closed: %q at %d", s.Fault, s.FaultAt)
	}
}
