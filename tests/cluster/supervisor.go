package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	startLimit = 2 * time.Minute         // one component, on a busy machine
	stopGrace  = 1500 * time.Millisecond // between SIGTERM and SIGKILL

	// A child that ended sooner than hastyEnd is restarted after restartPause, so
	// that a child which cannot run does not keep the machine busy.
	hastyEnd     = 5 * time.Second
	restartPause = time.Second
)

var errStopping = errors.New("the cluster is ending")

// supervisor runs the components, each in a goroutine that waits for its end.
type supervisor struct {
	cluster *cluster
	spawner spawner
	health  *http.Client
	restart bool
	fail    context.CancelCauseFunc // ends the cluster with an error

	tending sync.WaitGroup

	mutex    sync.Mutex // guards all below
	started  bool       // start-up is over: children may be restarted
	stopping bool
	state    state
	running  map[string]*exec.Cmd
}

func newSupervisor(c *cluster, restart bool, fail context.CancelCauseFunc) *supervisor {
	return &supervisor{
		cluster: c,
		spawner: newSpawner(),
		health:  newHealthClient(c.pki.ca.pem),
		restart: restart,
		fail:    fail,
		running: map[string]*exec.Cmd{},
		state: state{
			Kubeconfig: c.kubeconfig,
			Supervisor: os.Getpid(),
			Children:   map[string]childState{},
		},
	}
}

// launch starts components together and waits until all of them serve.
func (s *supervisor) launch(ctx context.Context, components ...component) error {
	for _, c := range components {
		cmd, err := s.start(c)
		if err != nil {
			return err
		}
		s.tending.Go(func() { s.tend(ctx, c, cmd) })
	}
	for _, c := range components {
		limited, cancel := context.WithTimeout(ctx, startLimit)
		served := poll(limited, func() bool { return isHealthy(limited, s.health, c.health) })
		cancel()
		if !served && ctx.Err() == nil {
			return s.quoteLog(c, fmt.Sprintf("did not serve within %v", startLimit))
		}
	}
	return context.Cause(ctx)
}

// setStarted ends the start-up. From now on a child that ends is restarted if
// the options allow it; before, its end is an error.
func (s *supervisor) setStarted() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.started = true
}

// start starts one child and writes it to state.json.
func (s *supervisor) start(c component) (*exec.Cmd, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.stopping {
		return nil, errStopping
	}
	cmd, err := s.spawner.spawn(c.name, c.args, s.cluster.logFile(c.name))
	if err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", c.name, err)
	}
	s.running[c.name] = cmd
	s.state.Children[c.name] = childState{PID: cmd.Process.Pid, Health: c.health}
	return cmd, s.state.write(s.cluster.dir)
}

// tend restarts the child whenever it ends, until the cluster ends.
func (s *supervisor) tend(ctx context.Context, c component, cmd *exec.Cmd) {
	for {
		began := time.Now()
		_ = cmd.Wait() // ProcessState holds how the child ended
		if err := s.judge(c, cmd); err != nil {
			s.fail(err)
			return
		}
		if time.Since(began) < hastyEnd {
			pause(ctx, restartPause)
		}
		var err error
		if cmd, err = s.start(c); err != nil {
			s.fail(err)
			return
		}
	}
}

// judge returns nil if the child that ended must be restarted.
func (s *supervisor) judge(c component, cmd *exec.Cmd) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.running, c.name)
	if s.stopping {
		return errStopping
	}
	if !s.started {
		return s.quoteLog(c, fmt.Sprintf("ended during start-up (%v)", cmd.ProcessState))
	}
	ended := fmt.Sprintf("child %s (pid %d) ended: %v", c.name, cmd.Process.Pid, cmd.ProcessState)
	if !s.restart {
		return errors.New(ended)
	}
	fmt.Fprintln(os.Stderr, ended+"; restarting")
	return nil
}

func (s *supervisor) quoteLog(c component, what string) error {
	return fmt.Errorf("%s %s; its log ends:\n%s", c.name, what, logTail(s.cluster.logFile(c.name)))
}

// stop ends all children and returns when all have ended.
func (s *supervisor) stop() {
	s.signalAll(syscall.SIGTERM)
	gone := make(chan struct{})
	go func() {
		s.tending.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-time.After(stopGrace):
		s.signalAll(syscall.SIGKILL)
		<-gone
	}
	_ = os.Remove(stateFile(s.cluster.dir))
}

func (s *supervisor) signalAll(signal syscall.Signal) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.stopping = true
	for _, cmd := range s.running {
		_ = cmd.Process.Signal(signal) // it may have just ended by itself
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
