package source

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// worthSharing is the number of entries from which a look at them is shared
// out: below it, starting workers costs more than it saves.
const worthSharing = 4

// lookAll looks at many entries on all cores. The answer is in the order of
// the names, whoever was faster.
func (r *reader) lookAll(names []string, now time.Time) []reading {
	found := make([]reading, len(names))
	workers := min(runtime.GOMAXPROCS(0), len(names)/worthSharing)
	if workers < 2 {
		for i, name := range names {
			found[i] = r.look(name, now)
		}
		return found
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(names); i = int(next.Add(1)) - 1 {
				found[i] = r.look(names[i], now)
			}
		})
	}
	all.Wait()
	return found
}
