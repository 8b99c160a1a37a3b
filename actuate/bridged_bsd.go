//go:build darwin || freebsd

package actuate

// selfPath is what a bridge is executed as.
func selfPath(path string) string { return path }
