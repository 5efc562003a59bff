package main

import (
	"runtime/debug"
	"time"

	"github.com/toolfold/toolfold/internal/resident"
)

// settleAfter bounds the time of a start.
const settleAfter = time.Second

// restAfter is how long a process does next to nothing before it gives memory back.
const restAfter = 5 * time.Second

// heapReserve is the size of a block that is never touched, and so takes no memory,
// but counts for the garbage collector. What calls leave behind is collected every
// 15 MB or so instead of every 4 MB, which is a sixth of the work of a call.
const heapReserve = 4 << 20

// usual is the percentage of garbage after the start; zero in tests, which do not
// begin with settle.
var usual int

// reserve returns the block of a server, to be kept while it serves. With it a start
// needs no other percentage.
func reserve() []byte {
	if usual != 0 {
		debug.SetGCPercent(usual)
	}
	block := make([]byte, heapReserve)
	untouch(block)
	return block
}

// settle lets the start run with few garbage collections, and afterwards gives what
// only the start needed back to the system. Whenever the process has worked and rests
// again it gives back what the work needed.
func settle() {
	usual = debug.SetGCPercent(400)
	time.AfterFunc(settleAfter, func() {
		debug.SetGCPercent(usual)
		giveBack()
		rest()
	})
}

func giveBack() {
	debug.FreeOSMemory()
	resident.DropFile()
}

// rest gives memory back whenever the process has worked, if only for some milliseconds, and then
// rested.
func rest() {
	freed := worked()
	before := freed
	if freed == 0 {
		return
	}
	for range time.Tick(restAfter) {
		now := worked()
		if now-before < restAfter/200 && now-freed > restAfter/1000 {
			giveBack()
			now = worked()
			freed = now
		}
		before = now
	}
}
