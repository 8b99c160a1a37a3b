package observe

import (
	"bytes"
	"encoding/binary"
)

// parseProcArgs splits the block that macOS's sysctl KERN_PROCARGS2 gives for
// one process into arguments and environment:
//
//	int32 argc (in the byte order of the machine)
//	path of the executable, NUL, padded with more NUL bytes
//	argc arguments, a NUL after each
//	the environment, a NUL after each string, ended by an empty one
//
// The arguments are counted, not searched: one of them may look like a marker.
// Arguments may be empty. environ has the form of /proc/PID/environ, and is
// nil where the system withheld it (which it does for protected programs).
func parseProcArgs(b []byte, order binary.ByteOrder) (argv [][]byte, environ []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	argc := int32(order.Uint32(b))
	b = b[4:]
	pathEnd := bytes.IndexByte(b, 0)
	if argc < 0 || pathEnd < 0 {
		return nil, nil, false
	}
	b = bytes.TrimLeft(b[pathEnd:], "\x00")
	for range argc {
		end := bytes.IndexByte(b, 0)
		if end < 0 {
			return nil, nil, false
		}
		argv = append(argv, b[:end])
		b = b[end+1:]
	}
	return argv, environEnd(b), true
}

// environEnd cuts what follows the environment: strings that the kernel passes
// to the dynamic linker stand behind the first empty one.
func environEnd(b []byte) []byte {
	if len(b) == 0 || b[0] == 0 {
		return nil
	}
	if end := bytes.Index(b, []byte{0, 0}); end >= 0 {
		return b[:end+1]
	}
	return b
}
