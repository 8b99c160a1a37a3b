package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the build: -ldflags "-X main.version=v1.2.3".
var version string

// versionInfo is what "version -o json" shows.
type versionInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// Heirloom is what this program can take over from a running controller.
	Heirloom int `json:"heirloom"`
}

func newVersion(std streams, _ *placeFlags) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show the version of this program",
		Example: "  proc-controller version\n  proc-controller version -o json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf(cmd, "output", output, "json"); err != nil {
				return err
			}
			info := thisVersion()
			if output == "json" {
				return writeJSON(std.out, info)
			}
			_, err := fmt.Fprintf(std.out, "%s %s (%s, %s)\n", program, info.Version, info.Go, info.Platform)
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FORMAT` of the output: json (default a line of text)")
	completeWords(cmd, "output", "json")
	return cmd
}

// noArguments refuses arguments with words that help.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return misused(cmd, "%s takes no arguments, but got %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// thisVersion prefers what the build was told, then the module's version, then
// the commit.
func thisVersion() versionInfo {
	info := versionInfo{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Heirloom: heirloomFormat}
	build, ok := debug.ReadBuildInfo()
	if ok {
		for _, s := range build.Settings {
			if s.Key == "vcs.revision" {
				info.Commit = s.Value
			}
		}
		if build.Main.Version != "(devel)" {
			info.Version = cmp.Or(info.Version, build.Main.Version)
		}
	}
	info.Version = cmp.Or(info.Version, "devel")
	return info
}
