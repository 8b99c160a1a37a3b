package actuate

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// orphanage tells whether orphans have been handed to us. When a process ends,
// its children are given to the nearest subreaper above it (prctl(2)
// PR_SET_CHILD_SUBREAPER), which for our children is this process, before anybody
// can see the end; within this process the kernel gives them to the first thread,
// and lists them in its children file (proc_pid_task(5), CONFIG_PROC_CHILDREN).
// Workloads are the children of the spawner, which is never the first thread.
type orphanage struct{ children int } // descriptor, or -1

func openOrphanage() orphanage {
	path := "/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/children"
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return orphanage{-1} // a kernel without the file: nothing is proven by it
	}
	return orphanage{fd}
}

// empty proves that no orphan is there. A list that is read while it changes may
// lack entries, but not the first one that there is.
func (o orphanage) empty() bool {
	var b [1]byte
	n, err := unix.Pread(o.children, b[:], 0)
	return err == nil && n == 0
}

func (o orphanage) close() {
	if o.children >= 0 {
		unix.Close(o.children)
	}
}

// alone proves that nothing of a child of ours that was just reaped is left: its
// process group is empty, and so is the orphanage. Whatever it has started and
// that lives is below an orphan of its own, so that there would be one. The
// exception is a process that was made its sibling (clone(2) CLONE_PARENT) and
// has left the group; the next resync finds that one by its markers.
func (r *reaper) alone(h *handle) bool {
	err := unix.PidfdSendSignal(h.fd, 0, nil, signalGroup)
	return errors.Is(err, unix.ESRCH) && r.orphanage.empty()
}
