package scope

import (
	"path"
	"strings"
)

// place is where a process is, as proc_pid_cgroup(5) has it.
type place struct {
	unified string // in the cgroup v2 hierarchy, the line "0::"
	named   string // in the v1 hierarchy name=systemd; empty on pure v2
	gone    bool   // the cgroup was removed; a zombie still names it
}

// parsePlace reads the content of /proc/PID/cgroup:
//
//	9:name=systemd:/user.slice/app.slice/a.scope
//	0::/user.slice/app.slice/a.scope
func parsePlace(content string) place {
	var p place
	for line := range strings.Lines(content) {
		id, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, at, ok := strings.Cut(rest, ":")
		if !ok {
			continue
		}
		at, deleted := strings.CutSuffix(at, " (deleted)")
		switch {
		case id == "0" && controllers == "":
			p.unified, p.gone = at, deleted
		case controllers == "name=systemd":
			p.named = at
		}
	}
	return p
}

// within gives the place if the process is in the cgroup of that name itself,
// in one of the two hierarchies; the other one is left empty unless it is too.
func (p place) within(name string) (place, bool) {
	if path.Base(p.unified) != name {
		p.unified = ""
	}
	if path.Base(p.named) != name {
		p.named = ""
	}
	return p, p.unified != "" || p.named != ""
}

// mount is where the cgroup v2 hierarchy is mounted, and which part of it.
type mount struct {
	dir  string // empty where there is none
	root string // the cgroup that stands at dir
}

// parseMounts finds cgroup v2 in /proc/self/mountinfo (proc_pid_mountinfo(5)):
// alone in /sys/fs/cgroup, or beside the v1 hierarchies in a directory of it.
//
//	41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
func parseMounts(content string) mount {
	var best mount
	for line := range strings.Lines(content) {
		left, right, ok := strings.Cut(line, " - ")
		fields := strings.Fields(left)
		if !ok || len(fields) < 6 || !strings.HasPrefix(right, "cgroup2 ") {
			continue
		}
		m := mount{dir: unescapeMount(fields[4]), root: unescapeMount(fields[3])}
		// Of several the widest view: the shortest root.
		if best.dir == "" || len(m.root) < len(best.root) {
			best = m
		}
	}
	return best
}

// unescapeMount undoes the octal escapes of mountinfo.
var unescapeMount = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace

// path gives the directory of a cgroup, and false where the mount does not
// show it.
func (m mount) path(cgroup string) (string, bool) {
	if m.dir == "" || !strings.HasPrefix(cgroup, "/") || strings.HasPrefix(cgroup, "/..") {
		return "", false
	}
	if m.root != "/" {
		rest, ok := strings.CutPrefix(cgroup, m.root)
		if !ok || rest != "" && rest[0] != '/' {
			return "", false
		}
		cgroup = rest
	}
	return path.Join(m.dir, cgroup), true
}
