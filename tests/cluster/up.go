package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	defaultTimeLimit = 15 * time.Minute
	parentPeriod     = 500 * time.Millisecond
)

// Reasons for the end of a cluster, apart from failures.
var (
	errAskedToEnd = errors.New("asked to end")
	errTimeLimit  = errors.New("the time limit is over")
	errNoParent   = errors.New("the process that started this cluster has ended")
)

// options are the arguments of `kubecluster up`.
type options struct {
	dir             string
	with            []string
	timeLimit       time.Duration
	auditLog        string
	etcdData        string
	nodeAuthorizer  bool
	localServices   bool
	schedulerConfig string
	restart         bool
	outliveParent   bool
}

func newUpCommand() *cobra.Command {
	o := &options{}
	command := &cobra.Command{
		Use:   "up --dir DIR",
		Short: "Run a cluster in the foreground",
		Long: `Runs etcd and kube-apiserver, and more with --with, on free ports of 127.0.0.1.
When all of it serves, prints one line "kubeconfig: PATH" and stays until SIGTERM,
SIGINT, the time limit (exit status 124) or the end of the process that started it.
Logs are in DIR/logs, pids in DIR/state.json.

Every Node is kept Ready without a kubelet, except those with the annotation
` + silentAnnotation + `: "true".`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return up(o)
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.dir, "dir", "", "folder for everything the cluster writes; one no cluster has used")
	flags.StringSliceVar(&o.with, "with", nil, "also run these: controller-manager, scheduler")
	flags.DurationVar(&o.timeLimit, "time-limit", defaultTimeLimit, "end by itself after this long; 0: never")
	flags.StringVar(&o.auditLog, "audit-log", "", "file for kube-apiserver's audit log")
	flags.StringVar(&o.etcdData, "etcd-data", "", "data folder of etcd, as fill makes it; default: a new one in DIR")
	flags.BoolVar(&o.nodeAuthorizer, "node-authorizer", true,
		"restrict kubelets to their own objects; kube-apiserver then keeps a second copy of all pods")
	flags.BoolVar(&o.localServices, "local-services", false,
		"addresses of Services are on this machine's loopback, and kube-apiserver calls extensions there")
	flags.StringVar(&o.schedulerConfig, "scheduler-config", "", "KubeSchedulerConfiguration file for kube-scheduler")
	flags.BoolVar(&o.restart, "restart", true, "start a child again that ended")
	flags.BoolVar(&o.outliveParent, "outlive-parent", false, "stay when the process that started this one ends")
	return command
}

// has says whether --with asks for the component called name.
func (o *options) has(name string) bool {
	return slices.Contains(o.with, strings.TrimPrefix(name, "kube-"))
}

func (o *options) check() error {
	if o.dir == "" {
		return errors.New("up needs --dir")
	}
	for _, name := range o.with {
		if name != "controller-manager" && name != "scheduler" {
			return fmt.Errorf("--with takes controller-manager and scheduler, not %q", name)
		}
	}
	if o.schedulerConfig != "" && !o.has(schedulerName) {
		return errors.New("--scheduler-config needs --with scheduler")
	}
	if o.timeLimit < 0 {
		return errors.New("--time-limit cannot be negative")
	}
	return o.makePathsAbsolute()
}

func (o *options) makePathsAbsolute() error {
	for _, path := range []*string{&o.dir, &o.auditLog, &o.etcdData} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return err
		}
		*path = absolute
	}
	return nil
}

// up runs a cluster until something ends it.
func up(o *options) error {
	ctx, end := context.WithCancelCause(context.Background())
	defer end(nil)
	o.watchReasonsToEnd(ctx, end)

	c, err := newCluster(o)
	if err != nil {
		return err
	}
	s := newSupervisor(c, o.restart, end)
	err = s.serve(ctx)
	end(err)
	s.stop()

	switch {
	case errors.Is(err, errAskedToEnd):
		return nil
	case errors.Is(err, errTimeLimit):
		return fmt.Errorf("%w (%v)", err, o.timeLimit)
	}
	return err
}

// watchReasonsToEnd calls end for a signal, the time limit, and the end of the
// parent.
func (o *options) watchReasonsToEnd(ctx context.Context, end context.CancelCauseFunc) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-signals
		end(errAskedToEnd)
	}()
	if o.timeLimit > 0 {
		time.AfterFunc(o.timeLimit, func() { end(errTimeLimit) })
	}
	if !o.outliveParent {
		go watchParent(ctx, os.Getppid(), end)
	}
}

// watchParent polls, because PR_SET_PDEATHSIG also fires when only the thread
// that started this process ends, as threads of a test runner do.
func watchParent(ctx context.Context, parent int, end context.CancelCauseFunc) {
	for ctx.Err() == nil {
		if os.Getppid() != parent {
			end(errNoParent)
		}
		pause(ctx, parentPeriod)
	}
}

// serve starts all components, prints the kubeconfig, and returns the reason
// for the end of the cluster.
func (s *supervisor) serve(ctx context.Context) error {
	if err := s.launch(ctx, s.cluster.etcd()); err != nil {
		return err
	}
	if err := s.launch(ctx, s.cluster.apiserver()); err != nil {
		return err
	}
	keeper, err := newNodeKeeper(s.cluster)
	if err != nil {
		return err
	}
	go keeper.run(ctx)
	if err := s.launchControllers(ctx); err != nil {
		return err
	}
	s.setStarted()
	if _, err := fmt.Println("kubeconfig:", s.cluster.kubeconfig); err != nil {
		return err
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

func (s *supervisor) launchControllers(ctx context.Context) error {
	var controllers []component
	if s.cluster.controllerManager {
		controllers = append(controllers, s.cluster.controllerManagerComponent())
	}
	if s.cluster.scheduler {
		controllers = append(controllers, s.cluster.schedulerComponent())
	}
	if err := s.launch(ctx, controllers...); err != nil || !s.cluster.controllerManager {
		return err
	}
	return s.awaitDefaultAccount(ctx)
}

// awaitDefaultAccount waits until pods can be created in the namespace default:
// admission refuses a pod without its ServiceAccount.
func (s *supervisor) awaitDefaultAccount(ctx context.Context) error {
	client, err := s.cluster.newClient("admin")
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	found := poll(limited, func() bool {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(limited, "default", metav1.GetOptions{})
		return err == nil
	})
	if !found && ctx.Err() == nil {
		return fmt.Errorf("the namespace default got no ServiceAccount within %v", startLimit)
	}
	return context.Cause(ctx)
}
