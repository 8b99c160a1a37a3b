//go:build !linux && !darwin

package observe

// peerOf is not known here.
func peerOf(int) (Peer, error) { return Peer{}, ErrUnsupported }
