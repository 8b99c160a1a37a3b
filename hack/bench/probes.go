//go:build linux

package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// probeRows measures a controller whose 1,000 workloads each have an HTTP probe
// that is due every ten seconds. The floor asks the same servers as often, with a
// connection and nothing else.
func (b *bench) probeRows() ([]Row, error) {
	const count = 1000
	o := &ours{probed: true}
	w, end, err := b.run(o, count)
	if err != nil {
		return nil, err
	}
	defer end()
	// Twice the period: then all have been asked in their turn.
	if err := b.sleep(20 * time.Second); err != nil {
		return nil, err
	}
	ours, threads, err := b.watchProbes(o)
	if err != nil {
		return nil, err
	}
	ports, err := portsOf(w)
	if err != nil {
		return nil, err
	}
	bare, err := b.askBarely(ports)
	if err != nil {
		return nil, err
	}
	return []Row{
		{Figure: "probes/1000 cpu", Unit: "%", Limit: limitProbes, Ours: Samples{ours}, Floor: Samples{bare}},
		{Figure: "probes/1000 threads", Limit: limitThreads, Ours: Samples{threads}},
	}, nil
}

// watchProbes gives the processor time that a controller takes, in per cent of a
// core, and the most threads that were seen.
func (b *bench) watchProbes(o *ours) (cpu, threads float64, err error) {
	before, err := cpuTime(o.pid())
	began := time.Now()
	for err == nil && time.Since(began) < b.idle {
		var n int
		if n, err = statusNumber(o.pid(), "Threads"); err == nil {
			threads = max(threads, float64(n))
			err = b.sleep(time.Second)
		}
	}
	if err != nil {
		return 0, 0, err
	}
	after, err := cpuTime(o.pid())
	return 100 * float64(after-before) / float64(time.Since(began)), threads, err
}

// portsOf reads the ports of the workloads from their environments.
func portsOf(w *world) (ports []string, err error) {
	number := regexp.MustCompile(`\x00PROC_CONTROLLER_PORTS=http=(\d+)\x00`)
	for _, pid := range w.record.alive(w.bench.payload) {
		environ, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "environ"))
		if err != nil {
			return nil, err
		}
		if m := number.FindSubmatch(environ); m != nil {
			ports = append(ports, string(m[1]))
		}
	}
	if len(ports) == 0 {
		return nil, fmt.Errorf("no workload has a port")
	}
	return ports, nil
}

// askBarely asks each port once every ten seconds, evenly, from one goroutine,
// and gives the processor time that it takes in per cent of a core.
func (b *bench) askBarely(ports []string) (float64, error) {
	step := 10 * time.Second / time.Duration(len(ports))
	before, err := cpuTime(os.Getpid())
	if err != nil {
		return 0, err
	}
	began := time.Now()
	for i := 0; time.Since(began) < b.idle; i++ {
		if err := b.sleep(time.Until(began.Add(time.Duration(i) * step))); err != nil {
			return 0, err
		}
		if err := askOnce(ports[i%len(ports)]); err != nil {
			return 0, err
		}
	}
	after, err := cpuTime(os.Getpid())
	return 100 * float64(after-before) / float64(time.Since(began)), err
}

func askOnce(port string) error {
	conn, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(conn, 4096))
	return err
}
