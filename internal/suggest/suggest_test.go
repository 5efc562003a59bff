package suggest

import "testing"

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
