//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// supervisord drives supervisord through its control program.
type supervisord struct {
	w       *world
	process *process
}

func (s *supervisord) name() string { return "supervisord" }

func (s *supervisord) config() string { return filepath.Join(s.w.dir, "supervisord.conf") }

func (s *supervisord) file(name string) string {
	return filepath.Join(s.w.dir, "conf.d", name+".conf")
}

func (s *supervisord) program(name string) error {
	text := fmt.Sprintf("[program:%s]\ncommand=%s %s %s\nautorestart=true\nstartsecs=0\n"+
		"redirect_stderr=true\nstdout_logfile=NONE\n", name, s.w.bench.payload, s.w.record.path, name)
	return os.WriteFile(s.file(name), []byte(text), 0o600)
}

func (s *supervisord) prepare(w *world, names []string) error {
	s.w = w
	socket := filepath.Join(w.dir, "sock")
	text := fmt.Sprintf("[supervisord]\nnodaemon=true\nminfds=8192\nlogfile=/dev/null\nlogfile_maxbytes=0\npidfile=%s/pid\n"+
		"[unix_http_server]\nfile=%s\n[rpcinterface:supervisor]\n"+
		"supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface\n"+
		"[supervisorctl]\nserverurl=unix://%s\n[include]\nfiles=conf.d/*.conf\n", w.dir, socket, socket)
	if err := os.Mkdir(filepath.Join(w.dir, "conf.d"), 0o700); err != nil {
		return err
	}
	for _, name := range names {
		if err := s.program(name); err != nil {
			return err
		}
	}
	return os.WriteFile(s.config(), []byte(text), 0o600)
}

func (s *supervisord) start() error {
	var err error
	s.process, err = s.w.spawn(nil, environment(), "supervisord", "-c", s.config())
	return err
}

func (s *supervisord) ready() error {
	for deadline := time.Now().Add(startWithin); time.Now().Before(deadline); {
		out, _ := s.control("pid").Output()
		if bytes.HasPrefix(out, fmt.Appendf(nil, "%d", s.pid())) {
			return nil
		}
		if err := s.w.bench.sleep(100 * time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("supervisord did not answer")
}

func (s *supervisord) control(args ...string) *exec.Cmd {
	return exec.Command("supervisorctl", append([]string{"-c", s.config()}, args...)...)
}

func (s *supervisord) drop(name string) (func() error, error) {
	return s.control("update", name).Run, s.program(name)
}

func (s *supervisord) remove(name string, pid int) error {
	if err := os.Remove(s.file(name)); err != nil {
		return err
	}
	return s.control("update", name).Run()
}

func (s *supervisord) stop() error { return s.process.terminate(syscall.SIGTERM) }

func (s *supervisord) pid() int { return s.process.pid() }
