package servers

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/system/keyring"
	"github.com/toolfold/toolfold/internal/system/seal"
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

// LoginKeys returns the keys of the setting loginKeys, which encrypt the logins of callers in the store.
func LoginKeys(ctx context.Context, references []string) (*seal.Keys, error) {
	if len(references) == 0 {
		return nil, fmt.Errorf("loginKeys is not set: make a key with %s, and refer to it, such as %s",
			seal.NewKey, `"loginKeys": ["${TOOLFOLD_LOGIN_KEY}"]`)
	}
	var texts []string
	for i, reference := range references {
		text, err := Secret(ctx, reference)
		if err != nil {
			return nil, fmt.Errorf("loginKeys: key %d: %w", i+1, err)
		}
		texts = append(texts, text)
	}
	keys, err := seal.ParseKeys(texts)
	if err != nil {
		return nil, fmt.Errorf("loginKeys: %w", err)
	}
	return keys, nil
}
