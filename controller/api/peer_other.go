//go:build !linux && !darwin

package api

import "syscall"

// peerUID is not known here.
func peerUID(syscall.Conn) (int, error) { return -1, errPeerUnknown }
