package scope

import (
	"errors"
	"path"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

func TestParseMode(t *testing.T) {
	for _, c := range []struct {
		flag, env string
		want      Mode
	}{
		{"", "", Auto},
		{"auto", "", Auto},
		{"systemd", "", Systemd},
		{"cgroup", "", Cgroup},
		{"off", "", Off},
		{"auto", "0", Off},
		{"auto", " OFF ", Off},
		{"systemd", "False", Off},
		{"cgroup", "no", Off},
		{"off", "1", Auto},
		{"off", "On", Auto},
		{"off", "\ttrue\n", Auto},
		{"off", "yes", Auto},
		{"off", "AUTO", Auto},
		{"off", "systemd", Off}, // no word of the variable's: as if it were not set
		{"cgroup", "maybe", Cgroup},
	} {
		if got, err := ParseMode(c.flag, c.env); got != c.want || err != nil {
			t.Errorf("ParseMode(%q, %q) is %q, %v; want %q", c.flag, c.env, got, err, c.want)
		}
	}
	if _, err := ParseMode("sometimes", ""); err == nil {
		t.Error("ParseMode takes a flag that is no mode")
	}
}

func TestLimits(t *testing.T) {
	pids := int64(200)
	l, err := parseLimits(spec.Limits{Memory: "1Gi", CPU: "1.5", PIDs: &pids})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"MemoryMax=1073741824", "CPUQuota=150.0%", "TasksMax=200"}
	if diff := cmp.Diff(want, l.properties()); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
	values := map[string]string{}
	for _, f := range l.files() {
		values[f.name] = f.value
	}
	if diff := cmp.Diff(map[string]string{"memory.max": "1073741824", "cpu.max": "150000 100000", "pids.max": "200"}, values); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	none, err := parseLimits(spec.Limits{})
	if err != nil || !none.none() || none.properties() != nil || none.files() != nil {
		t.Errorf("no limits are %+v, %v", none, err)
	}
	zero := int64(0)
	for _, bad := range []spec.Limits{{Memory: "lots"}, {Memory: "-1"}, {CPU: "0"}, {PIDs: &zero}} {
		if _, err := parseLimits(bad); err == nil {
			t.Errorf("parseLimits takes %+v", bad)
		}
	}
}

func TestLimitsInForce(t *testing.T) {
	l := limits{memory: 1 << 20, milliCPU: 333, pids: 10}
	for _, c := range []struct {
		file, content string
		want          bool
	}{
		{"memory.max", "1048576\n", true},
		{"memory.max", "1044480\n", true}, // rounded down to a page
		{"memory.max", "max\n", false},
		{"memory.max", "2097152\n", false},
		{"cpu.max", "33300 100000\n", true},
		{"cpu.max", "34000 100000\n", true}, // systemd rounds to a percent
		{"cpu.max", "66600 200000\n", true},
		{"cpu.max", "max 100000\n", false},
		{"cpu.max", "50000 100000\n", false},
		{"cpu.max", "", false},
		{"cpu.max", "1 0\n", false},
		{"pids.max", "10\n", true},
		{"pids.max", "max\n", false},
	} {
		for _, f := range l.files() {
			if f.name == c.file && f.tight(c.content) != c.want {
				t.Errorf("%s %q in force: %v", c.file, c.content, !c.want)
			}
		}
	}
}

func TestParsePlace(t *testing.T) {
	const hybrid = "9:name=systemd:/u/app.slice/a.scope\n8:pids:/\n1:cpu:/a:b\n0::/u/app.slice/a.scope\n"
	for _, c := range []struct {
		name, content string
		want          place
		inside        bool
	}{
		{"hybrid", hybrid, place{unified: "/u/app.slice/a.scope", named: "/u/app.slice/a.scope"}, true},
		{"unified", "0::/u/a.scope\n", place{unified: "/u/a.scope"}, true},
		{"a zombie whose scope is gone", "0::/u/a.scope (deleted)\n", place{unified: "/u/a.scope", gone: true}, true},
		{"legacy", "1:name=systemd:/u/a.scope\n", place{named: "/u/a.scope"}, true},
		{"only the v1 side", "1:name=systemd:/u/a.scope\n0::/\n", place{named: "/u/a.scope"}, true},
		{"a cgroup below it", "0::/u/a.scope/b\n", place{}, false},
		{"another", "1:name=systemd:/u\n0::/u/xa.scope\n", place{}, false},
		{"nothing", "", place{}, false},
		{"garbage", "::\n\n0\n0:\n", place{}, false},
	} {
		got, inside := parsePlace(c.content).within("a.scope")
		if got != c.want || inside != c.inside {
			t.Errorf("%s: %+v, %v; want %+v, %v", c.name, got, inside, c.want, c.inside)
		}
	}
}

