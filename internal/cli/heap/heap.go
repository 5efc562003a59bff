// Package heap tunes garbage collection, and returns unused memory to the system.
package heap

import (
	"runtime/debug"
	"time"

	"github.com/toolfold/toolfold/internal/system/resident"
)

// settleAfter is the assumed length of a start.
const settleAfter = time.Second

// restAfter is how long a process is idle before it returns memory. worthGiving is the least amount
// that it returns, in bytes.
const (
	restAfter   = 5 * time.Second
	worthGiving = 4 << 20
)

// heapReserve is the size of a block that is never touched. It takes no memory, but counts for the
// garbage collector: garbage of calls is collected about every 15 MB instead of every 4 MB. That saves
// a sixth of the work of a call.
const heapReserve = 4 << 20

// Reserve returns the block, to be kept alive while a server runs. With it, a server works with the
// usual garbage percentage from Settle; zero leaves the percentage unchanged.
func Reserve(usual int) []byte {
	if usual != 0 {
		debug.SetGCPercent(usual)
	}
	block := make([]byte, heapReserve)
	untouch(block)
	return block
}

// Settle lets the start run with few garbage collections, and then returns memory that only the start
// needed. Afterwards it returns memory whenever the process becomes idle. It returns the garbage
// percentage after the start.
func Settle() (usual int) {
	usual = debug.SetGCPercent(400)
	time.AfterFunc(settleAfter, func() {
		debug.SetGCPercent(usual)
		giveBack()
		rest()
	})
	return usual
}

// giveBack returns unused memory. It collects twice, because pooled buffers survive the first time.
func giveBack() {
	debug.FreeOSMemory()
	debug.FreeOSMemory()
	resident.DropFile()
}

// rest returns memory whenever the process is idle and has more of its own than after it last did so.
func rest() {
	before := worked()
	if before == 0 {
		return
	}
	least := 0
	for range time.Tick(restAfter) {
		now, has := worked(), resident.Own()
		switch {
		case now-before > restAfter/20: // it is busy
		case has > least+worthGiving:
			giveBack()
			least = resident.Own()
		}
		least, before = min(least, has), now
	}
}
