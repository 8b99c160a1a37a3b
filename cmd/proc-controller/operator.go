package main

import (
	"context"

	"github.com/proc-controller/proc-controller/controller"
)

// operator takes what is asked for through the API. The end of the controller
// concerns more than the controller alone.
type operator struct {
	*controller.Controller
	m *machine
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
	m.notify.stopping()
	collectNoMore()
}
