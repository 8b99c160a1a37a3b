package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/go-logr/logr"

	"github.com/proc-controller/proc-controller/spec"
)

// watchSignals catches the signals that end the controller. SIGHUP is not one
// where we were told to ignore it (nohup). SIGPIPE is caught and dropped: a
// reader of our stderr that goes away is no reason to end, and unlike an
// ignored signal a caught one is back at its default in every child.
func watchSignals() <-chan os.Signal {
	ending := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		ending = append(ending, syscall.SIGHUP)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, ending...)
	return signals
}

// run lets everything run until a signal (or the end of ctx) has stopped it.
func (m *machine) run(ctx context.Context, signals <-chan os.Signal) error {
	defer m.close()
	beside, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := m.source.Run(beside); err != nil && beside.Err() == nil {
			m.log.Error(err, "cannot read manifests any more; what runs is left as it is")
		}
	})
	running.Go(func() { m.server.Run(beside) })
	running.Go(func() { m.obey(signals) })
	err := m.controller.Run(ctx)
	stop()
	running.Wait()
	m.log.Info("stopped", "owner", m.place.owner)
	return err
}

// obey ends the controller at the first signal, and kills at the second.
func (m *machine) obey(signals <-chan os.Signal) {
	for n := 1; ; n++ {
		select {
		case sig := <-signals:
			if n == 1 {
				m.log.Info("stopping", "cause", signalName(sig), "hint", "a second signal kills at once")
				m.notify.stopping()
				collectNoMore()
			} else {
				m.log.Info("killing what is left", "cause", signalName(sig))
			}
			m.controller.Shutdown(n > 1)
		case <-m.controller.Done():
			return
		}
	}
}

func signalName(sig os.Signal) string {
	if n, ok := sig.(syscall.Signal); ok {
		return spec.SignalName(int(n))
	}
	return sig.String()
}

// ready is called from the loop and does not make it wait.
func (m *machine) ready(socket string) {
	m.log.Info("ready", "manifests", m.place.manifests, "socket", socket)
	go m.notify.ready()
	go rest(m.controller.Done())
}

// notifier tells a service manager how we are, if there is one: sd_notify(3).
type notifier struct{ log logr.Logger }

func (n *notifier) ready() { n.tell(daemon.SdNotifyReady, false) }

func (n *notifier) stopping() { n.tell(daemon.SdNotifyStopping, true) }

func (n *notifier) tell(state string, last bool) {
	if _, err := daemon.SdNotify(last, state); err != nil {
		n.log.Info("cannot tell the service manager", "state", state, "cause", err)
	}
}
