//go:build !linux

package source

// quiet cannot tell: only Linux has file leases.
func (h handle) quiet() (bool, error) { return false, errNoLease }
