package spec

import (
	"strconv"
	"strings"
)

// Instance names one spawn: a random token, a dash, and the tick of the boot
// clock (sysconf(_SC_CLK_TCK) per second, as field 22 of proc_pid_stat(5)) at
// which it was spawned. It is new for each start.
//
// It becomes a part of file and unit names, so that it is never taken from an
// environment unless it has exactly this form.
type Instance string

// maxToken bounds the random part of an instance.
const maxToken = 32

// NewInstance names a spawn. The token is lower-case letters and digits, at
// most 32 of them.
func NewInstance(token string, tick uint64) Instance {
	return Instance(token + "-" + strconv.FormatUint(tick, 10))
}

// Token is the random part.
func (in Instance) Token() string {
	token, _, _ := strings.Cut(string(in), "-")
	return token
}

// Tick is the boot-time tick of the spawn, or false where the instance has not
// the form of one.
func (in Instance) Tick() (uint64, bool) {
	token, digits, _ := strings.Cut(string(in), "-")
	tick, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || token == "" || len(token) > maxToken || !all(token, isLowerAlnum) || NewInstance(token, tick) != in {
		return 0, false
	}
	return tick, true
}

func (in Instance) valid() bool {
	_, ok := in.Tick()
	return ok
}
