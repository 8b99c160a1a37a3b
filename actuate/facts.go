//go:build linux || darwin || freebsd

package actuate

import (
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/proc-controller/proc-controller/spec"
)

// programFile describes a file that was just executed.
func programFile(path string) spec.ProgramFile {
	p := spec.ProgramFile{Path: path}
	fi, err := os.Stat(path)
	if err != nil {
		return p
	}
	p.Size, p.ModTime = fi.Size(), fi.ModTime()
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		p.Inode = uint64(st.Ino)
	}
	return p
}

// EnvNames gives the names of the variables that an instance of the entry is
// started with, sorted; nil where its environment cannot be built.
func (a *Actuator) EnvNames(e *spec.Entry) []string {
	c, _ := a.commandOf(e, "", nil) // whether its program is there does not matter
	var names []string
	for _, v := range c.env {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
