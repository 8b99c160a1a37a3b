package clients

import (
	"path"
	"slices"
)

// vscode is .vscode/mcp.json, and the mcp.json of a user's profile: servers under
// another key, and values that are asked for.
type vscode struct{}

// Title is Format's.
func (vscode) Title() string { return "VS Code" }

// Fits is Format's.
func (vscode) Fits(file string, keys []string) bool {
	return slices.Contains(keys, "servers") || len(keys) > 0 && path.Base(path.Dir(file)) == ".vscode"
}

// Parse is Format's.
func (vscode) Parse(data []byte) (*Config, error) {
	root, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	c := &Config{Inputs: map[string]Input{}}
	if inputs := root.get("inputs"); inputs != nil {
		if err := c.parseInputs(inputs); err != nil {
			return nil, err
		}
	}
	return c, c.take(root, "servers")
}

// parseInputs reads what the client asks its user for.
func (c *Config) parseInputs(inputs *node) error {
	return inputs.elements("inputs", func(entry *node) error {
		var in Input
		err := entry.each("an input", func(key string, value *node) (err error) {
			switch key {
			case "id":
				in.ID, err = value.text("inputs.id")
			case "description":
				in.Description, err = value.text("inputs.description")
			case "password":
				in.Password, err = value.truth("inputs.password")
			}
			return err
		})
		c.Inputs[in.ID] = in
		return err
	})
}
