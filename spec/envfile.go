package spec

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// ParseEnvFile reads a file of NAME=value lines. Blank lines and lines that
// begin with # are passed over; "export " before a name is too.
//
// Values are literal: nothing is expanded, no backslash means anything, and a #
// is part of the value. Blanks around a value are not; single or double quotes
// around all of it keep them, and only a comment may follow the closing quote.
// A value ends with its line. The error tells the line, from 1, and nothing of
// what stands there, which may be a secret.
func ParseEnvFile(data []byte) ([]EnvVar, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var vars []EnvVar
	number := 0
	for line := range bytes.Lines(data) {
		number++
		text := strings.TrimSpace(string(line))
		if text == "" || text[0] == '#' {
			continue
		}
		v, err := parseEnvLine(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %v", number, err)
		}
		vars = append(vars, v)
	}
	return vars, nil
}

func parseEnvLine(text string) (EnvVar, error) {
	if rest, ok := strings.CutPrefix(text, "export"); ok && strings.TrimLeft(rest, " \t") != rest {
		text = strings.TrimLeft(rest, " \t")
	}
	name, value, found := strings.Cut(text, "=")
	name = strings.TrimRight(name, " \t")
	switch {
	case strings.IndexByte(text, 0) >= 0:
		return EnvVar{}, errNUL
	case !found:
		return EnvVar{}, errors.New("there is no '=': write NAME=value")
	case !isEnvFileName(name):
		return EnvVar{}, errors.New("what stands before the '=' is no name of a variable")
	}
	value, err := unquote(strings.TrimLeft(value, " \t"))
	return EnvVar{Name: name, Value: value}, err
}

// isEnvFileName is stricter than the kernel, so that the lines of a key that
// was pasted in are not taken for variables.
func isEnvFileName(s string) bool {
	inner := func(c byte) bool { return isAlnum(c) || c == '_' || c == '.' || c == '-' }
	return s != "" && (s[0] < '0' || s[0] > '9') && all(s, inner)
}

// unquote takes the quotes off a value that begins with one.
func unquote(value string) (string, error) {
	if value == "" || value[0] != '"' && value[0] != '\'' {
		return value, nil
	}
	inner, rest, closed := strings.Cut(value[1:], value[:1])
	if !closed {
		return "", fmt.Errorf("the quote %s is never closed", value[:1])
	}
	if rest = strings.TrimLeft(rest, " \t"); rest != "" && rest[0] != '#' {
		return "", errors.New("there is text after the closing quote")
	}
	return inner, nil
}

var errNUL = errors.New("it has a NUL byte in it")

// fileValue gives the value that a file holds: all of it but one newline (LF or
// CRLF) at its end.
func fileValue(content []byte) (string, error) {
	if bytes.IndexByte(content, 0) >= 0 {
		return "", errNUL
	}
	if line, ok := bytes.CutSuffix(content, []byte("\n")); ok {
		content = bytes.TrimSuffix(line, []byte("\r"))
	}
	return string(content), nil
}
