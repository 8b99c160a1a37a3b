//go:build !(linux || darwin || freebsd)

package source

// trust has nothing to judge by: there are no owners and modes here.
type trust struct{}

func newTrust(int, []int) *trust { return &trust{} }

func (t *trust) place(string, stamp) *refusal { return nil }
func (t *trust) forget()                      {}
