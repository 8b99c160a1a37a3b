//go:build !linux

package scope

import (
	"context"
	"runtime"

	"github.com/proc-controller/proc-controller/observe"
)

// Elsewhere than on Linux there are no scopes.

type host struct{ tree tree }

func newHost(Mode, int) *host { return &host{} }

func (h *host) lacks() string { return "there are no scopes on " + runtime.GOOS }

func (s *Scopes) fence(context.Context, *Fence, Request) (why string) { return s.host.lacks() }

type tree struct{}

func (tree) notInForce(place, limits) []string { return nil }
func (tree) remove(string)                     {}

func (f *Fence) await(context.Context, int) (place, error) { return place{}, ErrNotInside }

// Kill says that there is no cgroup to kill.
func (s *Scopes) Kill(observe.Scope) error { return ErrNoKill }

// Members says that a scope has none.
func (s *Scopes) Members(observe.Scope) ([]int, error) { return nil, nil }

// OOMKilled says no.
func (s *Scopes) OOMKilled(observe.Scope) bool { return false }

// Release does nothing.
func (s *Scopes) Release(observe.Scope) {}
