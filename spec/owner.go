package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// Owner names one installation of the controller.
type Owner string

// maxOwner bounds the name of an owner, which becomes a part of socket
// addresses, directory and unit names.
const maxOwner = 64

// OwnerFor names the installation of a user that reads manifests from dir: the
// last element of dir and a hash of uid and dir. dir is the absolute path as it
// was given: a symlink in it may later lead elsewhere, and the owner stays.
func OwnerFor(uid int, dir string) Owner {
	base := strings.Map(func(r rune) rune {
		if r < 0x80 && (isAlnum(byte(r)) || r == '.' || r == '_' || r == '-') {
			return r
		}
		return '-'
	}, path.Base(dir))
	const longest = 32
	base = strings.Trim(base[:min(len(base), longest)], ".-_")
	if base == "" {
		base = "manifests"
	}
	sum := sha256.Sum256([]byte(strconv.Itoa(uid) + "\x00" + dir))
	return Owner(base + "-" + hex.EncodeToString(sum[:4]))
}

// ValidOwner checks a name that somebody chose for an owner.
func ValidOwner(s string) error {
	inner := func(c byte) bool { return isAlnum(c) || c == '.' || c == '_' || c == '-' }
	if s == "" || len(s) > maxOwner || !isAlnum(s[0]) || !all(s, inner) {
		return fmt.Errorf("cannot take %q for an owner: use 1 to %d letters, digits, '.', '_' and '-', a letter or digit first", shorten(s), maxOwner)
	}
	return nil
}

// maxLockAddress is what fits into a unix socket address (sun_path has 108
// bytes, unix(7)), with room for a byte in front.
const maxLockAddress = 100

// LockAddress is the abstract unix socket (unix(7); the leading NUL makes it
// so) that the controller of an owner listens on while it lives. It names uid
// and owner, and is the same for everyone who asks. Too long an owner is
// replaced by a hash of it.
func LockAddress(uid int, owner Owner) string {
	prefix := "\x00proc-controller/" + strconv.Itoa(uid) + "/"
	if len(prefix)+len(owner) <= maxLockAddress {
		return prefix + string(owner)
	}
	sum := sha256.Sum256([]byte(owner))
	return prefix + "sha256:" + hex.EncodeToString(sum[:16])
}
