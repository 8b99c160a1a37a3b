package clients

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/proc-controller/proc-controller/spec"
)

// registry is the server.json of the MCP registry (schema 2025-12-11), alone or as
// the registry's API answers with it. It says which packages a server comes in, and
// what they are to be told.
type registry struct{}

// Title is Format's.
func (registry) Title() string { return "server.json of the MCP registry" }

// Fits is Format's.
func (registry) Fits(_ string, keys []string) bool {
	has := func(key string) bool { return slices.Contains(keys, key) }
	return has("name") && (has("packages") || has("remotes")) || has("server") && has("_meta")
}

// Parse is Format's.
func (registry) Parse(data []byte) (*Config, error) {
	root, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	if inner := root.get("server"); inner != nil {
		root = inner
	}
	r := &registryReader{config: &Config{Inputs: map[string]Input{}}}
	if err := r.server(root); err != nil {
		return nil, err
	}
	return r.config, nil
}

// registryReader makes one entry of a server.json.
type registryReader struct {
	config *Config
	entry  Server
}

// server reads the whole. The name is a reversed domain with a name behind a slash.
func (r *registryReader) server(root *node) error {
	name := root.get("name")
	if name == nil {
		return fmt.Errorf("line %d: the server has no name", root.line)
	}
	full, err := name.text("name")
	if err != nil {
		return err
	}
	r.entry = Server{Name: full[strings.LastIndexByte(full, '/')+1:], Line: root.line, Kind: spec.KindMCPServer}
	remotes, err := r.remotes(root.get("remotes"))
	if err != nil {
		return err
	}
	chosen, others, err := choosePackage(root.get("packages"))
	switch {
	case err != nil:
		return err
	case chosen == nil && len(remotes) > 0:
		r.entry.URL = remotes[0]
	case chosen == nil:
		return fmt.Errorf("line %d: %s comes in no package that can be run here: npm, pypi, nuget and oci can", root.line, full)
	default:
		if err := r.pack(chosen); err != nil {
			return err
		}
		for _, o := range others {
			r.note("it comes as %s, too", o)
		}
		for _, u := range remotes {
			r.note("it runs elsewhere, too, at %s: a client can be pointed there instead", u)
		}
	}
	r.config.Servers = append(r.config.Servers, r.entry)
	return nil
}

func (r *registryReader) note(format string, args ...any) {
	r.entry.Notes = append(r.entry.Notes, fmt.Sprintf(format, args...))
}

// remotes are the URLs at which it runs already.
func (r *registryReader) remotes(all *node) (urls []string, err error) {
	if all == nil {
		return nil, nil
	}
	err = all.elements("remotes", func(n *node) error {
		u, err := n.word("remotes", "url")
		u, _, _ = strings.Cut(u, "?")
		urls = append(urls, u) // it may have {placeholders}
		return err
	})
	return urls, err
}

// word reads a text of an object that may be missing.
func (n *node) word(what, key string) (string, error) {
	v := n.get(key)
	if v == nil {
		return "", nil
	}
	s, _, err := v.scalar(what + "." + key)
	return s, err
}

// runners are the programs that run packages, by where they come from.
var runners = map[string]string{"npm": "npx", "pypi": "uvx", "nuget": "dnx", "oci": "docker"}

// choosePackage takes the first one that can be run, and of those one that speaks
// over its standard streams before one that listens. It names the others.
func choosePackage(all *node) (chosen *node, others []string, err error) {
	if all == nil {
		return nil, nil, nil
	}
	best := -1
	err = all.elements("packages", func(p *node) error {
		registry, err := p.word("packages", "registryType")
		if err != nil {
			return err
		}
		identifier, err := p.word("packages", "identifier")
		if err != nil {
			return err
		}
		rank := 0
		if t := p.get("transport", "type"); t == nil || t.raw == "stdio" {
			rank = 1
		}
		name := registry + " package " + identifier
		if runners[registry] == "" || rank <= best {
			others = append(others, name)
			return nil
		}
		if chosen != nil {
			i, _ := chosen.word("packages", "identifier")
			t, _ := chosen.word("packages", "registryType")
			others = append(others, t+" package "+i)
		}
		chosen, best = p, rank
		return nil
	})
	return chosen, others, err
}

// pack makes the command of a package: the program that runs it, what that is told,
// the package, and what the server is told.
func (r *registryReader) pack(p *node) error {
	w := map[string]string{}
	for _, key := range []string{"registryType", "identifier", "version", "runtimeHint"} {
		var err error
		if w[key], err = p.word("packages", key); err != nil {
			return err
		}
	}
	if w["identifier"] == "" {
		return fmt.Errorf("line %d: the package has no identifier", p.line)
	}
	runtime, err := r.arguments(p.get("runtimeArguments"))
	if err != nil {
		return err
	}
	arguments, err := r.arguments(p.get("packageArguments"))
	if err != nil {
		return err
	}
	if err := r.environment(p.get("environmentVariables")); err != nil {
		return err
	}
	s := &r.entry
	s.Command = runners[w["registryType"]]
	if w["runtimeHint"] != "" {
		s.Command = w["runtimeHint"]
	}
	s.Args = slices.Concat(r.runner(s.Command, runtime), []string{packageName(w["registryType"], w["identifier"], w["version"])})
	if s.Command == "dnx" && len(arguments) > 0 {
		s.Args = append(s.Args, "--")
	}
	s.Args = append(s.Args, arguments...)
	return r.transport(p.get("transport"))
}

// runner is what a program that runs packages has to be told: not to ask, and for a
// container to keep its input, and which variables it gets.
func (r *registryReader) runner(program string, given []string) []string {
	switch program {
	case "npx":
		if !slices.Contains(given, "-y") && !slices.Contains(given, "--yes") {
			return append([]string{"-y"}, given...)
		}
	case "dnx":
		if !slices.Contains(given, "--yes") {
			return append([]string{"--yes"}, given...)
		}
	case "docker", "podman":
		if len(given) > 0 && given[0] == "run" {
			given = given[1:]
		}
		words := []string{"run"}
		for _, flag := range []string{"-i", "--rm"} {
			if !slices.Contains(given, flag) {
				words = append(words, flag)
			}
		}
		words = append(words, given...)
		for _, v := range r.entry.Env {
			if !slices.Contains(given, v.Name) {
				words = append(words, "-e", v.Name)
			}
		}
		return words
	}
	return given
}

// packageName names a package of a version in the way of where it comes from.
func packageName(registry, identifier, version string) string {
	last := identifier[strings.LastIndexByte(identifier, '/')+1:]
	switch {
	case version == "" || registry == "oci" && strings.ContainsAny(last, ":@"):
		return identifier
	case registry == "oci":
		return identifier + ":" + version
	}
	return identifier + "@" + version
}

// transport reads where a server is spoken to that listens.
func (r *registryReader) transport(t *node) error {
	kind, err := "", error(nil)
	address := ""
	if t != nil {
		if kind, err = t.word("transport", "type"); err == nil {
			address, err = t.word("transport", "url")
		}
	}
	if err != nil || kind == "" || kind == "stdio" {
		return err
	}
	r.entry.Listens = &Listens{SSE: kind == "sse"}
	u, err := url.Parse(address)
	if err == nil {
		r.entry.Listens.Path = u.Path
		r.entry.Listens.Port, err = strconv.Atoi(u.Port())
	}
	if err != nil {
		r.note("it listens at %s: declare its port in spec.ports, and tell it with $(PORT)", address)
	}
	return nil
}
