package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// PortMap gives the port number for each port name that a workload declares,
// sorted by name; an unnamed port has the empty name.
type PortMap []NamedPort

// NamedPort is a port as the child knows it.
type NamedPort struct {
	Name string `json:"name,omitempty"`
	Port uint16 `json:"port"`
}

// NewPortMap sorts ports into a PortMap.
func NewPortMap(ports ...NamedPort) PortMap {
	m := PortMap(slices.Clone(ports))
	slices.SortFunc(m, func(a, b NamedPort) int { return cmp.Compare(a.Name, b.Name) })
	return m
}

// String gives the form of the marker: http=8123,=9000.
func (m PortMap) String() string {
	var b strings.Builder
	for i, p := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(p.Name + "=" + strconv.Itoa(int(p.Port)))
	}
	return b.String()
}

// Lookup gives the number of a port by its name.
func (m PortMap) Lookup(name string) (uint16, bool) {
	for _, p := range m {
		if p.Name == name {
			return p.Port, true
		}
	}
	return 0, false
}

// Resolve gives the number that a probe or a protocol means by its port: a
// number itself, or the name of a declared port, which is empty for the one
// without a name.
func (m PortMap) Resolve(port string) (uint16, bool) {
	if n, ok := portNumber(port); ok {
		return n, true
	}
	return m.Lookup(port)
}

// portNumber reads a port that is given by number, 1 to 65535. No name is one: a
// name has a letter in it.
func portNumber(s string) (uint16, bool) {
	n, err := strconv.ParseUint(s, 10, 16)
	return uint16(n), err == nil && n > 0 && isWhole(s)
}

// ParsePortMap is the reverse of String. The empty string is the empty map.
func ParsePortMap(s string) (PortMap, error) {
	if s == "" {
		return nil, nil
	}
	var m PortMap
	for part := range strings.SplitSeq(s, ",") {
		p, err := parseNamedPort(part)
		if err != nil {
			return nil, fmt.Errorf("cannot take %q for ports: %v", shorten(s), err)
		}
		if n := len(m); n > 0 && m[n-1].Name >= p.Name {
			return nil, fmt.Errorf("cannot take %q for ports: the names are not sorted, or not unique", shorten(s))
		}
		m = append(m, p)
	}
	return m, nil
}

func parseNamedPort(s string) (NamedPort, error) {
	name, digits, _ := strings.Cut(s, "=")
	if name != "" && checkPortName(name) != "" {
		return NamedPort{}, fmt.Errorf("%q is no port name", name)
	}
	n, ok := portNumber(digits)
	if !ok {
		return NamedPort{}, fmt.Errorf("%q is no port", digits)
	}
	return NamedPort{name, n}, nil
}
