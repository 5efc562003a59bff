package keyring

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	library "github.com/zalando/go-keyring"
)

// faked gives a test its own keyring. These tests must not run in parallel.
func faked(t *testing.T, err error) {
	t.Helper()
	before, bound := reachable, limit
	t.Cleanup(func() { reachable, limit = before, bound })
	reachable = func() bool { return true }
	if err != nil {
		library.MockInitWithError(err)
	} else {
		library.MockInit()
	}
}

func TestSecrets(t *testing.T) {
	faked(t, nil)
	ctx := t.Context()
	_, err := Get(ctx, "github-TOKEN")
	var missing *MissingError
	if !errors.As(err, &missing) || err.Error() != "the keyring has no secret github-TOKEN: set it with toolfold secret set github-TOKEN" {
		t.Errorf("a missing secret: %v", err)
	}
	if err := Set(ctx, "github-TOKEN", "hidden"); err != nil {
		t.Fatal(err)
	}
	if secret, err := Get(ctx, "github-TOKEN"); secret != "hidden" || err != nil {
		t.Errorf("got %q, %v", secret, err)
	}
	if err := Remove(ctx, "github-TOKEN"); err != nil {
		t.Error(err)
	}
	if err := Remove(ctx, "github-TOKEN"); !errors.As(err, &missing) {
		t.Errorf("removed twice: %v", err)
	}
}

func TestWrongSecrets(t *testing.T) {
	faked(t, nil)
	for _, c := range []struct{ name, value, want string }{
		{"", "x", "is no name"},
		{"-evil", "x", "is no name"},
		{"a}b", "x", "is no name"},
		{strings.Repeat("a", 129), "x", "is no name"},
		{"empty", "", "is empty"},
		{"long", strings.Repeat("x", MaxSecret+1), "at most 2560"},
	} {
		if err := Set(t.Context(), c.name, c.value); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.name, err)
		}
	}
}

// Every failure names an alternative without a keyring.
func TestFailures(t *testing.T) {
	const instead = "set the environment variable GITHUB_TOKEN and write ${GITHUB_TOKEN} in place of ${keyring:github-TOKEN}"
	for _, c := range []struct {
		err  error
		want string
	}{
		{library.ErrUnsupportedPlatform, "no keyring here (no program provides one): "},
		{errors.New("The name org.freedesktop.secrets was not provided by any .service files"),
			"no keyring here (no program provides one): "},
		{&net.OpError{Op: "dial", Net: "unix", Err: errors.New("refused")}, "no keyring here (the D-Bus session does not answer: "},
		{errors.New("failed to unlock"), "the keyring refuses (failed to unlock), and may be locked: "},
	} {
		faked(t, c.err)
		_, err := Get(t.Context(), "github-TOKEN")
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || !strings.HasSuffix(err.Error(), instead) {
			t.Errorf("%v: %v", c.err, err)
		}
	}
}

func TestNoSession(t *testing.T) {
	faked(t, nil)
	reachable = func() bool { return false }
	want := "no keyring here (no D-Bus session, as in ssh and CI): set the environment variable _2ND_KEY and write ${_2ND_KEY} " +
		"in place of ${keyring:2nd.key}"
	if err := Set(t.Context(), "2nd.key", "x"); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestSessionByEnvironment(t *testing.T) {
	if !overBus() {
		t.Skip("no D-Bus on " + runtime.GOOS)
	}
	variable, _ := session()
	t.Setenv(variable, "unix:path=/nowhere")
	if !reachable() || len(Environment()) != 1 {
		t.Error("the session that the environment names is not taken")
	}
	t.Setenv(variable, "")
	if len(Environment()) != 0 {
		t.Error("a variable that is not set leads nowhere")
	}
}

// A keyring that waits for a password is abandoned.
func TestLockedKeyring(t *testing.T) {
	faked(t, nil)
	limit = time.Millisecond
	locked := make(chan struct{})
	defer close(locked)
	wait := func() (string, error) {
		<-locked
		return "", nil
	}
	if _, err := request(t.Context(), "a", wait); err == nil || !strings.Contains(err.Error(), "within 1ms, and may be locked") {
		t.Errorf("got %v", err)
	}
	limit = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := request(ctx, "a", wait); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestBrokenAnswer(t *testing.T) {
	faked(t, nil)
	_, err := request(t.Context(), "a", func() (string, error) { panic("no variant") })
	if err == nil || !strings.Contains(err.Error(), "no variant") {
		t.Errorf("got %v", err)
	}
}
