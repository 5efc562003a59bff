package english_test

import (
	"testing"

	"github.com/toolfold/toolfold/internal/text/english"
)

func TestCount(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"0 files are": english.Count(0, "file is", "files are"), "1 file is": english.Count(1, "file is", "files are"),
		"1234 entries": english.Count(1234, "entry", "entries"),
		"0":            english.Grouped(0), "999": english.Grouped(999), "1,000": english.Grouped(1000), "1,062,716": english.Grouped(1062716),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestFirstLetters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"": {}, "a": {"A", "a"}, "Änne": {"Änne", "änne"}, "ǆ": {"Ǆ", "ǆ"}, "\xff": {"\xff", "\xff"}, "1x": {"1x", "1x"},
	} {
		if got := [2]string{english.UpperFirst(text), english.LowerFirst(text)}; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestSingular(t *testing.T) {
	t.Parallel()
	for many, one := range map[string]string{"notes": "note", "entries": "entry", "note": "note", "": ""} {
		if got := english.Singular(many); got != one {
			t.Errorf("%q is %q, want %q", many, got, one)
		}
	}
}
