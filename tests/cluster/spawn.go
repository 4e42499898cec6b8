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
// by kill -9. PR_SET_PDEATHSIG really means the end of the thread that forked,
// and Go ends threads as it likes; so all forks come from one goroutine that
// keeps its thread for good.
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
		// This very file, though a new build may have taken its name since.
		Path:   "/proc/self/exe",
		Args:   append([]string{"kubecluster", name}, args...),
		Stdout: log,
		Stderr: log,
		SysProcAttr: &syscall.SysProcAttr{
			Pdeathsig: syscall.SIGKILL,
			// A terminal's Ctrl-C is for us alone; we end the children.
			Setpgid: true,
		},
	}
	return cmd, s.start(cmd)
}

const (
	tailLines = 8
	tailBytes = 16 << 10
)

// logTail returns the last lines of a log, to be quoted in an error.
func logTail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	text = bytes.TrimSpace(text[max(0, len(text)-tailBytes):])
	lines := strings.Split(string(text), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
