package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func block(entries ...string) []byte {
	if len(entries) == 0 {
		return nil
	}
	return []byte(strings.Join(entries, "\x00") + "\x00")
}

func TestParseMarkers(t *testing.T) {
	whole := testMarkers.Environ()
	without := func(name string) []string {
		var out []string
		for _, e := range whole {
			if !strings.HasPrefix(e, name+"=") {
				out = append(out, e)
			}
		}
		return out
	}
	noOwner, notOurs := testMarkers, testMarkers
	noOwner.Owner, noOwner.Subprocess = "", false
	notOurs.Subprocess = false
	hostile := testMarkers
	hostile.Instance, hostile.Owner, hostile.Hash, hostile.OnExit, hostile.Ports = "", "", "", "", nil

	for name, c := range map[string]struct {
		environ []byte
		want    Markers
	}{
		"empty":                   {nil, Markers{}},
		"a stranger":              {block("PATH=/bin", "HOME=/root", "PROC=1"), Markers{}},
		"all":                     {block(whole...), testMarkers},
		"among others":            {block(append([]string{"PATH=/bin", "", "="}, append(whole, "LANG=C", "no equals sign")...)...), testMarkers},
		"in another value":        {block("X=" + strings.Join(whole, " ")), Markers{}},
		"after a newline":         {block("X=a\n" + strings.Join(whole, "\n")), Markers{}},
		"a longer name":           {block("X"+EnvOwner+"=a", EnvOwner+"S=a"), Markers{}},
		"another value of 1":      {block(append(without(EnvSubprocess), EnvSubprocess+"=10")...), notOurs},
		"cut off":                 {[]byte(strings.TrimSuffix(string(block(append(without(EnvSubprocess), EnvSubprocess+"=1")...)), "\x00")), notOurs},
		"twice the same":          {block(append(whole, whole...)...), testMarkers},
		"twice, different":        {block(append(whole, EnvOwner+"=other")...), noOwner},
		"thrice, the first again": {block(append(whole, EnvOwner+"=other", whole[1])...), noOwner},
		"hostile values": {block(append([]string{"MCP_SERVICE_ID=files"}, EnvSubprocess+"=1", EnvOwner+"=../x", EnvInstance+"=../../etc-1",
			EnvSpec+"=zz", EnvOnExit+"=stop", EnvPorts+"=http=99999")...), func() Markers {
			m := hostile
			m.Subprocess = true
			return m
		}()},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ParseMarkers(c.environ)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseMarkersAllocatesNothingForStrangers(t *testing.T) {
	environ := environBlock("PROC=1", "AGENT_NAMES=a", "MCP=1")
	if n := testing.AllocsPerRun(100, func() { ParseMarkers(environ) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func drawMarkers(t *rapid.T) Markers {
	name := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?`)
	m := Markers{
		Subprocess: rapid.Bool().Draw(t, "subprocess"),
		Owner:      Owner(rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,30}`).Draw(t, "owner")),
		Instance:   NewInstance(rapid.StringMatching(`[a-z0-9]{1,32}`).Draw(t, "token"), rapid.Uint64().Draw(t, "tick")),
		Hash:       Hash(rapid.StringMatching(`[0-9a-f]{16}`).Draw(t, "hash")),
		OnExit:     rapid.SampledFrom([]OnControllerExit{"", ExitStop, ExitKeep}).Draw(t, "onExit"),
		AgentName:  rapid.OneOf(rapid.Just(""), name).Draw(t, "agent"),
		MCPService: rapid.OneOf(rapid.Just(""), name).Draw(t, "mcp"),
	}
	ports := rapid.MapOfN(rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[a-z][a-z0-9]{0,10}`)), rapid.Uint16Min(1), 0, 4).Draw(t, "ports")
	for n, p := range ports {
		m.Ports = append(m.Ports, NamedPort{n, p})
	}
	m.Ports = NewPortMap(m.Ports...)
	return m
}

func TestMarkersRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMarkers(t)
		entries := rapid.Permutation(append(m.Environ(), "PATH=/bin", "AGENT=x")).Draw(t, "order")
		if diff := cmp.Diff(m, ParseMarkers(block(entries...))); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func TestMarkersFor(t *testing.T) {
	o := sample(t)
	got := MarkersFor(o, testMarkers.Owner, testMarkers.Instance, testMarkers.Hash, testMarkers.Ports)
	if diff := cmp.Diff(testMarkers, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if k, ok := got.Key(); !ok || k != o.Key() {
		t.Errorf("Key: %v, %v", k, ok)
	}
}

func TestMarkersKey(t *testing.T) {
	for name, c := range map[string]struct {
		m    Markers
		want Key
	}{
		"agent":      {Markers{AgentName: "a"}, Key{KindAgent, "a"}},
		"server":     {Markers{MCPService: "a"}, Key{KindMCPServer, "a"}},
		"none":       {Markers{}, Key{}},
		"both":       {Markers{AgentName: "a", MCPService: "a"}, Key{}},
		"not a name": {Markers{AgentName: "../a"}, Key{}},
	} {
		if got, ok := c.m.Key(); got != c.want || ok != (c.want != Key{}) {
			t.Errorf("%s: got %v, %v", name, got, ok)
		}
	}
}

func TestInstance(t *testing.T) {
	in := NewInstance("k7f3", 8812345)
	if tick, ok := in.Tick(); in != "k7f3-8812345" || in.Token() != "k7f3" || tick != 8812345 || !ok {
		t.Errorf("%s: token %s, tick %d, %v", in, in.Token(), tick, ok)
	}
	for _, bad := range []Instance{"", "-", "a", "a-", "-1", "A-1", "a-01", "a-+1", "a-1-2", "a/b-1", "a-18446744073709551616", Instance(strings.Repeat("a", 33) + "-1")} {
		if _, ok := bad.Tick(); ok {
			t.Errorf("%q is taken for an instance", bad)
		}
	}
}

func TestOwner(t *testing.T) {
	a := OwnerFor(1000, "/home/me/.config/proc-controller/manifests")
	if !strings.HasPrefix(string(a), "manifests-") || len(a) != len("manifests-")+8 {
		t.Errorf("owner %q", a)
	}
	if a != OwnerFor(1000, "/home/me/.config/proc-controller/manifests") || a == OwnerFor(1001, "/home/me/.config/proc-controller/manifests") || a == OwnerFor(1000, "/srv/manifests") {
		t.Error("the owner is not a matter of uid and directory alone")
	}
	for _, dir := range []string{"/", "/é", "/.hidden", "/a b\nc", "/" + strings.Repeat("x", 200), "/---", "/..."} {
		if o := OwnerFor(0, dir); ValidOwner(string(o)) != nil {
			t.Errorf("%q gives the owner %q: %v", dir, o, ValidOwner(string(o)))
		}
	}
	for _, bad := range []string{"", "a/b", "-a", ".a", "a b", "é", strings.Repeat("x", 65)} {
		if ValidOwner(bad) == nil {
			t.Errorf("%q is taken for an owner", bad)
		}
	}
}

func TestParseKey(t *testing.T) {
	for s, want := range map[string]Key{
		"MCPServer/files": {KindMCPServer, "files"}, "mcp/files": {KindMCPServer, "files"}, "agents/a": {KindAgent, "a"},
		"files": {}, "pod/a": {}, "agent/": {}, "agent/A": {}, "agent/a/b": {},
	} {
		got, err := ParseKey(s)
		if got != want || (err == nil) != (want != Key{}) {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
	if v := (Key{KindAgent, "a"}).NameVar() + " " + (Key{KindMCPServer, "a"}).NameVar(); v != "AGENT_NAME MCP_SERVICE_ID" {
		t.Errorf("NameVar: %s", v)
	}
}

func TestPortMap(t *testing.T) {
	m := NewPortMap(NamedPort{"http", 8123}, NamedPort{"", 9000})
	if s := m.String(); s != "=9000,http=8123" {
		t.Errorf("String: %s", s)
	}
	if p, ok := m.Lookup("http"); p != 8123 || !ok {
		t.Errorf("Lookup: %d, %v", p, ok)
	}
	if p, ok := m.Lookup("grpc"); p != 0 || ok {
		t.Errorf("Lookup of none: %d, %v", p, ok)
	}
	for _, bad := range []string{",", "http", "http=", "http=0", "http=65536", "http=080", "http=+80", "HTTP=80", "b=1,a=2", "a=1,a=2", "a=1,", "=1,=1"} {
		if p, err := ParsePortMap(bad); err == nil {
			t.Errorf("%q is taken for %v", bad, p)
		}
	}
}
