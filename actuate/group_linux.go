package actuate

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
)

// maxRounds bounds how often a group is gone through for a SIGKILL, so that one
// that forks faster than we look ends this call nevertheless. The controller
// looks again in any case.
const maxRounds = 8

// deliverOneByOne is for kernels that cannot signal a group through a pidfd
// (before Linux 6.9): kill(2) would address it by its number alone. The life of
// the leader is what proves that the number means its group, so the leader goes
// last, and is stopped before a SIGKILL: it might end when its children do.
// SIGKILL is repeated until a round finds nobody new.
func deliverOneByOne(leader int, id observe.Ident, sig unix.Signal) error {
	rounds := 1
	if sig == unix.SIGKILL {
		rounds = maxRounds
		if err := deliver(leader, unix.SIGSTOP, 0); err != nil {
			return err
		}
	}
	reached := map[observe.Ident]bool{}
	for range rounds {
		members := openGroup(leader, id.PID, reached)
		for member, fd := range members {
			reached[member] = true
			_ = deliver(fd, sig, 0)
			unix.Close(fd)
		}
		if len(members) == 0 {
			break
		}
	}
	if err := deliver(leader, sig, 0); err != nil && len(reached) == 0 {
		return err
	}
	return nil
}

// openGroup opens a handle on each process of the group that was not reached
// yet, as long as its leader lives.
func openGroup(leader, group int, reached map[observe.Ident]bool) map[observe.Ident]int {
	members := map[observe.Ident]int{}
	for _, pid := range groupPIDs(group) {
		if pid == group || refuse(pid) != nil {
			continue
		}
		fd, err := openPidfd(pid)
		if err != nil {
			continue
		}
		start, err := startTick(pid)
		id := observe.Ident{PID: pid, Start: start}
		pgid, pgidErr := unix.Getpgid(pid)
		if err != nil || reached[id] || pgidErr != nil || pgid != group || !alive(fd) || !alive(leader) {
			unix.Close(fd)
			continue
		}
		members[id] = fd
	}
	return members
}

// groupPIDs lists the processes of a group, as they are at this moment.
func groupPIDs(group int) []int {
	names, err := procNames()
	if err != nil {
		return nil
	}
	var pids []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if pgid, err := unix.Getpgid(pid); err == nil && pgid == group {
			pids = append(pids, pid)
		}
	}
	return pids
}

func procNames() ([]string, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}
