package observe

import (
	"os"
	"strconv"
)

// IdentitySupported says whether this system lets processes be identified: on
// Linux, whether /proc is there and shows our own PID namespace.
func IdentitySupported() bool {
	self, err := os.Readlink("/proc/self")
	return err == nil && self == strconv.Itoa(os.Getpid())
}
