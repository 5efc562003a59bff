//go:build unix

package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A policy's command only runs if the user trusts the workspace.
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
		"[no-such-program-here]":                                     Warn + " cannot be started",
		"[sh, -c, \"echo Bearer abcdefghijklmnopqrstuvwx; exit 3\"]": Fail + " exit status 3",
	} {
		got := r.check(true, "gates: [contract_tests]\ncontractTests: {command: "+command+"}\n")[0]
		status, text, _ := strings.Cut(want, " ")
		if got.Status != status || !strings.Contains(got.Paths[0].Reason, text) || strings.Contains(got.Paths[0].Reason, "abcdefghij") {
			t.Errorf("%s: %+v", command, got)
		}
	}
	for limit := time.Second; ; limit *= 2 { // until the limit leaves enough time to start
		const lasting = "gates: [contract_tests]\ncontractTests: {command: [sh, -c, \"echo before; sleep 600\"], timeoutMs: %d}\n"
		got := r.check(true, fmt.Sprintf(lasting, limit.Milliseconds()))[0]
		want := fmt.Sprintf(" longer than %s", limit)
		if why := got.Paths[0].Reason; got.Status != Fail || !strings.Contains(why, want) || limit > time.Minute {
			t.Errorf("with %s: %+v", limit, got)
		} else if !strings.Contains(why, want+": before") {
			continue
		}
		break
	}
}
