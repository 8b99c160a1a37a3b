package actuate

import (
	"errors"
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
// (before Linux 6.9): kill(2) would address it by its number alone. The leader
// goes last, since its life is what proves that the number means its group.
// SIGKILL is repeated until a round finds nobody new.
func deliverOneByOne(leader int, id observe.Ident, sig unix.Signal) error {
	reached := map[observe.Ident]bool{}
	for range maxRounds {
		fresh := 0
		for _, pid := range groupPIDs(id.PID) {
			if pid == id.PID || !alive(leader) {
				continue
			}
			if member, ok := signalGroupMember(pid, id.PID, sig, reached); ok {
				reached[member] = true
				fresh++
			}
		}
		if fresh == 0 || sig != unix.SIGKILL {
			break
		}
	}
	return deliver(leader, sig, 0)
}

// signalGroupMember signals one process if it still is in the group. Those that
// were reached before are skipped.
func signalGroupMember(pid, group int, sig unix.Signal, reached map[observe.Ident]bool) (observe.Ident, bool) {
	fd, err := openPidfd(pid)
	if err != nil {
		return observe.Ident{}, false
	}
	defer unix.Close(fd)
	start, err := startTick(pid)
	id := observe.Ident{PID: pid, Start: start}
	if err != nil || reached[id] || refuse(pid) != nil {
		return id, false
	}
	if pgid, err := unix.Getpgid(pid); err != nil || pgid != group || !alive(fd) {
		return id, false
	}
	return id, deliver(fd, sig, 0) == nil
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
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, errors.Join(err)
	}
	return names, nil
}
