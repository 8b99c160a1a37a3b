//go:build !linux

package actuate

// ShowAs does nothing: what a process is called cannot be changed here.
func ShowAs(string) {}
