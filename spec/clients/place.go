package clients

import (
	"errors"
	"path"
	"strings"
)

// Host is what the places of files depend on.
type Host struct {
	OS     string // as Go calls it
	Home   string
	Getenv func(string) string
}

// errHome says that the default places are not known.
var errHome = errors.New("cannot tell where its file is: HOME is not set; use --file PATH")

// Places are where the file of a client may be, with slashes, for this user and not
// for a project. The first is where it is made; another that is there is taken
// instead.
func (c *Client) Places(h Host) ([]string, error) {
	if h.Home == "" {
		return nil, errHome
	}
	h.Home = strings.ReplaceAll(h.Home, `\`, "/")
	return c.places(h), nil
}

// variable is a directory that a variable names, or else one below the home.
func (h Host) variable(name, otherwise string) string {
	if dir := strings.ReplaceAll(h.Getenv(name), `\`, "/"); path.IsAbs(dir) || len(dir) > 2 && dir[1:3] == ":/" {
		return dir
	}
	return path.Join(h.Home, otherwise)
}

// config is the directory in which graphical programs keep their settings.
func (h Host) config() string {
	switch h.OS {
	case "darwin":
		return path.Join(h.Home, "Library/Application Support")
	case "windows":
		return h.variable("APPDATA", "AppData/Roaming")
	}
	return h.variable("XDG_CONFIG_HOME", ".config")
}

// dotConfig is the directory in which programs of the terminal keep their settings,
// on macOS too.
func (h Host) dotConfig() string { return h.variable("XDG_CONFIG_HOME", ".config") }

func home(file string) func(Host) []string {
	return func(h Host) []string { return []string{path.Join(h.Home, file)} }
}

func claudeDesktopPlaces(h Host) []string {
	return []string{path.Join(h.config(), "Claude/claude_desktop_config.json")}
}

func claudeCodePlaces(h Host) []string {
	return []string{path.Join(h.variable("CLAUDE_CONFIG_DIR", ""), ".claude.json")}
}

func vscodePlaces(h Host) []string {
	return []string{
		path.Join(h.config(), "Code/User/mcp.json"),
		path.Join(h.config(), "VSCodium/User/mcp.json"),
		path.Join(h.config(), "Code - OSS/User/mcp.json"),
	}
}

func zedPlaces(h Host) []string {
	if h.OS == "windows" {
		return []string{path.Join(h.config(), "Zed/settings.json")}
	}
	return []string{path.Join(h.dotConfig(), "zed/settings.json")}
}

func codexPlaces(h Host) []string {
	return []string{path.Join(h.variable("CODEX_HOME", ".codex"), "config.toml")}
}

func goosePlaces(h Host) []string {
	if h.OS == "windows" {
		return []string{path.Join(h.config(), "Block/goose/config/config.yaml")}
	}
	return []string{path.Join(h.dotConfig(), "goose/config.yaml")}
}

func opencodePlaces(h Host) []string {
	dir := path.Join(h.dotConfig(), "opencode")
	return []string{path.Join(dir, "opencode.json"), path.Join(dir, "opencode.jsonc")}
}
