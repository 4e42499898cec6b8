package main

import (
	_ "time/tzdata" // as in the stock programs: the machine may lack zone files

	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// The names of the programs in this binary, which are also the names of the
// children in state.json and of their log files.
const (
	etcdName              = "etcd"
	apiserverName         = "kube-apiserver"
	controllerManagerName = "kube-controller-manager"
	schedulerName         = "kube-scheduler"
	kubectlName           = "kubectl"
)

// findProgram returns the main function of the program called name, which
// takes its arguments from os.Args and returns its exit status, or nil.
func findProgram(name string) func() int {
	switch name {
	case etcdName:
		return func() int { return cli.Run(newEtcdCommand()) }
	case apiserverName:
		return func() int { return cli.Run(apiserver.NewAPIServerCommand()) }
	case controllerManagerName:
		return func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) }
	case schedulerName:
		return func() int { return cli.Run(scheduler.NewSchedulerCommand()) }
	case kubectlName:
		return runKubectl
	}
	return nil
}

// runKubectl is the main function of the stock kubectl.
func runKubectl() int {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err) // prints the error kubectl's way and exits
	}
	return 0
}
