package logs

import (
	"encoding/binary"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Bell tells that something has been written to a file that rested. It rings
// once for each time that it was armed (inotify(7), IN_ONESHOT): a writer pays
// for one event, however much it writes, and whoever is told looks at the file
// and arms the bell again when it has seen all. A nil Bell never rings.
//
// fsnotify would have the kernel tell of every single write.
type Bell struct {
	fd   int
	file *os.File
	buf  [4096]byte

	mu    sync.Mutex
	paths map[int32]string // by watch descriptor
	armed map[string]int32 // the other way round
}

// NewBell makes a bell. It fails where the user has too many (sysctl
// fs.inotify.max_user_instances).
func NewBell() (*Bell, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	return &Bell{fd: fd, file: os.NewFile(uintptr(fd), "inotify"), paths: map[int32]string{}, armed: map[string]int32{}}, nil
}

// Arm has the bell ring at the next write to a file. What was written just
// before may go unnoticed: look at the file afterwards.
func (b *Bell) Arm(path string) bool {
	return b.watch(path, unix.IN_MODIFY|unix.IN_ONESHOT)
}

// WatchDir has the bell ring whenever a file appears in a directory.
func (b *Bell) WatchDir(dir string) bool {
	return b.watch(dir, unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ONLYDIR)
}

func (b *Bell) watch(path string, mask uint32) bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	wd, err := unix.InotifyAddWatch(b.fd, path, mask)
	if err != nil {
		return false
	}
	b.paths[int32(wd)], b.armed[path] = path, int32(wd)
	return true
}

// Disarm has the bell ring no more for a path.
func (b *Bell) Disarm(path string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if wd, armed := b.armed[path]; armed {
		b.dropLocked(wd)
		_, _ = unix.InotifyRmWatch(b.fd, uint32(wd)) // it may have ended by itself
	}
}

// dropLocked forgets a watch.
func (b *Bell) dropLocked(wd int32) {
	if path := b.paths[wd]; b.armed[path] == wd {
		delete(b.armed, path)
	}
	delete(b.paths, wd)
}

// Wait gives the files and directories for which the bell has rung, as soon as
// there is one. One goroutine at a time may wait. It fails after Close.
func (b *Bell) Wait() (rung []string, err error) {
	for len(rung) == 0 {
		n, err := b.file.Read(b.buf[:])
		if err != nil {
			return nil, err
		}
		rung = b.take(b.buf[:n])
	}
	return rung, nil
}

// take reads a buffer of struct inotify_event: int wd, uint32_t mask, cookie and
// len, and len bytes of a name.
func (b *Bell) take(events []byte) (rung []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(events) >= unix.SizeofInotifyEvent {
		wd := int32(binary.NativeEndian.Uint32(events))
		mask := binary.NativeEndian.Uint32(events[4:])
		size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
		if path, known := b.paths[wd]; known && mask&unix.IN_IGNORED == 0 {
			rung = append(rung, path)
		}
		// The watch ends with its only event, and with the file.
		if mask&(unix.IN_MODIFY|unix.IN_IGNORED) != 0 {
			b.dropLocked(wd)
		}
		events = events[min(size, len(events)):]
	}
	return rung
}

// Close ends Wait. Whoever may still arm the bell must have ended before.
func (b *Bell) Close() error {
	if b == nil {
		return nil
	}
	return b.file.Close()
}
