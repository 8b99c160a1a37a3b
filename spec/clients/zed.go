package clients

import "slices"

// zed is Zed's settings.json, with comments.
type zed struct{}

// Title is Format's.
func (zed) Title() string { return "Zed" }

// Fits is Format's.
func (zed) Fits(_ string, keys []string) bool { return slices.Contains(keys, "context_servers") }

// Parse is Format's.
func (zed) Parse(data []byte) (*Config, error) {
	root, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	c := &Config{}
	return c, c.take(root, "context_servers")
}
