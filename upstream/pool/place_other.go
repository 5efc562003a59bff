//go:build !unix

package pool

import (
	"errors"
	"syscall"
)

// Supported says that servers can be shared on this system: what a process starts does not
// end with it here, however it ends.
const Supported = false

// Dir returns an error: servers are not shared on this system.
func Dir(string) (string, error) { return "", errors.New("servers are not shared on this system") }

func apart() *syscall.SysProcAttr { return nil }
