package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/spec"
	"github.com/proc-controller/proc-controller/spec/source"
)

// newValidate is the verb that checks manifests without a controller.
func newValidate(std streams, at *placeFlags) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "validate [PATH...]",
		Short: "Check manifests, without a controller",
		Long: `Check manifests, without a controller: every mistake is shown as
file:line:column: message, and the exit code is 1 if there is one.

PATH is a file, a directory (read as the controller would read it) or - for
standard input. Without PATH the directory of the manifests is checked. What one
object needs of another (dependsOn, mcpServers) has to be among what is checked
together. Who owns the files and who may write to them is not checked.`,
		Example: `  proc-controller validate
  proc-controller validate ./manifests
  proc-controller validate new.yaml -o json
  kustomize build . | proc-controller validate -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf(cmd, "output", output, "json"); err != nil {
				return err
			}
			if len(args) == 0 {
				p, err := at.locate(thisHost())
				if err != nil {
					return err
				}
				args = []string{p.manifests}
			}
			return validate(std, args, output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FORMAT` of the output: json (default one line for each finding)")
	completeWords(cmd, "output", "json")
	return cmd
}

// validate checks all paths together: a port that two of them want, or a name
// that two of them have, is a finding.
func validate(std streams, paths []string, output string) error {
	c := checker{std: std, home: os.Getenv("HOME")}
	for _, path := range paths {
		if err := c.path(path); err != nil {
			return err
		}
	}
	c.together()
	c.arrange()
	if output == "json" {
		if err := writeJSON(std.out, append([]spec.Finding{}, c.findings...)); err != nil {
			return fmt.Errorf("cannot write: %w", err)
		}
	} else {
		c.tell()
	}
	if len(c.findings) > 0 {
		return errSaid
	}
	return nil
}

// arrange sorts the findings, each with a place, as editors want it.
func (c *checker) arrange() {
	for i := range c.findings {
		c.findings[i].Line, c.findings[i].Column = max(1, c.findings[i].Line), max(1, c.findings[i].Column)
	}
	slices.SortStableFunc(c.findings, func(a, b spec.Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// tell writes the findings for a person, or how much is valid.
func (c *checker) tell() {
	broken := map[string]bool{}
	for _, f := range c.findings {
		broken[f.File] = true
		fmt.Fprintf(c.std.out, "%s:%d:%d: %s\n", f.File, f.Line, f.Column, oneLine(f.Message))
	}
	for _, n := range c.notes {
		fmt.Fprintf(c.std.err, "note: %s\n", oneLine(n))
	}
	objects, files, found := len(c.objects), c.files, len(c.findings)
	if found > 0 {
		c.std.say(fmt.Errorf("%d %s in %d of %d %s", found, plural(found, "mistake", "mistakes"),
			len(broken), files, plural(files, "file", "files")))
		return
	}
	fmt.Fprintf(c.std.out, "%d %s in %d %s: valid\n", objects, plural(objects, "object", "objects"), files, plural(files, "file", "files"))
}

// path checks a file, the manifests of a directory, or standard input.
func (c *checker) path(path string) error {
	if path == "-" {
		c.read("stdin", ".", c.std.in)
		return nil
	}
	fi, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("cannot check %s: %v", path, cause(err))
	}
	if !fi.IsDir() {
		return c.file(path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("cannot check %s: %v", path, cause(err))
	}
	for _, e := range entries {
		c.entry(filepath.Join(path, e.Name()))
	}
	return nil
}

// entry checks one entry of a directory, if the controller would read it. One
// that is no file, such as a pipe, is not even opened.
func (c *checker) entry(path string) {
	name := filepath.Base(path)
	fi, err := os.Stat(path)
	switch {
	case err == nil && (fi.IsDir() || !source.IsManifest(name)):
		if why := source.WhySkipped(name, fi.IsDir()); why != "" {
			c.notes = append(c.notes, path+": "+why)
		}
	case !source.IsManifest(name):
	case err != nil:
		c.fail(path, "cannot read it: "+cause(err).Error())
	case !fi.Mode().IsRegular():
		c.fail(path, "it is not a file")
	default:
		if err := c.file(path); err != nil {
			c.fail(path, "cannot read it: "+cause(err).Error())
		}
	}
}
