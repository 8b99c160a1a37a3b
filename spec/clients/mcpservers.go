package clients

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proc-controller/proc-controller/spec"
)

// mcpServers is the form that Claude Desktop began, and that most clients share:
// Claude Code (.mcp.json), Cursor, Windsurf, Cline, LM Studio, Kiro, Gemini CLI.
type mcpServers struct{}

// Title is Format's.
func (mcpServers) Title() string { return "mcpServers" }

// Fits is Format's.
func (mcpServers) Fits(_ string, keys []string) bool { return slices.Contains(keys, "mcpServers") }

// Parse is Format's.
func (mcpServers) Parse(data []byte) (*Config, error) { return parseServers(data, "mcpServers") }

// parseServers reads the object of servers under a top key.
func parseServers(data []byte, top string) (*Config, error) {
	root, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	c := &Config{Inputs: map[string]Input{}}
	err = root.each("the file", func(key string, value node) error {
		switch key {
		case top:
			return value.each(top, func(name string, entry node) error {
				s, err := parseServer(name, entry)
				c.Servers = append(c.Servers, s)
				return err
			})
		case "inputs":
			return c.parseInputs(value)
		}
		return nil // the settings of the client are no business of ours
	})
	return c, err
}

// parseServer reads one entry. The fields are those of all clients together: they
// do not contradict each other.
func parseServer(name string, entry node) (Server, error) {
	s := Server{Name: name, Line: entry.line(), Kind: spec.KindMCPServer}
	err := entry.each(name, func(key string, value node) (err error) {
		what := name + "." + key
		switch key {
		case "command":
			s.Command, err = value.text(what)
		case "args":
			s.Args, err = value.texts(what)
		case "env":
			s.Env, err = value.variables(what)
		case "envFile":
			s.EnvFile, err = value.text(what)
		case "cwd":
			s.Dir, err = value.text(what)
		case "url", "serverUrl", "httpUrl":
			s.URL, err = value.text(what)
		case "disabled":
			s.Disabled, err = value.truth(what)
		case "enabled":
			var on bool
			on, err = value.truth(what)
			s.Disabled = !on
		case "type", "transport": // the rest says the same
		case "headers": // those of a URL, which is told of as a whole
		default:
			s.Ignored = append(s.Ignored, key)
		}
		return err
	})
	if err == nil && s.Command == "" && s.URL == "" {
		err = fmt.Errorf("line %d: %s has neither command nor url", s.Line, name)
	}
	slices.Sort(s.Ignored)
	return s, err
}

// variables reads an environment.
func (n node) variables(what string) (all []Variable, err error) {
	err = n.each(what, func(key string, value node) error {
		v, present, err := value.scalar(what + "." + key)
		if present {
			all = append(all, Variable{key, v})
		}
		return err
	})
	return all, err
}

// remote says what to do with a server that is a URL.
func (s *Server) remote() string {
	where := "elsewhere"
	if strings.Contains(s.URL, "://127.0.0.1") || strings.Contains(s.URL, "://localhost") || strings.Contains(s.URL, "://[::1]") {
		where = "on this machine, started by somebody else"
	}
	return fmt.Sprintf("%s is not imported: it runs %s, at %s, and there is no command to run", s.Name, where, withoutCredentials(s.URL))
}
