package spec

import "bytes"

// The marker variables by index, for the parser.
const (
	markSubprocess = iota
	markOwner
	markInstance
	markSpec
	markOnExit
	markPorts
	markAgentName
	markMCPService
	markerCount
)

// ParseMarkers finds the marker variables in an environment block: NAME=value
// strings, each ended by a NUL, as in proc_pid_environ(5).
//
// A marker is a whole string of the block: not a part of another value, not one
// that the end of the block cuts off. A value that no controller could have
// written is taken for a missing one. A variable that is there twice with
// different values is dropped, and Subprocess is then false: which of them the
// process was started with cannot be told, and so it is not one of ours.
//
// For an environment without markers it allocates nothing.
func ParseMarkers(environ []byte) Markers {
	var found markerValues
	for len(environ) > 0 {
		end := bytes.IndexByte(environ, 0)
		if end < 0 {
			break
		}
		// Nearly all strings are told apart by their first letter. That is
		// cheaper than a search for the markers anywhere in the block first.
		if end > len(EnvAgentName) {
			switch environ[0] {
			case 'P', 'A', 'M':
				found.take(environ[:end])
			}
		}
		environ = environ[end+1:]
	}
	if !found.any {
		return Markers{}
	}
	return found.markers()
}

// markerValues are the values that were found, nil for those that were not.
type markerValues struct {
	values   [markerCount][]byte
	conflict [markerCount]bool
	any      bool
}

func (f *markerValues) take(entry []byte) {
	if entry[0] == 'P' && !bytes.HasPrefix(entry, []byte(reservedPrefix)) {
		return
	}
	eq := bytes.IndexByte(entry, '=')
	if eq < 0 {
		return
	}
	i := markerIndex(entry[:eq])
	if i < 0 {
		return
	}
	value := entry[eq+1:]
	if f.values[i] != nil && !bytes.Equal(f.values[i], value) {
		f.conflict[i] = true
	}
	f.values[i] = value
	f.any = true
}

func markerIndex(name []byte) int {
	switch string(name) {
	case EnvSubprocess:
		return markSubprocess
	case EnvOwner:
		return markOwner
	case EnvInstance:
		return markInstance
	case EnvSpec:
		return markSpec
	case EnvOnExit:
		return markOnExit
	case EnvPorts:
		return markPorts
	case EnvAgentName:
		return markAgentName
	case EnvMCPService:
		return markMCPService
	}
	return -1
}

func (f *markerValues) markers() Markers {
	clear := false
	for i, c := range f.conflict {
		if c {
			f.values[i] = nil
			clear = true
		}
	}
	m := Markers{
		Subprocess: string(f.values[markSubprocess]) == "1" && !clear,
		AgentName:  string(f.values[markAgentName]),
		MCPService: string(f.values[markMCPService]),
	}
	if o := Owner(f.values[markOwner]); ValidOwner(string(o)) == nil {
		m.Owner = o
	}
	if in := Instance(f.values[markInstance]); in.valid() {
		m.Instance = in
	}
	if h := Hash(f.values[markSpec]); h.valid() {
		m.Hash = h
	}
	switch e := OnControllerExit(f.values[markOnExit]); e {
	case ExitStop, ExitKeep:
		m.OnExit = e
	}
	if p, err := ParsePortMap(string(f.values[markPorts])); err == nil {
		m.Ports = p
	}
	return m
}
