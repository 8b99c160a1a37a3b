//go:build linux || darwin || freebsd

package actuate

import (
	"errors"
	"os"
	"syscall"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// accountOf finds the user that a manifest names; nil where it names none. Only
// root may start processes as another user. The error is a *StartError.
func (a *Actuator) accountOf(user string) (*observe.Account, error) {
	if user == "" {
		return nil, nil
	}
	if os.Geteuid() != 0 {
		return nil, startErrorf(spec.ReasonUserRefused,
			"cannot start as user %s: the controller does not run as root (it is uid %d); leave user out, or run it as root", user, os.Geteuid())
	}
	account, err := observe.LookupAccount(user)
	switch {
	case errors.Is(err, observe.ErrUnknownUser):
		return nil, startErrorf(spec.ReasonUserUnknown, "cannot start as user %s: %v", user, err)
	case err != nil: // it may be there, and may be found the next time
		return nil, startErrorf(spec.ReasonSpawnFailed, "cannot start as user %s: %v", user, err)
	}
	return &account, nil
}

func accountEnviron(a *observe.Account) []string {
	if a == nil {
		return nil
	}
	return a.Environ()
}

// credential is what the child becomes between fork and exec: setgroups(2),
// setgid(2), setuid(2), in this order. That clears the parent-death signal
// (prctl(2)), which Go therefore sets only afterwards.
func (c *command) credential() *syscall.Credential {
	if c.account == nil {
		return nil
	}
	return &syscall.Credential{Uid: c.account.UID, Gid: c.account.GID, Groups: c.account.Groups}
}

// uid is the user that the child runs as.
func (s *start) uid() uint32 {
	if s.account == nil {
		return uint32(s.opts.UID)
	}
	return s.account.UID
}

// otherUID is the same as an instance has it: 0 for the controller's own.
func (s *start) otherUID() uint32 {
	if s.uid() == uint32(s.opts.UID) {
		return 0
	}
	return s.uid()
}
