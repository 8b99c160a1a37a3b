package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/proc-controller/proc-controller/cmd/proc-controller/prefault"
)

// How much garbage may lie about, in percent of what is in use. A start
// allocates much in little time, and should not be slowed down by collecting;
// what comes after is little, and should not take memory from the workloads.
const (
	garbageAtStart = 200
	garbageAtRest  = 30
	garbageAtEnd   = 400
)

// The start is over when little was allocated for a while: at the latest after
// restTries looks.
const (
	restEvery = 2 * time.Second
	restBytes = 1 << 20
	restTries = 150
)

// collectLate suits the start. A GOGC of the user's own stays.
func collectLate() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbageAtStart)
	}
}

// collectNoMore suits the end: what is left to do takes a moment, and then all
// memory is given back.
func collectNoMore() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbageAtEnd)
	}
}

// trimEvery is how often memory is given back after that: a reading of the process
// table needs some each time, which would add up to a quarter of what is in use.
const trimEvery = 45 * time.Second

// rest waits until the start is over and gives the memory that it needed back to the
// system, and again now and then what was needed since. It ends when done is closed.
func rest(done <-chan struct{}) {
	tick := time.NewTicker(restEvery)
	defer tick.Stop()
	before := allocated()
	for range restTries {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		now := allocated()
		if now-before < restBytes {
			break
		}
		before = now
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbageAtRest)
	}
	tick.Reset(trimEvery)
	for {
		debug.FreeOSMemory()
		prefault.Drop()
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}

// allocated is how many bytes have been allocated since the program began. The
// package runtime/metrics would tell without a pause, at the price of its tables in
// each start of the program.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
