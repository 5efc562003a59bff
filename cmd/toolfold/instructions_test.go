package main

import (
	"testing"
	"unicode/utf8"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
)

// Instructions are billed on every turn of every client.
func TestInstructionsAreShort(t *testing.T) {
	t.Parallel()
	for _, mode := range surface.Modes() {
		for _, level := range lazy.Levels() {
			for _, form := range toolfold.Forms() {
				text := instructions(surface.New(surface.Options{Mode: mode, Level: level, Params: form}))
				if n := utf8.RuneCountInString(text); n > serve.MaxInstructions {
					t.Errorf("%s %s %s: %d characters, more than %d: %s", mode, level, form, n, serve.MaxInstructions, text)
				}
			}
		}
	}
}
