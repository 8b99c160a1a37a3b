package source

import (
	"bytes"
	"strings"
)

// manifestName tells whether an entry of the directory is read: *.yaml, *.yml
// or *.json, and neither a dot file (which version-control folders, and what
// editors keep beside a file, are) nor a backup.
func manifestName(name []byte) bool {
	if len(name) == 0 || name[0] == '.' || name[0] == '#' {
		return false
	}
	return bytes.HasSuffix(name, []byte(".yaml")) ||
		bytes.HasSuffix(name, []byte(".yml")) ||
		bytes.HasSuffix(name, []byte(".json"))
}

// schemaDir is the subdirectory where the JSON Schema for editors lies beside the
// manifests that refer to it.
const schemaDir = "schema"

// whySkipped says why an entry that a user could have meant as a manifest is
// not read; empty where nobody would expect it to be.
func whySkipped(name string, dir bool) string {
	switch {
	case name[0] == '.':
		return ""
	case dir && name == schemaDir:
		return ""
	case dir:
		return "subdirectories are not read"
	}
	lower := strings.ToLower(name)
	for _, ext := range []string{".yaml", ".yml", ".json"} {
		if strings.HasSuffix(lower, ext) {
			return "not read: its name must end in lower-case .yaml, .yml or .json and not begin with #"
		}
		if strings.Contains(lower, ext) {
			return "not read: a backup, or its name does not end in .yaml, .yml or .json"
		}
	}
	return ""
}
