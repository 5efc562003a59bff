//go:build !unix

package child

import "time"

// LimitCPU does nothing where the system knows no such limit.
func LimitCPU(time.Duration) error { return nil }
