// Package heap chooses how a process collects garbage, and when it gives memory back to the system.
package heap

import (
	"runtime/debug"
	"time"

	"github.com/toolfold/toolfold/internal/system/resident"
)

// settleAfter bounds the time of a start.
const settleAfter = time.Second

// restAfter is how long a process does little before it gives memory back, and worthGiving is
// the least that it gives back, in bytes.
const (
	restAfter   = 5 * time.Second
	worthGiving = 4 << 20
)

// heapReserve is the size of a block that is never touched, and so takes no memory,
// but counts for the garbage collector. What calls leave behind is collected every
// 15 MB or so instead of every 4 MB, which is a sixth of the work of a call.
const heapReserve = 4 << 20

// Reserve returns the block of a server, to be kept while it serves. With it a start
// needs no other percentage of garbage than the usual one; zero where settle was not called.
func Reserve(usual int) []byte {
	if usual != 0 {
		debug.SetGCPercent(usual)
	}
	block := make([]byte, heapReserve)
	untouch(block)
	return block
}

// Settle lets the start run with few garbage collections, and afterwards gives what
// only the start needed back to the system. Whenever the process has worked and rests
// again it gives back what the work needed. It returns the percentage of garbage after the start.
func Settle() (usual int) {
	usual = debug.SetGCPercent(400)
	time.AfterFunc(settleAfter, func() {
		debug.SetGCPercent(usual)
		giveBack()
		rest()
	})
	return usual
}

// giveBack gives back what is not used. Buffers in pools survive the first collection.
func giveBack() {
	debug.FreeOSMemory()
	debug.FreeOSMemory()
	resident.DropFile()
}

// rest gives memory back whenever the process does little and has more of its own than after it gave
// back last.
func rest() {
	before := worked()
	if before == 0 {
		return
	}
	least := 0
	for range time.Tick(restAfter) {
		now, has := worked(), resident.Own()
		switch {
		case now-before > restAfter/20: // it works
		case has > least+worthGiving:
			giveBack()
			least = resident.Own()
		}
		least, before = min(least, has), now
	}
}
