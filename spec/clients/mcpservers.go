package clients

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/proc-controller/proc-controller/spec"
)

// mcpServers is the form that Claude Desktop began, and that most clients share:
// Claude Code, Cursor, Windsurf, Gemini CLI, Cline, LM Studio, Kiro.
type mcpServers struct{}

// Title is Format's.
func (mcpServers) Title() string { return "mcpServers" }

// Fits is Format's.
func (mcpServers) Fits(file string, keys []string) bool {
	return slices.Contains(keys, "mcpServers") || path.Base(file) == ".claude.json" && slices.Contains(keys, "projects")
}

// Parse is Format's. Claude Code keeps those of single projects in the same file.
func (mcpServers) Parse(data []byte) (*Config, error) {
	root, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	c := &Config{Inputs: map[string]Input{}}
	if err := c.take(root, "mcpServers"); err != nil || root.get("projects") == nil {
		return c, err
	}
	return c, root.get("projects").each("projects", func(dir string, project *node) error {
		before := len(c.Servers)
		err := c.take(project, "mcpServers")
		for i := before; i < len(c.Servers); i++ {
			if s := &c.Servers[i]; s.Dir == "" {
				s.Dir = dir
			}
		}
		return err
	})
}

// take reads the object of servers that a way of names leads to, where there is one.
func (c *Config) take(root *node, way ...string) error {
	// Each step is looked at by itself, so that what is there twice is noticed.
	if root.kind != object {
		return root.wrong("the file", "an object")
	}
	for i, name := range way {
		if twice := root.twice(); twice != nil && twice.name == name {
			return fmt.Errorf("line %d: %s is there twice", twice.value.line, name)
		}
		next := root.get(name)
		if next == nil || next.kind == null {
			return nil
		}
		if root = next; root.kind != object {
			return root.wrong(strings.Join(way[:i+1], "."), "an object")
		}
	}
	return root.each(way[len(way)-1], func(name string, entry *node) error {
		s, err := parseServer(name, entry)
		c.Servers = append(c.Servers, s)
		return err
	})
}

// parseServer reads one entry. The fields are those of all clients together: they
// do not contradict each other.
func parseServer(name string, entry *node) (Server, error) {
	s := Server{Name: name, Line: entry.line, Kind: spec.KindMCPServer}
	err := entry.each(name, func(key string, value *node) error { return s.field(key, name+"."+key, value) })
	if err == nil && s.Command == "" && s.URL == "" && s.Built == "" {
		err = fmt.Errorf("line %d: %s has neither command nor url", s.Line, name)
	}
	slices.Sort(s.Ignored)
	return s, err
}

// field reads one field of an entry.
func (s *Server) field(key, what string, value *node) (err error) {
	if value.kind == null {
		return nil
	}
	switch key {
	case "command", "cmd":
		err = s.command(what, value)
	case "args":
		s.Args, err = value.texts(what)
	case "env", "envs", "environment":
		s.Env, err = value.variables(what)
	case "envFile":
		s.EnvFile, err = value.text(what)
	case "cwd":
		s.Dir, err = value.text(what)
	case "url", "serverUrl", "httpUrl", "uri":
		s.URL, err = value.text(what)
	case "disabled":
		s.Disabled, err = value.truth(what)
	case "enabled":
		var on bool
		on, err = value.truth(what)
		s.Disabled = !on
	case "type":
		err = s.kindOf(what, value)
	case "settings":
		s.Built = "an extension of the client" // of Zed, which knows the command
	case "env_vars", "env_keys":
		s.Outside, err = value.texts(what)
	case "transport", "source", "name", "description", "display_name", "bundled": // nothing to run
	case "headers", "oauth", "bearer_token_env_var", "http_headers", "env_http_headers": // of a URL
	default:
		s.Ignored = append(s.Ignored, key)
	}
	return err
}

// command reads what is run: a program, with its arguments (OpenCode), or as an
// object (Zed, formerly).
func (s *Server) command(what string, value *node) (err error) {
	switch value.kind {
	case list:
		words, err := value.texts(what)
		if err == nil && len(words) > 0 {
			s.Command, s.Args = words[0], words[1:]
		}
		return err
	case object:
		return value.each(what, func(key string, value *node) error {
			if key == "path" {
				key = "command"
			}
			return s.field(key, what+"."+key, value)
		})
	}
	s.Command, err = value.text(what)
	return err
}

// builtIn are the types of what a client (Goose) has in itself.
var builtIn = []string{"builtin", "platform", "frontend", "inline_python"}

// kindOf reads the type. What has a command or a URL says by that what it is.
func (s *Server) kindOf(what string, value *node) error {
	kind, err := value.text(what)
	if slices.Contains(builtIn, kind) {
		s.Built = "a part of the client (" + kind + ")"
	}
	return err
}

// variables reads an environment.
func (n *node) variables(what string) (all []Variable, err error) {
	err = n.each(what, func(key string, value *node) error {
		v, present, err := value.scalar(what + "." + key)
		if present {
			all = append(all, Variable{Name: key, Value: v})
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
