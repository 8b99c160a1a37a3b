package observe

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Listeners tells who listens on the given TCP ports of this network namespace.
// A port with no listener is not in the answer. The holders of a socket are
// looked for among the members first, and among all processes only where they
// have none. Nothing is read of any process for a port that nobody listens on.
// Holders come in the order of their start: the later ones are mostly children
// that have inherited the socket, if only until they execute their program.
func (s *Scanner) Listeners(ports []uint16, members []Ident) (map[uint16]Listener, error) {
	wanted := make(map[uint16]bool, len(ports))
	for _, p := range ports {
		wanted[p] = true
	}
	h := &holders{found: make(map[uint16]Listener), port: make(map[uint64]uint16), command: make(map[Ident]string), root: s.table.root}
	for _, file := range []string{"tcp", "tcp6"} {
		if err := h.sockets(file, wanted); err != nil {
			return nil, err
		}
	}
	h.search(members)
	for port, li := range h.found {
		slices.SortFunc(li.Holders, func(a, b Ident) int {
			return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.PID, b.PID))
		})
		if len(li.Holders) > 0 {
			li.Command = h.command[li.Holders[0]]
		}
		li.User = UserName(li.UID)
		h.found[port] = li
	}
	return h.found, nil
}

// holders is a search for the processes that have sockets open.
type holders struct {
	root  string
	found map[uint16]Listener
	port  map[uint64]uint16 // of each socket, by inode
	held  map[uint16]bool
	// command of each holder
	command map[Ident]string
}

// sockets reads one table of sockets. A kernel without IPv6 has none for it.
func (h *holders) sockets(file string, wanted map[uint16]bool) error {
	data, err := os.ReadFile(h.root + "/self/net/" + file)
	if os.IsNotExist(err) && file == "tcp6" {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read the listening sockets: %v", err)
	}
	parseTCP(data, func(s socket) {
		if !wanted[s.port] {
			return
		}
		h.port[s.inode] = s.port
		// Of several sockets the one that more can reach is told.
		if li, ok := h.found[s.port]; !ok || !li.Exposed() {
			h.found[s.port] = Listener{Port: s.port, Listening: true, Addr: s.addr.String(), UID: s.uid}
		}
	})
	return nil
}

// search looks for holders among the members, and among all processes if a port
// is left that none of them has.
func (h *holders) search(members []Ident) {
	h.held = make(map[uint16]bool, len(h.found))
	if len(h.found) == 0 {
		return
	}
	fd, err := unix.Open(h.root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	r := newReader(fd)
	for _, m := range members {
		h.look(r, int32(m.PID))
	}
	if len(h.held) == len(h.found) {
		return
	}
	all, err := r.list(nil)
	if err != nil {
		return
	}
	for _, e := range all {
		h.look(r, e.pid)
	}
}

// look goes through the open files of one process.
func (h *holders) look(r *reader, pid int32) {
	name := h.root + "/" + strconv.Itoa(int(pid)) + "/fd"
	dir, err := os.Open(name)
	if err != nil {
		return
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return
	}
	var buf [64]byte
	for _, fd := range names {
		n, err := unix.Readlinkat(int(dir.Fd()), fd, buf[:])
		if err != nil {
			continue
		}
		if port, ok := h.port[socketInode(buf[:n])]; ok {
			h.add(r, port, pid)
		}
	}
}

// socketInode takes the inode out of the name of an open socket, socket:[4711].
func socketInode(link []byte) uint64 {
	digits, ok := bytes.CutPrefix(link, []byte("socket:["))
	if !ok {
		return 0
	}
	n, _ := strconv.ParseUint(strings.TrimSuffix(string(digits), "]"), 10, 64)
	return n
}

// add notes that a process has a socket of the port open.
func (h *holders) add(r *reader, port uint16, pid int32) {
	data, errno := r.read(pid, "stat")
	if errno != 0 {
		return
	}
	st, ok := parseStat(data)
	if !ok {
		return
	}
	id := Ident{PID: int(pid), Start: st.start}
	li := h.found[port]
	for _, other := range li.Holders {
		if other == id {
			return
		}
	}
	h.command[id] = string(statComm(data))
	li.Holders = append(li.Holders, id)
	h.found[port], h.held[port] = li, true
}
