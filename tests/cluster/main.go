// Command kubecluster runs a real Kubernetes control plane for tests: etcd,
// kube-apiserver, kube-controller-manager, kube-scheduler and kubectl in one
// binary, with no kubelet and no container runtime. In place of kubelets the
// node keeper (nodes.go) reports that nodes are ready.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// exitTimeLimit is the status timeout(1) uses for the same thing.
const exitTimeLimit = 124

const description = `kubecluster runs a real Kubernetes control plane for tests.

Its parts are programs inside this binary, which can also be run one by one,
each with its own --help:

  kubecluster kubectl ARGS...
  kubecluster etcd | kube-apiserver | kube-controller-manager | kube-scheduler ARGS...`

func main() {
	if len(os.Args) > 1 {
		if program := findProgram(os.Args[1]); program != nil {
			// The programs read os.Args and expect their own name first.
			os.Args = os.Args[1:]
			os.Exit(program())
		}
	}
	os.Exit(runOwnCommand())
}

func runOwnCommand() int {
	// Packages of Kubernetes have added flags here for every command.
	pflag.CommandLine = pflag.NewFlagSet("", pflag.ContinueOnError)

	root := &cobra.Command{
		Use:               "kubecluster",
		Short:             "A real Kubernetes control plane for tests",
		Long:              description,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.AddCommand(newUpCommand(), newKillCommand(), newFillCommand(), newChurnCommand())

	err := root.Execute()
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "kubecluster:", err)
	if errors.Is(err, errTimeLimit) {
		return exitTimeLimit
	}
	return 1
}
