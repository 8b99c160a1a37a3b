package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// mirrorBytes is how far a mirror may grow before it is compacted. That costs
// its writer a few milliseconds.
const mirrorBytes = 256 << 10

// Mirror is a journal in memory: a memfd_create(2) file that lives on in every
// process that has its descriptor, and across our own execve(2). What was
// appended is there at once, whatever becomes of us, with or without a disk. It
// implements controller.Journal. Its methods may be called from many goroutines.
type Mirror struct {
	compact func(lines [][]byte) [][]byte

	mu    sync.Mutex
	file  *os.File
	begin int64 // before it everything was compacted away
	end   int64
	limit int64
}

// NewMirror makes an empty one. Compact is that of Options.
func NewMirror(compact func(lines [][]byte) [][]byte) (*Mirror, error) {
	fd, err := unix.MemfdCreate("ledger", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("cannot mirror the ledger: %v", os.NewSyscallError("memfd_create", err))
	}
	return &Mirror{file: os.NewFile(uintptr(fd), "ledger"), compact: compact, limit: mirrorBytes}, nil
}

// AdoptMirror goes on with the mirror of a descriptor, which is its from now on.
func AdoptMirror(fd int, compact func(lines [][]byte) [][]byte) (*Mirror, error) {
	unix.CloseOnExec(fd)
	m := &Mirror{file: os.NewFile(uintptr(fd), "ledger"), compact: compact, limit: mirrorBytes}
	end, err := m.file.Seek(0, io.SeekEnd)
	if err != nil {
		m.file.Close()
		return nil, fmt.Errorf("cannot take over the mirror of the ledger: %v", err)
	}
	m.end = end
	if at, err := m.file.Seek(0, unix.SEEK_DATA); err == nil {
		m.begin = at // what was compacted away is a hole
	}
	m.limit = max(mirrorBytes, 2*(m.end-m.begin))
	return m, nil
}

// Append adds a record as one line of JSON. What cannot be encoded is left out:
// the journal on the disk says so.
func (m *Mirror) Append(record any) {
	line, err := json.Marshal(record)
	if err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writeLocked(append(line, '\n'))
	if m.end-m.begin > m.limit {
		m.compactLocked()
	}
}

// writeLocked appends. Should memory run out in the middle of it, the reader
// passes over the torn line.
func (m *Mirror) writeLocked(b []byte) {
	n, _ := m.file.WriteAt(b, m.end)
	m.end += int64(n)
	if n > 0 && n < len(b) {
		_, _ = m.file.WriteAt([]byte{'\n'}, m.end)
		m.end++
	}
}

// compactLocked appends what is to be kept, and only then frees what was there
// before: whoever reads in between finds it all, twice.
func (m *Mirror) compactLocked() {
	kept := m.compact(m.linesLocked())
	before := m.end
	m.writeLocked(append(bytes.Join(kept, []byte{'\n'}), '\n'))
	m.limit = max(mirrorBytes, 2*(m.end-before))
	const mode = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE
	if unix.Fallocate(int(m.file.Fd()), mode, 0, before) == nil {
		m.begin = before
	}
}

// Lines gives the records, the oldest first, as long as yield wants them.
func (m *Mirror) Lines(yield func(line []byte) bool) {
	m.mu.Lock()
	lines := m.linesLocked()
	m.mu.Unlock()
	for _, line := range lines {
		if !yield(line) {
			return
		}
	}
}

func (m *Mirror) linesLocked() [][]byte {
	content := make([]byte, m.end-m.begin)
	n, _ := m.file.ReadAt(content, m.begin)
	lines := splitLines(content[:n])
	for i, line := range lines {
		lines[i] = bytes.TrimLeft(line, "\x00") // the rest of a block that was freed
	}
	return lines
}

// Descriptor is what the mirror lives in. It stays the Mirror's.
func (m *Mirror) Descriptor() int { return int(m.file.Fd()) }

// Close lets go of it.
func (m *Mirror) Close() { m.file.Close() }
