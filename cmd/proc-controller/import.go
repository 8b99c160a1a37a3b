package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/spec"
	"github.com/proc-controller/proc-controller/spec/clients"
)

// secretsDir is where imported secrets are, beside the manifests. Its name begins
// with a dot, so that the controller does not take it for a mistake.
const secretsDir = ".secrets"

// newImport is the verb that makes manifests of the configuration of others.
func newImport(std streams, at *placeFlags) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "import FILE... [--to DIR]",
		Short: "Make manifests of what a client, the MCP registry or a Procfile says",
		Long: `Make manifests of what another program has been told to run: the configuration of
Claude Desktop, Claude Code, Cursor, VS Code, Windsurf, Zed, Codex, Gemini CLI, Goose
or OpenCode, a server.json of the MCP registry, or the lines of a Procfile; - is
standard input.

They are printed, or with --to DIR written there, one file each; a file that is
there already is never touched. Secrets do not get into a manifest: where a value
looks like one, the manifest names a file in DIR/` + secretsDir + ` (0600), which --to
writes, too. Literal paths and ${VARIABLES} are translated.

A server that speaks over standard input and output runs as it is, with
mcp: {transport: stdio}. What a manifest cannot say is said on standard error, and
as a comment: servers that are only a URL, values that a client would ask for. What
"` + program + ` export" has put into the file is left out.`,
		Example: `  proc-controller import ~/.config/Claude/claude_desktop_config.json
  proc-controller import .vscode/mcp.json --to ~/.config/proc-controller/manifests
  proc-controller import ~/.codex/config.toml ~/.config/goose/config.yaml
  proc-controller import Procfile | proc-controller validate -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return misused(cmd, "say which file to import")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return importFiles(std, at, args, to) },
	}
	cmd.Flags().StringVar(&to, "to", "", "write the manifests into `DIR`")
	return cmd
}

// importFiles makes all manifests before it writes the first.
func importFiles(std streams, at *placeFlags, files []string, to string) error {
	var all []clients.Workload
	taken := map[string]bool{}
	for _, file := range files {
		workloads, notes, err := importFile(std, at, file, taken)
		if err != nil {
			return err
		}
		for _, n := range notes {
			fmt.Fprintln(std.err, "note: "+oneLine(n))
		}
		all = append(all, workloads...)
	}
	if len(all) == 0 {
		return fmt.Errorf("there is nothing to run in %s", joinedPaths(files))
	}
	tellNotes(std, all)
	for i := range all {
		if err := checkImported(&all[i]); err != nil {
			return err
		}
	}
	if to == "" {
		return printImported(std, all)
	}
	return writeImported(std, all, to)
}

// tellNotes says what there is to know, once for all that it concerns.
func tellNotes(std streams, all []clients.Workload) {
	var order []string
	concerns := map[string][]string{}
	for i := range all {
		for _, n := range all[i].Notes {
			if concerns[n] == nil {
				order = append(order, n)
			}
			concerns[n] = append(concerns[n], shortName(all[i].Key))
		}
	}
	for _, n := range order {
		fmt.Fprintf(std.err, "note: %s: %s\n", strings.Join(concerns[n], ", "), oneLine(n))
	}
}

// importFile reads one file.
func importFile(std streams, at *placeFlags, file string, taken map[string]bool) ([]clients.Workload, []string, error) {
	data, err := readImport(std, file)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot import %s: %v", file, cause(err))
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, nil, err
	}
	if file == "-" && !slices.Contains([]string{"{", "/", "["}, firstLetter(data)) {
		abs = filepath.Join(filepath.Dir(abs), "Procfile") // the names of files tell them apart
	}
	c, err := clients.Parse(filepath.ToSlash(abs), data)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot import %s: %v", file, err)
	}
	return c.Workloads(clients.Options{
		Folder: clients.Folder(filepath.ToSlash(abs)), Secrets: secretsDir, Taken: taken,
		Ours: oursIn(at, abs, data),
	})
}

// firstLetter is the first character that is no blank.
func firstLetter(data []byte) string {
	text := bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	return string(text[:min(1, len(text))])
}

func readImport(std streams, file string) ([]byte, error) {
	in := std.in
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxClientFile))
	if err == nil && len(data) == maxClientFile {
		err = errors.New("it has more than 32 MiB")
	}
	return data, err
}

// checkImported finds what the other program takes and a manifest does not.
func checkImported(w *clients.Workload) error {
	for _, d := range spec.Decode(w.Key.Name, w.Manifest) {
		for _, f := range d.Findings {
			return fmt.Errorf("cannot import %s: %s", shortName(w.Key), f.Message)
		}
	}
	return nil
}

// printImported prints the manifests as documents of one file. Secrets are only
// named.
func printImported(std streams, all []clients.Workload) error {
	var b bytes.Buffer
	for i := range all {
		if i > 0 {
			b.WriteString("---\n")
		}
		b.Write(all[i].Manifest)
		for _, s := range all[i].Secrets {
			if !s.Asked {
				fmt.Fprintf(std.err, "note: %s: a secret is not printed: write it into %s (0600) beside the manifest, or use --to DIR\n", shortName(all[i].Key), s.File)
			}
		}
	}
	if _, err := std.out.Write(b.Bytes()); err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	return nil
}

// writeImported writes manifests and secrets into a directory. It begins only if
// none of the files is there.
func writeImported(std streams, all []clients.Workload, dir string) error {
	secrets := 0
	for i := range all {
		paths := []string{filepath.Join(dir, all[i].Key.Name+".yaml")}
		for _, s := range all[i].Secrets {
			paths = append(paths, filepath.Join(dir, s.File))
		}
		for _, p := range paths {
			if _, err := os.Lstat(p); !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("cannot write %s: it is there already, and nothing was written; remove it, or use another directory", p)
			}
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot make %s: %v", dir, cause(err))
	}
	for i := range all {
		for _, s := range all[i].Secrets {
			if s.Asked {
				continue
			}
			if err := writeSecret(dir, s); err != nil {
				return fmt.Errorf("cannot write a secret: %w", err)
			}
			secrets++
		}
		path := filepath.Join(dir, all[i].Key.Name+".yaml")
		if err := writeNew(path, all[i].Manifest, 0o644); err != nil {
			return fmt.Errorf("cannot write %s: %v", path, cause(err))
		}
		fmt.Fprintf(std.out, "%s written to %s\n", shortName(all[i].Key), path)
	}
	if secrets > 0 {
		fmt.Fprintf(std.err, "note: %d %s in %s\n", secrets, plural(secrets, "secret is", "secrets are"), filepath.Join(dir, secretsDir))
	}
	return nil
}

// writeSecret writes one, for this user alone. The directory keeps them out of a
// git repository.
func writeSecret(dir string, s clients.Secret) error {
	path := filepath.Join(dir, s.File)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	ignore := filepath.Join(filepath.Dir(path), ".gitignore")
	if err := writeNew(ignore, []byte("*\n"), 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return writeNew(path, []byte(s.Value+"\n"), 0o600)
}

// writeNew writes a file that is not there yet: whole, or not at all.
func writeNew(path string, content []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), path) // unlike a rename it never replaces
}
