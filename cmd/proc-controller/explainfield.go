package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/spec"
	"github.com/proc-controller/proc-controller/spec/reference"
)

// explainWays is what "explain" says where it is not told what to explain.
const explainWays = `proc-controller explain PID     whose a process is, on what evidence, and what is
                                done with it
proc-controller explain FIELD   what a field of a manifest is for: its type, its
                                default, and whether a change of it restarts

Fields to begin with: apiVersion, kind, metadata, spec. All of them:
proc-controller explain agent --recursive
proc-controller explain mcpserver --recursive
`

// fieldWidth is how wide what is told of fields may be where nobody says how wide
// the terminal is.
const fieldWidth = 80

// isPID says that an argument is meant as the number of a process.
func isPID(arg string) bool { return strings.Trim(arg, "-+0123456789") == "" && arg != "" }

// explainField tells what there is to know of a field of a manifest.
func explainField(cmd *cobra.Command, std streams, path, output string, recursive bool) error {
	f, kind, err := reference.Lookup(path)
	if key, isKey := spec.ParseKey(path); err != nil && isKey == nil {
		return misused(cmd, "%q is no field of a manifest; to see a workload: %s describe %s", path, program, shortName(key))
	}
	if err != nil {
		return misused(cmd, "cannot explain %q: %v", path, err)
	}
	if output == "json" {
		err = writeJSON(std.out, f)
	} else {
		err = newFieldSheet(std).write(f, kind, recursive)
	}
	if err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	return nil
}

// fieldSheet is where a field is laid out for a person.
type fieldSheet struct {
	*bufio.Writer
	width int
}

func newFieldSheet(std streams) *fieldSheet {
	columns, _ := terminalOf(std.out, os.Getenv).size()
	if columns == 0 {
		columns = fieldWidth
	}
	return &fieldSheet{bufio.NewWriter(std.out), min(columns, fieldWidth)}
}

// write tells of a field, and of the fields in it: in words, or, recursively, as a
// tree of names and types.
func (s *fieldSheet) write(f *reference.Field, kind spec.Kind, recursive bool) error {
	s.head("FIELD", f.Path)
	s.head("TYPE", f.Type)
	kinds := f.Kinds
	if kind != "" {
		kinds = []spec.Kind{kind}
	}
	for _, k := range kinds {
		s.head("KIND", string(k))
	}
	s.head("VALUES", strings.Join(f.Choices, ", "))
	s.head("DEFAULT", f.DefaultText())
	if f.Required && f.Name != "" {
		s.head("DEFAULT", "none: it is required")
	}
	s.head("CHANGE", changes[f.Change])
	for _, text := range []string{f.Doc, f.About} {
		if text != "" {
			s.WriteByte('\n')
			s.prose(text, "  ")
		}
	}
	if len(f.Fields) > 0 {
		s.WriteString("\nFIELDS:\n")
	}
	if recursive {
		s.tree(f, kind, "  ")
	} else {
		s.fields(f, kind)
	}
	return s.Flush()
}

// head writes a line of the head, if it says something.
func (s *fieldSheet) head(title, text string) {
	if text != "" {
		fmt.Fprintf(s, "%-9s%s\n", title+":", text)
	}
}

// prose writes text in lines that fit.
func (s *fieldSheet) prose(text, indent string) {
	for _, line := range wrapped(text, s.width-len(indent)) {
		s.WriteString(indent + line + "\n")
	}
}

// changes say what a change of a field does.
var changes = map[reference.Change]string{
	reference.ChangeLive:     "live: nothing is restarted",
	reference.ChangeRestart:  "restart: what runs is replaced",
	reference.ChangeIdentity: "identity: it is another workload then",
}

// fields tells of each field in f.
func (s *fieldSheet) fields(f *reference.Field, kind spec.Kind) {
	first := true
	for _, sub := range f.Fields {
		if !sub.For(kind) {
			continue
		}
		if !first {
			s.WriteByte('\n')
		}
		first = false
		fmt.Fprintf(s, "  %s <%s>%s\n", sub.Name, sub.Type, remark(sub))
		s.prose(sub.Doc, "    ")
	}
}

// remark is what is told of a field beside its type.
func remark(f *reference.Field) string {
	switch {
	case f.Required:
		return " required"
	case f.Default != nil:
		return " default " + f.DefaultText()
	}
	return ""
}

// tree shows the fields in f and in those, one on a line.
func (s *fieldSheet) tree(f *reference.Field, kind spec.Kind, indent string) {
	for _, sub := range f.Fields {
		if sub.For(kind) {
			fmt.Fprintf(s, "%s%s <%s>%s\n", indent, sub.Name, sub.Type, remark(sub))
			s.tree(sub, kind, indent+"  ")
		}
	}
}

// completeFields offers the fields on the level that is being typed.
func completeFields(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	at := strings.LastIndexByte(typed, '.') + 1
	f, kind := reference.Manifest(), spec.Kind("")
	if at > 0 {
		var err error
		if f, kind, err = reference.Lookup(typed[:at-1]); err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
	var words []cobra.Completion
	directive := cobra.ShellCompDirectiveNoFileComp
	for _, sub := range f.Fields {
		if !sub.For(kind) || !strings.HasPrefix(sub.Name, typed[at:]) {
			continue
		}
		if len(sub.Fields) > 0 {
			directive |= cobra.ShellCompDirectiveNoSpace // more may follow
		}
		first, _, _ := strings.Cut(sub.Doc, ". ")
		words = append(words, cobra.CompletionWithDesc(typed[:at]+sub.Name, first))
	}
	return words, directive
}
