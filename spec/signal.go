package spec

import (
	"slices"
	"strconv"
	"strings"
)

// signalNames are the names of the signals of Linux by number, from signal(7)
// (x86 and Arm; the realtime signals are left out). A table of our own, since
// a manifest means the same on whatever system it is checked.
var signalNames = [...]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP",
	6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 10: "SIGUSR1",
	11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
	16: "SIGSTKFLT", 17: "SIGCHLD", 18: "SIGCONT", 19: "SIGSTOP", 20: "SIGTSTP",
	21: "SIGTTIN", 22: "SIGTTOU", 23: "SIGURG", 24: "SIGXCPU", 25: "SIGXFSZ",
	26: "SIGVTALRM", 27: "SIGPROF", 28: "SIGWINCH", 29: "SIGIO", 30: "SIGPWR",
	31: "SIGSYS",
}

// SignalNumber gives the Linux number of a signal that is written as SIGTERM,
// TERM or 15.
func SignalNumber(name string) (int, bool) {
	if n, err := strconv.Atoi(name); err == nil {
		// "+15" and "015" are no way to write a signal.
		return n, n > 0 && n < len(signalNames) && strconv.Itoa(n) == name
	}
	if name == "" {
		return 0, false
	}
	if !strings.HasPrefix(name, "SIG") {
		name = "SIG" + name
	}
	n := slices.Index(signalNames[:], name)
	return n, n > 0
}

// SignalName gives the name of a Linux signal, SIGTERM for 15; a number that
// has none comes back in digits.
func SignalName(n int) string {
	if n > 0 && n < len(signalNames) {
		return signalNames[n]
	}
	return strconv.Itoa(n)
}
