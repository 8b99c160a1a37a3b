package observe

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// ErrUnknownUser says that a user or group that a manifest names is not there.
var ErrUnknownUser = errors.New("unknown user")

// Account is a user of this machine, as a process that runs as it needs it.
type Account struct {
	Name     string // its number where it has no name
	UID, GID uint32
	// Groups are the supplementary groups, as initgroups(3) has them: all that
	// the user is a member of, and GID.
	Groups []uint32
	Home   string
	Shell  string
}

// accountWait bounds what the user database may take: it can lie on a server.
const accountWait = 3 * time.Second

// LookupAccount finds the user that a manifest names, in the form USER[:GROUP],
// by name or number. A number that has no entry in the user database needs a
// group beside it, and is in no other. The error is ErrUnknownUser, or says why
// that could not be told.
func LookupAccount(named string) (Account, error) {
	type outcome struct {
		account Account
		err     error
	}
	done := make(chan outcome, 1)
	go func() {
		a, err := lookupAccount(named)
		done <- outcome{a, err}
	}()
	timer := time.NewTimer(accountWait)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.account, o.err
	case <-timer.C:
		return Account{}, fmt.Errorf("cannot look up the user %s: the user database did not answer within %v", named, accountWait)
	}
}

func lookupAccount(named string) (Account, error) {
	name, group := spec.SplitUser(named)
	entry, err := lookupUser(name)
	if err != nil {
		return Account{}, err
	}
	a := Account{Name: name, Home: "/", Shell: defaultShell}
	if entry == nil {
		a.UID, _ = spec.AccountID(name)
		if group == "" {
			return a, fmt.Errorf("%w: uid %s has no entry that names its group: write %s:GROUP", ErrUnknownUser, name, name)
		}
	} else if err := a.take(entry); err != nil {
		return a, fmt.Errorf("cannot use the user %s: %v", name, err)
	}
	if group != "" {
		if a.GID, err = lookupGroup(group); err != nil {
			return a, err
		}
	}
	if !slices.Contains(a.Groups, a.GID) {
		a.Groups = append([]uint32{a.GID}, a.Groups...)
	}
	return a, nil
}

// UserName is the name of a user; the number where it has none.
func UserName(uid uint32) string {
	number := strconv.FormatUint(uint64(uid), 10)
	if entry, err := user.LookupId(number); err == nil {
		return entry.Username
	}
	return number
}

// lookupUser gives nil for a number without an entry.
func lookupUser(name string) (*user.User, error) {
	var unknown user.UnknownUserIdError
	if _, number := spec.AccountID(name); number {
		entry, err := user.LookupId(name)
		if errors.As(err, &unknown) {
			return nil, nil
		}
		return entry, lookupError(name, err)
	}
	entry, err := user.Lookup(name)
	return entry, lookupError(name, err)
}

func lookupGroup(name string) (uint32, error) {
	if gid, ok := spec.AccountID(name); ok {
		return gid, nil
	}
	entry, err := user.LookupGroup(name)
	if err != nil {
		return 0, lookupError("group "+name, err)
	}
	gid, ok := spec.AccountID(entry.Gid)
	if !ok {
		return 0, fmt.Errorf("cannot use the group %s: its number is %s", name, entry.Gid)
	}
	return gid, nil
}

func lookupError(name string, err error) error {
	var person user.UnknownUserError
	var group user.UnknownGroupError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &person), errors.As(err, &group):
		return fmt.Errorf("%w: there is no %s on this machine", ErrUnknownUser, name)
	}
	return fmt.Errorf("cannot look up %s: %v", name, err)
}

// take fills in what the user database has.
func (a *Account) take(entry *user.User) error {
	var ok, okGroup bool
	a.UID, ok = spec.AccountID(entry.Uid)
	a.GID, okGroup = spec.AccountID(entry.Gid)
	if !ok || !okGroup {
		return fmt.Errorf("its numbers are %s and %s", entry.Uid, entry.Gid)
	}
	ids, err := entry.GroupIds()
	if err != nil {
		return fmt.Errorf("cannot tell its groups: %v", err)
	}
	for _, id := range ids {
		if gid, ok := spec.AccountID(id); ok {
			a.Groups = append(a.Groups, gid)
		}
	}
	a.Name, a.Home, a.Shell = entry.Username, cmp.Or(entry.HomeDir, "/"), shellOf(entry.Username)
	return nil
}

const defaultShell = "/bin/sh"

// shellOf reads field 7 of passwd(5), which os/user leaves out. A user from
// elsewhere gets the default.
func shellOf(name string) string {
	content, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return defaultShell
	}
	for line := range strings.Lines(string(content)) {
		if f := strings.Split(strings.TrimSpace(line), ":"); len(f) == 7 && f[0] == name {
			return cmp.Or(f[6], defaultShell)
		}
	}
	return defaultShell
}

// Environ gives what login(1) and systemd set for a user, as NAME=value.
func (a *Account) Environ() []string {
	return []string{"HOME=" + a.Home, "USER=" + a.Name, "LOGNAME=" + a.Name, "SHELL=" + a.Shell}
}

// String gives the user for a person.
func (a *Account) String() string { return a.Name + " (uid " + strconv.Itoa(int(a.UID)) + ")" }
