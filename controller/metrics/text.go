package metrics

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// textFormat is the media type of what encode gives.
const textFormat = "text/plain; version=0.0.4; charset=utf-8"

// encode writes metrics as Prometheus reads them, sorted by name:
// https://prometheus.io/docs/instrumenting/exposition_formats/. A metric without a
// series is left out.
func encode(all []family) []byte {
	slices.SortFunc(all, func(a, b family) int { return cmp.Compare(a.name, b.name) })
	var b []byte
	for i := range all {
		if f := &all[i]; len(f.samples) > 0 {
			b = append(b, "# HELP "+f.name+" "+helpEscapes.Replace(f.help)+"\n# TYPE "+f.name+" "+string(f.kind)+"\n"...)
			for j := range f.samples {
				b = f.samples[j].appendTo(b, f)
			}
		}
	}
	return b
}

// What has to be escaped in a help and in the value of a label.
var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	valueEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

func (s *sample) appendTo(b []byte, f *family) []byte {
	b = append(append(b, f.name...), s.suffix...)
	before := byte('{')
	label := func(name, value string) {
		b = append(append(append(append(b, before), name...), `="`...), valueEscapes.Replace(value)...)
		b = append(b, '"')
		before = ','
	}
	for i, name := range f.labels {
		label(name, s.values[i])
	}
	if s.le != "" {
		label("le", s.le)
	}
	if before == ',' {
		b = append(b, '}')
	}
	b = strconv.AppendFloat(append(b, ' '), s.value, 'g', -1, 64)
	return append(b, '\n')
}
