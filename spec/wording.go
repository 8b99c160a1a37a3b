package spec

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// describe names what stands at a node, for "... is wanted here, not ...".
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "the alias *" + n.Value
	}
	switch {
	case n.Style&quotedStyle != 0:
		return "the text " + strconv.Quote(shorten(n.Value))
	case n.Tag == "!!null":
		return "nothing"
	}
	return shorten(n.Value)
}

func shorten(s string) string {
	const enough = 40
	if r := []rune(s); len(r) > enough {
		return string(r[:enough]) + "…"
	}
	return s
}

// wanted names what a schema takes.
func wanted(s *schema) string {
	switch s.shape {
	case shapeFlag:
		return "true or false"
	case shapeWhole:
		return "a whole number"
	case shapeDecimal:
		return "a number"
	case shapeDuration:
		return "a duration"
	case shapeChoice:
		return "one of " + strings.Join(s.choices, ", ")
	}
	return "text"
}

// listHint shows how a single word is written as a list.
func listHint(n *yaml.Node) string {
	switch {
	case n.Kind != yaml.ScalarNode:
		return ""
	case n.Tag == "!!null":
		return ": write [] for an empty one"
	}
	words := strings.Fields(n.Value)
	if len(words) == 0 || len(n.Value) > 80 {
		return ""
	}
	for i, word := range words {
		if !all(word, isAlnum) {
			words[i] = strconv.Quote(word)
		}
	}
	return ": write [" + strings.Join(words, ", ") + "]"
}

// elsewhere gives the name that a field has here, for names that people bring
// along from a Pod, a compose file or a unit file.
var elsewhere = map[string]string{
	"containerPort": "port",
	"cmd":           "command",
	"entrypoint":    "command",
	"exec":          "command",
	"cwd":           "workingDir",
	"environment":   "env",
	"env_file":      "envFrom",
	"envFile":       "envFrom",
	"restart":       "restartPolicy",
	"stop_signal":   "stopSignal",
	"gracePeriod":   "terminationGracePeriodSeconds",
	"fileRef":       "file",
	// The user of a Pod is a number two levels down.
	"securityContext": "user",
	"runAsUser":       "user",
	"runAs":           "user",
}

// unknown reports a field that is not there, with what was probably meant.
func (w *walker) unknown(key *yaml.Node, s *schema) {
	message := "unknown field " + w.under(key.Value)
	meant := nearest(key.Value, s.names)
	switch {
	case strings.EqualFold(meant, key.Value):
		message += ": wrong case, write " + meant
	case meant != "":
		message += ": did you mean " + meant + "?"
	case s.index(elsewhere[key.Value]) >= 0:
		meant = elsewhere[key.Value]
		message += ": here it is called " + meant
	case len(w.path) == 0:
		message += misplaced(key.Value)
	}
	w.fail(key, message)
	if meant != "" {
		w.dropped = append(w.dropped, append(append(fieldPath{}, w.path...), step{name: meant}))
	}
}

// misplaced says where a field at the top of a manifest belongs.
func misplaced(name string) string {
	fields := objectSchema().fields
	for i := range fields {
		f := &fields[i]
		if f.schema.shape == shapeObject && f.schema.index(name) >= 0 {
			return ": it belongs under " + f.name + " (indent it)"
		}
	}
	return ""
}
