package observe

import (
	"path"
	"strings"

	"github.com/proc-controller/proc-controller/spec"
)

// cgroupMounts are where the hierarchies of cgroups are mounted, by controller;
// that of cgroup v2, which has them all, under "".
type cgroupMounts map[string]cgroupMount

// cgroupMount is one mounted hierarchy and the cgroup that stands at its top.
type cgroupMount struct{ dir, root string }

// parseCgroupMounts reads /proc/self/mountinfo (proc_pid_mountinfo(5)): the root
// within the file system is the fourth field, the place the fifth; after " - "
// come type, source and the options, which name the controllers of a v1 hierarchy.
//
//	41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
//	36 31 0:33 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
func parseCgroupMounts(content string) cgroupMounts {
	mounts := cgroupMounts{}
	for line := range strings.Lines(content) {
		left, right, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		place, kind := strings.Fields(left), strings.Fields(right)
		if !ok || len(place) < 6 || len(kind) < 3 {
			continue
		}
		m := cgroupMount{dir: unescapeMount(place[4]), root: unescapeMount(place[3])}
		switch kind[0] {
		case "cgroup2":
			mounts.add("", m)
		case "cgroup":
			for option := range strings.SplitSeq(kind[2], ",") {
				mounts.add(option, m)
			}
		}
	}
	return mounts
}

// add takes of several mounts the one with the widest view: the shortest root.
func (c cgroupMounts) add(controller string, m cgroupMount) {
	if old, ok := c[controller]; !ok || len(m.root) < len(old.root) {
		c[controller] = m
	}
}

// unescapeMount undoes the octal escapes of mountinfo.
var unescapeMount = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace

// dir gives the directory of a cgroup, and "" where no mount shows it.
func (c cgroupMounts) dir(controller, cgroup string) string {
	m, ok := c[controller]
	if !ok || !strings.HasPrefix(cgroup, "/") || strings.HasPrefix(cgroup, "/..") {
		return ""
	}
	if m.root != "/" {
		rest, ok := strings.CutPrefix(cgroup, m.root)
		if !ok || rest != "" && rest[0] != '/' {
			return ""
		}
		cgroup = rest
	}
	return path.Join(m.dir, cgroup)
}

// scopeAbove gives the cgroup of an instance that a cgroup is or lies in, and ""
// where it does not: then others' processes would count too.
func scopeAbove(cgroup string, id spec.Instance) string {
	for cgroup != "" {
		i := strings.LastIndexByte(cgroup, '/')
		if _, of, ok := ParseScopeName(cgroup[i+1:]); ok && of == id {
			return cgroup
		}
		cgroup = cgroup[:max(i, 0)]
	}
	return ""
}
