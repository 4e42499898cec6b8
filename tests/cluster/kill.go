package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

const comebackLimit = 5 * time.Minute

func newKillCommand() *cobra.Command {
	var dir string
	command := &cobra.Command{
		Use:   "kill NAME --dir DIR",
		Short: "Kill -9 a child of a running cluster and wait until it is back",
		Long: `Kills one child of the cluster in DIR with SIGKILL, by the pid in DIR/state.json,
and waits up to ` + comebackLimit.String() + ` until it runs again and all of the cluster serves.
NAME is etcd, kube-apiserver, kube-controller-manager or kube-scheduler.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || dir == "" {
				return errors.New("kill needs the name of one child and --dir")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return killAndWait(dir, args[0])
		},
	}
	command.Flags().StringVar(&dir, "dir", "", "the --dir of kubecluster up")
	return command
}

func killAndWait(dir, name string) error {
	before, err := readState(dir)
	if err != nil {
		return err
	}
	child, ok := before.Children[name]
	if !ok {
		known := slices.Sorted(maps.Keys(before.Children))
		return fmt.Errorf("the cluster in %q has no child %q, only %s", dir, name, strings.Join(known, ", "))
	}
	if err := killChild(child.PID, before.Supervisor); err != nil {
		return fmt.Errorf("cannot kill %s: %w", name, err)
	}
	fmt.Printf("%s: killed pid %d\n", name, child.PID)

	now, err := awaitComeback(dir, name, child.PID)
	if err != nil {
		return err
	}
	fmt.Printf("%s: serves again as pid %d\n", name, now)
	return nil
}

// killChild checks that the pid is still a child of the supervisor: after a
// kill -9 of the supervisor the file stays, and another process may have the
// pid.
func killChild(pid, supervisor int) error {
	parent, err := parentOf(pid)
	if err != nil || parent != supervisor {
		return fmt.Errorf("pid %d is not a child of the cluster any more", pid)
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

func parentOf(pid int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// "PID (NAME) STATE PARENT ...", where NAME may hold anything.
	_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')'):]), " ")
	var status string
	var parent int
	_, err = fmt.Sscan(rest, &status, &parent)
	return parent, err
}

// awaitComeback returns the child's new pid when everything is healthy.
func awaitComeback(dir, name string, old int) (int, error) {
	caPEM, err := os.ReadFile(filepath.Join(dir, "pki", "ca.crt"))
	if err != nil {
		return 0, err
	}
	client := newHealthClient(caPEM)
	ctx, cancel := context.WithTimeout(context.Background(), comebackLimit)
	defer cancel()

	var now *state
	back := poll(ctx, func() bool {
		if now, err = readState(dir); err != nil {
			return true
		}
		return now.Children[name].PID != old && now.allHealthy(ctx, client)
	})
	switch {
	case err != nil:
		return 0, err
	case !back:
		return 0, fmt.Errorf("%s did not serve again within %v", name, comebackLimit)
	}
	return now.Children[name].PID, nil
}

func (s *state) allHealthy(ctx context.Context, client *http.Client) bool {
	for _, child := range s.Children {
		if !isHealthy(ctx, client, child.Health) {
			return false
		}
	}
	return true
}
