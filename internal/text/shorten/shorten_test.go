package shorten

import "testing"

func TestWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"", 3, ""},
		{"the whole", 9, "the whole"},
		{"the whole of it", 9, "the whole…"},
		{"the whole, of it", 10, "the whole…"},
		{"the whole of it", 11, "the whole…"},
		{"the whole of it", 12, "the whole of…"},
		{"a Donaudampfschiff", 10, "a Donaudam…"},
		{"größte Länge", 9, "größte…"},
		{"ends in a mark…", 15, "ends in a mark…"},
		{"ab€", 2, "ab…"},
	} {
		if got := Words(c.text, c.n); got != c.want {
			t.Errorf("%q in %d characters: got %q, want %q", c.text, c.n, got, c.want)
		}
	}
}
