package clients

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/proc-controller/proc-controller/spec"
)

// Format is one way to write down what is to be run.
type Format interface {
	// Title names it for a person.
	Title() string
	// Fits says that a file with this path and these top keys is one; a file that
	// is no JSON, TOML or YAML has no keys.
	Fits(path string, keys []string) bool
	// Parse reads it. The error is one line, with the line in the file if known.
	Parse(data []byte) (*Config, error)
}

// formats are all that are known, the most particular first.
var formats = []Format{procfile{}, registry{}, vscode{}, zed{}, opencode{}, codex{}, goose{}, gemini{}, mcpServers{}}

// Config is what a file says, in the order of the file.
type Config struct {
	Title   string // of the format
	Servers []Server
	// Inputs are values that the client asks its user for, by id.
	Inputs map[string]Input
}

// Server is one entry: something to run, or something to connect to.
type Server struct {
	Name string
	Line int // where it begins, from 1
	Kind spec.Kind
	// Shell is a command line for a shell; else Command and Args are the words.
	Shell   string
	Command string
	Args    []string
	Env     []Variable
	EnvFile string
	Dir     string
	// URL is of one that runs elsewhere.
	URL string
	// Built says what it is where the client knows by itself how to run it.
	Built string
	// Listens is set where it has a port of its own; else it speaks over its
	// standard streams.
	Listens *Listens
	// Outside are variables that come from outside of the file.
	Outside  []string
	Disabled bool
	// Port says that it is told a port in $PORT.
	Port bool
	// Ignored are keys of the entry that have no counterpart.
	Ignored []string
	// Notes say what else there is to know.
	Notes []string
}

// Listens is where a server is spoken to that has a port of its own.
type Listens struct {
	Port int
	Path string
	SSE  bool
}

// Variable is one variable of an environment.
type Variable struct {
	Name, Value string
	// Secret says that the file calls it one.
	Secret bool
}

// Input is a value that is asked for.
type Input struct {
	ID, Description string
	Password        bool
}

// Parse reads a file in whatever format it is in.
func Parse(file string, data []byte) (*Config, error) {
	keys, broken := topKeys(file, data)
	for _, f := range formats {
		if !f.Fits(file, keys) {
			continue
		}
		c, err := f.Parse(data)
		if err != nil {
			return nil, err
		}
		c.Title = f.Title()
		return c, nil
	}
	switch {
	case broken != nil:
		return nil, broken
	case len(keys) == 0:
		return nil, fmt.Errorf("it has neither mcpServers nor servers, and is no Procfile: there is nothing to import")
	}
	return nil, fmt.Errorf("it is of no client that is known here: its keys are %s", strings.Join(keys, ", "))
}

// Folder is the directory that a project's file of this path stands for; empty
// where it belongs to no project.
func Folder(file string) string {
	dir, name := path.Split(path.Clean(file))
	dir = path.Clean(dir)
	switch base := path.Base(dir); {
	case slices.Contains([]string{".vscode", ".cursor", ".gemini", ".codex", ".zed"}, base):
		return path.Dir(dir)
	case name == ".mcp.json", name == "mcp.json", isProcfile(name):
		return dir
	case (name == "opencode.json" || name == "opencode.jsonc") && base != "opencode":
		return dir
	}
	return ""
}

var (
	looksTOML = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\s*\[mcp_servers[.\]]`) })
	looksYAML = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^extensions:\s*(#.*)?$`) })
)

// topKeys gives the keys of a file, whatever it is written in, or why it has none.
func topKeys(file string, data []byte) (keys []string, err error) {
	parse := parseJSON
	switch ext := path.Ext(file); {
	case ext == ".toml":
		parse = parseTOML
	case ext == ".yaml", ext == ".yml":
		parse = parseYAML
	}
	root, err := parse(data)
	switch {
	case err != nil && looksTOML().Match(data):
		root, err = parseTOML(data)
	case err != nil && looksYAML().Match(data):
		root, err = parseYAML(data)
	}
	if err != nil {
		return nil, err
	}
	err = root.each("the file", func(key string, _ *node) error {
		keys = append(keys, key)
		return nil
	})
	return keys, err
}
