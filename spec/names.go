package spec

import "strings"

// The syntax checks give what is wrong in words, or "".
//
// They are our own rather than those of k8s.io/apimachinery: with its
// quantities those made the program 740 KB (a fifth) larger, and each start of
// it, a "get" too, compiled their regular expressions for 0.3 ms.

// checkDNSLabel checks a name as RFC 1123 has it for a label.
func checkDNSLabel(s string) string {
	if len(s) > 63 {
		return "is longer than 63 characters"
	}
	if s == "" || !isLowerAlnum(s[0]) || !isLowerAlnum(s[len(s)-1]) || !all(s, func(c byte) bool { return isLowerAlnum(c) || c == '-' }) {
		return "must be lower-case letters, digits and '-', and begin and end with a letter or digit"
	}
	return ""
}

// checkPortName checks a port name: an IANA service name (RFC 6335, 5.1), but
// that two dashes in a row are let through.
func checkPortName(s string) string {
	if len(s) > 15 {
		return "is longer than 15 characters"
	}
	if strings.Trim(s, "0123456789-") == "" {
		return "must have a letter in it"
	}
	return checkDNSLabel(s)
}

// checkLabelKey checks the key of a label or annotation: a name of at most 63
// characters after an optional DNS subdomain and slash.
func checkLabelKey(s string) string {
	name := s
	if prefix, rest, found := strings.Cut(s, "/"); found {
		if len(prefix) > 253 {
			return "has a prefix of more than 253 characters"
		}
		for label := range strings.SplitSeq(prefix, ".") {
			if why := checkDNSLabel(label); why != "" {
				return "has a prefix that is no DNS name: each part " + why
			}
		}
		name = rest
	}
	if name == "" {
		return "must not be empty"
	}
	return checkLabelValue(name)
}

// checkLabelValue checks the value of a label.
func checkLabelValue(s string) string {
	if len(s) > 63 {
		return "is longer than 63 characters"
	}
	if s == "" {
		return ""
	}
	inner := func(c byte) bool { return isAlnum(c) || c == '-' || c == '_' || c == '.' }
	if !isAlnum(s[0]) || !isAlnum(s[len(s)-1]) || !all(s, inner) {
		return "must be letters, digits, '-', '_' and '.', and begin and end with a letter or digit"
	}
	return ""
}

func isLowerAlnum(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

func isAlnum(c byte) bool { return isLowerAlnum(c) || 'A' <= c && c <= 'Z' }

func all(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return true
}
