package storage

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/toolfold/toolfold/internal/system/seal"
)

// CallerLogins stores the logins of callers at upstreams, encrypted. One process at a time changes a login. It leases
// the row for that rather than hold a transaction: a change asks an authorization server, which may take long, and
// meanwhile needs no connection of the store.
type CallerLogins struct {
	db    *DB
	keys  *seal.Keys
	lease time.Duration
}

// loginLease is how long the login of a process that was killed during a change stays locked.
const loginLease = 15 * time.Second

// CallerLogins returns the store of callers' logins.
func (db *DB) CallerLogins(keys *seal.Keys) CallerLogins { return CallerLogins{db, keys, loginLease} }

// loginOf is the row of a caller at an upstream.
type loginOf struct{ caller, upstream string }

// place is what a login is bound to when it is encrypted.
func (l loginOf) place() string { return fmt.Sprintf("login %q %q", l.caller, l.upstream) }

// whose selects the row.
func (l loginOf) whose() query {
	return sqlf(`WHERE caller = ? AND upstream = ?`, []byte(l.caller), []byte(l.upstream))
}

// Read returns the login of a caller at an upstream; nil if there is none.
func (s CallerLogins) Read(ctx context.Context, caller, upstream string) (login []byte, err error) {
	type sealed struct {
		keyID string
		login []byte
	}
	of := loginOf{caller, upstream}
	row, found, err := byKey(ctx, s.db, sqlf(`SELECT key_id, login FROM caller_logins`).with(of.whose()).and(`AND login IS NOT NULL`),
		into(func(r *sealed) []any { return []any{&r.keyID, &r.login} }))
	if err != nil || !found {
		return nil, err
	}
	login, err = s.keys.Open(row.keyID, row.login, of.place())
	switch {
	case errors.Is(err, seal.ErrUnknownKey):
		return nil, fmt.Errorf("reading the login of a caller at %s: %w; add that key behind the first of loginKeys", upstream, err)
	case err != nil:
		return nil, fmt.Errorf("reading the login of a caller at %s: %w; remove its row from caller_logins, and log in again", upstream, err)
	}
	return login, nil
}

// Update runs edit with the login of a caller at an upstream, nil if there is none, while no other process changes it
// with Update, and stores what edit returns; nil removes the login. An error of edit changes nothing and is returned.
func (s CallerLogins) Update(ctx context.Context, caller, upstream string, edit func(login []byte) ([]byte, error)) error {
	of, holder := loginOf{caller, upstream}, rand.Text()
	if err := s.hold(ctx, of, holder); err != nil {
		return err
	}
	before, err := s.Read(ctx, caller, upstream)
	after := before
	if err == nil {
		life, stop := context.WithCancel(context.WithoutCancel(ctx))
		go s.keepHold(life, of, holder)
		after, err = edit(before)
		stop()
	}
	if err != nil {
		return errors.Join(err, s.release(ctx, of, holder))
	}
	if after != nil && bytes.Equal(before, after) {
		return s.release(ctx, of, holder)
	}
	return s.put(ctx, of, holder, after)
}

// Pauses between two attempts to hold a login.
const (
	firstHoldPause = 10 * time.Millisecond
	mostHoldPause  = 200 * time.Millisecond
)

// hold waits until no other process changes a login, and binds it to holder.
func (s CallerLogins) hold(ctx context.Context, of loginOf, holder string) error {
	clock := s.db.dialect.clock
	for pause := firstHoldPause; ; pause = min(2*pause, mostHoldPause) {
		n, err := s.db.writer().exec(ctx, `INSERT INTO caller_logins (caller, upstream, holder, held_until) VALUES (?, ?, ?, `+clock+` + ?)
			ON CONFLICT (caller, upstream) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
			WHERE caller_logins.held_until < `+clock, []byte(of.caller), []byte(of.upstream), holder, s.lease.Microseconds())
		if err != nil || n > 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for another change of the login at %s: %w", of.upstream, ctx.Err())
		case <-time.After(pause):
		}
	}
}

// keepHold extends the hold until ctx ends. A failure is tried again: the hold outlasts two of them.
func (s CallerLogins) keepHold(ctx context.Context, of loginOf, holder string) {
	q := sqlf(`UPDATE caller_logins SET held_until = `+s.db.dialect.clock+` + ?`, s.lease.Microseconds()).with(of.whose()).
		and(`AND holder = ?`, holder)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(s.lease / 3):
			_, _ = s.db.writer().exec(ctx, q.text, q.args...)
		}
	}
}

// release ends a hold without a change.
func (s CallerLogins) release(ctx context.Context, of loginOf, holder string) error {
	return s.db.transact(context.WithoutCancel(ctx), func(e executor) error {
		for _, q := range []query{
			sqlf(`DELETE FROM caller_logins`).with(of.whose()).and(`AND holder = ? AND login IS NULL`, holder),
			sqlf(`UPDATE caller_logins SET holder = '', held_until = 0`).with(of.whose()).and(`AND holder = ?`, holder),
		} {
			if _, err := e.exec(ctx, q.text, q.args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// put stores a login, or removes it if it is nil, and ends the hold. It goes on if the caller has left: an authorization
// server may take a refresh token only once, so a new one must not be lost.
func (s CallerLogins) put(ctx context.Context, of loginOf, holder string, login []byte) error {
	ctx = context.WithoutCancel(ctx)
	q := sqlf(`DELETE FROM caller_logins`)
	if login != nil {
		keyID, sealed := s.keys.Seal(login, of.place())
		q = sqlf(`UPDATE caller_logins SET key_id = ?, login = ?, changed_at = `+s.db.dialect.clock+`, holder = '', held_until = 0`,
			keyID, sealed)
	}
	q = q.with(of.whose()).and(`AND holder = ?`, holder)
	return s.db.transact(ctx, func(e executor) error {
		n, err := e.exec(ctx, q.text, q.args...)
		if err == nil && n == 0 {
			return fmt.Errorf("storing the login at %s: another process has changed it meanwhile, because this one was held up; call again",
				of.upstream)
		}
		return err
	})
}
