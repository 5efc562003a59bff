package upstream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/code/secrets"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/system/keyring"
	"github.com/toolfold/toolfold/internal/text/redact"
	"github.com/toolfold/toolfold/tools/config"
)

// keyringFlag moves literal secrets into the keyring.
var keyringFlag = &cli.BoolFlag{Name: "keyring", Usage: "with --write: move secrets that the files have into the system's keyring"}

// moveSecrets stores the literal secrets of new upstreams in the keyring, and replaces them by
// references. It needs --keyring or the user's consent. It runs before settings are written. stored
// lists the names that are new in the keyring; after an error they are removed again.
func moveSecrets(c *cli.Context, o *settings.Options, found []candidate) (stored []string, err error) {
	var names []string
	for _, t := range found {
		if _, known := o.Upstreams[t.name]; t.name == "" || known {
			continue
		}
		for _, name := range literals(t.upstream) {
			names = append(names, t.name+" "+name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case len(names) == 0 || c.Bool(keyringFlag.Name):
	case !canAsk() || c.Bool(env.JSONFlag.Name):
		fmt.Fprintf(c.App.ErrWriter, "toolfold: secrets become part of the settings: %s; --keyring moves them into the system's keyring\n",
			strings.Join(names, ", "))
		return nil, nil
	default:
		if !agrees(c, "move secrets into the system's keyring: "+strings.Join(names, ", ")+"?") {
			return nil, nil
		}
	}
	for i := range found {
		t := &found[i]
		if _, known := o.Upstreams[t.name]; t.name == "" || known {
			continue
		}
		u, added, err := withReferences(c.Context, t.name, t.upstream)
		stored = append(stored, added...)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("moving the secrets of %s: %w", t.name, err), removeAll(c.Context, stored))
		}
		t.upstream = u
	}
	if len(stored) > 0 {
		fmt.Fprintf(textOut(c), "stored   %s in the keyring\n", strings.Join(stored, ", "))
	}
	return stored, nil
}

// moveBack removes the secrets that [moveSecrets] stored, after a failed import. Secrets that the
// settings still refer to stay: not everything could be undone.
func moveBack(c *cli.Context, stored []string) error {
	if len(stored) == 0 {
		return nil
	}
	o, err := settings.Load(c) // the current ones
	if err != nil {
		return err
	}
	users := usersOf(o.Upstreams)
	stored = slices.DeleteFunc(stored, func(secret string) bool { return len(users[secret]) > 0 })
	if err := removeAll(c.Context, stored); err != nil || len(stored) == 0 {
		return err
	}
	_, err = fmt.Fprintf(textOut(c), "removed  %s from the keyring\n", strings.Join(stored, ", "))
	return err
}

// literals lists the environment variables and headers of an upstream with literal values that look
// like secrets.
func literals(u config.Upstream) (names []string) {
	for _, values := range []map[string]string{u.Env, u.Headers} {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if isLiteralSecret(name, values[name]) {
				names = append(names, name)
			}
		}
	}
	return names
}

// isLiteralSecret reports whether a value is literal, and a secret by its name or form.
func isLiteralSecret(name, value string) bool {
	if value == "" || hosts.HasVariable(value) {
		return false
	}
	return redact.Names(name) || redact.Text(value) != value || secrets.Hide(value, "") != value
}

// withReferences stores the literal secrets of an upstream, and returns it with references to them.
// stored lists the names that are new in the keyring, also after an error.
func withReferences(ctx context.Context, name string, u config.Upstream) (_ config.Upstream, stored []string, err error) {
	u.Env, u.Headers = maps.Clone(u.Env), maps.Clone(u.Headers)
	for _, values := range []map[string]string{u.Env, u.Headers} {
		for _, variable := range slices.Sorted(maps.Keys(values)) {
			if !isLiteralSecret(variable, values[variable]) {
				continue
			}
			secret, isNew, err := storeSecret(ctx, name, variable, values[variable])
			if err != nil {
				return u, stored, err
			}
			if isNew {
				stored = append(stored, secret)
			}
			values[variable] = keyring.Reference(secret)
		}
	}
	return u, stored, nil
}

// storeSecret stores the secret of an upstream's variable under the name UPSTREAM-VARIABLE. It appends
// a number if the keyring has another secret with that name.
func storeSecret(ctx context.Context, upstream, variable, value string) (name string, isNew bool, err error) {
	base := secretOf(upstream, variable)
	const most = 100
	for n := 1; n <= most; n++ {
		if name = base; n > 1 {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		known, err := keyring.Get(ctx, name)
		var missing *keyring.MissingError
		switch {
		case errors.As(err, &missing):
			return name, true, keyring.Set(ctx, name, value)
		case err != nil:
			return name, false, err
		case known == value:
			return name, false, nil
		}
	}
	return base, false, fmt.Errorf("the keyring has %d secrets named like %s: remove some with toolfold secret remove", most, base)
}

// secretOf returns the usual name of the secret of an upstream's variable.
func secretOf(upstream, variable string) string {
	return secretPrefix(upstream) + strings.Map(func(r rune) rune {
		if keyring.IsName(string(r)) || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, variable)
}

// secretPrefix is the prefix of the names of secrets that were moved for an upstream.
func secretPrefix(upstream string) string { return upstream + "-" }

// removeSecrets removes the secrets that were moved into the keyring for some upstreams, by their
// references. A missing secret is not an error.
func removeSecrets(ctx context.Context, upstreams map[string]config.Upstream) error {
	var names []string
	for secret, users := range usersOf(upstreams) {
		if slices.ContainsFunc(users, func(name string) bool { return strings.HasPrefix(secret, secretPrefix(name)) }) {
			names = append(names, secret)
		}
	}
	slices.Sort(names)
	return removeAll(ctx, names)
}

// removeAll removes secrets, even after an interrupt. A missing secret is not an error.
func removeAll(ctx context.Context, names []string) (err error) {
	ctx = context.WithoutCancel(ctx)
	for _, name := range names {
		var missing *keyring.MissingError
		if failed := keyring.Remove(ctx, name); failed != nil && !errors.As(failed, &missing) {
			err = errors.Join(err, fmt.Errorf("removing the secret %s: %w", name, failed))
		}
	}
	return err
}
