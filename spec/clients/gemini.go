package clients

import (
	"path"
	"regexp"
	"slices"
	"sync"
)

// gemini is the settings.json of Gemini CLI, which takes $NAME for a variable, too;
// for all others that is a text.
type gemini struct{ mcpServers }

// Title is Format's.
func (gemini) Title() string { return "Gemini CLI" }

// Fits is Format's.
func (gemini) Fits(file string, keys []string) bool {
	return slices.Contains(keys, "mcpServers") && path.Base(path.Dir(file)) == ".gemini"
}

// Parse is Format's.
func (g gemini) Parse(data []byte) (*Config, error) {
	c, err := g.mcpServers.Parse(data)
	if err != nil {
		return nil, err
	}
	for i := range c.Servers {
		c.Servers[i].rewrite(func(value string) string { return bareVariable().ReplaceAllString(value, "$${$1}") })
	}
	return c, nil
}

// bareVariable is a reference without braces().
var bareVariable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)`) })

// rewrite changes all values of an entry that may refer to something.
func (s *Server) rewrite(say func(string) string) {
	s.Command, s.Dir, s.URL = say(s.Command), say(s.Dir), say(s.URL)
	for i := range s.Args {
		s.Args[i] = say(s.Args[i])
	}
	for i := range s.Env {
		s.Env[i].Value = say(s.Env[i].Value)
	}
}
