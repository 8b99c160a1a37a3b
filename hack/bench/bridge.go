//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// bridgePackages are the bridges of others that ours is measured beside. npm installs
// them when the figure is measured.
var bridgePackages = []string{"supergateway@4.0.0", "mcp-proxy@6.7.19"}

const (
	bridgeClients = 5  // whose processes are counted
	bridgeCrowd   = 50 // clients at a time
	// bridgeRush is how long calls are counted.
	bridgeRush = 3 * time.Second
)

// bridgeSubject is a program that makes an HTTP server of a stdio one.
type bridgeSubject struct {
	name string
	// argv gives its command line, with an absolute program.
	argv func(b *bench, port int) []string
}

var bridgeSubjects = []bridgeSubject{
	{"ours", func(b *bench, port int) []string {
		return []string{
			b.controller, "bridge", "--name", "bench", "--listen", "127.0.0.1:" + strconv.Itoa(port), "--path", "/mcp",
			"--sharing", "Shared", "--protocol", "Auto", "--idle-timeout", "30m", "--grace", "10s", "--stop-signal", "SIGTERM",
			"--backoff-initial", "1s", "--backoff-max", "5m", "--backoff-factor", "2", "--backoff-reset-after", "10m", "--", b.stdioServer(),
		}
	}},
	{"supergateway", func(b *bench, port int) []string {
		return []string{
			b.npmProgram("supergateway"), "--stdio", b.stdioServer(), "--outputTransport", "streamableHttp", "--stateful",
			"--streamableHttpPath", "/mcp", "--port", strconv.Itoa(port), "--logLevel", "none",
		}
	}},
	{"mcp-proxy", func(b *bench, port int) []string {
		return []string{b.npmProgram("mcp-proxy"), "--host", "127.0.0.1", "--port", strconv.Itoa(port), "--server", "stream", "--", b.stdioServer()}
	}},
}

func (b *bench) stdioServer() string { return filepath.Join(b.dir, "stdioserver") }

func (b *bench) npmProgram(name string) string {
	return filepath.Join(b.dir, "npm", "node_modules", ".bin", name)
}

// bridgeRows measures what a bridge costs, ours and those of others, with the same
// server behind each. The floor of a ping is the pipe itself.
func (b *bench) bridgeRows() ([]Row, error) {
	build := exec.CommandContext(b.ctx, "go", "build", "-o", b.stdioServer(), "./hack/bench/stdioserver")
	build.Dir, build.Env = b.root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cannot build the server: %v\n%s", err, out)
	}
	subjects := bridgeSubjects[:1]
	if b.withPeers {
		args := append([]string{"install", "--silent", "--prefix", filepath.Join(b.dir, "npm")}, bridgePackages...)
		if out, err := exec.CommandContext(b.ctx, "npm", args...).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "no other bridges: npm: %v\n%s", err, out)
		} else {
			subjects = bridgeSubjects
		}
	}
	pipe, err := b.pipePings()
	if err != nil {
		return nil, err
	}
	rows := []Row{
		{Figure: "bridge rss/5", Unit: "MB", Limit: limitBridgeRSS},
		{Figure: "bridge rss/50", Unit: "MB"},
		{Figure: "bridge processes/5", Limit: limitBridgeProcesses},
		{Figure: "bridge ping added", Unit: "ms", Limit: limitBridgePing},
		{Figure: "bridge calls/1", Unit: "1/s"},
		{Figure: "bridge calls/50", Unit: "1/s"},
		{Figure: "bridge stop", Unit: "ms"},
	}
	for _, s := range subjects {
		values, err := b.bridgeSamples(s, pipe.Median())
		if err != nil {
			return nil, fmt.Errorf("%s: %v", s.name, err)
		}
		for i := range rows {
			if s.name == "ours" {
				rows[i].Ours = values[i]
				continue
			}
			if rows[i].Peers == nil {
				rows[i].Peers = map[string]Samples{}
			}
			rows[i].Peers[s.name] = values[i]
		}
	}
	return append(rows, Row{Figure: "pipe ping", Unit: "ms", Ours: pipe}), nil
}

// bridgeSamples are those of one subject, in the order of the rows.
func (b *bench) bridgeSamples(s bridgeSubject, pipe float64) (values [7]Samples, err error) {
	run, err := b.startBridge(s)
	if err != nil {
		return values, err
	}
	defer run.kill()
	var clients []*bridgeClient
	for range bridgeCrowd {
		c := newBridgeClient(run.url)
		defer c.close()
		clients = append(clients, c)
	}
	for _, c := range clients[:bridgeClients] {
		if err := c.greet(); err != nil {
			return values, err
		}
	}
	tree := run.tree()
	values[2] = Samples{float64(len(tree))}
	pings, err := b.pings(func() error { return clients[0].ask("ping", "{}") })
	if err != nil {
		return values, err
	}
	for _, p := range pings {
		values[3] = append(values[3], p-pipe)
	}
	if values[0], err = run.rss(); err != nil {
		return values, err
	}
	for i, crowd := range []int{1, bridgeCrowd} {
		rate, err := b.rush(clients[:crowd])
		if err != nil {
			return values, err
		}
		values[4+i] = Samples{rate}
	}
	if values[1], err = run.rss(); err != nil {
		return values, err
	}
	took, err := run.stop()
	values[6] = Samples{milliseconds(took)}
	return values, err
}

// pings times a request often, after some that warm up.
func (b *bench) pings(ping func() error) (Samples, error) {
	var s Samples
	for i := range 50 + 20*b.samples {
		began := time.Now()
		if err := ping(); err != nil {
			return nil, err
		}
		if i >= 50 {
			s = append(s, milliseconds(time.Since(began)))
		}
	}
	return s, b.ctx.Err()
}

// pipePings times pings over the pipe of the server itself.
func (b *bench) pipePings() (Samples, error) {
	cmd := exec.CommandContext(b.ctx, b.stdioServer())
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer func() { in.Close(); _ = cmd.Wait() }()
	lines := bufio.NewReader(out)
	return b.pings(func() error {
		if _, err := in.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}` + "\n")); err != nil {
			return err
		}
		_, err := lines.ReadSlice('\n')
		return err
	})
}

// rush has clients call as fast as they are answered, and gives the calls a second.
func (b *bench) rush(clients []*bridgeClient) (float64, error) {
	for _, c := range clients {
		if err := c.greet(); err != nil {
			return 0, err
		}
	}
	var all sync.WaitGroup
	var calls atomic.Int64
	failed := make(chan error, len(clients))
	began := time.Now()
	for _, c := range clients {
		all.Go(func() {
			for time.Since(began) < bridgeRush && b.ctx.Err() == nil {
				if err := c.ask("tools/call", `{"name":"echo","arguments":{"text":"hello"}}`); err != nil {
					failed <- err
					return
				}
				calls.Add(1)
			}
		})
	}
	all.Wait()
	select {
	case err := <-failed:
		return 0, err
	default:
		return float64(calls.Load()) / time.Since(began).Seconds(), b.ctx.Err()
	}
}

// freePort is one that nobody listens on right now.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

var errNotUp = errors.New("the bridge does not answer")
