//go:build linux || darwin || freebsd

package actuate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/bearer"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// mcpConfigSuffix ends the name of the file of an agent.
const mcpConfigSuffix = ".json"

// maxMCPConfig bounds what is read of a file; the largest that is written is far
// below.
const maxMCPConfig = 1 << 20

// MCPConfigPath is the file that tells an agent where its MCP servers are:
// mcp/NAME.json in the state directory. It depends on nothing else, so that an
// agent which outlives its controller is told by the next one.
func MCPConfigPath(stateDir string, agent spec.Key) string {
	return filepath.Join(mcpConfigDir(stateDir), agent.Name+mcpConfigSuffix)
}

func mcpConfigDir(stateDir string) string { return filepath.Join(stateDir, "mcp") }

// mcpConfigPath is that of an entry; empty where it uses no servers, or where
// there is no place for a file.
func (a *Actuator) mcpConfigPath(e *spec.Entry) string {
	if len(e.Object.Spec.MCPServers) == 0 || a.opts.StateDir == "" {
		return ""
	}
	return MCPConfigPath(a.opts.StateDir, e.Key)
}

// Publish tells an agent where its servers are. The file is for the user that
// the agent runs as (0600). It is replaced by rename(2), so that whoever reads it
// finds the former content or the new one. The error is a *StartError.
func (a *Actuator) Publish(e *spec.Entry, servers []spec.ServerEndpoint) (spec.MCPConfigFile, error) {
	f := spec.MCPConfigFile{Path: a.mcpConfigPath(e)}
	if f.Path == "" {
		return f, mcpConfigError(errors.New("there is no state directory to keep it in (see --state-dir)"))
	}
	account, err := a.accountOf(e.Object.Spec.User)
	if err != nil {
		return f, err
	}
	a.atDesk(func() { err = a.publish(&f, account, servers) })
	if err != nil {
		return f, mcpConfigError(err)
	}
	return f, nil
}

func mcpConfigError(err error) error {
	return startErrorf(spec.ReasonMCPConfig, "cannot write the file that tells where its MCP servers are: %v", err)
}

func (a *Actuator) publish(f *spec.MCPConfigFile, account *observe.Account, servers []spec.ServerEndpoint) error {
	owner := observe.Account{UID: uint32(a.opts.UID), GID: uint32(os.Getegid())}
	if account != nil {
		owner = *account
	}
	old, private := readPrivate(f.Path, owner.UID)
	f.Servers = spec.WithKnown(servers, old)
	tokens, err := a.tokensOf(servers, old)
	if err != nil {
		return err
	}
	content := spec.EncodeMCPConfig(f.Servers, tokens)
	f.Written = !private || !bytes.Equal(content, old)
	if f.Written {
		if err := replacePrivate(f.Path, content, &owner); err != nil {
			return err
		}
	}
	if owner.UID == uint32(a.opts.UID) {
		return nil
	}
	return a.admit(&owner, filepath.Dir(f.Path))
}

// tokensOf reads the tokens of servers. Of a server whose URL is not known it is the
// one that goes with the URL in the file.
func (a *Actuator) tokensOf(servers []spec.ServerEndpoint, old []byte) (map[string]string, error) {
	tokens := map[string]string{}
	known := spec.KnownTokens(old)
	for i := range servers {
		s := &servers[i]
		switch {
		case s.URL == "":
			tokens[s.Name] = known[s.Name]
		case s.TokenFile != "":
			path, err := spec.ResolvePath(s.TokenFile, s.Dir, a.opts.Home)
			if err == nil {
				tokens[s.Name], err = bearer.ReadFile(path, bearer.ClosedToOthers)
			}
			if err != nil {
				return nil, fmt.Errorf("MCPServer/%s: %w", s.Name, err)
			}
		}
	}
	return tokens, nil
}

