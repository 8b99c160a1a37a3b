package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/go-logr/logr"

	"github.com/proc-controller/proc-controller/spec"
)

// watchSignals catches the signals that end the controller. SIGHUP is not one
// where we were told to ignore it (nohup). SIGPIPE is caught and dropped: a
// reader of our stderr that goes away is no reason to end, and unlike an
// ignored signal a caught one is back at its default in every child.
func watchSignals() caughtSignals {
	c := caughtSignals{ending: make(chan os.Signal, 4), upgrade: make(chan os.Signal, 1), letGo: make(chan chan<- bool)}
	c.hangupIgnored = signal.Ignored(syscall.SIGHUP)
	c.mean = []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !c.hangupIgnored {
		c.mean = append(c.mean, syscall.SIGHUP)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	c.catch()
	if len(upgradeSignals) > 0 { // no signal would mean each of them
		signal.Notify(c.upgrade, upgradeSignals...)
	}
	return c
}

// caughtSignals are the signals that mean something to the controller.
type caughtSignals struct {
	ending, upgrade chan os.Signal
	mean            []os.Signal // an end
	// letGo asks whoever obeys them whether none has come that means an end.
	letGo chan chan<- bool
	// hangupIgnored says that we were told not to end at SIGHUP.
	hangupIgnored bool
}

func (c *caughtSignals) catch() { signal.Notify(c.ending, c.mean...) }

// release has those that mean an end do what they do to a program that does not
// catch them: what this image catches now, the next one would never hear of. It says
// no if one has come before, which is then obeyed.
func (c *caughtSignals) release() (none bool) {
	signal.Stop(c.ending) // all that were caught stand in it by now
	answer := make(chan bool)
	c.letGo <- answer
	return <-answer
}

// run lets everything run until a signal (or the end of ctx) has stopped it.
func (m *machine) run(ctx context.Context) error {
	defer m.close()
	beside, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := m.source.Run(beside); err != nil && beside.Err() == nil {
			m.log.Error(err, "cannot read manifests any more; what runs is left as it is")
		}
	})
	running.Go(func() { m.server.Run(beside) })
	running.Go(func() { m.obey(beside) })
	err := m.controller.Run(ctx)
	stop()
	running.Wait()
	m.log.Info("stopped", "owner", m.place.owner)
	return err
}

// obey ends the controller at the first signal, and kills at the second.
func (m *machine) obey(ctx context.Context) {
	for n := 1; ; {
		select {
		case sig := <-m.signals.ending:
			if n == 1 {
				m.log.Info("stopping", "cause", signalName(sig), "hint", "a second signal kills at once")
				m.stopping()
			} else {
				m.log.Info("killing what is left", "cause", signalName(sig))
			}
			m.controller.Shutdown(n > 1)
			n++
		case <-m.signals.upgrade:
			m.upgrade(ctx)
		case none := <-m.signals.letGo:
			none <- n == 1 && len(m.signals.ending) == 0
		case <-m.controller.Done():
			return
		}
	}
}

// upgrade begins an upgrade that was asked for by a signal: nobody waits for the
// answer, so it stands in the log.
func (m *machine) upgrade(ctx context.Context) {
	go func() {
		commit, err := m.replacing.Prepare(ctx)
		if err != nil {
			m.log.Info("not upgrading", "cause", err)
			return
		}
		commit()
	}()
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

func (n *notifier) ready() { n.tell(daemon.SdNotifyReady) }

// How much more time is asked for while stopping, and how often; for an hour at
// most, so that one which hangs is killed in the end.
const (
	extendBy    = 30 * time.Second
	extendEvery = 10 * time.Second
	extendTimes = 360
)

// stopping asks for as much time as it takes: the grace periods of workloads are
// for their manifests to say.
func (n *notifier) stopping(done <-chan struct{}) {
	more := fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", extendBy.Microseconds())
	n.tell(daemon.SdNotifyStopping + "\n" + more)
	go func() {
		tick := time.NewTicker(extendEvery)
		defer tick.Stop()
		for range extendTimes {
			select {
			case <-tick.C:
				n.tell(more)
			case <-done:
				return
			}
		}
	}()
}

func (n *notifier) tell(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		n.log.Info("cannot tell the service manager", "state", state, "cause", err)
	}
}
