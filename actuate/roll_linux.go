package actuate

import (
	"encoding/binary"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
)

// roll lists the main processes that are children of ours and not reaped yet,
// in memory that outlives us in the hands of the guard, and our own execve(2).
// As long as a child stands on it, its pid can be nobody else's, and neither can
// the session that it leads: it is taken off before it is reaped.
//
// The memory is a memfd_create(2) file of records of 16 bytes: pid and start
// tick. A record of zeros is free. What each of them is stands in another one; see
// particulars.
type roll struct {
	file        *os.File
	particulars *os.File

	mu   sync.Mutex
	slot map[observe.Ident]int64 // offsets
	free []int64
	end  int64
}

const rollRecord = 16

func newRoll() (*roll, error) {
	file, err := newMemory("children")
	if err != nil {
		return nil, err
	}
	r := &roll{file: file, slot: map[observe.Ident]int64{}}
	if r.particulars, err = newMemory("particulars"); err != nil {
		r.file.Close()
		return nil, err
	}
	return r, nil
}

func newMemory(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// adoptRoll goes on with a roll that was begun before an execve. An image that knew
// of no particulars has left none: those of its children stay unknown.
func adoptRoll(fd, particulars int) (r *roll, err error) {
	r = &roll{file: inherited(fd, "children"), slot: map[observe.Ident]int64{}}
	if particulars != noParticulars {
		r.particulars = inherited(particulars, "particulars")
	} else if r.particulars, err = newMemory("particulars"); err != nil {
		r.file.Close()
		return nil, err
	}
	records, err := readRoll(r.file)
	if err != nil {
		r.Close()
		return nil, err
	}
	for _, id := range records {
		if id.IsZero() {
			r.free = append(r.free, r.end)
		} else {
			r.slot[id] = r.end
		}
		r.end += rollRecord
	}
	return r, nil
}

func inherited(fd int, name string) *os.File {
	unix.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), name)
}

// Enter notes a child, by its main process. It is called as soon as its start tick
// is known.
func (r *roll) Enter(w observe.Witness) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := w.Main
	if _, twice := r.slot[id]; twice {
		return
	}
	at := r.end
	if n := len(r.free); n > 0 {
		at, r.free = r.free[n-1], r.free[:n-1]
	} else {
		r.end += rollRecord
	}
	r.slot[id] = at
	writeParticulars(r.particulars, at/rollRecord, w) // they count once the record stands
	r.write(at, id)
}

// Leave takes a child off. It is called before the child is reaped.
func (r *roll) Leave(id observe.Ident) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, ok := r.slot[id]; ok {
		delete(r.slot, id)
		r.free = append(r.free, at)
		r.write(at, observe.Ident{})
	}
}

// write puts one record. There is no disk below that could be full; without
// memory the guard knows a little less.
func (r *roll) write(at int64, id observe.Ident) {
	var b [rollRecord]byte
	binary.NativeEndian.PutUint64(b[:8], uint64(id.PID))
	binary.NativeEndian.PutUint64(b[8:], id.Start)
	_, _ = r.file.WriteAt(b[:], at)
}

// Children gives who stands on the roll.
func (r *roll) Children() (ids []observe.Ident) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.slot {
		ids = append(ids, id)
	}
	return ids
}

func (r *roll) Close() {
	r.file.Close()
	r.particulars.Close()
}

// readRoll reads all records, free ones too.
func readRoll(f *os.File) ([]observe.Ident, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b := make([]byte, st.Size()-st.Size()%rollRecord)
	if _, err := f.ReadAt(b, 0); err != nil {
		return nil, err
	}
	ids := make([]observe.Ident, 0, len(b)/rollRecord)
	for ; len(b) > 0; b = b[rollRecord:] {
		ids = append(ids, observe.Ident{
			PID:   int(binary.NativeEndian.Uint64(b[:8])),
			Start: binary.NativeEndian.Uint64(b[8:rollRecord]),
		})
	}
	return ids, nil
}
