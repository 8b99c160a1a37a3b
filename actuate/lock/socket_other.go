//go:build !linux

package lock

import "io"

func listen(Options) (io.Closer, error) { return nil, errNoSocket }
