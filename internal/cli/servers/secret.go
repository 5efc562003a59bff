package servers

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/system/keyring"
)

// Secret returns the secret for a reference of the settings, such as ${NAME} or ${keyring:NAME}. Errors quote no secret.
func Secret(ctx context.Context, reference string) (string, error) {
	if !hosts.IsReference(reference) {
		return "", errors.New("it has to be a reference, not the secret itself: ${NAME} for an environment variable, or " +
			keyring.Reference("NAME"))
	}
	const value = "Value"
	e := hosts.Entry{Own: true, Header: map[string]string{value: reference}}.Fill("")
	if e.Problem != "" {
		return "", errors.New(e.Problem)
	}
	full, _, err := e.Reveal(func(name string) (string, error) { return keyring.Get(ctx, name) })
	if err != nil {
		return "", err
	}
	if full.Header[value] == "" {
		return "", fmt.Errorf("%s is empty", reference)
	}
	return full.Header[value], nil
}
