//go:build !linux

package logs

import "errors"

// Bell cannot be had here: files are looked at again and again instead. A nil
// Bell never rings.
type Bell struct{}

// NewBell fails.
func NewBell() (*Bell, error) { return nil, errors.ErrUnsupported }

// Arm does nothing.
func (*Bell) Arm(string) bool { return false }

// WatchDir does nothing.
func (*Bell) WatchDir(string) bool { return false }

// Disarm does nothing.
func (*Bell) Disarm(string) {}

// Wait fails.
func (*Bell) Wait() ([]string, error) { return nil, errors.ErrUnsupported }

// Close does nothing.
func (*Bell) Close() error { return nil }
