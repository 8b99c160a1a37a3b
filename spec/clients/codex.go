package clients

import "slices"

// codex is the config.toml of Codex.
type codex struct{}

// Title is Format's.
func (codex) Title() string { return "Codex" }

// Fits is Format's.
func (codex) Fits(_ string, keys []string) bool { return slices.Contains(keys, "mcp_servers") }

// Parse is Format's.
func (codex) Parse(data []byte) (*Config, error) {
	root, err := parseTOML(data)
	if err != nil {
		return nil, err
	}
	c := &Config{}
	return c, c.take(root, "mcp_servers")
}
