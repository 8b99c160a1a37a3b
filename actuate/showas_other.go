//go:build !linux

package actuate

// ShowAs does nothing: what a process is called cannot be changed here.
func ShowAs(string) {}

// ForgetPages does nothing: it is not known here what may be forgotten.
func ForgetPages() {}
