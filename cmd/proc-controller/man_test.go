package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

var manDir = flag.String("man", "", "write the man pages into this directory (hack/man does)")

// TestManPages makes a page for each command, from its help. The generator is part
// of the tests so that the program does not carry it.
func TestManPages(t *testing.T) {
	dir := *manDir
	if dir == "" {
		dir = t.TempDir()
	}
	root := newRoot(streams{in: strings.NewReader(""), out: &bytes.Buffer{}, err: &bytes.Buffer{}}, nil)
	for _, cmd := range append(root.Commands(), root) {
		asMarkdown(cmd)
	}
	header := &doc.GenManHeader{Section: "1", Source: program, Manual: program} // the date is that of SOURCE_DATE_EPOCH
	if err := doc.GenManTree(root, header, dir); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range root.Commands() {
		if !cmd.IsAvailableCommand() {
			continue
		}
		page, err := os.ReadFile(filepath.Join(dir, program+"-"+cmd.Name()+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, part := range []string{".TH ", ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH OPTIONS", ".SH EXAMPLE"} {
			if !bytes.Contains(page, []byte("\n"+part)) {
				t.Errorf("the page of %s has no %s", cmd.Name(), part)
			}
		}
	}
}

// asMarkdown has the help of a command come out of the generator as it is written:
// what Markdown would take for more than text is escaped, and what is indented is
// code.
func asMarkdown(cmd *cobra.Command) {
	escape := strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", `\<`, "`", "\\`", "[", `\[`, "#", `\#`, "$", `\$`)
	lines := strings.Split(cmd.Long, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "  ") {
			lines[i] = "  " + line
		} else {
			lines[i] = escape.Replace(line)
		}
	}
	cmd.Long = strings.Join(lines, "\n")
}
