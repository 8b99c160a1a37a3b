package bridge

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// Options are what a bridge is started with. It does not read them again.
type Options struct {
	Name        string // of the workload, for messages
	Listen      string // 127.0.0.1:PORT
	Path        string // of the endpoint: /mcp
	Sharing     spec.Sharing
	Protocol    spec.Protocol
	MaxSessions int           // server processes at a time with sharing PerSession
	IdleTimeout time.Duration // after which a session without requests and streams ends at the latest
	// TokenFile holds what clients have to show; "" for nothing. It is read again when
	// it changes.
	TokenFile string
	Backoff   spec.Backoff
	// Grace is how long a stop may take, in all; StopSignal is what the server's group
	// gets when the end of its input did not end it.
	Grace      time.Duration
	StopSignal syscall.Signal
	// Memory is a file that the era of the server is remembered in; "" for none.
	Memory  string
	Command []string // the path of a program, and its arguments
	Stderr  *os.File // the log
}

// ExitError says with which code the bridge has to exit, because its server did.
type ExitError struct {
	Code   int
	Reason string // one line
}

func (e *ExitError) Error() string { return e.Reason }

// limits are what nobody has to choose. Tests take smaller ones.
type limits struct {
	line        int           // bytes of a message of the server
	body        int64         // bytes of a message of a client
	bodies      int64         // bytes of all bodies that are held at a time
	requests    int64         // HTTP requests at a time
	conns       int           // connections at a time
	calls       int           // requests of one session that wait for an answer
	sessions    int           // with sharing Shared
	unused      time.Duration // after which one has to make room for a new one
	left        time.Duration // after which one with a server of its own ends whose client has hung up
	streamCount int           // messages that a stream keeps
	streamBytes int           // bytes that a stream keeps, beside its last message
	streams     int           // streams of one session that can be resumed
	listeners   int           // modern streams of notifications
	outbox      int           // bytes that wait for the server to read them
	greet       time.Duration // for the first answer of a server: a cold npx takes minutes
	regreet     time.Duration // the same for one that has answered before
	busy        time.Duration // that one request may take without a word of the server
	patience    time.Duration // for a server that is being started, by a request
	own         time.Duration // for the bridge's own requests
	quiet       time.Duration // after which a stream is opened for an answer
	beat        time.Duration // between two signs of life in a stream
	write       time.Duration // for a client to take what is written to it
}

func defaultLimits() limits {
	return limits{
		line: 16 << 20, body: 8 << 20, bodies: 64 << 20, requests: 4096, conns: 4096,
		calls: 1024, sessions: 1024, unused: time.Minute, left: time.Minute, streamCount: 1024, streamBytes: 4 << 20, streams: 32,
		listeners: 1024, outbox: 32 << 20,
		greet: 5 * time.Minute, regreet: 2 * time.Minute, busy: 10 * time.Minute, patience: 30 * time.Second, own: 30 * time.Second,
		quiet: 5 * time.Second, beat: 25 * time.Second, write: 30 * time.Second,
	}
}

// withDefaults fills in what was left out.
func (o Options) withDefaults() (Options, error) {
	if len(o.Command) == 0 {
		return o, fmt.Errorf("cannot run a bridge without a command")
	}
	if o.Path == "" {
		o.Path = "/mcp"
	}
	if o.Sharing == "" {
		o.Sharing = spec.SharingShared
	}
	if o.Protocol == "" {
		o.Protocol = spec.ProtocolAuto
	}
	if o.MaxSessions <= 0 {
		o.MaxSessions = 16
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = 30 * time.Minute
	}
	if o.Grace <= 0 {
		o.Grace = 10 * time.Second
	}
	if o.StopSignal == 0 {
		o.StopSignal = syscall.SIGTERM
	}
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	return o, nil
}
