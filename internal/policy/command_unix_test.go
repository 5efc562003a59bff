//go:build unix

package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A command of a policy runs only where the user trusts the workspace.
func TestCommandNeedsTrust(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "ran")
	r := newRepo(t, nil)
	r.Write("a", "1")
	policy := fmt.Sprintf("gates: [contract_tests]\ncontractTests: {command: [touch, %q]}\n", mark)
	for _, trusted := range []bool{false, true} {
		got := r.check(trusted, policy)[0]
		_, err := os.Stat(mark)
		if (err == nil) != trusted {
			t.Errorf("trusted %v: ran is %v", trusted, err == nil)
		}
		if !trusted && (got.Status != Warn || !strings.Contains(got.Paths[0].Reason, "toolfold trust")) || trusted && got.Status != Pass {
			t.Errorf("trusted %v: %+v", trusted, got)
		}
	}
}

func TestCommandEnds(t *testing.T) {
	t.Parallel()
	r := newRepo(t, nil)
	for command, want := range map[string]string{
		"[sh, -c, \"echo before; sleep 60\"], timeoutMs: 1000": Fail + " longer than 1s: before", "[no-such-program-here]": Warn +
			" cannot be started", "[sh, -c, \"echo Bearer abcdefghijklmnopqrstuvwx; exit 3\"]": Fail + " exit status 3",
	} {
		got := r.check(true, "gates: [contract_tests]\ncontractTests: {command: "+command+"}\n")[0]
		status, text, _ := strings.Cut(want, " ")
		if got.Status != status || !strings.Contains(got.Paths[0].Reason, text) || strings.Contains(got.Paths[0].Reason, "abcdefghij") {
			t.Errorf("%s: %+v", command, got)
		}
	}
}
