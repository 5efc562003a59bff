package storage

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/toolfold/toolfold/internal/system/seal"
)

// loginKeys returns keys made of bytes; the first is active.
func loginKeys(t *testing.T, from ...byte) *seal.Keys {
	t.Helper()
	var texts []string
	for _, b := range from {
		key := append(bytes.Repeat([]byte{1}, 31), b)
		texts = append(texts, base64.StdEncoding.EncodeToString(key))
	}
	keys, err := seal.ParseKeys(texts)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// loginStores runs a test with one store that two processes have open.
func loginStores(t *testing.T, test func(t *testing.T, one, other *DB)) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		at := (&url.URL{Scheme: "sqlite", Path: "/" + strings.TrimPrefix(filepath.ToSlash(filepath.Join(t.TempDir(), "a.db")), "/")}).String()
		if name == goose.DialectPostgres {
			at = emptyPostgres(t)
		}
		var both [2]*DB
		for i := range both {
			db, err := Open(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			both[i] = db
		}
		test(t, both[0], both[1])
	})
}

func readLogin(t *testing.T, s CallerLogins, caller, upstream, want string) {
	t.Helper()
	login, err := s.Read(t.Context(), caller, upstream)
	if err != nil || string(login) != want || (want == "") != (login == nil) {
		t.Errorf("the login of %q at %s is %q, %v", caller, upstream, login, err)
	}
}

func setLogin(t *testing.T, s CallerLogins, caller, upstream, login string) {
	t.Helper()
	if err := s.Update(t.Context(), caller, upstream, func([]byte) ([]byte, error) { return []byte(login), nil }); err != nil {
		t.Fatal(err)
	}
}

// A login belongs to one caller at one upstream. A failed change leaves it as it was.
func TestCallerLogins(t *testing.T) {
	loginStores(t, func(t *testing.T, one, other *DB) {
		a, b := one.CallerLogins(loginKeys(t, 2)), other.CallerLogins(loginKeys(t, 2))
		const ada = "a\x00\xff"
		readLogin(t, b, ada, "github", "")
		setLogin(t, a, ada, "github", "first")
		readLogin(t, b, ada, "github", "first")
		readLogin(t, b, ada, "git", "")
		readLogin(t, b, "a", "github", "")
		failure := errors.New("the server is down")
		if err := b.Update(t.Context(), ada, "github", func(login []byte) ([]byte, error) {
			return append(login, '!'), failure
		}); !errors.Is(err, failure) {
			t.Error(err)
		}
		readLogin(t, a, ada, "github", "first")
		if err := b.Update(t.Context(), "bob", "github", func(login []byte) ([]byte, error) {
			if login != nil {
				t.Errorf("bob has %q", login)
			}
			return nil, failure
		}); !errors.Is(err, failure) {
			t.Error(err)
		}
		if err := b.Update(t.Context(), ada, "github", func([]byte) ([]byte, error) { return nil, nil }); err != nil {
			t.Error(err)
		}
		rows, err := scalar[int](t.Context(), one.reader(), sqlf(`SELECT count(*) FROM caller_logins`))
		if err != nil || rows != 0 {
			t.Errorf("%d rows, %v", rows, err)
		}
	})
}

