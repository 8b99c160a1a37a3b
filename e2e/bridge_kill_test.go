//go:build linux

package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// How long what stands behind a bridge is killed at random, and in which order.
var (
	killFor  = flag.Duration("bridge-kills", 6*time.Second, "how long TestBridgeRandomKills kills")
	killSeed = flag.Uint64("bridge-seed", 0, "the seed of what it kills; 0 for another one each time")
)

// callWithin is how long a call may take that something was killed under. A client that
// has no answer by then is stuck.
const callWithin = 40 * time.Second

// killing are clients that ask on and on while things are killed.
type killing struct {
	rig   *rig
	ports map[string]int
	ctx   context.Context
	stop  context.CancelFunc
	all   sync.WaitGroup

	mu    sync.Mutex
	doors []*exec.Cmd
}

// Servers, bridges, controllers and clients are killed at random. No client ever has
// a wrong answer or none at all, each works again in the end, and nothing is left.
func TestBridgeRandomKills(t *testing.T) {
	t.Parallel()
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("repeat it with -bridge-seed=%d", seed)
	k := &killing{rig: newRig(t), ports: map[string]int{"shared": unusedPort(t), "own": unusedPort(t)}}
	r := k.rig
	const quick = "backoff: {initial: 100ms, max: 300ms}\n"
	r.write("shared.yaml", manifest("MCPServer", "shared", mcpServer("stdio", "both")+quick+
		fmt.Sprintf("ports: [{name: http, port: %d}]\nmcp: {transport: stdio}\n", k.ports["shared"])))
	r.write("own.yaml", manifest("MCPServer", "own", mcpServer("stdio", "legacy")+quick+
		fmt.Sprintf("ports: [{name: http, port: %d}]\nmcp: {transport: stdio, sharing: PerSession, idleTimeout: 3s}\n", k.ports["own"])))
	r.start()
	r.available("mcp/shared")
	r.available("mcp/own")
	k.ctx, k.stop = context.WithCancel(t.Context())
	defer func() { k.stop(); k.all.Wait() }()
	var answers []*atomic.Int64
	for n := range 6 {
		var good atomic.Int64
		answers = append(answers, &good)
		name, modern := "shared", n%3 == 1
		if n%3 == 2 {
			name = "own"
		}
		if n < 3 {
			k.all.Go(func() { k.askOverHTTP(n, name, modern, &good) })
		} else {
			k.all.Go(func() { k.askThroughConnect(n, name, modern, &good) })
		}
	}
	k.kill(rand.New(rand.NewPCG(seed, 0)))
	for n, good := range answers {
		before := good.Load()
		eventually(t, callWithin, fmt.Sprintf("client %d has answers again", n), func() error {
			if good.Load() < before+2 {
				return fmt.Errorf("it had %d", good.Load())
			}
			return nil
		})
	}
	k.stop()
	k.all.Wait()
	eventually(t, soon, "the servers of sessions are gone", func() error {
		if left := marked(r.owner); len(left) != 3 {
			return fmt.Errorf("%d processes: %v", len(left), left)
		}
		return nil
	})
	r.stop()
	nothingLeft(t, r.owner)
}

// kill does so until the time is over.
func (k *killing) kill(random *rand.Rand) {
	over := time.After(*killFor)
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(random.IntN(400)) * time.Millisecond):
		}
		switch n := random.IntN(20); {
		case n == 0:
			k.rig.crash()
			k.rig.start()
		case n < 5:
			k.killDoor(random)
		case n < 10:
			k.killOne(random, func(line string) bool { return strings.Contains(line, " bridge --name ") })
		default:
			k.killOne(random, func(line string) bool {
				return strings.Contains(line, mcpPayload) && !strings.Contains(line, " bridge --name ")
			})
		}
	}
}

func (k *killing) killOne(random *rand.Rand, which func(commandLine string) bool) {
	found := living(func(p proc) bool {
		return p.has("PROC_CONTROLLER_OWNER", k.rig.owner) && which(commandLine(p.pid))
	})
	if len(found) > 0 {
		end(found[random.IntN(len(found))])
	}
}

// killDoor kills a client that is between another and the server.
func (k *killing) killDoor(random *rand.Rand) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.doors) > 0 {
		_ = k.doors[random.IntN(len(k.doors))].Process.Kill() // ours, and not waited for yet or known to be
	}
}

// judge counts an answer. A failure is what is to be expected; a wrong answer, or none
// for too long, is none.
func (k *killing) judge(n int, began time.Time, err error, good *atomic.Int64) {
	took := time.Since(began)
	switch {
	case err == nil:
		good.Add(1)
	case k.ctx.Err() != nil:
	case errors.Is(err, errWrong) || took > callWithin:
		k.rig.t.Errorf("client %d, after %v: %v", n, took, err)
	}
}

// askOverHTTP asks as a client that begins anew whenever it was refused.
func (k *killing) askOverHTTP(n int, name string, modern bool, good *atomic.Int64) {
	c := newRawClient(clockURL(k.ports[name]), modern)
	greeted := false
	for i := 1; k.ctx.Err() == nil; i++ {
		began := time.Now()
		ctx, cancel := context.WithTimeout(k.ctx, callWithin+5*time.Second)
		var err error
		if !greeted {
			err = c.greet(ctx)
		}
		if err == nil {
			err = c.echo(ctx, i, fmt.Sprintf("client %d call %d", n, i), 0)
		}
		greeted = err == nil
		k.judge(n, began, err, good)
		cancel()
		if err != nil {
			pauseAWhile(k.ctx)
		}
	}
	c.close(context.WithoutCancel(k.ctx))
}

// pauseAWhile keeps a client that is refused from asking a million times.
func pauseAWhile(ctx context.Context) {
	select {
	case <-time.After(tick):
	case <-ctx.Done():
	}
}

// askThroughConnect asks through connect, which is started again when it was killed.
func (k *killing) askThroughConnect(n int, name string, modern bool, good *atomic.Int64) {
	for k.ctx.Err() == nil {
		cmd := exec.Command(controllerBinary, append(append([]string{"connect"}, k.rig.paths()...), name)...)
		cmd.Env = k.rig.env
		k.askThrough(cmd, n, modern, good)
	}
}

func (k *killing) askThrough(cmd *exec.Cmd, n int, modern bool, good *atomic.Int64) {
	revision := "2025-11-25"
	if modern {
		revision = "2026-07-28"
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(k.ctx, callWithin+5*time.Second)
	defer cancel()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "v1"}, nil).
		Connect(ctx, &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		k.judge(n, began, err, good)
		return
	}
	defer session.Close()
	k.know(cmd, true)
	defer k.know(cmd, false)
	ended := make(chan struct{})
	go func() { _ = session.Wait(); close(ended) }()
	for i := 0; k.ctx.Err() == nil; i++ {
		began, text := time.Now(), fmt.Sprintf("client %d call %d", n, i)
		ctx, cancel := context.WithTimeout(k.ctx, callWithin+5*time.Second)
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: echoInput{Text: text}})
		cancel()
		if err == nil && textOf(res) != text {
			err = fmt.Errorf("%w: %q, want %q", errWrong, textOf(res), text)
		}
		k.judge(n, began, err, good)
		select {
		case <-ended:
			return
		default:
		}
	}
}

// know notes a connect that may be killed, or may not be any more.
func (k *killing) know(cmd *exec.Cmd, lives bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if lives {
		k.doors = append(k.doors, cmd)
		return
	}
	for i, c := range k.doors {
		if c == cmd {
			k.doors = append(k.doors[:i], k.doors[i+1:]...)
			return
		}
	}
}
