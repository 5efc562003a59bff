package text_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/tools/design/text"
)

func TestNamesBecomeIdentifiers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, pascal, camel, snake string }{
		{"order service", "OrderService", "orderService", "order_service"},
		{"userID", "UserID", "userID", "user_id"},
		{"HTTPServer", "HTTPServer", "httpServer", "http_server"},
		{"SHIPPING_ADDRESS", "ShippingAddress", "shippingAddress", "shipping_address"},
		{"2fa", "X2fa", "x2fa", "x2fa"},
		{"v2Orders", "V2Orders", "v2Orders", "v2_orders"},
		{"  crème-brûlée! ", "CremeBrulee", "cremeBrulee", "creme_brulee"},
		{"__proto__", "Proto", "proto", "proto"},
		{"*/", "", "", ""},
		{"日本", "", "", ""},
		{"order 日本", "", "", ""}, // what is left would be another name
	} {
		words := text.Words(test.name)
		got := []string{text.Pascal(words), text.Camel(words), text.Snake(words)}
		if diff := cmp.Diff([]string{test.pascal, test.camel, test.snake}, got); diff != "" {
			t.Errorf("%q: %s", test.name, diff)
		}
	}
}

func TestScopesHandOutEachNameOnce(t *testing.T) {
	t.Parallel()
	s := text.NewScope("class")
	got := []string{s.Claim("a"), s.Claim("a"), s.Claim("a2"), s.Claim("a"), s.Claim("class")}
	if diff := cmp.Diff([]string{"a", "a2", "a22", "a3", "class2"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	got := text.Lines("\n one\r\ntwo\u2028three\x00\u202e*/ \rfour\n\n")
	if diff := cmp.Diff([]string{"one", "two", "three  */", "four"}, got); diff != "" {
		t.Error(diff)
	}
	if got := text.Lines(" \n"); got != nil {
		t.Errorf("a blank text has the lines %q", got)
	}
	if got := text.Line(" a\n  b "); got != "a b" {
		t.Errorf("on one line: %q", got)
	}
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func FuzzText(f *testing.F) {
	for _, s := range []string{"order service", "*/", "2\u202e", "ẞ", "\u2028", "a\"b\\", "\xff", "İ", "ﬁ", "①"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if words := text.Words(s); words != nil {
			for _, id := range []string{text.Pascal(words), text.Camel(words), text.Snake(words), text.Lower(words)} {
				if !identifier.MatchString(id) {
					t.Errorf("%q became %q", s, id)
				}
			}
		}
		for _, line := range text.Lines(s) {
			if strings.ContainsAny(line, "\x00\r\n\u2028\u2029\u202e") {
				t.Errorf("%q has the line %q", s, line)
			}
		}
		var back string
		if err := json.Unmarshal([]byte(text.Quote(s)), &back); err != nil || back != strings.ToValidUTF8(s, "\ufffd") &&
			!strings.Contains(back, "\ufffd") {
			t.Errorf("%q was quoted %s: %v", s, text.Quote(s), err)
		}
	})
}
