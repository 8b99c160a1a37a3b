package observe

import (
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// maxStartTicks is how much later than its instance a main process may start,
// in microseconds: as much as two ticks are on Linux.
const maxStartTicks = 20_000

// BootTick is the present time in the unit of Ident.Start: on macOS
// microseconds since the epoch, as the kernel notes the start of a process.
func BootTick() uint64 { return uint64(time.Now().UnixMicro()) }

// WallTime is the wall clock time of a start tick.
func WallTime(tick uint64) time.Time { return time.UnixMicro(int64(tick)) }

// BootID names this boot of the machine: the time of the boot (kern.boottime).
// It is empty where the system does not tell.
var BootID = sync.OnceValue(func() string {
	tv, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return ""
	}
	return strconv.FormatInt(tv.Sec, 10)
})

func ticksPerSecond() uint64 { return uint64(time.Second / time.Microsecond) }
