package observe

import (
	"bytes"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// atClockTick is AT_CLKTCK of getauxval(3): the ticks of a second.
const atClockTick = 17

// ticksPerSecond is sysconf(_SC_CLK_TCK), the unit of start ticks: 100 on all
// but a few old architectures.
var ticksPerSecond = sync.OnceValue(func() uint64 {
	if vector, err := unix.Auxv(); err == nil {
		for _, v := range vector {
			if v[0] == atClockTick && v[1] > 0 {
				return uint64(v[1])
			}
		}
	}
	return 100
})

// maxStartTicks is how much later than its instance a main process may start:
// the clock ticks between the making of the name and the fork.
const maxStartTicks = 2

// BootTick is the present time in the unit of Ident.Start: ticks since boot,
// suspended time included (CLOCK_BOOTTIME).
func BootTick() uint64 {
	return uint64(sinceBoot()) / tickLength()
}

// WallTime is the wall clock time of a start tick, to about a tick. It moves
// with the wall clock.
func WallTime(tick uint64) time.Time {
	return time.Now().Add(time.Duration(tick*tickLength()) - sinceBoot()).Round(0)
}

// BootID names this boot of the machine, for what is kept across boots. It is
// empty where there is no such name.
var BootID = sync.OnceValue(func() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(data))
})

// tickLength is the length of a tick in nanoseconds.
func tickLength() uint64 { return uint64(time.Second) / ticksPerSecond() }

func sinceBoot() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
