package main

import (
	"errors"
	"net/http"
	"os"

	"github.com/go-logr/logr"

	"github.com/proc-controller/proc-controller/actuate"
	"github.com/proc-controller/proc-controller/actuate/journal"
	"github.com/proc-controller/proc-controller/actuate/lock"
	"github.com/proc-controller/proc-controller/actuate/scope"
	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/controller/metrics"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/observe/probe"
	"github.com/proc-controller/proc-controller/spec"
	"github.com/proc-controller/proc-controller/spec/source"
)

// machine is a controller with everything that it is wired to.
type machine struct {
	log        logr.Logger
	place      place
	notify     *notifier
	source     *source.Source
	signals    caughtSignals
	flushLog   func()
	heirloom   *heirloom // nil in the first image
	replacing  *replacing
	records    records
	lock       *lock.Lock
	actuator   *actuate.Actuator
	guard      *actuate.Guard // nil where there is none
	prober     *probe.Prober
	controller *controller.Controller
	metrics    *metrics.Metrics
	server     *api.Server
	around     surroundings
	// closers undo what was opened, the last first.
	closers []func()
}

// assemble wires the rooms together: lock, journals, source, scanner, actuator,
// controller, server. On error nothing stays open, unless there are workloads
// already: then the guard has to end them, and knows them by what is open.
func (m *machine) assemble(f *runFlags) error {
	err := m.open(f)
	switch {
	case err != nil && m.heirloom == nil:
		m.close()
	case err != nil && m.actuator != nil:
		m.actuator.Abandon()
	}
	return err
}

func (m *machine) open(f *runFlags) error {
	socket, err := m.place.socket()
	if err != nil {
		return err
	}
	if err := api.CheckPath(socket); err != nil {
		return err
	}
	mode, err := scope.ParseMode(f.scopes, os.Getenv(scope.EnvScopes))
	if err != nil {
		return err
	}
	state, err := m.prepareState()
	if err != nil {
		return err
	}
	if err := m.acquire(state); err != nil {
		return err
	}
	m.log.Info("starting", "manifests", m.place.manifests, "owner", m.place.owner, "pid", os.Getpid(), "version", thisVersion().Version)
	m.lookAround(mode)
	m.prepareManifests()
	m.records = m.openRecords(state, m.formerMirror())
	if err := m.openSource(f, m.records.memory); err != nil {
		return err
	}
	m.actuator, err = actuate.New(actuate.Options{
		Owner: m.place.owner, UID: m.place.uid, StateDir: state, Home: os.Getenv("HOME"),
		Environ: os.Environ(), Scopes: mode, Heritage: m.heritage(), Log: m.log,
	})
	if err != nil {
		return err
	}
	m.closing(m.actuator.Close)
	m.prober = newProber(m.actuator)
	m.closing(m.prober.Close)
	scanner, err := observe.NewScanner(observe.ScannerOptions{
		Owner: m.place.owner, UID: m.place.uid, Spawned: m.actuator.Spawned,
	})
	if err != nil {
		return err
	}
	m.closing(func() { scanner.Close() })
	m.postGuard(f, state, mode)
	m.metrics = metrics.New()
	m.controller = controller.New(controller.Options{
		Owner: m.place.owner, Source: m.source, Observer: scanner, Actuator: m.actuator, Prober: m.prober,
		Deaths: m.records.deaths, Instruments: m.metrics, Events: m.records.events, Ledger: m.records.ledger,
		History: m.history(), HandedOver: m.heirloom != nil, Inherited: m.actuator.Inherited(),
		Boot: observe.BootID(), PID: os.Getpid(),
		Log: m.log, OnReady: func() { m.ready(socket) }, Notices: m.around.notices,
	})
	return m.openAPI(f, state, socket)
}

// openAPI listens. After an upgrade it goes without the port where that cannot be had
// any more: the workloads are worth more.
func (m *machine) openAPI(f *runFlags, state, socket string) error {
	port, token, err := m.openPort(&f.remote, state)
	if err != nil && m.heirloom == nil {
		return err
	}
	if err != nil {
		m.log.Error(err, "going on without the port of the API after the upgrade")
	}
	m.server, err = api.Listen(api.Options{
		Path: socket, Log: m.log, Services: m.services(), Loopback: port, Token: token,
	})
	return err
}

