package observe

import "bytes"

// stat is what proc_pid_stat(5) says of one process, as far as it is needed.
type stat struct {
	pid, ppid, pgid, sid int32
	threads              int32
	state                byte
	start                uint64 // field 22, in ticks since boot
}

// The fields of proc_pid_stat(5), counted from 1 as the man page does.
const (
	fieldState    = 3
	fieldPPID     = 4
	fieldPGID     = 5
	fieldSID      = 6
	fieldThreads  = 20
	fieldStart    = 22
	fieldExitCode = 52 // since Linux 3.5
)

// parseStat reads the content of /proc/PID/stat:
//
//	4711 (tmux: server) S 1 4711 4711 0 -1 4194560 … 1 0 8812345 …
//
// The name in parentheses may hold anything, ") " and newlines too, so the
// fields are counted from the last closing parenthesis. What a kernel adds at
// the end does not matter.
func parseStat(b []byte) (s stat, ok bool) {
	end := bytes.LastIndexByte(b, ')')
	open := bytes.IndexByte(b, ' ')
	if end < 0 || open <= 0 || open > end || end+2 >= len(b) {
		return s, false
	}
	pid, ok := parseInt(b[:open])
	if !ok {
		return s, false
	}
	s.pid = int32(pid)
	rest := b[end+2:]
	for field := fieldState; field <= fieldStart; field++ {
		var word []byte
		word, rest = nextWord(rest)
		if !s.set(field, word) {
			return s, false
		}
	}
	return s, true
}

// set takes one field. Those that nobody asks for are not looked at.
func (s *stat) set(field int, word []byte) bool {
	if len(word) == 0 {
		return false
	}
	switch field {
	case fieldState:
		s.state = word[0]
		return len(word) == 1
	case fieldPPID, fieldPGID, fieldSID, fieldThreads, fieldStart:
	default:
		return true
	}
	n, ok := parseInt(word)
	switch field {
	case fieldPPID:
		s.ppid = int32(n)
	case fieldPGID:
		s.pgid = int32(n)
	case fieldSID:
		s.sid = int32(n)
	case fieldThreads:
		s.threads = int32(n)
	case fieldStart:
		s.start = uint64(n)
	}
	return ok
}

// statComm gives the name between the parentheses.
func statComm(b []byte) []byte {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end <= open {
		return nil
	}
	return b[open+1 : end]
}

// parseExitCode gives field 52 of proc_pid_stat(5): the status as waitpid(2)
// has it. The kernel shows 0 to readers that may not trace the process, so it
// means something only for a zombie that one may trace.
func parseExitCode(b []byte) (status uint32, ok bool) {
	end := bytes.LastIndexByte(b, ')')
	if end < 0 || end+2 >= len(b) {
		return 0, false
	}
	rest := b[end+2:]
	var word []byte
	for range fieldExitCode - fieldState + 1 {
		word, rest = nextWord(rest)
	}
	n, ok := parseInt(word)
	return uint32(n), ok
}

// nextWord cuts the text before the next blank or newline.
func nextWord(b []byte) (word, rest []byte) {
	for i, c := range b {
		if c == ' ' || c == '\n' {
			return b[:i], b[i+1:]
		}
	}
	return b, nil
}

// parseInt reads a decimal number without allocating.
func parseInt(b []byte) (int64, bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}
