package actuate

import "time"

// Spawned says of a child of this process whether it was forked here, as a
// workload or as a helper. Any other was abandoned by one of those, and handed
// to us as the subreaper. While forks keep it from knowing, it says yes.
func (a *Actuator) Spawned(pid int) bool {
	if a.reaper.isOwn(pid) {
		return true
	}
	// A child is registered before the fork lock is given back.
	for range forkLooks {
		if a.spawner.forking.TryLock() {
			a.spawner.forking.Unlock()
			return a.reaper.isOwn(pid)
		}
		<-time.After(forkLook)
	}
	return true
}

// A fork takes about a millisecond; one that takes longer hangs, in the file
// system of its program.
const (
	forkLooks = 20
	forkLook  = 2 * time.Millisecond
)
