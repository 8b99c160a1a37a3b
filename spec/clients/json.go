package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/tailscale/hujson"
)

// Files are read as JSON with comments and trailing commas, which some clients
// write, and others take for JSON.

// byteOrderMark is how editors on Windows begin a file.
var byteOrderMark = []byte("\xef\xbb\xbf")

// parseJSON reads a file. Places in it count from behind its byte order mark.
func parseJSON(data []byte) (*node, error) {
	data = bytes.TrimPrefix(data, byteOrderMark)
	v, err := hujson.Parse(data)
	if err != nil && !bytes.HasSuffix(data, []byte("\n")) {
		// A comment may end with the file, too. Only what comes behind it all moves.
		if ended, again := hujson.Parse(append(bytes.Clone(data), '\n')); again == nil {
			v, err = ended, nil
		}
	}
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	p := &jsonReader{lineCounter{data: data, line: 1}}
	return p.value(&v), nil
}

// jsonReader counts lines on its way.
type jsonReader struct{ lines lineCounter }

func (p *jsonReader) value(v *hujson.Value) *node {
	n := &node{line: p.lines.at(v.StartOffset), start: v.StartOffset, end: v.EndOffset}
	switch t := v.Value.(type) {
	case *hujson.Object:
		n.kind = object
		for i := range t.Members {
			m := &t.Members[i]
			name, _ := m.Name.Value.(hujson.Literal)
			n.members = append(n.members, member{name: name.String(), at: m.Name.StartOffset, value: p.value(&m.Value)})
		}
	case *hujson.Array:
		n.kind = list
		for i := range t.Elements {
			n.items = append(n.items, p.value(&t.Elements[i]))
		}
	case hujson.Literal:
		switch n.raw = string(t); t.Kind() {
		case '"':
			n.kind, n.raw = text, t.String()
		case 't', 'f':
			n.kind = truth
		case 'n':
			n.kind = null
		default:
			n.kind = number
		}
	}
	return n
}

// quoteJSON writes a text as JSON has it, with what HTML would escape as it is.
func quoteJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a text, which cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}
