package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Nodes parses the text of one document, for whoever wants to know where in it a
// field stands: lines and columns of the nodes count from 1, columns in
// characters. It gives nil for an empty document.
func Nodes(text []byte) (*yaml.Node, error) { return parseYAML(text) }

// parseYAML parses one document into nodes. It gives nil for an empty one.
func parseYAML(data []byte) (root *yaml.Node, err error) {
	defer func() {
		// The library panics where it meets its own mistakes. A manifest must
		// never end the controller.
		if r := recover(); r != nil {
			root, err = nil, fmt.Errorf("cannot parse it: %v", r)
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, err
	}
	// What follows the document is only looked at by asking for another one.
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("yaml: did not find expected <document start>")
		}
		return nil, err
	}
	root = doc.Content[0]
	if root.Kind == yaml.ScalarNode && plain(root) && root.Value == "" {
		return nil, nil
	}
	return root, nil
}

// SyntaxError is an error of the YAML library about a text, with the line and the
// column, and in plain words.
func SyntaxError(data []byte, err error) error {
	line, column, message := explainSyntax(data, err)
	return fmt.Errorf("line %d, column %d: %s", line, column, message)
}

// explainSyntax finds the place of a syntax error and says what is probably
// wrong there. Line and column count from 1 in the document.
func explainSyntax(data []byte, err error) (line, column int, message string) {
	line, text := parserMessage(err)
	column = 1
	// The search parses the document some twenty times.
	const searchable = 64 << 10
	var culprit rune
	if len(data) <= searchable {
		end := shortestFailing(data, text)
		line = 1 + bytes.Count(data[:end], []byte("\n"))
		lineStart := bytes.LastIndexByte(data[:end], '\n') + 1
		if end == lineStart && end > 0 { // it shows only at the end of a line
			lineStart = bytes.LastIndexByte(data[:end-1], '\n') + 1
			line--
		}
		column = max(1, utf8.RuneCount(bytes.TrimRight(data[lineStart:end], "\r\n")))
		culprit, _ = utf8.DecodeLastRune(data[:end])
	}
	return line, column, "cannot read the YAML: " + plainWords(text, culprit)
}

// parserMessage takes apart "yaml: line 3: what is wrong". The line is only
// about right: often it is where the value around the mistake begins.
func parserMessage(err error) (line int, text string) {
	text = strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		number, after, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(number); err == nil {
			return n, after
		}
	}
	return 1, text
}

// shortestFailing gives the length of the shortest beginning of the document
// that has the same syntax error: it ends with the character that is wrong, or
// that opens what is never closed. The parser itself tells no column, and the
// line of the enclosing value as often as that of the mistake.
func shortestFailing(data []byte, text string) int {
	fails := func(n int) bool {
		_, err := parseYAML(data[:n])
		if err == nil {
			return false
		}
		_, t := parserMessage(err)
		return t == text
	}
	var ends []int // of the lines
	for i, c := range data {
		if c == '\n' || i == len(data)-1 {
			ends = append(ends, i+1)
		}
	}
	l := sort.Search(len(ends)-1, func(i int) bool { return fails(ends[i]) })
	start := 0
	if l > 0 {
		start = ends[l-1]
	}
	var runes []int // where the characters of that line end
	for i := start; i < ends[l]; {
		_, size := utf8.DecodeRune(data[i:])
		i += size
		runes = append(runes, i)
	}
	return runes[sort.Search(len(runes)-1, func(i int) bool { return fails(runes[i]) })]
}

// plainWords says in the words of a person what the parser complains about.
func plainWords(text string, culprit rune) string {
	switch {
	case culprit == '\t', strings.Contains(text, "tab character"):
		return "a tab cannot indent: use spaces"
	case strings.Contains(text, "cannot start any token") && culprit != 0:
		return "a value cannot begin with " + string(culprit) + ": quote it"
	case strings.Contains(text, "mapping values are not allowed"):
		return `a second ": " in one value (quote it), a ":" missing on the line before, or wrong indentation`
	case strings.Contains(text, "unexpected end of stream"):
		return "the quote that opens here is never closed"
	case strings.Contains(text, "alphabetic or numeric character"):
		return `* and & begin an alias or an anchor: quote the value, as in "*"`
	case strings.Contains(text, "expected ',' or ']'"):
		return `a "," or the closing "]" is missing`
	case strings.Contains(text, "expected ',' or '}'"):
		return `a "," or the closing "}" is missing`
	case strings.Contains(text, "could not find expected ':'"):
		return `a ":" is missing after the name of a field, here or on the line before`
	case strings.Contains(text, "did not find expected key"), strings.Contains(text, "'-' indicator"):
		return "this does not belong to the lines above: wrong indentation, or text after a closing quote"
	case strings.Contains(text, "document start"):
		return "there is more after the end of the object: remove it, or put --- on a line before it"
	case strings.Contains(text, "unknown escape character"):
		return `a backslash in double quotes must be doubled, or use single quotes`
	case strings.Contains(text, "unknown anchor"):
		return text + `: define it in this document, or quote the value`
	}
	return text
}

// unfit finds what rules out a file as a whole.
func unfit(file string, data []byte) (Finding, bool) {
	f := Finding{File: file, Reason: ReasonInvalid}
	if len(data) > MaxFileSize {
		f.Message = fmt.Sprintf("the file is larger than %d MiB: split it", MaxFileSize>>20)
		return f, true
	}
	bad := bytes.IndexByte(data, 0)
	f.Message = "binary content (a NUL byte): a manifest is text"
	if bad < 0 {
		if utf8.Valid(data) {
			return f, false
		}
		f.Message = "binary content, or text that is not UTF-8: save it as UTF-8"
		for bad = 0; bad < len(data); {
			r, size := utf8.DecodeRune(data[bad:])
			if r == utf8.RuneError && size <= 1 {
				break
			}
			bad += size
		}
	}
	lineStart := bytes.LastIndexByte(data[:bad], '\n') + 1
	f.Line = 1 + bytes.Count(data[:bad], []byte("\n"))
	f.Column = 1 + utf8.RuneCount(data[lineStart:bad])
	return f, true
}
