package observe

import "bytes"

// status is what proc_pid_status(5) says beside stat.
type status struct {
	tgid      int32
	uid, euid uint32
	nested    bool // lives in a PID namespace below that of /proc
}

// parseStatus reads the content of /proc/PID/status, of which these lines
// count (NSpid since Linux 4.1; each further number is a namespace below):
//
//	Tgid:	4711
//	Uid:	1000	1000	1000	1000
//	NSpid:	4711	1
func parseStatus(b []byte) (s status, ok bool) {
	var haveTgid, haveUID bool
	for len(b) > 0 {
		var line []byte
		line, b, _ = bytes.Cut(b, newline)
		name, value, found := bytes.Cut(line, colonTab)
		if !found {
			continue
		}
		switch string(name) {
		case "Tgid":
			n, valid := parseInt(value)
			s.tgid, haveTgid = int32(n), valid
		case "Uid":
			s.uid, s.euid, haveUID = parseUIDs(value)
		case "NSpid":
			s.nested = bytes.IndexByte(value, '\t') >= 0
		}
	}
	return s, haveTgid && haveUID
}

var newline, colonTab, tab = []byte{'\n'}, []byte(":\t"), []byte{'\t'}

// parseUIDs takes the real and the effective of the four user ids.
func parseUIDs(value []byte) (real, effective uint32, ok bool) {
	first, rest, found := bytes.Cut(value, tab)
	if !found {
		return 0, 0, false
	}
	second, _, _ := bytes.Cut(rest, tab)
	r, ok1 := parseInt(first)
	e, ok2 := parseInt(second)
	return uint32(r), uint32(e), ok1 && ok2
}

// parseCgroup gives the path in the cgroup v2 hierarchy from the content of
// /proc/PID/cgroup (cgroups(7)): the line of hierarchy 0, without controllers.
//
//	0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-r1.scope
//
// It is empty where there is no such hierarchy. A path that was removed while
// the process was in it has " (deleted)" at its end, which is cut.
func parseCgroup(b []byte) string {
	for len(b) > 0 {
		var line []byte
		line, b, _ = bytes.Cut(b, newline)
		if path, ok := bytes.CutPrefix(line, []byte("0::")); ok {
			return string(bytes.TrimSuffix(path, []byte(" (deleted)")))
		}
	}
	return ""
}
