package observe

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/proc-controller/proc-controller/spec"
)

// A scope's name carries owner and instance, so that the path of a cgroup is a
// witness of its own: proc-controller-<owner>:<instance>. The owner
// is escaped to what systemd.unit(5) allows in a unit name; a colon is in
// neither part.
const (
	scopePrefix = "proc-controller-"
	scopeSuffix = ".scope"
	// hashedOwner begins an owner that is a hash; no escape begins so.
	hashedOwner = "_h"
	// maxScopeOwner keeps the whole name within 200 bytes, an instance being
	// at most 53; systemd takes 255 (UNIT_NAME_MAX).
	maxScopeOwner = 100
)

// ScopeName gives the name of the cgroup of one instance: for systemd a unit
// name without its suffix. It is the same for the same arguments, and another
// for each instance. An owner that is too long to be carried whole is replaced
// by a hash of it.
func ScopeName(owner spec.Owner, id spec.Instance) string {
	return scopePrefix + scopeOwner(owner) + ":" + string(id)
}

// ParseScopeName is the reverse of ScopeName. It takes one component of a
// cgroup path, with or without the .scope suffix, and says whether it is a
// scope of ours: whether ScopeName could have given it. For an owner that was hashed it gives "_h" and the hash:
// to tell whether it is a given owner, compare with ScopeName of that owner.
func ParseScopeName(component string) (owner spec.Owner, id spec.Instance, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSuffix(component, scopeSuffix), scopePrefix)
	if !ok {
		return "", "", false
	}
	o, i, ok := strings.Cut(rest, ":")
	if !ok || o == "" || i == "" {
		return "", "", false
	}
	id = spec.Instance(i)
	if _, ok := id.Tick(); !ok {
		return "", "", false
	}
	if strings.HasPrefix(o, hashedOwner) {
		return spec.Owner(o), id, true
	}
	name, ok := unescapeUnit(o)
	return spec.Owner(name), id, ok
}

func scopeOwner(owner spec.Owner) string {
	esc := escapeUnit(string(owner))
	if len(esc) <= maxScopeOwner {
		return esc
	}
	sum := sha256.Sum256([]byte(owner))
	return hashedOwner + hex.EncodeToString(sum[:16])
}

// escapeUnit writes every byte that is not a letter, a digit, a dot or a dash
// as an underscore and two hexadecimal digits.
func escapeUnit(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if unitByte(s[i]) {
			b.WriteByte(s[i])
			continue
		}
		b.WriteByte('_')
		b.WriteString(hex.EncodeToString([]byte{s[i]}))
	}
	return b.String()
}

func unescapeUnit(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '_' {
			if !unitByte(s[i]) {
				return "", false
			}
			b.WriteByte(s[i])
			continue
		}
		if i+3 > len(s) {
			return "", false
		}
		raw, err := hex.DecodeString(s[i+1 : i+3])
		if err != nil {
			return "", false
		}
		b.Write(raw)
		i += 2
	}
	return b.String(), true
}

func unitByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '-'
}
