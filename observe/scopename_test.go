package observe

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/proc-controller/proc-controller/spec"
)

func TestScopeNameIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		owner := spec.Owner(rapid.OneOf(
			rapid.StringMatching(`[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}`), rapid.String()).
			Filter(func(s string) bool { return s != "" }).Draw(t, "owner"))
		id := spec.NewInstance(rapid.StringMatching(`[a-z0-9]{1,32}`).Draw(t, "token"), rapid.Uint64().Draw(t, "tick"))
		name := ScopeName(owner, id)
		if len(name)+len(scopeSuffix) > 200 {
			t.Fatalf("%q has %d bytes", name, len(name))
		}
		for i := range len(name) {
			if c := name[i]; !unitByte(c) && c != '_' && c != ':' {
				t.Fatalf("%q is no unit name", name)
			}
		}
		for _, component := range []string{name, name + scopeSuffix} {
			gotOwner, gotID, ok := ParseScopeName(component)
			hashed := strings.HasPrefix(string(gotOwner), hashedOwner) && len(escapeUnit(string(owner))) > maxScopeOwner
			if !ok || gotID != id || gotOwner != owner && !hashed {
				t.Fatalf("%q is read as %q, %q, %v", component, gotOwner, gotID, ok)
			}
		}
	})
}

func TestScopeNamesOfLongOwnersDiffer(t *testing.T) {
	id := spec.NewInstance("a", 1)
	long := strings.Repeat("_", 200)
	if a, b := ScopeName(spec.Owner(long+"a"), id), ScopeName(spec.Owner(long+"b"), id); a == b {
		t.Errorf("two owners have the scope %q", a)
	}
}

func TestForeignScopeNames(t *testing.T) {
	for _, component := range []string{
		"", "/", ".", "..", "init.scope", "session-1.scope", "app.slice",
		"proc-controller-probe-abc.scope", "proc-controller-self",
		"proc-controller-:a-1", "proc-controller-o:", "proc-controller-o:a", "proc-controller-o:a-b-1",
		"proc-controller-o:A-1", "proc-controller-o_:a-1", "proc-controller-o_zz:a-1", "proc-controller-o:a-01",
		"xproc-controller-o:a-1", "proc-controller-o:a-1.service",
	} {
		if owner, id, ok := ParseScopeName(component); ok {
			t.Errorf("%q is read as %q, %q", component, owner, id)
		}
	}
}

func FuzzParseScopeName(f *testing.F) {
	f.Add("proc-controller-default-0a1b2c3d:k7f3-8812345.scope")
	f.Add("proc-controller-o_5f:a-1")
	f.Fuzz(func(t *testing.T, component string) {
		owner, id, ok := ParseScopeName(component)
		if ok && owner != "" && !strings.HasPrefix(string(owner), hashedOwner) {
			again, _, ok := ParseScopeName(ScopeName(owner, id))
			if !ok || again != owner && !strings.HasPrefix(string(again), hashedOwner) {
				t.Errorf("%q is read as %q, and that as %q", component, owner, again)
			}
		}
	})
}
