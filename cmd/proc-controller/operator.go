package main

import (
	"context"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/spec"
)

// operator takes what is asked for through the API. More than the controller alone
// is concerned: what was asked for is to outlive it, and its end is told.
type operator struct {
	*controller.Controller
	m *machine
}

// Restart is that of the controller, and what it has noted is on the disk.
func (o operator) Restart(ctx context.Context, k spec.Key) error {
	return o.kept(o.Controller.Restart(ctx, k))
}

// Suspend is that of the controller, and what it has noted is on the disk.
func (o operator) Suspend(ctx context.Context, k spec.Key, suspend bool) error {
	return o.kept(o.Controller.Suspend(ctx, k, suspend))
}

// kept waits until the ledger is on the disk, as far as the disk takes it.
func (o operator) kept(err error) error {
	if err == nil {
		o.m.records.flush()
	}
	return err
}

// Down begins it, as a signal would.
func (o operator) Down(ctx context.Context) error {
	if err := o.Controller.Down(ctx); err != nil {
		return err
	}
	o.m.log.Info("stopping everything, also what is kept otherwise", "cause", "down")
	o.m.stopping()
	return nil
}

// stopping tells those who have to know that the controller ends.
func (m *machine) stopping() {
	m.notify.stopping(m.controller.Done())
	collectNoMore()
}
