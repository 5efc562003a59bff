package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/toolfold/toolfold/internal/system/safefile"
)

// Accounts is the file with the logins of this user, which only this user can read.
type Accounts struct {
	Path string
	Now  func() time.Time // nil = time.Now
}

func (a Accounts) now() time.Time {
	if a.Now == nil {
		return time.Now()
	}
	return a.Now()
}

// maxAccounts is the largest size of the login file, in bytes.
const maxAccounts = 1 << 20

// Of returns the account for a server. It reads nothing yet.
func (a Accounts) Of(name, url string) *Account {
	return newAccount(&fileLogin{accounts: a, name: name, url: url}, url, a.now)
}

// Names maps the upstreams that have a login in the file to their URLs.
func (a Accounts) Names() (map[string]string, error) {
	logins, err := a.read()
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for name, l := range logins {
		names[name] = l.URL
	}
	return names, nil
}

// Remove removes a login from the file, and reports whether there was one.
func (a Accounts) Remove(ctx context.Context, name string) (removed bool, err error) {
	err = a.update(ctx, func(logins map[string]*login) bool {
		_, removed = logins[name]
		delete(logins, name)
		return removed
	})
	return removed, err
}

// modTime returns the modification time of the file, or the zero time if there is no file.
func (a Accounts) modTime() time.Time {
	info, err := os.Stat(a.Path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func (a Accounts) read() (map[string]*login, error) {
	logins := map[string]*login{}
	root, err := os.OpenRoot(filepath.Dir(a.Path))
	if errors.Is(err, fs.ErrNotExist) {
		return logins, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the logins: %w", err)
	}
	defer root.Close()
	text, err := safefile.Read(root, filepath.Base(a.Path), maxAccounts)
	if errors.Is(err, fs.ErrNotExist) {
		return logins, nil
	}
	if err == nil && json.Unmarshal(text, &logins) != nil {
		err = errors.New("it is not JSON") // the error itself could quote a token
	}
	if err != nil {
		return nil, fmt.Errorf("reading the logins in %s: %w", a.Path, err)
	}
	return logins, nil
}

// update changes the file if edit reports a change, one process at a time.
func (a Accounts) update(ctx context.Context, edit func(map[string]*login) (changed bool)) error {
	if err := os.MkdirAll(filepath.Dir(a.Path), 0o700); err != nil {
		return fmt.Errorf("writing the logins: %w", err)
	}
	unlock, err := safefile.Lock(ctx, a.Path+".lock")
	if err != nil {
		return fmt.Errorf("writing the logins: %w", err)
	}
	defer unlock()
	logins, err := a.read()
	if err != nil || !edit(logins) {
		return err
	}
	text, err := json.MarshalIndent(logins, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the logins: %w", err)
	}
	root, err := os.OpenRoot(filepath.Dir(a.Path))
	if err != nil {
		return fmt.Errorf("writing the logins: %w", err)
	}
	defer root.Close()
	if err := safefile.Replace(root, filepath.Base(a.Path), append(text, '\n')); err != nil {
		return fmt.Errorf("writing the logins: %w", err)
	}
	return nil
}

// fileLogin is the login at a server in the file of [Accounts].
type fileLogin struct {
	accounts  Accounts
	name, url string // of the server

	mu     sync.Mutex
	looked bool
	lacks  time.Time // modification time of the file without the login; zero if there was no file
}

// read implements [loginStore]. It does not read a file without the login again.
func (f *fileLogin) read(context.Context) (*login, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	modified := f.accounts.modTime()
	if f.looked && modified.Equal(f.lacks) {
		return nil, nil
	}
	logins, err := f.accounts.read()
	if err != nil {
		return nil, err
	}
	l := logins[f.name]
	if l == nil || l.URL != f.url {
		f.looked, f.lacks = true, modified
		return nil, nil
	}
	return l, nil
}

// update implements [loginStore].
func (f *fileLogin) update(ctx context.Context, edit func(*login) *login) error {
	return f.accounts.update(ctx, func(logins map[string]*login) bool {
		stored := logins[f.name]
		if stored != nil && stored.URL != f.url {
			stored = nil
		}
		next := edit(stored)
		switch next {
		case stored:
			return false
		case nil:
			delete(logins, f.name)
		default:
			logins[f.name] = next
		}
		return true
	})
}

// first implements [loginStore].
func (f *fileLogin) first(why string) error {
	return fmt.Errorf("%w%s: toolfold upstream login %s", ErrLogin, why, f.name)
}

// scoped implements [loginStore].
func (f *fileLogin) scoped(scope string) string {
	return fmt.Sprintf("toolfold upstream login %s --scope %q", f.name, scope)
}
