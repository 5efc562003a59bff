package env

import (
	"os/exec"
	"runtime"
)

// Browse opens an address in the user's browser, if there is one. It does not wait for it, and reports no
// failure: callers print the address too.
func Browse(address string) {
	opener := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if opener == nil {
		opener = []string{"xdg-open"}
	}
	go func() { _ = exec.Command(opener[0], append(opener[1:], address)...).Run() }()
}
