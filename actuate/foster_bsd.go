//go:build darwin || freebsd

package actuate

import (
	"os/exec"
	"syscall"
)

// bind gives a child that is to live apart a session of its own. That one which
// is beside us dies with us, the system cannot see to.
func bind(cmd *exec.Cmd, b Bond) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: b == Apart} }
