package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/proc-controller/proc-controller/actuate/lock"
)

// takeLock sees to it that the owner has no other controller. The guard of one
// that died is waited for: what it is about to end must not be adopted.
func (m *machine) takeLock(state string) error {
	for {
		l, err := lock.Acquire(lock.Options{
			Owner: m.place.owner, UID: m.place.uid, Manifests: m.place.manifests, State: state, Log: m.log,
		})
		var held *lock.HeldError
		switch {
		case errors.As(err, &held) && held.Guard != "":
			m.log.Info("waiting for the guard of a controller that died", "owner", m.place.owner, "guard", held.Guard)
			if err := m.waitFor(held); err != nil {
				return err
			}
			continue
		case held != nil:
			return fmt.Errorf("%v; stop it, or use another --manifests DIR", err)
		case err != nil:
			return err
		}
		m.lock = l
		m.closing(l.Release)
		return nil
	}
}

// waitFor waits until a guard has ended, or a signal says not to.
func (m *machine) waitFor(held *lock.HeldError) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	free := make(chan error, 1)
	go func() { free <- held.Wait(ctx) }()
	select {
	case err := <-free:
		return err
	case sig := <-m.signals.ending:
		return fmt.Errorf("ended by %s while waiting: %w", signalName(sig), held)
	}
}
