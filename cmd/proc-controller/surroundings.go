package main

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"github.com/proc-controller/proc-controller/actuate/scope"
	"github.com/proc-controller/proc-controller/spec"
)

// surroundings is what a person should know of the host: it is looked at anew
// for each view, so that what was mended is no longer shown.
type surroundings struct {
	state    string
	lost     string // why there is no state directory
	journals []written
	lingers  func() (spec.Finding, bool)
}

// written is a journal, as far as it can tell whether the disk takes it.
type written interface {
	Failure() error
}

// notices is for many goroutines, and waits for nobody.
func (s *surroundings) notices() (found []spec.Finding) {
	if s.lost != "" {
		found = append(found, spec.Finding{Reason: spec.ReasonNotRecorded, Message: s.lost + "; nothing will be remembered, and no output is kept"})
	}
	for _, j := range s.journals {
		if err := j.Failure(); err != nil {
			found = append(found, spec.Finding{
				File: s.state, Reason: spec.ReasonNotRecorded,
				Message: fmt.Sprintf("cannot write to the state directory: %v; it is tried again, and until then nothing is remembered", err),
			})
			break // the others have the same to say
		}
	}
	if s.lingers != nil {
		if f, ok := s.lingers(); ok {
			found = append(found, f)
		}
	}
	return found
}

// session is where logind keeps what it knows of one user (loginctl(1)).
type session struct {
	uid     int
	name    string
	runtime string // XDG_RUNTIME_DIR
	exists  func(path string) bool
}

// thisSession is that of the user that we run as.
func thisSession(uid int) session {
	s := session{
		uid: uid, runtime: os.Getenv("XDG_RUNTIME_DIR"),
		exists: func(path string) bool { _, err := os.Lstat(path); return err == nil },
	}
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		s.name = u.Username
	}
	return s
}

// endsWithLogout tells of a user manager that ends when the user's last session
// does, and ends every scope with it: that of a user who is logged in and does
// not linger. Without scopes of it there is nothing to tell.
func (s session) endsWithLogout(mode scope.Mode) (spec.Finding, bool) {
	uid := strconv.Itoa(s.uid)
	switch {
	case mode != scope.Auto && mode != scope.Systemd:
	case s.name == "" || filepath.Clean(s.runtime) != "/run/user/"+uid: // another manager, or none
	case !s.exists("/run/systemd/users/" + uid), s.exists("/var/lib/systemd/linger/" + s.name):
	default:
		return spec.Finding{Reason: spec.ReasonNoLinger, Message: fmt.Sprintf(
			"%s does not linger: when the last session is logged out the user manager ends, and every workload in a scope with it; to keep them: loginctl enable-linger %s", s.name, s.name)}, true
	}
	return spec.Finding{}, false
}
