package suggest

import (
	"strings"
	"testing"
)

// Of names that differ only in separators, the one with the same separator wins.
func TestNearestSpelling(t *testing.T) {
	t.Parallel()
	names := []string{"memory", "memory_store", "memory.store"}
	for word, want := range map[string]string{"memory.stor": "memory.store", "memory_stor": "memory_store", "memori": "memory"} {
		if got := Nearest(word, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	actions := []string{"store", "get", "search", "list", "bulk_delete", "delete"}
	for _, test := range []struct{ word, want string }{
		{"stor", "store"},
		{"sotre", "store"},
		{"gett", "get"},
		{"bulkDelete", "bulk_delete"},
		{"bulk-delete", "bulk_delete"},
		{"Delete", "delete"},
		{"lists", "list"},
		{"zzz", ""},
		{"", ""},
		{"a", ""},
	} {
		if got := Nearest(test.word, actions); got != test.want {
			t.Errorf("Nearest(%q) = %q, want %q", test.word, got, test.want)
		}
	}
}

// Other forms of a word match a value of an enumeration, if only one value is close.
func TestValue(t *testing.T) {
	t.Parallel()
	statuses := []string{"success", "failure", "running", "bulk_store", "bulk_delete"}
	for word, want := range map[string]string{
		"failed": "failure", "failing": "failure", "succeeded": "success", "runing": "running", "fai": "failure", "bulk_update": "", "paused": "",
	} {
		if got := Value(word, statuses); got != want {
			t.Errorf("Value(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ab", 40)
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"store", "sotre", 1}, {"ca", "abc", 3},
		{"größe", "grosse", 3}, {long, long, 0}, {long, "b" + long, 1}, {"x" + long, long + "x", 2},
	} {
		if got := distance([]rune(test.a), []rune(test.b)); got != test.want {
			t.Errorf("from %q to %q it is %d, want %d", test.a, test.b, got, test.want)
		}
	}
}
