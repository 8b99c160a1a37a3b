package clients

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/proc-controller/proc-controller/spec"
)

// Options say where what is imported will be.
type Options struct {
	// Folder is the directory of the project that the file belongs to, as an
	// absolute path: what relative paths in it count from. Empty where it belongs
	// to none.
	Folder string
	// Secrets is the directory for secrets, as a manifest is to name it.
	Secrets string
	// Ours are the names of entries that were made of what runs here already.
	Ours map[string]bool
	// Taken are the names that are not free any more. What is made adds its own.
	Taken map[string]bool
}

// Workload is what one entry has become.
type Workload struct {
	Key spec.Key
	// Manifest is one YAML document, with the notes as comments.
	Manifest []byte
	Secrets  []Secret
	// Notes say what could not be taken over as it was, and what there is to do.
	Notes []string
}

// Secret is a value that is not in the manifest.
type Secret struct {
	// File is its path, as the manifest names it.
	File  string
	Value string
	// Asked says that the value is not known: the client would ask for it.
	Asked bool
}

// Workloads makes a workload of each entry that can be run, in the order of the
// file, and a note of each that cannot.
func (c *Config) Workloads(o Options) (all []Workload, notes []string, err error) {
	if o.Taken == nil {
		o.Taken = map[string]bool{}
	}
	for i := range c.Servers {
		s := &c.Servers[i]
		if why := s.left(o); why != "" {
			notes = append(notes, why)
			continue
		}
		w := &conversion{server: s, config: c, options: o}
		name := label(s.Name, o.Taken)
		o.Taken[name] = true
		if name != s.Name {
			w.note("%q is called %s here: names have lower-case letters, digits and dashes, and each is there once", s.Name, name)
		}
		w.Key = spec.Key{Kind: s.Kind, Name: name}
		if err := w.convert(); err != nil {
			return nil, nil, err
		}
		all = append(all, w.Workload)
	}
	return all, notes, nil
}

// left says why nothing is made of an entry; empty where it can be run.
func (s *Server) left(o Options) string {
	switch {
	case o.Ours[s.Name], s.isDoor():
		return s.Name + " is not imported: it leads to a server that is run here already"
	case s.Command != "", s.Shell != "":
		return ""
	case s.URL != "":
		return s.remote()
	}
	return s.Name + " is not imported: it is " + s.Built
}

// maxLabel is the length of a DNS label (RFC 1123).
const maxLabel = 63

// label makes a name that a manifest may have, and that is not taken.
func label(name string, taken map[string]bool) string {
	lower := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, name)
	lower = strings.Trim(lower[:min(len(lower), maxLabel-3)], "-")
	if lower == "" {
		lower = "server"
	}
	free := lower
	for n := 2; ; n++ {
		if !taken[free] {
			return free
		}
		free = lower + "-" + strconv.Itoa(n)
	}
}

// conversion is one entry on its way to a manifest.
type conversion struct {
	Workload
	server  *Server
	config  *Config
	options Options
	doc     document
	// asks says that a value has to be supplied before it can run.
	asks bool
}

// note says something, once.
func (w *conversion) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(w.Notes, n) {
		w.Notes = append(w.Notes, n)
	}
}

func (w *conversion) convert() (err error) {
	s := w.server
	refs := &references{folder: w.options.Folder, input: w.inputVariable, note: w.note}
	w.doc.Spec.WorkingDir = w.directory(refs)
	w.environment(refs)
	if s.Shell != "" {
		w.doc.Spec.Command = []string{"sh", "-c", escape(s.Shell)}
	} else {
		w.doc.Spec.Command = append([]string{refs.translate(s.Command)}, w.arguments(refs)...)
	}
	if s.Port {
		w.doc.Spec.Ports = []port{{Port: 0}}
	}
	if s.Disabled {
		w.doc.Spec.Suspend = true
		w.note("it is disabled there, and so suspended here")
	}
	if w.asks {
		w.doc.Spec.Suspend = true
		w.note("it is suspended: write the files that are missing, and remove suspend")
	}
	for _, n := range s.Notes {
		w.note("%s", n)
	}
	if len(s.Outside) > 0 {
		w.note("the controller has to have %s in its environment", strings.Join(s.Outside, ", "))
	}
	if len(s.Ignored) > 0 {
		w.note("not taken over: %s", strings.Join(s.Ignored, ", "))
	}
	if s.URL != "" {
		w.note("it has a command and a URL; only the command is taken over")
	}
	if s.Kind == spec.KindMCPServer {
		w.transport()
	}
	w.Manifest, err = w.doc.encode(w.Key, w.Notes)
	return err
}

// directory is where it runs: where the client would have run it.
func (w *conversion) directory(refs *references) string {
	dir := w.server.Dir
	if dir == "" || path.IsAbs(dir) || strings.HasPrefix(dir, "~") || strings.HasPrefix(dir, "${") {
		if dir == "" {
			return w.options.Folder
		}
		return w.plainPath(refs.translate(dir))
	}
	return path.Join(w.options.Folder, dir)
}

// plainPath takes back what a path does not expand.
func (w *conversion) plainPath(p string) string {
	if rest, ok := strings.CutPrefix(p, "$(HOME)"); ok {
		p = "~" + rest
	}
	if strings.Contains(p, "$(") {
		w.note("the path %s is not expanded: write it out", p)
	}
	return p
}