// services are what the API has to offer.
func (m *machine) services() api.Services {
	return api.Services{
		Viewer:   m.controller,
		Changes:  m.controller,
		Events:   m.records.events,
		Logs:     m.outputs(),
		Operator: operator{m.controller, m},
		Meter:    observe.Meter{},
		Metrics:  m.metricsHandler(),
		Image:    api.Image{Version: thisVersion().Version, Upgrades: m.upgrades(), Upgrader: m.replacing},
	}
}

// metricsHandler answers Prometheus.
func (m *machine) metricsHandler() http.Handler {
	return m.metrics.Handler(metrics.Options{
		Viewer: m.controller, Usage: observe.Meter{}, Version: thisVersion().Version, Owner: m.place.owner,
	})
}

// postGuard starts the guard, before anything that it would have to look after.
func (m *machine) postGuard(f *runFlags, state string, mode scope.Mode) {
	o := actuate.GuardOptions{Ledger: noMirror, Brief: actuate.Brief{
		Owner: m.place.owner, UID: m.place.uid, State: state, Scopes: string(mode),
		LogFormat: f.logFormat, Verbose: f.verbose,
	}}
	if m.records.mirror != nil {
		o.Ledger = m.records.mirror.Descriptor()
	}
	var err error
	if o.Lock, err = m.lock.Descriptors(); err == nil {
		m.guard, err = m.actuator.StartGuard(o)
	}
	if err != nil {
		m.log.Info("going on without a guard: should this controller be killed, parts of its workloads may stay", "cause", err)
		return
	}
	m.closing(m.guard.Dismiss)
}

// lookAround warns of what will matter later.
func (m *machine) lookAround(mode scope.Mode) {
	here := thisSession(m.place.uid)
	m.around.lingers = func() (spec.Finding, bool) { return here.endsWithLogout(mode) }
	if f, warn := m.around.lingers(); warn {
		m.log.Info("workloads will end with the session", "reason", f.Reason, "cause", f.Message)
	}
}

// prepareState makes the state directory. Without one the controller is as
// right, and only remembers less: the answer is then empty.
func (m *machine) prepareState() (string, error) {
	dir, err := m.place.stateDir()
	if err != nil {
		return "", err
	}
	switch err := journal.PrepareStateDir(dir, m.place.uid); {
	case err == nil:
	case errors.Is(err, journal.ErrNotWritable):
		m.log.Info("state directory is not writable", "directory", dir, "cause", err)
	default:
		m.log.Info("going on without a state directory", "cause", err)
		m.around.lost = err.Error()
		return "", nil
	}
	return dir, nil
}

// prepareManifests makes the default directory, so that there is one to drop a
// manifest into. Another one that is missing is waited for.
func (m *machine) prepareManifests() {
	dir := m.place.manifests
	if _, err := os.Lstat(dir); !m.place.byDefault || !errors.Is(err, os.ErrNotExist) {
		return
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		m.log.Info("cannot make the directory of the manifests", "cause", err)
		return
	}
	m.log.Info("made the directory of the manifests", "directory", dir)
}

// openSource begins to look at the manifests.
func (m *machine) openSource(f *runFlags, memory source.Memory) (err error) {
	hold := f.deleteHold
	if hold == 0 {
		hold = -1 // asked for: nothing is held
	}
	if f.linked != nil {
		memory = nil
	}
	m.source, err = source.New(source.Options{
		Places: f.linked, NoneKept: f.linked != nil,
		Dir: m.place.manifests, Home: os.Getenv("HOME"), UID: m.place.uid, TrustUIDs: f.trustUIDs,
		DeleteHold: hold, Memory: memory, Log: m.log,
	})
	return err
}

func (m *machine) closing(f func()) { m.closers = append(m.closers, f) }

func (m *machine) close() {
	for i := len(m.closers) - 1; i >= 0; i-- {
		m.closers[i]()
	}
	m.closers = nil
}
