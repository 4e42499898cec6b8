package main

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
)

// spawner starts children that the kernel kills when this process ends, even
// by kill -9. PR_SET_PDEATHSIG acts when the thread that forked ends, and Go
// may end threads at any time. So one goroutine, which keeps its thread, does
// all forks.
type spawner chan func()

func newSpawner() spawner {
	s := make(spawner)
	go func() {
		runtime.LockOSThread()
		for work := range s {
			work()
		}
	}()
	return s
}

func (s spawner) start(cmd *exec.Cmd) error {
	started := make(chan error)
	s <- func() { started <- cmd.Start() }
	return <-started
}

// spawn starts the program called name of this binary with its output
// appended to logFile.
func (s spawner) spawn(name string, args []string, logFile string) (*exec.Cmd, error) {
	log, err := os.OpenFile(logFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()

	cmd := &exec.Cmd{
		// This very file, even if a new build has replaced it.
		Path:   "/proc/self/exe",
		Args:   append([]string{"kubecluster", name}, args...),
		Stdout: log,
		Stderr: log,
		SysProcAttr: &syscall.SysProcAttr{
			Pdeathsig: syscall.SIGKILL,
			// A terminal's Ctrl-C must reach this process alone, which then
			// ends its children.
			Setpgid: true,
		},
	}
	return cmd, s.start(cmd)
}

const (
	tailLines = 8
	tailBytes = 16 << 10
)

// logTail returns the last lines of a log for an error message.
func logTail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	text = bytes.TrimSpace(text[max(0, len(text)-tailBytes):])
	lines := strings.Split(string(text), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
