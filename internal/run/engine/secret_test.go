package engine

import "testing"

func TestScrub(t *testing.T) {
	t.Parallel()
	secrets := environmentSecrets([]string{
		"HOME=/home/somebody", "A_KEY=abcdefgh", "LONGER_TOKEN=abcdefgh-ijkl", "my_secret=\n-----BEGIN-----\nMIIEvQ\n", "DB_PASSWORD=x",
		"KEYBOARD=",
	})
	for text, want := range map[string]string{
		"/home/somebody said abcdefgh":  "/home/somebody said [secret]",
		"abcdefgh-ijkl and abcdefgh":    "[secret] and [secret]",
		"line MIIEvQ of a longer value": "line [secret] of a longer value",
		"x marks the spot":              "x marks the spot",
	} {
		if got := scrub(text, secrets); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
