//go:build !unix

package pool

import (
	"errors"
	"syscall"
)

// Supported reports whether servers can be shared on this system. They cannot: programs that a process
// starts do not reliably end with it here.
const Supported = false

// Dir returns an error: servers are not shared on this system.
func Dir(string) (string, error) { return "", errors.New("servers are not shared on this system") }

func apart() *syscall.SysProcAttr { return nil }
