package main

import (
	"testing"
	"unicode/utf8"

	"github.com/toolfold/toolfold/serve"
)

// Instructions are billed on every turn of every client.
func TestInstructionsAreShort(t *testing.T) {
	t.Parallel()
	for _, text := range []string{instructions, legacyInstructions} {
		if n := utf8.RuneCountInString(text); n > serve.MaxInstructions {
			t.Errorf("%d characters, more than %d: %s", n, serve.MaxInstructions, text)
		}
	}
}
