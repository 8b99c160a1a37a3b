package observe

import (
	"encoding/binary"
	"math/bits"
)

// atSecure is AT_SECURE of getauxval(3): the program was executed with other
// ids than its parent's. It stays until the next execve(2).
const atSecure = 23

// parseSecure tells whether an auxiliary vector (proc_pid_auxv(5)) says so:
// pairs of words, type and value, up to a type of 0.
func parseSecure(vector []byte) bool {
	const word = bits.UintSize / 8
	at := func(b []byte) uint64 {
		if word == 4 {
			return uint64(binary.NativeEndian.Uint32(b))
		}
		return binary.NativeEndian.Uint64(b)
	}
	for len(vector) >= 2*word {
		kind, value := at(vector), at(vector[word:])
		if kind == atSecure {
			return value != 0
		}
		vector = vector[2*word:]
	}
	return false
}