// environment fills in the variables.
func (w *conversion) environment(refs *references) {
	s := w.server
	if s.EnvFile != "" {
		p := w.plainPath(refs.translate(s.EnvFile))
		if !path.IsAbs(p) && !strings.HasPrefix(p, "~") {
			p = path.Join(w.options.Folder, p)
		}
		w.doc.Spec.EnvFrom = []envFrom{{fileSource{Path: p, Optional: true}}}
	}
	for _, v := range s.Env {
		if id, ok := wholeInput(v.Value); ok {
			w.ask(v.Name, id)
			continue
		}
		if file, ok := wholeFile(v.Value); ok {
			w.set(envVar{Name: v.Name, ValueFrom: &valueFrom{fileSource{Path: w.plainPath(refs.translate(file))}}})
			continue
		}
		if v.Secret && !reference().MatchString(v.Value) || isSecret(v.Name, v.Value) {
			w.keep(v.Name, v.Value)
			continue
		}
		w.set(envVar{Name: v.Name, Value: new(refs.translate(v.Value))})
	}
}

func (w *conversion) set(v envVar) { w.doc.Spec.Env = append(w.doc.Spec.Env, v) }

// keep puts a secret aside, under a variable.
func (w *conversion) keep(variable, value string) {
	file := w.secretFile(variable)
	w.Secrets = append(w.Secrets, Secret{File: file, Value: value})
	w.set(envVar{Name: variable, ValueFrom: &valueFrom{fileSource{Path: file}}})
}

// secretFile is a file for the value of a variable, which no other one has. It is in the
// directory of secrets, whatever the variable is called: that was chosen by others.
func (w *conversion) secretFile(variable string) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_' // a dash too, which ends the name of the workload
	}, variable)
	name = name[:min(len(name), maxSecretName)]
	file := path.Join(w.options.Secrets, w.Key.Name+"-"+name)
	taken := func(s Secret) bool { return s.File == file }
	for n := 2; slices.ContainsFunc(w.Secrets, taken); n++ {
		file = path.Join(w.options.Secrets, w.Key.Name+"-"+name+"_"+strconv.Itoa(n))
	}
	return file
}

// maxSecretName keeps such a file within the 255 bytes that a name may have.
const maxSecretName = 100

// wholeInput says that a value is nothing but one that is asked for.
func wholeInput(value string) (id string, ok bool) {
	if !isReference(value) {
		return "", false
	}
	return strings.CutPrefix(strings.TrimSuffix(value, "}"), "${input:")
}

// wholeFile says that a value is the content of a file.
func wholeFile(value string) (file string, ok bool) {
	if !isReference(value) {
		return "", false
	}
	return strings.CutPrefix(strings.TrimSuffix(value, "}"), "${file:")
}

// ask lets a variable come from a file that somebody has to write.
func (w *conversion) ask(variable, id string) {
	if w.has(variable) {
		return
	}
	file := w.secretFile(variable)
	w.asks = true
	what := "the value of the input " + id
	if d := w.config.Inputs[id].Description; d != "" {
		what += " (" + strings.TrimSpace(d) + ")"
	}
	w.note("write %s into %s", what, file)
	w.Secrets = append(w.Secrets, Secret{File: file, Asked: true})
	w.set(envVar{Name: variable, ValueFrom: &valueFrom{fileSource{Path: file, Optional: true}}})
}

// inputVariable lets an input in the middle of a text come by way of a variable.
func (w *conversion) inputVariable(id string) string {
	name := "INPUT_" + upper(id)
	w.ask(name, id)
	return "$(" + name + ")"
}

// upper writes a name as a variable.
func upper(name string) string { return strings.ToUpper(strings.Join(wordsOf(name), "_")) }

// arguments puts secrets among them into variables, which come from files.
func (w *conversion) arguments(refs *references) []string {
	out := make([]string, 0, len(w.server.Args))
	flag := ""
	for _, arg := range w.server.Args {
		name, value, joined := strings.Cut(arg, "=")
		isFlag := strings.HasPrefix(arg, "-")
		switch {
		case isFlag && joined && isSecret(name, value):
			out = append(out, escape(name)+"="+w.hidden(name, value))
		case !isFlag && isSecret(flag, arg):
			out = append(out, w.hidden(flag, arg))
		default:
			out = append(out, refs.translate(arg))
		}
		if flag = ""; isFlag && !joined {
			flag = arg
		}
	}
	return out
}

// hidden is what stands for a secret among the arguments.
func (w *conversion) hidden(flag, value string) string {
	base := upper(flag)
	if base == "" {
		base = "SECRET"
	}
	name := "ARG_" + base
	for n := 2; w.has(name); n++ {
		name = "ARG_" + base + "_" + strconv.Itoa(n)
	}
	w.keep(name, value)
	w.note("a secret among its arguments comes from a file now; as an argument anybody on this machine can still see it")
	return "$(" + name + ")"
}

func (w *conversion) has(variable string) bool {
	for _, v := range w.doc.Spec.Env {
		if v.Name == variable {
			return true
		}
	}
	return false
}

// transport says how the server is spoken to.
func (w *conversion) transport() {
	l := w.server.Listens
	if l == nil {
		w.doc.Spec.MCP = &mcp{Transport: "stdio"}
		return
	}
	w.doc.Spec.MCP = &mcp{Path: l.Path}
	if l.SSE {
		w.doc.Spec.MCP.Transport = "sse"
	}
	if l.Port != 0 {
		w.doc.Spec.Ports = []port{{Port: l.Port}}
	}
}