// readPrivate reads a file, and says whether it is a regular one which that user
// alone may read and write. The directory is ours, so what its name leads to is
// nobody else's choice.
func readPrivate(path string, uid uint32) (content []byte, private bool) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return nil, false
	}
	if content, err = io.ReadAll(io.LimitReader(f, maxMCPConfig)); err != nil {
		return nil, false
	}
	return content, st.Mode().Perm() == 0o600 && st.Sys().(*syscall.Stat_t).Uid == uid
}

// replacePrivate puts a file of that user in the place of another, or leaves it
// as it is. It is called for one path by one goroutine at a time.
func replacePrivate(path string, content []byte, owner *observe.Account) error {
	dir, name := filepath.Split(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temporary := filepath.Join(dir, "."+name+".new")
	// One that a crash has left may be open elsewhere.
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(0o600) // whatever the umask is
	}
	if err == nil && owner.UID != uint32(os.Geteuid()) {
		err = f.Chown(int(owner.UID), int(owner.GID))
	}
	if err = cmp.Or(err, f.Close()); err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		os.Remove(temporary)
	}
	return err
}

// admit lets another user reach a directory below the state directory, without
// seeing what else is there: the two that are ours become searchable. Those above
// are not ours to open.
func (a *Actuator) admit(user *observe.Account, dir string) error {
	for _, d := range []string{dir, a.opts.StateDir} {
		if err := makeSearchable(d, user); err != nil {
			return err
		}
	}
	above, err := filepath.EvalSymlinks(a.opts.StateDir)
	if err != nil {
		return err
	}
	for above != filepath.Dir(above) {
		above = filepath.Dir(above)
		st, err := os.Stat(above)
		if err != nil {
			return err
		}
		if !searchable(st, user) && !hasACL(above) {
			return fmt.Errorf("user %s cannot enter %s: choose a directory that this user can reach with --state-dir", user.Name, above)
		}
	}
	return nil
}

func makeSearchable(dir string, user *observe.Account) error {
	st, err := os.Stat(dir)
	if err != nil || searchable(st, user) {
		return err
	}
	return os.Chmod(dir, st.Mode().Perm()|0o111)
}

// searchable says that a user may search a directory.
func searchable(dir fs.FileInfo, user *observe.Account) bool { return allows(dir, user, 0o1) }

// allows says that a user may do something to a file by its mode bits, of which the
// first class that fits counts (path_resolution(7)).
func allows(file fs.FileInfo, user *observe.Account, what fs.FileMode) bool {
	st := file.Sys().(*syscall.Stat_t)
	perm := file.Mode().Perm()
	switch {
	case user.UID == 0:
		return true
	case st.Uid == user.UID:
		return perm&(what<<6) != 0
	case st.Gid == user.GID, slices.Contains(user.Groups, st.Gid):
		return perm&(what<<3) != 0
	}
	return perm&what != 0
}

// hasACL says that more than the mode bits counts (acl(5)): who may enter is then
// not for us to tell.
func hasACL(dir string) bool {
	n, err := unix.Getxattr(dir, "system.posix_acl_access", nil)
	return err == nil && n > 0
}

// Withdraw removes the file of an agent.
func (a *Actuator) Withdraw(agent spec.Key) error {
	if a.opts.StateDir == "" {
		return nil
	}
	if err := os.Remove(MCPConfigPath(a.opts.StateDir, agent)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return startErrorf(spec.ReasonMCPConfig, "cannot remove the file that tells where its MCP servers are: %v", err)
	}
	return nil
}

// Published names the agents that have a file.
func (a *Actuator) Published() (agents []spec.Key) {
	if a.opts.StateDir == "" {
		return nil
	}
	entries, _ := os.ReadDir(mcpConfigDir(a.opts.StateDir)) // none is the rule
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), mcpConfigSuffix)
		if k, err := spec.ParseKey(string(spec.KindAgent) + "/" + name); ok && err == nil {
			agents = append(agents, k)
		}
	}
	return agents
}
