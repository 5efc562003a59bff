package hosts

import (
	"errors"
	"slices"
	"testing"
)

// Only Reveal reads secrets, when the entry is used.
func TestSecrets(t *testing.T) {
	t.Setenv("BAIT", "${keyring:other}")
	e := Entry{Name: "x", Own: true, Command: []string{"run", "--key=${keyring:a-KEY}", "${BAIT}"}, Env: []string{"TOKEN=${keyring:a.token}"},
		Header: map[string]string{"Authorization": "Bearer ${keyring:a.token}"}, URL: "https://example.com/?k=${keyring:a-KEY}"}
	if got := e.Secrets(); !slices.Equal(got, []string{"a-KEY", "a.token"}) {
		t.Errorf("secrets %q", got)
	}
	filled := e.Fill(".")
	if filled.Problem != "" || filled.Env[0] != e.Env[0] || !filled.HasSecrets() {
		t.Errorf("filled %+v", filled)
	}
	full, secrets, err := filled.Reveal(func(name string) (string, error) { return "<" + name + ">", nil })
	if err != nil || full.Env[0] != "TOKEN=<a.token>" || full.Header["Authorization"] != "Bearer <a.token>" ||
		full.URL != "https://example.com/?k=<a-KEY>" || full.Command[1] != "--key=<a-KEY>" || !slices.Contains(secrets, "<a-KEY>") {
		t.Errorf("%v: %+v, %q", err, full, secrets)
	}
	if full.Command[2] != "${keyring:other}" {
		t.Errorf("the value of a variable was taken for a reference: %q", full.Command[2])
	}
	locked := errors.New("locked")
	if _, _, err := filled.Reveal(func(string) (string, error) { return "", locked }); !errors.Is(err, locked) {
		t.Errorf("got %v", err)
	}
}

func TestNoSecrets(t *testing.T) {
	for value, want := range map[string]string{
		"${keyring:a}": "${keyring:a} is a secret of the keyring, which only upstreams of toolfold get",
	} {
		e := Entry{Name: "x", Command: []string{"run"}, Env: []string{"A=" + value}}
		if got := e.Fill(".").Problem; got != want {
			t.Errorf("got %q", got)
		}
	}
	e := Entry{Name: "x", Own: true, Command: []string{"run"}, Env: []string{"A=${keyring:a b}"}}
	if got := e.Fill(".").Problem; got != "${keyring:a b} names no secret: ${keyring:NAME} takes letters, digits, _, . and -" {
		t.Errorf("got %q", got)
	}
	if e := (Entry{Name: "x", Own: true, Command: []string{"run"}}).Fill("."); e.HasSecrets() {
		t.Error("an entry without references has secrets")
	}
}
