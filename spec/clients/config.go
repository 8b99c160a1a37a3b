package clients

import (
	"fmt"
	"path"
	"strings"

	"github.com/proc-controller/proc-controller/spec"
)

// Format is one way to write down what is to be run.
type Format interface {
	// Title names it for a person.
	Title() string
	// Fits says that a file with this path and these top keys is one; a file that
	// is no JSON has no keys.
	Fits(path string, keys []string) bool
	// Parse reads it. The error is one line, with the line in the file if known.
	Parse(data []byte) (*Config, error)
}

// formats are all that are known, the most particular first.
var formats = []Format{procfile{}, vscode{}, mcpServers{}}

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
	URL      string
	Disabled bool
	// Port says that it is told a port in $PORT.
	Port bool
	// Ignored are keys of the entry that have no counterpart.
	Ignored []string
}

// Variable is one variable of an environment.
type Variable struct{ Name, Value string }

// Input is a value that is asked for.
type Input struct {
	ID, Description string
	Password        bool
}

// Parse reads a file in whatever format it is in.
func Parse(file string, data []byte) (*Config, error) {
	keys, broken := topKeys(data)
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
	return nil, fmt.Errorf("it has neither mcpServers nor servers: its keys are %s", strings.Join(keys, ", "))
}

// Folder is the directory that a project's file of this path stands for; empty
// where it belongs to no project.
func Folder(file string) string {
	dir, name := path.Split(path.Clean(file))
	dir = path.Clean(dir)
	switch base := path.Base(dir); {
	case base == ".vscode", base == ".cursor", base == ".gemini":
		return path.Dir(dir)
	case name == ".mcp.json", name == "mcp.json", isProcfile(name):
		return dir
	}
	return ""
}
