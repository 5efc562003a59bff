package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
)

// Instructions are billed on every turn of every client.
func TestInstructionsAreShort(t *testing.T) {
	t.Parallel()
	for _, mode := range surface.Modes() {
		for _, level := range lazy.Levels() {
			for _, form := range entry.Forms() {
				for _, fold := range consolidate.Folds() {
					text := instructions(surface.New(surface.Options{Mode: mode, Level: level, Params: form, Fold: fold}))
					if n := utf8.RuneCountInString(text); n > serve.MaxInstructions {
						t.Errorf("%s %s %s %s: %d characters, more than %d: %s", mode, level, form, fold, n, serve.MaxInstructions, text)
					}
					if alone := mode == surface.Legacy || fold == consolidate.None; alone == strings.Contains(text, "with action") {
						t.Errorf("%s %s: %s", mode, fold, text)
					}
				}
			}
		}
	}
}
