package spec

import (
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

var textSchema = &schema{shape: shapeText}

const quotedStyle = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

func plain(n *yaml.Node) bool { return n.Style&(quotedStyle|yaml.TaggedStyle) == 0 }

// scalar writes a value that is one word or text.
func (w *walker) scalar(n *yaml.Node, s *schema) bool {
	if n.Kind != yaml.ScalarNode {
		return w.reject(n, wanted(s)+" is wanted here, not "+describe(n))
	}
	if plain(n) && n.Tag == "!!null" {
		return w.reject(n, "there is no value: write one, or remove the line")
	}
	switch s.shape {
	case shapeFlag:
		return w.flag(n)
	case shapeWhole:
		return w.whole(n, s.bits)
	case shapeDecimal:
		return w.decimal(n)
	case shapeChoice:
		return w.choice(n, s.choices)
	case shapeDuration:
		return w.duration(n)
	case shapeLoose:
		if plain(n) && isDecimal(n.Value) {
			return w.write(n)
		}
	}
	if why := misread(n); why != "" {
		return w.reject(n, why+`: quote it, "`+n.Value+`"`)
	}
	return w.write(n)
}

func (w *walker) write(n *yaml.Node) bool {
	if strings.IndexByte(n.Value, 0) >= 0 {
		return w.reject(n, "a NUL byte is not allowed")
	}
	w.out = appendJSONString(w.out, n.Value)
	return true
}

func (w *walker) flag(n *yaml.Node) bool {
	switch {
	case plain(n) && n.Tag == "!!bool":
		w.out = append(w.out, strings.ToLower(n.Value)...)
		return true
	case plain(n) && isBool11(n.Value):
		return w.reject(n, "true or false is wanted here, not "+n.Value)
	}
	return w.reject(n, "true or false is wanted here, without quotes, not "+describe(n))
}

func (w *walker) whole(n *yaml.Node, bits int) bool {
	if !plain(n) || !isWhole(n.Value) {
		return w.reject(n, "a whole number is wanted here, in plain decimal digits and without quotes, not "+describe(n))
	}
	if _, err := strconv.ParseInt(n.Value, 10, bits); err != nil {
		return w.reject(n, n.Value+" is out of range")
	}
	w.out = append(w.out, n.Value...)
	return true
}

func (w *walker) decimal(n *yaml.Node) bool {
	f, err := strconv.ParseFloat(n.Value, 64)
	if !plain(n) || !isDecimal(n.Value) || err != nil || math.IsInf(f, 0) {
		return w.reject(n, "a number is wanted here, without quotes, not "+describe(n))
	}
	w.out = strconv.AppendFloat(w.out, f, 'g', -1, 64)
	return true
}

// choice takes one of a few words. One that YAML 1.1 would misread (Off) is
// what it looks like here, because only these words can be meant.
func (w *walker) choice(n *yaml.Node, choices []string) bool {
	for _, c := range choices {
		if n.Value == c {
			return w.write(n)
		}
	}
	return w.reject(n, "unknown value "+strconv.Quote(n.Value)+didYouMean(n.Value, choices)+" ("+strings.Join(choices, ", ")+")")
}

func (w *walker) duration(n *yaml.Node) bool {
	if _, err := time.ParseDuration(n.Value); err != nil || isWhole(n.Value) {
		return w.reject(n, strconv.Quote(n.Value)+` is no duration: write it with its unit, as in 500ms, 10s or 1m30s`)
	}
	return w.write(n)
}

// misread says as what a YAML reader, 1.1 or later, would take an unquoted
// word that is meant as text. It gives "" where all agree that it is text.
func misread(n *yaml.Node) string {
	if !plain(n) {
		return ""
	}
	switch n.Tag {
	case "!!bool":
		return n.Value + " is a boolean, not text"
	case "!!int", "!!float":
		if len(n.Value) > 1 && n.Value[0] == '0' && isDigits(n.Value) {
			return n.Value + " is an octal number in YAML 1.1, not text"
		}
		return n.Value + " is a number, not text"
	case "!!timestamp":
		return n.Value + " is a date in YAML 1.1, not text"
	}
	switch {
	case isBool11(n.Value):
		return n.Value + " is a boolean in YAML 1.1, not text"
	case isSexagesimal(n.Value):
		return n.Value + " is a number of base 60 in YAML 1.1, not text"
	}
	return ""
}

// isBool11 tells the words that are a boolean in YAML 1.1 and none since.
func isBool11(s string) bool {
	switch s {
	case "y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO",
		"on", "On", "ON", "off", "Off", "OFF":
		return true
	}
	return false
}

// isSexagesimal tells numbers of base 60, as YAML 1.1 has them: 22:22, 1:30:00.
func isSexagesimal(s string) bool {
	head, rest, found := strings.Cut(strings.TrimLeft(s, "+-"), ":")
	if !found || !isDigits(head) {
		return false
	}
	rest, fraction, _ := strings.Cut(rest, ".")
	for part := range strings.SplitSeq(rest, ":") {
		if !isDigits(part) || len(part) > 2 || len(part) == 2 && part[0] > '5' {
			return false
		}
	}
	return fraction == "" || isDigits(fraction)
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// isWhole tells plain decimal integers: no sign but minus, no leading zero.
func isWhole(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return isDigits(s) && (s[0] != '0' || s == "0")
}

// isDecimal tells plain decimal numbers, as JSON has them.
func isDecimal(s string) bool {
	s, exponent, found := strings.Cut(strings.ReplaceAll(s, "E", "e"), "e")
	if found && !isDigits(strings.TrimLeft(exponent, "+-")) {
		return false
	}
	whole, fraction, found := strings.Cut(s, ".")
	return isWhole(whole) && (!found || isDigits(fraction))
}

// appendJSONString writes s as a JSON string. s is valid UTF-8.
func appendJSONString(out []byte, s string) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c < ' ':
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}
