package clients

import (
	"regexp"
	"strings"
	"sync"
)

// input is a value that a server.json describes: fixed, with a default, or to be
// supplied. The same fields are in arguments, variables and environment variables.
type input struct {
	name, value, preset, hint, about string
	required, secret                 bool
	choices                          []string
	variables                        *node
}

// parseInput reads one. What its name is in, differs: id is used where it has none.
func parseInput(n *node, id string) (in input, err error) {
	in.name = id
	for key, to := range map[string]*string{"name": &in.name, "value": &in.value, "default": &in.preset, "valueHint": &in.hint, "description": &in.about} {
		if v := n.get(key); v != nil {
			if *to, _, err = v.scalar(key); err != nil {
				return in, err
			}
		}
	}
	for key, to := range map[string]*bool{"isRequired": &in.required, "isSecret": &in.secret} {
		if v := n.get(key); v != nil {
			if *to, err = v.truth(key); err != nil {
				return in, err
			}
		}
	}
	if v := n.get("choices"); v != nil {
		if in.choices, err = v.texts("choices"); err != nil {
			return in, err
		}
	}
	in.variables = n.get("variables")
	return in, nil
}

// braces are where a variable stands in a value.
var braces = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{([^{}]+)\}`) })

// resolve gives what stands for a value in an entry, and false where it is optional
// and has none. What has to be supplied is asked for under a name.
func (r *registryReader) resolve(in input, ask string) (string, bool, error) {
	if in.value == "" {
		switch {
		case in.preset != "":
			return in.preset, true, nil
		case in.required:
			return r.ask(ask, in), true, nil
		}
		return "", false, nil
	}
	value := in.value
	for _, m := range braces().FindAllStringSubmatch(in.value, -1) {
		described := in.variables.get(m[1])
		if described == nil {
			continue // braces that are meant as such
		}
		v, err := parseInput(described, m[1])
		if err != nil {
			return "", false, err
		}
		v.required = true // the text around it is given
		text, _, err := r.resolve(v, m[1])
		if err != nil {
			return "", false, err
		}
		value = strings.ReplaceAll(value, m[0], text)
	}
	return value, true, nil
}

// ask is the reference to a value that somebody has to supply.
func (r *registryReader) ask(name string, in input) string {
	about := in.about
	if len(in.choices) > 0 {
		about = strings.TrimSpace(about + ": " + alternatives(in.choices))
	}
	r.config.Inputs[name] = Input{ID: name, Description: strings.TrimPrefix(about, ": "), Password: in.secret}
	return "${input:" + name + "}"
}

func alternatives(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// arguments are the words of a list of arguments. What is optional and has no value
// is named in a note.
func (r *registryReader) arguments(all *node) (words []string, err error) {
	if all == nil {
		return nil, nil
	}
	err = all.elements("arguments", func(n *node) error {
		in, err := parseInput(n, "")
		if err != nil {
			return err
		}
		kind, err := n.word("arguments", "type")
		if err != nil {
			return err
		}
		named := kind == "named"
		if named && in.name == "" {
			return n.wrong("a named argument", "complete: it has no name")
		}
		ask := inputName(in)
		if named && isSwitch(n) {
			words = append(words, in.switched(r, ask)...)
			return nil
		}
		value, is, err := r.resolve(in, ask)
		switch {
		case err != nil:
			return err
		case !is:
			r.optional(ask, in)
		case named:
			words = append(words, in.name, value)
		default:
			words = append(words, value)
		}
		return nil
	})
	return words, err
}

// isSwitch says that a named argument is a word alone.
func isSwitch(n *node) bool {
	format := n.get("format")
	return format != nil && format.raw == "boolean"
}

// switched is a switch, where it is on.
func (in *input) switched(r *registryReader, name string) []string {
	switch {
	case in.value == "false" || in.value == "" && in.preset == "false":
	case in.required || in.value != "" || in.preset != "":
		return []string{in.name}
	default:
		r.optional(name, *in)
	}
	return nil
}

// inputName is the name under which a value of an argument is asked for.
func inputName(in input) string {
	for _, name := range []string{strings.TrimLeft(in.name, "-"), in.hint} {
		if name != "" {
			return name
		}
	}
	return "argument"
}

// optional tells of a value that may be supplied.
func (r *registryReader) optional(name string, in input) {
	about := ""
	if in.about != "" {
		about = " (" + strings.TrimSpace(in.about) + ")"
	}
	r.note("it can be told %s%s", name, about)
}

// environment reads the environment variables.
func (r *registryReader) environment(all *node) error {
	if all == nil {
		return nil
	}
	return all.elements("environmentVariables", func(n *node) error {
		in, err := parseInput(n, "")
		if err != nil {
			return err
		}
		if in.name == "" {
			return n.wrong("an environment variable", "complete: it has no name")
		}
		value, is, err := r.resolve(in, in.name)
		switch {
		case err != nil:
			return err
		case !is:
			r.optional(in.name, in)
		default:
			r.entry.Env = append(r.entry.Env, Variable{Name: in.name, Value: value, Secret: in.secret})
		}
		return nil
	})
}
