package main

import (
	"bufio"
	"fmt"
	"io"
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

// fieldWidth is how wide what is told of fields may be.
const fieldWidth = 80

// isPID says that an argument is meant as the number of a process.
func isPID(arg string) bool { return strings.Trim(arg, "-+0123456789") == "" && arg != "" }

// explainField tells what there is to know of a field of a manifest.
func explainField(cmd *cobra.Command, std streams, path, output string, recursive bool) error {
	f, kind, err := reference.Lookup(path)
	if err != nil {
		return misused(cmd, "cannot explain %q: %v", path, err)
	}
	if output == "json" {
		err = writeJSON(std.out, f)
	} else {
		err = writeField(std.out, f, kind, recursive)
	}
	if err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	return nil
}

// writeField lays a field out for a person, with the fields in it: in words, or,
// recursively, as a tree of names and types.
func writeField(w io.Writer, f *reference.Field, kind spec.Kind, recursive bool) error {
	b := bufio.NewWriter(w)
	head := func(title, text string) {
		if text != "" {
			fmt.Fprintf(b, "%-9s%s\n", title+":", text)
		}
	}
	head("FIELD", f.Path)
	head("TYPE", f.Type)
	kinds := f.Kinds
	if kind != "" {
		kinds = []spec.Kind{kind}
	}
	for _, k := range kinds {
		head("KIND", string(k))
	}
	head("VALUES", strings.Join(f.Choices, ", "))
	head("DEFAULT", f.DefaultText())
	if f.Required && f.Name != "" {
		head("DEFAULT", "none: it is required")
	}
	head("CHANGE", changes[f.Change])
	fmt.Fprintf(b, "\n%s", wrapped(f.Doc, "  "))
	if f.About != "" {
		fmt.Fprintf(b, "\n%s", wrapped(f.About, "  "))
	}
	if len(f.Fields) > 0 {
		fmt.Fprint(b, "\nFIELDS:\n")
	}
	if recursive {
		writeTree(b, f, kind, "  ")
	} else {
		writeFields(b, f, kind)
	}
	return b.Flush()
}

// changes say what a change of a field does.
var changes = map[reference.Change]string{
	reference.ChangeLive:     "live: nothing is restarted",
	reference.ChangeRestart:  "restart: what runs is replaced",
	reference.ChangeIdentity: "identity: it is another workload then",
}

// writeFields tells of each field in f.
func writeFields(w io.Writer, f *reference.Field, kind spec.Kind) {
	for i, sub := range f.Fields {
		if !sub.For(kind) {
			continue
		}
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "  %s <%s>%s\n%s", sub.Name, sub.Type, remark(sub), wrapped(sub.Doc, "    "))
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

// writeTree shows the fields in f and in those, one on a line.
func writeTree(w io.Writer, f *reference.Field, kind spec.Kind, indent string) {
	for _, sub := range f.Fields {
		if sub.For(kind) {
			fmt.Fprintf(w, "%s%s <%s>%s\n", indent, sub.Name, sub.Type, remark(sub))
			writeTree(w, sub, kind, indent+"  ")
		}
	}
}

// wrapped breaks text into lines that fit, each with the indent and a line end.
func wrapped(text, indent string) string {
	var b strings.Builder
	used := 0
	for _, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case used == 0:
			b.WriteString(indent)
			used = len(indent)
		case used+1+n > fieldWidth:
			b.WriteString("\n" + indent)
			used = len(indent)
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String() + "\n"
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
