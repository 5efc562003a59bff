package secrets

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// Every expression of the rules compiles, and every rule can be reached.
func TestRules(t *testing.T) {
	t.Parallel()
	all := load()
	if len(all.Rules) < 200 {
		t.Fatalf("only %d rules", len(all.Rules))
	}
	check := func(where string, list ...pattern) {
		for _, p := range list {
			if _, err := regexp.Compile(p.text); err != nil {
				t.Errorf("%s: %v", where, err)
			}
		}
	}
	lists := []*allowlist{&all.Allow}
	for _, r := range all.Rules {
		check(r.ID, r.Regex, r.Path)
		if r.ID == "" || r.Regex.text == "" && r.Path.text == "" {
			t.Errorf("rule %q finds nothing", r.ID)
		}
		lists = append(lists, r.Allow...)
	}
	for _, a := range lists {
		check("allowlist", append(a.Paths, a.Regexes...)...)
		if a.Condition != "" && a.Condition != "AND" && a.Condition != "OR" || a.Target != "" && a.Target != "match" && a.Target != "line" {
			t.Errorf("allowlist with condition %q over %q is not understood", a.Condition, a.Target)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	// None of them was ever valid. They are concatenated so that no scanner of this file finds
	// them.
	github, aws, slack := "ghp_"+"x7Kd92LmQpR4tVwZ1bNc8YhJ5sFgT3uAeXo6", "AKIA"+"Z7QWERTYU2IOPLKJ", "xoxb-"+
		"263594206564-2343594206574-FGqddMF8t08v8N7Oq4i57vs1"
	for _, test := range []struct{ path, text, want string }{
		{"a.go", "x := 1\ntoken := \"" + github + "\"\n", "[{github-pat 2}]"},
		{"a.txt", "\n\n" + aws + "\n", "[{aws-access-token 3}]"},
		{"a.txt", aws + "\r\nmore\r\n" + slack, "[{aws-access-token 1} {slack-bot-token 3}]"},
		{"a.txt", aws + " # gitleaks:allow", "[]"},
		{"a.txt", "AKIA" + "IOSFODNN7EXAMPLE", "[]"},                // an example in documentation
		{"a.go", "token := \"ghp_" + strings.Repeat("a", 36), "[]"}, // low entropy
		{"package-lock.json", "token: " + github, "[]"},             // an allowed path
		{"keys/store.p12", "", "[{pkcs12-file 0}]"},                 // by its file name
		{"a.go", "password := os.Getenv(\"DB_PASSWORD\")\n", "[]"},  // not a credential
		{"k.pem", "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("MIIEpAIBAAKCAQEA7bq0", 5) + "\n-----END RSA PRIVATE KEY-----\n",
			"[{private-key 1}]"},
	} {
		found, err := Find(t.Context(), test.path, test.text)
		if got := fmt.Sprint(found); got != test.want || err != nil {
			t.Errorf("in %s %q found %s, %v, want %s", test.path, test.text, got, err, test.want)
		}
	}
}

// A file without line ends is searched around each credential.
func TestFindInOneLine(t *testing.T) {
	t.Parallel()
	key := "AKIA" + "Z7QWERTYU2IOPLKJ"
	far := strings.Repeat(" ", 2*maxLine)
	for text, want := range map[string]string{
		far + key + far:                            "[{aws-access-token 1}]",
		far + key + " gitleaks:allow":              "[]",
		"gitleaks:allow" + far + key:               "[{aws-access-token 1}]",
		strings.Repeat(key+";", 1000) + "\n" + key: "[{aws-access-token 1} {aws-access-token 2}]",
	} {
		if got, err := Find(t.Context(), "a.js", text); fmt.Sprint(got) != want || err != nil {
			t.Errorf("in %d bytes found %v, %v, want %s", len(text), got, err, want)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if got, err := Find(ended, "a.js", key); err == nil {
		t.Errorf("found %v after the end", got)
	}
}
