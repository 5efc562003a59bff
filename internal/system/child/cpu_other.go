//go:build !unix

package child

import "time"

// LimitCPU does nothing on systems without such a limit.
func LimitCPU(time.Duration) error { return nil }