func TestParseMounts(t *testing.T) {
	const sample = `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
50 31 0:38 /docker/1 /srv/a\040b rw shared:1 - cgroup2 cgroup2 rw
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`
	if got, want := parseMounts(sample), (mount{dir: "/sys/fs/cgroup/unified", root: "/"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := parseMounts("garbage\n1 2 3 - cgroup2\n"); got != (mount{}) {
		t.Errorf("garbage is %+v", got)
	}
	part := parseMounts(strings.Split(sample, "\n")[2])
	for _, c := range []struct {
		m          mount
		cgroup     string
		want       string
		isVisible  bool
		visibility string
	}{
		{mount{"/c", "/"}, "/a/b", "/c/a/b", true, "below the root"},
		{mount{"/c", "/"}, "/", "/c", true, "the root"},
		{mount{"/c", "/"}, "/../a", "", false, "outside of the namespace"},
		{mount{"/c", "/"}, "", "", false, "no path"},
		{mount{}, "/a", "", false, "no mount"},
		{part, "/docker/1/x", "/srv/a b/x", true, "in the part"},
		{part, "/docker/12/x", "", false, "beside the part"},
	} {
		if got, ok := c.m.path(c.cgroup); got != c.want || ok != c.isVisible {
			t.Errorf("%s: %q, %v; want %q", c.visibility, got, ok, c.want)
		}
	}
}

func TestNoScope(t *testing.T) {
	pids := int64(5)
	for _, c := range []struct {
		name    string
		mode    Mode
		policy  spec.ScopePolicy
		limits  spec.Limits
		wantErr bool
	}{
		{"switched off", Off, spec.ScopeAuto, spec.Limits{}, false},
		{"off in the manifest", Auto, spec.ScopeOff, spec.Limits{}, false},
		{"limits without a scope", Off, spec.ScopeAuto, spec.Limits{PIDs: &pids}, false},
		{"required", Off, spec.ScopeRequired, spec.Limits{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := New(Options{Mode: c.mode, Log: logr.Discard()})
			if err != nil {
				t.Fatal(err)
			}
			f, err := s.Prepare(t.Context(), Request{Instance: "i-1", Policy: c.policy, Limits: c.limits})
			if c.wantErr {
				if !errors.Is(err, ErrRequired) {
					t.Errorf("Prepare: %v, want ErrRequired", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			argv := []string{"/bin/x", "y"}
			if diff := cmp.Diff(argv, f.Wrap(argv)); diff != "" {
				t.Errorf("wrapped: %s", diff)
			}
			if _, ok := f.CgroupFD(); ok {
				t.Error("there is a cgroup")
			}
			sc, err := f.Verify(t.Context(), 1)
			if err != nil || sc.Mode != observe.ScopeOff || sc.Note == "" || sc.LimitsNotApplied != (c.limits != spec.Limits{}) {
				t.Errorf("scope %+v, %v", sc, err)
			}
		})
	}
	if _, err := New(Options{Mode: "sometimes"}); err == nil {
		t.Error("New takes an unknown mode")
	}
}

func FuzzParsePlaces(f *testing.F) {
	f.Add("9:name=systemd:/a\n0::/user.slice/x.scope\n", "41 31 0:38 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n", "x.scope")
	f.Add("0::/../x (deleted)\n", "1 1 0:1 /a\\040b /c rw - cgroup2 c rw\n", "")
	f.Fuzz(func(t *testing.T, places, mounts, name string) {
		p, ok := parsePlace(places).within(name)
		if ok && path.Base(p.unified) != name && path.Base(p.named) != name {
			t.Errorf("%+v is not in %q", p, name)
		}
		m := parseMounts(mounts)
		if dir, ok := m.path(p.unified); ok && !strings.Contains(p.unified, "..") && !strings.HasPrefix(dir, path.Clean(m.dir)) {
			t.Errorf("%q lies at %q, outside of %q", p.unified, dir, m.dir)
		}
	})
}
