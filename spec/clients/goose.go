package clients

import "slices"

// goose is the config.yaml of Goose. What is built into it is among its extensions,
// too.
type goose struct{}

// Title is Format's.
func (goose) Title() string { return "Goose" }

// Fits is Format's.
func (goose) Fits(_ string, keys []string) bool { return slices.Contains(keys, "extensions") }

// Parse is Format's.
func (goose) Parse(data []byte) (*Config, error) {
	root, err := parseYAML(data)
	if err != nil {
		return nil, err
	}
	c := &Config{}
	err = c.take(root, "extensions")
	for i := range c.Servers {
		s := &c.Servers[i]
		for _, name := range s.Outside { // they are in its keyring
			s.Env = append(s.Env, Variable{Name: name, Value: "${input:" + name + "}"})
		}
		s.Outside = nil
	}
	return c, err
}
