//go:build !unix

package journal

// checkOwner does not know of owners here.
func checkOwner(string, int) error { return nil }
