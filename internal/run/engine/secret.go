package engine

import (
	"cmp"
	"slices"
	"strings"
)

// shortestSecret is the minimum length of a secret, in characters: shorter values occur in texts by
// chance.
const shortestSecret = 6

// environmentSecrets lists the values of an environment, in the form of
// [os.Environ], whose names look like those of secrets, and each long line of
// them.
func environmentSecrets(environment []string) []string {
	var secrets []string
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		name = strings.ToUpper(name)
		looksSecret := slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL"},
			func(word string) bool { return strings.Contains(name, word) })
		if looksSecret {
			secrets = append(secrets, value)
			secrets = append(secrets, strings.Split(value, "\n")...)
		}
	}
	return secrets
}

// scrub removes secrets from a text for an error.
func scrub(text string, secrets []string) string {
	// The longest first: a shorter one may be a part of it.
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, secret := range secrets {
		if secret = strings.TrimSpace(secret); len(secret) >= shortestSecret {
			text = strings.ReplaceAll(text, secret, "[secret]")
		}
	}
	return text
}