// A row says nothing of a login, works in no other place, with no other key, and not in part. None of these is taken for
// a caller without a login, who could log in anew.
func TestCallerLoginsAreSealed(t *testing.T) {
	loginStores(t, func(t *testing.T, one, other *DB) {
		s := one.CallerLogins(loginKeys(t, 2))
		copyOf := func(caller, upstream string) query {
			return sqlf(`UPDATE caller_logins SET login = (SELECT login FROM caller_logins`).with(loginOf{caller, upstream}.whose()).and(`)`)
		}
		for name, attack := range map[string]query{
			"another caller's": copyOf("bob", "github"), "another upstream's": copyOf("ada", "slack"),
			"cut":   sqlf(`UPDATE caller_logins SET login = substr(login, 1, 20)`),
			"empty": sqlf(`UPDATE caller_logins SET login = substr(login, 1, 0)`),
		} {
			for _, of := range [][2]string{{"ada", "github"}, {"bob", "github"}, {"ada", "slack"}} {
				setLogin(t, s, of[0], of[1], "token of "+of[0]+" at "+of[1])
			}
			row, _, err := first(t.Context(), one.reader(), sqlf(`SELECT login FROM caller_logins WHERE caller = ?`, []byte("bob")), only[[]byte])
			if err != nil || len(row) == 0 || bytes.Contains(row, []byte("token")) {
				t.Fatalf("%q, %v", row, err)
			}
			attack = attack.with(loginOf{"ada", "github"}.whose())
			if n, err := one.writer().exec(t.Context(), attack.text, attack.args...); n != 1 {
				t.Fatal(n, err)
			}
			edited := false
			err = s.Update(t.Context(), "ada", "github", func([]byte) ([]byte, error) { edited = true; return nil, nil })
			_, readErr := s.Read(t.Context(), "ada", "github")
			if !errors.Is(err, seal.ErrChanged) || !errors.Is(readErr, seal.ErrChanged) || edited {
				t.Errorf("%s: edited %v, %v, %v", name, edited, err, readErr)
			}
			if _, err := one.writer().exec(t.Context(), `DELETE FROM caller_logins`); err != nil {
				t.Fatal(err)
			}
		}

		setLogin(t, s, "ada", "github", "first")
		lost, rotated := other.CallerLogins(loginKeys(t, 3)), other.CallerLogins(loginKeys(t, 3, 2))
		err := lost.Update(t.Context(), "ada", "github", func([]byte) ([]byte, error) { t.Error("it was edited"); return nil, nil })
		if !errors.Is(err, seal.ErrUnknownKey) || !strings.Contains(err.Error(), loginKeys(t, 2).Active()) {
			t.Errorf("an unknown key: %v", err)
		}
		readLogin(t, rotated, "ada", "github", "first")
		setLogin(t, rotated, "ada", "github", "second") // with the new key
		readLogin(t, lost, "ada", "github", "second")
	})
}

// Two processes whose callers come at once refresh a token once, with a server that takes each refresh token once.
func TestCallerLoginsRefreshOnce(t *testing.T) {
	loginStores(t, func(t *testing.T, one, other *DB) {
		stores := []CallerLogins{one.CallerLogins(loginKeys(t, 2)), other.CallerLogins(loginKeys(t, 2))}
		const rounds, callers = 5, 4
		setLogin(t, stores[0], "ada", "github", "0")
		var mu sync.Mutex
		current, refused := 0, 0
		refresh := func(token string) (string, error) { // the authorization server
			mu.Lock()
			defer mu.Unlock()
			if token != fmt.Sprint(current) {
				refused++
				return "", errors.New("invalid_grant")
			}
			current++
			return fmt.Sprint(current), nil
		}
		for round := range rounds {
			var callersDone sync.WaitGroup
			for n := range 2 * callers {
				callersDone.Go(func() {
					err := stores[n%2].Update(t.Context(), "ada", "github", func(login []byte) ([]byte, error) {
						if string(login) != fmt.Sprint(round) { // another one has refreshed it
							return login, nil
						}
						next, err := refresh(string(login))
						return []byte(next), err
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			callersDone.Wait()
		}
		if current != rounds || refused != 0 {
			t.Errorf("%d refreshes in %d rounds, %d refused", current, rounds, refused)
		}
	})
}

// A change takes longer than its lease, and still is alone. That of a process that was killed is taken over, and what
// that process returns later is refused.
func TestCallerLoginsLease(t *testing.T) {
	loginStores(t, func(t *testing.T, one, other *DB) {
		slow, next := one.CallerLogins(loginKeys(t, 2)), other.CallerLogins(loginKeys(t, 2))
		slow.lease = time.Second
		began, taken, slowEnds := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			slowEnds <- slow.Update(t.Context(), "ada", "github", func([]byte) ([]byte, error) {
				close(began)
				time.Sleep(3 * slow.lease)
				select {
				case <-taken:
					return nil, errors.New("another process has taken it")
				default:
					return []byte("slow"), nil
				}
			})
		}()
		<-began
		if err := next.Update(t.Context(), "ada", "github", func(login []byte) ([]byte, error) {
			close(taken)
			return append(login, " and next"...), nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := <-slowEnds; err != nil {
			t.Error(err)
		}
		readLogin(t, slow, "ada", "github", "slow and next")

		killed := loginOf{"ada", "github"}
		slow.lease = time.Millisecond
		if err := slow.hold(t.Context(), killed, "killed"); err != nil {
			t.Fatal(err)
		}
		setLogin(t, next, "ada", "github", "newer")
		if err := slow.put(t.Context(), killed, "killed", []byte("older")); err == nil || !strings.Contains(err.Error(), "call again") {
			t.Errorf("a late change: %v", err)
		}
		readLogin(t, next, "ada", "github", "newer")

		if err := next.hold(t.Context(), killed, "somebody"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := next.Update(ctx, "ada", "github", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller who left: %v", err)
		}
	})
}
