package clients

import (
	"regexp"
	"strings"
	"sync"
)

// Clients write ${VAR}, ${VAR:-default}, ${env:VAR}, ${input:id},
// ${workspaceFolder} and ${userHome}; manifests $(VAR).
var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([^{}]*)\}`) })

var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// isReference says that a value is nothing but one.
func isReference(value string) bool {
	loc := reference().FindStringIndex(value)
	return loc != nil && loc[0] == 0 && loc[1] == len(value)
}

// references translates them.
type references struct {
	folder string // of the project; empty where there is none
	// input gives what stands for a value that is asked for.
	input func(id string) string
	note  func(format string, args ...any)
}

// translate gives a value as a manifest has it. A $ that is meant as one is
// doubled where a manifest would take it for more.
func (r *references) translate(value string) string {
	var b strings.Builder
	for {
		loc := reference().FindStringSubmatchIndex(value)
		if loc == nil {
			return b.String() + escape(value)
		}
		b.WriteString(escape(value[:loc[0]]))
		b.WriteString(r.one(value[loc[0]:loc[1]], value[loc[2]:loc[3]]))
		value = value[loc[1]:]
	}
}

// one translates ${inner}. What is not understood stays.
func (r *references) one(whole, inner string) string {
	kind, rest, prefixed := strings.Cut(inner, ":")
	switch {
	case inner == "workspaceFolder" && r.folder != "":
		return escape(r.folder)
	case inner == "userHome":
		return "$(HOME)"
	case kind == "env" && variableName().MatchString(rest):
		return "$(" + rest + ")"
	case kind == "input" && rest != "":
		return r.input(rest)
	case !prefixed && variableName().MatchString(inner) && inner != "workspaceFolder":
		return "$(" + inner + ")"
	case prefixed && variableName().MatchString(kind) && strings.HasPrefix(rest, "-"):
		r.note("%s has become $(%s): there are no defaults here, so set %s", whole, kind, kind)
		return "$(" + kind + ")"
	}
	r.note("%s cannot be translated and stays as it is", whole)
	return escape(whole)
}

// escape doubles each $ that a manifest would not take for one.
func escape(text string) string {
	if !strings.Contains(text, "$") {
		return text
	}
	var b strings.Builder
	for i := range len(text) {
		if text[i] == '$' && i+1 < len(text) && (text[i+1] == '$' || text[i+1] == '(') {
			b.WriteByte('$')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
