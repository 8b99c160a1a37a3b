//go:build !linux && !darwin

package observe

import (
	"context"
	"time"
)

// table is no process table: on this system nothing is ever confirmed.
type table struct {
	rows []sighting
}

const maxStartTicks = 0

func openTable(ScannerOptions) (*table, error) { return nil, ErrUnsupported }

func (t *table) close() error { return nil }

func (t *table) failure() error { return nil }

func (t *table) blocked() []int { return nil }

func (t *table) refresh(context.Context, *policy) (bool, error) { return false, ErrUnsupported }

func (t *table) describe(*sighting) bool { return false }

func sightingsOf(...int) ([]sighting, error) { return nil, ErrUnsupported }

// Verify fails: processes cannot be told apart here.
func Verify(Ident) error { return ErrUnsupported }

// IdentitySupported says whether this system lets processes be identified.
func IdentitySupported() bool { return false }

// BootTick is 0: this system has no start ticks.
func BootTick() uint64 { return 0 }

// WallTime is the zero time: this system has no start ticks.
func WallTime(uint64) time.Time { return time.Time{} }

// BootID is empty: boots are not told apart here.
func BootID() string { return "" }
