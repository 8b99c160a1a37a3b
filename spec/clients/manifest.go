package clients

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/proc-controller/proc-controller/spec"
)

// document is a manifest as it is written: only what is known, in the order in
// which people read it.
type document struct {
	APIVersion string    `yaml:"apiVersion"`
	Kind       spec.Kind `yaml:"kind"`
	Metadata   struct {
		Name string `yaml:"name"`
	} `yaml:"metadata"`
	Spec struct {
		Command    []string  `yaml:"command,flow"`
		WorkingDir string    `yaml:"workingDir,omitempty"`
		MCP        *mcp      `yaml:"mcp,omitempty,flow"`
		Ports      []port    `yaml:"ports,omitempty,flow"`
		EnvFrom    []envFrom `yaml:"envFrom,omitempty"`
		Env        []envVar  `yaml:"env,omitempty"`
		Suspend    bool      `yaml:"suspend,omitempty"`
	} `yaml:"spec"`
}

type port struct {
	Port int `yaml:"port"`
}

type mcp struct {
	Transport string `yaml:"transport,omitempty"`
	Path      string `yaml:"path,omitempty"`
}

type envVar struct {
	Name      string     `yaml:"name"`
	Value     *string    `yaml:"value,omitempty"`
	ValueFrom *valueFrom `yaml:"valueFrom,omitempty"`
}

type valueFrom struct {
	File fileSource `yaml:"file,flow"`
}

type envFrom struct {
	File fileSource `yaml:"file,flow"`
}

type fileSource struct {
	Path     string `yaml:"path"`
	Optional bool   `yaml:"optional,omitempty"`
}

// encode writes it, with the notes in front.
func (d *document) encode(k spec.Key, notes []string) ([]byte, error) {
	d.APIVersion, d.Kind, d.Metadata.Name = spec.APIVersion, k.Kind, k.Name
	var b bytes.Buffer
	for _, n := range notes {
		for line := range strings.Lines(wrapped(printable(n))) {
			b.WriteString("# " + line)
		}
	}
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(d); err != nil {
		return nil, fmt.Errorf("cannot write the manifest of %s: %v", k, err)
	}
	return b.Bytes(), enc.Close()
}

// printable leaves out of a note what a comment cannot have.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || unicode.IsSpace(r) {
			return r
		}
		return '?'
	}, text)
}

// commentWidth is the length of a line of a comment.
const commentWidth = 76

// wrapped breaks a note into lines.
func wrapped(text string) string {
	var b strings.Builder
	length := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case length > 0 && length+1+len(word) > commentWidth:
			b.WriteString("\n" + word)
			length = len(word)
		case length > 0:
			b.WriteString(" " + word)
			length += 1 + len(word)
		default:
			b.WriteString(word)
			length = len(word)
		}
	}
	return b.String() + "\n"
}
