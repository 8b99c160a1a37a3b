package clients

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// opencode is OpenCode's opencode.json. Version 2 has its servers below mcp.servers,
// version 1 in mcp itself; former versions of VS Code have them below mcp.servers of
// the settings, with fields of the same names.
type opencode struct{}

// Title is Format's.
func (opencode) Title() string { return "OpenCode" }

// Fits is Format's.
func (opencode) Fits(file string, keys []string) bool {
	return slices.Contains(keys, "mcp") || len(keys) > 0 && strings.HasPrefix(path.Base(file), "opencode.json")
}

// Parse is Format's.
func (opencode) Parse(data []byte) (*Config, error) {
	root, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	c := &Config{}
	if isServerMap(root.get("mcp", "servers")) {
		err = c.take(root, "mcp", "servers")
	} else {
		leaveOutSwitches(root.get("mcp"))
		err = c.take(root, "mcp")
	}
	for i := range c.Servers {
		c.Servers[i].rewrite(func(value string) string { return curly().ReplaceAllString(value, `$1$${$2:$3}`) })
	}
	return c, err
}

// isServerMap says that what is called servers is no server of that name.
func isServerMap(n *node) bool {
	return n != nil && n.kind == object && n.get("type") == nil && n.get("command") == nil
}

// leaveOutSwitches leaves out {"enabled": false}, which switches off what another
// file has, and numbers, which are settings.
func leaveOutSwitches(mcp *node) {
	if mcp == nil {
		return
	}
	mcp.members = slices.DeleteFunc(mcp.members, func(m member) bool {
		return m.value.kind == number || m.value.kind == object && len(m.value.members) == 1 && m.value.get("enabled") != nil
	})
}

// curly is how OpenCode refers to variables and files.
var curly = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|[^$])\{(env|file):([^{}]+)\}`) })
