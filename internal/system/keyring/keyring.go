// Package keyring stores secrets in the keyring of the user's system: the Keychain of macOS, the
// Credential Manager of Windows, or the Secret Service of other desktops, over D-Bus.
package keyring

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"time"

	library "github.com/zalando/go-keyring"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// service is the name under which keyrings list the secrets.
const service = "toolfold"

// MaxSecret bounds a secret, in bytes: Windows stores at most 2,560.
const MaxSecret = 2560

// limit bounds one request to the keyring. A locked keyring asks the user for a password, which
// takes a while; without a screen it would wait forever.
var limit = 20 * time.Second

// nameForm matches names of secrets: they are part of ${keyring:NAME}, and arguments of commands.
var nameForm = regex.Lazy(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)

// IsName reports whether a text is a valid name of a secret.
func IsName(name string) bool { return nameForm().MatchString(name) }

// Reference returns the reference to a secret in settings.
func Reference(name string) string { return "${keyring:" + name + "}" }

// MissingError is the error for a secret that the keyring does not have.
type MissingError struct{ Name string }

// Error names the secret, and the command that sets it.
func (e *MissingError) Error() string {
	return fmt.Sprintf("the keyring has no secret %s: set it with toolfold secret set %[1]s", e.Name)
}

// Get returns a secret. The error is a [MissingError] if there is no such secret.
func Get(ctx context.Context, name string) (string, error) {
	return request(ctx, name, func() (string, error) { return library.Get(service, name) })
}

// Set stores a secret, replacing one with the same name. The value must have 1 to [MaxSecret]
// bytes.
func Set(ctx context.Context, name, value string) error {
	switch {
	case value == "":
		return fmt.Errorf("the secret %s is empty", name)
	case len(value) > MaxSecret:
		return fmt.Errorf("the secret %s has %d bytes: keyrings take at most %d", name, len(value), MaxSecret)
	}
	_, err := request(ctx, name, func() (string, error) { return "", library.Set(service, name, value) })
	return err
}

// Remove removes a secret. The error is a [MissingError] if there is no such secret.
func Remove(ctx context.Context, name string) error {
	_, err := request(ctx, name, func() (string, error) { return "", library.Delete(service, name) })
	return err
}

// request makes one request to the keyring. It abandons a request that takes too long, because the
// library cannot cancel it.
func request(ctx context.Context, name string, do func() (string, error)) (string, error) {
	if !IsName(name) {
		return "", fmt.Errorf("%q is no name of a secret: at most 128 letters, digits, _, . and -, of which the first is no . or -", name)
	}
	if !reachable() {
		return "", fmt.Errorf("no keyring here (no D-Bus session, as in ssh and CI): %s", instead(name))
	}
	type outcome struct {
		secret string
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if broken := recover(); broken != nil { // the library does not check data of the Secret Service
				o.err = fmt.Errorf("it sent an answer that cannot be read: %v", broken)
			}
			done <- o
		}()
		o.secret, o.err = do()
	}()
	bound, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case o := <-done:
		return o.secret, explain(o.err, name)
	case <-bound.Done():
		if err := ctx.Err(); err != nil {
			return "", fmt.Errorf("waiting for the keyring, which may be locked: %w", err)
		}
		return "", fmt.Errorf("the keyring has not answered within %s, and may be locked: unlock it and try again, or %s", limit, instead(name))
	}
}

// explain adds advice for the user to the error of a request.
func explain(err error, name string) error {
	var unconnected *net.OpError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unconnected):
		return fmt.Errorf("no keyring here (the D-Bus session does not answer: %w): %s", err, instead(name))
	case errors.Is(err, library.ErrNotFound):
		return &MissingError{name}
	case errors.Is(err, library.ErrUnsupportedPlatform), strings.Contains(err.Error(), "org.freedesktop.secrets was not provided"):
		return fmt.Errorf("no keyring here (no program provides one): %s", instead(name))
	}
	return fmt.Errorf("the keyring refuses (%w), and may be locked: unlock it and try again, or %s", err, instead(name))
}

// instead returns the advice to use an environment variable if the keyring is unusable.
func instead(name string) string {
	variable := Variable(name)
	return fmt.Sprintf("set the environment variable %s and write ${%[1]s} in place of %s", variable, Reference(name))
}

// Variable returns the name of an environment variable to use instead of a secret.
func Variable(name string) string {
	variable := strings.Map(func(r rune) rune {
		if r == '.' || r == '-' {
			return '_'
		}
		return r
	}, strings.ToUpper(name))
	if variable[0] >= '0' && variable[0] <= '9' {
		return "_" + variable
	}
	return variable
}

// session returns the environment variable for the address of the D-Bus session, and its value.
func session() (variable, address string) {
	variable = "DBUS_SESSION_BUS_ADDRESS"
	return variable, os.Getenv(variable)
}

// Environment lists the environment variables that the keyring needs, as far as they are set.
func Environment() []string {
	variable, address := session()
	if !overBus() || address == "" {
		return nil
	}
	return []string{variable}
}

// overBus reports whether this system's keyring uses D-Bus.
func overBus() bool { return runtime.GOOS != "windows" && runtime.GOOS != "darwin" }

// reachable reports whether there may be a keyring. Without a session the library would start its
// own bus, which has no keyring and never ends.
var reachable = func() bool {
	if _, address := session(); !overBus() || address != "" && address != "autolaunch:" {
		return true
	}
	_, err := os.Stat(fmt.Sprintf("/run/user/%d/bus", os.Getuid()))
	return err == nil
}
