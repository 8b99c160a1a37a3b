package edit

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"
)

// translate writes one document as JSON or as YAML, with the fields in the order
// of their names.
func translate(text []byte, toJSON bool) ([]byte, error) {
	if !toJSON {
		text, err := yaml.JSONToYAML(plainEscapes(text))
		if err != nil {
			return nil, fmt.Errorf("cannot write it as YAML: %w", err)
		}
		return text, nil
	}
	compact, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, fmt.Errorf("cannot write it as JSON: %w", err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, compact, "", "  "); err != nil {
		return nil, fmt.Errorf("cannot write it as JSON: %w", err)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// plainEscapes writes JSON with escapes that YAML has too. What is not JSON, in a
// file that is named so, is YAML already.
func plainEscapes(text []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return text
	}
	plain, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return plain
}
