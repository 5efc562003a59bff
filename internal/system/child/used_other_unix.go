//go:build unix && !linux

package child

import "time"

// runningTime returns zero, because the times of other processes cannot be read here.
func runningTime() time.Duration { return 0 }
