package actuate

import (
	"bytes"
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
)

// orphanage tells which orphans have been handed to us. When a process ends, its
// children are given to the nearest subreaper above it (prctl(2)
// PR_SET_CHILD_SUBREAPER), which for our children is this process, before anybody
// can see the end; within this process the kernel gives them to the first thread,
// and lists them in its children file (proc_pid_task(5), CONFIG_PROC_CHILDREN).
// What the first thread has forked itself stands there too.
type orphanage struct {
	children int // descriptor, or -1
	buf      []byte
}

func openOrphanage() *orphanage {
	path := "/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/children"
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		fd = -1 // a kernel without the file: nothing is proven by it
	}
	return &orphanage{fd, make([]byte, 16<<10)}
}

// empty proves that every child which is listed is one of our own. A child that
// is taken off the list while it is read may hide another, so nobody may reap
// meanwhile; what is added comes last.
func (o *orphanage) empty(own func(pid int) bool) bool {
	list, err := o.read()
	if err != nil {
		return false
	}
	for field := range bytes.FieldsSeq(list) {
		if pid, err := strconv.Atoi(string(field)); err != nil || !own(pid) {
			return false
		}
	}
	return true
}

func (o *orphanage) read() ([]byte, error) {
	for size := 0; ; {
		n, err := unix.Pread(o.children, o.buf[size:], int64(size))
		if err != nil || n == 0 {
			return o.buf[:size], err
		}
		if size += n; size == len(o.buf) {
			o.buf = append(o.buf, make([]byte, len(o.buf))...)
		}
	}
}

func (o *orphanage) close() {
	if o.children >= 0 {
		unix.Close(o.children)
	}
}

// end is a process that has ended, and whose.
type end struct {
	handle *handle
	exit   observe.Exit
	busy   bool // an errand of its instance was under way
}

// tellAlone notes which of the children that were just reaped have left nothing:
// those whose process group is empty, if the orphanage is empty too. Whatever a
// child has started and that lives is below an orphan, so that there would be
// one. The exception is a process that was made its sibling (clone(2)
// CLONE_PARENT) and has left the group; the next resync finds that one by its
// markers. And what runs an errand for its instance is below a child of ours.
func (r *reaper) tellAlone(ends []end) {
	if len(ends) == 0 || !r.orphanage.empty(r.isOwn) {
		return
	}
	for i := range ends {
		if h := ends[i].handle; h.child && !ends[i].busy {
			err := unix.PidfdSendSignal(h.fd, 0, nil, signalGroup)
			ends[i].exit.Alone = errors.Is(err, unix.ESRCH)
		}
	}
}
