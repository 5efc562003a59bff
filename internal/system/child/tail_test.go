package child

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestTail(t *testing.T) {
	t.Parallel()
	tail := &Tail{Keep: 20}
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 100 {
				fmt.Fprint(tail, "0123456789")
			}
		})
	}
	writers.Wait()
	fmt.Fprint(tail, "\xffsecret end\n")
	if got, want := tail.String(), "23456789secret end\n"; !strings.HasSuffix(want, got) || len(got) < 15 {
		t.Errorf("kept %q", got)
	}
	scrub := func(s string) string { return strings.ReplaceAll(s, "secret", "[secret]") }
	for n, want := range map[int]string{100: "9[secret] end", 6: "…t] end"} {
		if got := tail.Quote(n, scrub); !strings.HasSuffix(got, want) {
			t.Errorf("%d bytes: %q, want the end %q", n, got, want)
		}
	}
}
