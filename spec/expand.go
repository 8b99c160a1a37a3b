package spec

import "strings"

// expand replaces each $(NAME) for which lookup has a value. It does as
// Kubernetes does for a Pod: $$ is one $, so that $$(NAME) stays $(NAME); a
// name that is not known stays as it is written, and so does a $ before
// anything else. What was put in is not expanded again.
//
// It gives up once the text is longer than the kernel takes, and gives that:
// variables of variables could ask for any amount of memory.
func expand(s string, lookup func(name string) (string, bool)) string {
	if strings.IndexByte(s, '$') < 0 {
		return s
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '$')
		if i < 0 || i+1 == len(s) || b.Len() > MaxEnvString {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		s = s[i:]
		end := 1
		switch s[1] {
		case '$':
			b.WriteByte('$')
			s = s[2:]
			continue
		case '(':
			if closing := strings.IndexByte(s, ')'); closing > 0 {
				if v, ok := lookup(s[2:closing]); ok {
					b.WriteString(v)
					s = s[closing+1:]
					continue
				}
				end = closing + 1
			}
		}
		b.WriteString(s[:end])
		s = s[end:]
	}
}

// Argv gives the command and the arguments of an object, expanded with the
// environment that Environ gave. An argument that comes out longer than the
// kernel takes is left so: execve(2) refuses it.
func Argv(o *Object, environ []string) []string {
	argv := make([]string, 0, len(o.Spec.Command)+len(o.Spec.Args))
	var values map[string]string // most commands expand nothing
	lookup := func(name string) (string, bool) {
		if values == nil {
			values = make(map[string]string, len(environ))
			for _, e := range environ {
				n, v, _ := strings.Cut(e, "=")
				values[n] = v
			}
		}
		v, ok := values[name]
		return v, ok
	}
	for _, list := range [][]string{o.Spec.Command, o.Spec.Args} {
		for _, a := range list {
			argv = append(argv, expand(a, lookup))
		}
	}
	return argv
}
