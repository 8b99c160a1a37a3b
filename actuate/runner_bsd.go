//go:build darwin || freebsd

package actuate

import "context"

// runner runs nothing: only scopes need helpers, and there are none here.
type runner struct {
	spawner *spawner
	reaper  *reaper
	null    int
}

// Run refuses.
func (*runner) Run(context.Context, []string, []string, string) (exitCode int, output string, err error) {
	return -1, "", ErrUnsupported
}
