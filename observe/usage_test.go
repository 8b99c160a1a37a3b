package observe

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseStatUsage(t *testing.T) {
	want := statUsage{start: 8812345, cpu: 4, rss: 1093}
	for _, name := range []string{"(tmux: server)", "(a) S 9 9 9)", "()"} {
		got, ok := parseStatUsage([]byte(strings.Replace(statSample, "(tmux: server)", name, 1)))
		if !ok || got != want {
			t.Errorf("%q: %+v, %v", name, got, ok)
		}
	}
	withChildren := strings.Replace(statSample, " 3 1 0 0 20 ", " 3 1 40 200 20 ", 1)
	if got, ok := parseStatUsage([]byte(withChildren)); !ok || got.cpu != 244 {
		t.Errorf("with children: %+v, %v", got, ok)
	}
	for _, line := range []string{"", "4711 (x)", "4711 (x) S 1", statSample[:strings.Index(statSample, " 1093 ")]} {
		if got, ok := parseStatUsage([]byte(line)); ok {
			t.Errorf("%q gives %+v", line, got)
		}
	}
}

func TestParseCPUStat(t *testing.T) {
	// Of Linux 6.18, without the CPU controller.
	const sample = "usage_usec 8340712\nuser_usec 6101223\nsystem_usec 2239489\nnice_usec 0\ncore_sched.force_idle_usec 0\n"
	if got, ok := parseCPUStat([]byte(sample)); !ok || got != 8340712*time.Microsecond {
		t.Errorf("%v, %v", got, ok)
	}
	for _, bad := range []string{"", "user_usec 1\n", "usage_usec -1\n", "usage_usec x\n", "usage_usec\n"} {
		if got, ok := parseCPUStat([]byte(bad)); ok {
			t.Errorf("%q gives %v", bad, got)
		}
	}
}

func TestParseCount(t *testing.T) {
	if n, ok := parseCount([]byte("1052672\n")); !ok || n != 1052672 {
		t.Errorf("%d, %v", n, ok)
	}
	for _, bad := range []string{"", "\n", "max\n", "1 2\n"} {
		if n, ok := parseCount([]byte(bad)); ok {
			t.Errorf("%q gives %d", bad, n)
		}
	}
}

func TestCgroupOfController(t *testing.T) {
	const sample = "9:name=systemd:/user.slice\n4:memory:/process_api/4d8a\n2:cpu,cpuacct:/a:b\n0::/\n"
	for controller, want := range map[string]string{"memory": "/process_api/4d8a", "cpuacct": "/a:b", "cpu": "/a:b", "pids": ""} {
		if got := cgroupOf([]byte(sample), controller); got != want {
			t.Errorf("%s: %q, want %q", controller, got, want)
		}
	}
}

func TestCgroupMounts(t *testing.T) {
	// Of a machine with both hierarchies, and with a container's view of one.
	const sample = "30 22 0:27 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n" +
		"34 30 0:31 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n" +
		"32 30 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n" +
		"50 30 0:37 /docker/1 /mnt/a\\040view rw - cgroup2 cgroup2 rw\n" +
		"40 30 0:37 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n" +
		"60 30 0:38 /docker/1 /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\ngarbage\n1 2 3 - cgroup2\n"
	mounts := parseCgroupMounts(sample)
	for _, tt := range []struct{ controller, cgroup, want string }{
		{"", "/a/b", "/sys/fs/cgroup/unified/a/b"},
		{"memory", "/", "/sys/fs/cgroup/memory"},
		{"cpuacct", "/x", "/sys/fs/cgroup/cpu,cpuacct/x"},
		{"pids", "/docker/1/x", "/sys/fs/cgroup/pids/x"},
		{"pids", "/docker/12", ""},
		{"pids", "/elsewhere", ""},
		{"blkio", "/a", ""},
		{"", "/../outside", ""},
		{"", "", ""},
	} {
		if got := mounts.dir(tt.controller, tt.cgroup); got != tt.want {
			t.Errorf("%q of %q: %q, want %q", tt.cgroup, tt.controller, got, tt.want)
		}
	}
	if d := cmp.Diff(cgroupMount{"/sys/fs/cgroup/unified", "/"}, mounts[""], cmp.AllowUnexported(cgroupMount{})); d != "" {
		t.Errorf("the widest view of v2 (-want +got):\n%s", d)
	}
}

func TestScopeAbove(t *testing.T) {
	scope := "/user.slice/" + ScopeName("owner", "k7-12") + scopeSuffix
	for cgroup, want := range map[string]string{
		scope:                  scope,
		scope + "/inner/inner": scope,
		"/user.slice":          "",
		"":                     "",
		"/" + ScopeName("owner", "other-12") + "/x": "",
	} {
		if got := scopeAbove(cgroup, "k7-12"); got != want {
			t.Errorf("%q: %q, want %q", cgroup, got, want)
		}
	}
}
