package observe

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
)

// tcpListen is the state of a listening socket in proc_net_tcp(5).
const tcpListen = "0A"

// socket is a listening TCP socket.
type socket struct {
	port  uint16
	addr  netip.Addr
	uid   uint32
	inode uint64
}

// parseTCP calls found for each listening socket in the content of
// /proc/net/tcp or /proc/net/tcp6 (proc_net_tcp(5)):
//
//	sl  local_address rem_address   st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode
//	 0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 1000 0 48211 1 …
//
// Lines that make no sense, the heading among them, are passed over.
func parseTCP(b []byte, found func(socket)) {
	for len(b) > 0 {
		var line []byte
		line, b, _ = bytes.Cut(b, newline)
		if s, ok := parseSocket(line); ok {
			found(s)
		}
	}
}

func parseSocket(line []byte) (s socket, ok bool) {
	var word [10][]byte
	for i := range word {
		if word[i], line = nextField(line); word[i] == nil {
			return s, false
		}
	}
	if string(word[3]) != tcpListen {
		return s, false
	}
	addr, port, found := bytes.Cut(word[1], []byte{':'})
	if !found {
		return s, false
	}
	var p [2]byte
	if len(port) != 4 {
		return s, false
	}
	if _, err := hex.Decode(p[:], port); err != nil {
		return s, false
	}
	s.port = binary.BigEndian.Uint16(p[:])
	uid, ok1 := parseInt(word[7])
	inode, ok2 := parseInt(word[9])
	s.uid, s.inode = uint32(uid), uint64(inode)
	s.addr, ok = parseAddr(addr)
	return s, ok && ok1 && ok2 && s.port != 0
}

// parseAddr reads an address as the kernel prints it: each group of four bytes
// as one number in the byte order of the machine.
func parseAddr(text []byte) (netip.Addr, bool) {
	var raw [16]byte
	if len(text) != 8 && len(text) != 32 {
		return netip.Addr{}, false
	}
	n, err := hex.Decode(raw[:], text)
	if err != nil {
		return netip.Addr{}, false
	}
	for i := 0; i < n; i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	addr, ok := netip.AddrFromSlice(raw[:n])
	return addr.Unmap(), ok
}

// nextField cuts the text between the next blanks; nil at the end.
func nextField(b []byte) (field, rest []byte) {
	b = bytes.TrimLeft(b, " ")
	if len(b) == 0 {
		return nil, nil
	}
	end := bytes.IndexByte(b, ' ')
	if end < 0 {
		return b, nil
	}
	return b[:end], b[end:]
}
