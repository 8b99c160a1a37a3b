//go:build linux || darwin || freebsd

package actuate

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/proc-controller/proc-controller/bearer"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// A stdio server is started behind a bridge: this program, with another verb. The
// program of the manifest is resolved all the same, with every error that a start
// without a bridge would have.

// bridge puts a bridge before a command that was resolved. The error is a
// *StartError.
func (a *Actuator) bridge(c *command, e *spec.Entry, ports spec.PortMap) error {
	if a.self == "" {
		return startErrorf(spec.ReasonNotExecutable, "cannot run the bridge of a stdio server: where this program is cannot be told")
	}
	port, _ := e.Object.Spec.MCP.PortNumber(ports)
	b := Bridging{
		Name: e.Key.Name, Listen: net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))),
		Spec: &e.Object.Spec, Memory: a.eraPath(c, e), Command: append([]string{c.program}, c.argv[1:]...),
	}
	var err error
	if b.TokenFile, err = a.tokenFileOf(c, e); err != nil {
		return err
	}
	c.bridged, c.program = true, a.self
	c.argv = append([]string{a.self}, b.Args()...)
	return nil
}

// tokenFileOf is the path of the token file of a server; empty where it wants none.
// The error is a *StartError.
func (a *Actuator) tokenFileOf(c *command, e *spec.Entry) (string, error) {
	auth := e.Object.Spec.MCP.Auth
	if auth == nil {
		return "", nil
	}
	path, err := spec.ResolvePath(auth.TokenFile, e.Dir, a.opts.Home)
	if err == nil {
		_, err = bearer.ReadFile(path, bearer.ClosedToOthers)
	}
	if err != nil {
		return "", startErrorf(spec.ReasonTokenFile, "cannot start: %v", err)
	}
	if c.account != nil && !readableBy(path, c.account) {
		return "", startErrorf(spec.ReasonTokenFile, "cannot start: user %s cannot read the token file %s (chown %s %s)",
			c.account.Name, path, c.account.Name, spec.ShellWord(path))
	}
	return path, nil
}

// readableBy judges by the mode bits alone (path_resolution(7)).
func readableBy(path string, user *observe.Account) bool {
	st, err := os.Stat(path)
	return err == nil && allows(st, user, 0o4)
}

// eraDir holds what bridges have found out about their servers.
const eraDir = "eras"

// eraPath is the file in which the bridge of a server keeps which era of MCP that
// speaks, as long as its hash is the same; empty where there is no place for it. What
// other users run has no access to the state directory.
func (a *Actuator) eraPath(c *command, e *spec.Entry) string {
	if a.opts.StateDir == "" || c.account != nil && c.account.UID != uint32(a.opts.UID) {
		return ""
	}
	return filepath.Join(a.opts.StateDir, eraDir, e.Key.Name+"-"+string(e.Hash))
}

// prepareEras makes room for the file, and removes those of the workload's former
// hashes. Without one the era is found out anew.
func (a *Actuator) prepareEras(e *spec.Entry) {
	_ = os.MkdirAll(filepath.Join(a.opts.StateDir, eraDir), 0o700)
	a.removeEras(e.Key, e.Hash)
}

// Dismiss removes what the bridge of a workload that is forgotten has found out. It may
// be called from many goroutines.
func (a *Actuator) Dismiss(k spec.Key) {
	if k.Kind == spec.KindMCPServer && a.opts.StateDir != "" {
		a.removeEras(k, "")
	}
}

// removeEras removes the files of a workload but that of one hash, and what a crash has
// left of writing one. A name may begin with another one and a hyphen, but a hash has no
// hyphen.
func (a *Actuator) removeEras(k spec.Key, but spec.Hash) {
	dir := filepath.Join(a.opts.StateDir, eraDir)
	entries, _ := os.ReadDir(dir) // most have none
	for _, f := range entries {
		rest, ok := strings.CutPrefix(f.Name(), k.Name+"-")
		hash, _, _ := strings.Cut(rest, ".")
		if ok && !strings.Contains(hash, "-") && hash != string(but) {
			_ = os.Remove(filepath.Join(dir, f.Name()))
		}
	}
}

// explainBridge turns the refusal to execute a bridge into a start error.
func (s *start) explainBridge(err error) *StartError {
	if s.account != nil {
		return startErrorf(spec.ReasonNotExecutable,
			"cannot run the bridge of a stdio server, %s, as user %s: %v (that user must be able to execute it, and to enter %s)",
			s.self, s.account, err, s.dir)
	}
	return startErrorf(spec.ReasonNotExecutable, "cannot run the bridge of a stdio server, %s: %v", s.self, err)
}
