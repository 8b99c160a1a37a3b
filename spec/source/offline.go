package source

// IsManifest tells whether an entry of the directory with this name would be
// read, for whoever checks manifests without a Source.
func IsManifest(name string) bool { return manifestName([]byte(name)) }

// WhySkipped says why an entry that a user could have meant as a manifest is
// not read; empty where nobody would expect it to be.
func WhySkipped(name string, dir bool) string { return whySkipped(name, dir) }
