//go:build !linux

package probe

func playsPart() bool { return false }
