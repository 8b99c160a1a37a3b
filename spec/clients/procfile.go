package clients

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/proc-controller/proc-controller/spec"
)

// procfile is a line for each process, "name: command", as foreman and its
// relatives read it. A port is told in $PORT, and a file .env beside it is read.
type procfile struct{}

// Title is Format's.
func (procfile) Title() string { return "Procfile" }

// Fits is Format's.
func (procfile) Fits(file string, keys []string) bool {
	return len(keys) == 0 && isProcfile(path.Base(file))
}

// isProcfile takes Procfile, Procfile.dev and dev.procfile.
func isProcfile(name string) bool {
	name = strings.ToLower(name)
	return name == "procfile" || strings.HasPrefix(name, "procfile.") || strings.HasSuffix(name, ".procfile")
}

var (
	procLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z0-9_-]+):\s*(.+)$`) })
	portRef  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$(PORT\b|\{PORT\b)`) })
)

// Parse is Format's.
func (procfile) Parse(data []byte) (*Config, error) {
	c := &Config{}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		m := procLine().FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("line %d: it is not of the form NAME: COMMAND", n)
		}
		c.Servers = append(c.Servers, Server{
			Name: m[1], Line: n, Kind: spec.KindAgent, Shell: m[2], EnvFile: ".env", Port: portRef().MatchString(m[2]),
		})
	}
	return c, nil
}
