package main

import (
	"context"
	"fmt"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	churnWorkers = 16
	churnLabel   = "plimsoll.io/test-churn"
)

// churn creates VM pods at a steady pace, plays the kubelet that starts them,
// and deletes each of them when it has run for a while. It prints a line for
// each change:
//
//	created MS UID
//	bound MS UID NODE
//	running MS UID NODE
//	deleted MS UID NODE
//	failed MS WHAT
//
// MS is the unix time in milliseconds: before the request to create the pod,
// or at the event of a watch.
type churn struct {
	client   kubernetes.Interface
	template *corev1.Pod
	stay     time.Duration
	print    sync.Mutex
	work     chan func(context.Context)
	bound    sync.Map // uid -> true
}

func newChurnCommand() *cobra.Command {
	var kubeconfig, template string
	var perMinute float64
	stay := time.Minute

	command := &cobra.Command{
		Use:   "churn --kubeconfig FILE --pod FILE --per-minute N",
		Short: "Create and delete VM pods until SIGTERM",
		Long: `Creates N pods a minute like the pod in FILE in the namespaces that fill makes, says that
a bound pod runs, and deletes it after --stay. Prints each change.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			pod, err := readPod(template)
			if err != nil {
				return err
			}
			client, err := newChurnClient(kubeconfig)
			if err != nil {
				return err
			}
			c := &churn{client: client, template: pod, stay: stay, work: make(chan func(context.Context), 1<<16)}
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return c.run(ctx, time.Duration(float64(time.Minute)/perMinute))
		},
	}
	flags := command.Flags()
	flags.StringVar(&kubeconfig, "kubeconfig", "", "for the API server")
	flags.StringVar(&template, "pod", "", "JSON of a virt-launcher pod")
	flags.Float64Var(&perMinute, "per-minute", 60, "pods to create")
	flags.DurationVar(&stay, "stay", stay, "how long a pod runs")
	_ = command.MarkFlagRequired("kubeconfig")
	_ = command.MarkFlagRequired("pod")
	return command
}

func newChurnClient(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.UserAgent = "kubecluster/churn"
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	return kubernetes.NewForConfig(config)
}

func (c *churn) run(ctx context.Context, period time.Duration) error {
	factory := informers.NewSharedInformerFactoryWithOptions(c.client, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = churnLabel }))
	pods := factory.Core().V1().Pods().Informer()
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { c.see(ctx, object.(*corev1.Pod)) },
		UpdateFunc: func(_, object any) { c.see(ctx, object.(*corev1.Pod)) },
		DeleteFunc: func(object any) {
			if pod, ok := object.(*corev1.Pod); ok {
				c.bound.Delete(pod.UID)
				c.say("deleted", string(pod.UID), pod.Spec.NodeName)
			}
		},
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	for range churnWorkers {
		go func() {
			for work := range c.work {
				work(ctx)
			}
		}()
	}
	due := time.Now()
	for i := 0; ctx.Err() == nil; i++ {
		c.queue(func(ctx context.Context) { c.create(ctx, i) })
		due = due.Add(period)
		pause(ctx, time.Until(due))
	}
	return nil
}

// queue does work soon; it drops work that an API server which does not answer
// has let pile up.
func (c *churn) queue(work func(context.Context)) {
	select {
	case c.work <- work:
	default:
		c.say("failed", "too much work waits", "")
	}
}

func (c *churn) create(ctx context.Context, i int) {
	pod := c.template.DeepCopy()
	began := time.Now()
	vm := fmt.Sprintf("churn-%x-%06d", began.Unix()&0xffffff, i)
	pod.ObjectMeta = launcherMeta(pod.ObjectMeta, fmt.Sprintf(fillTenant, i%tenants), vm, string(uidOf(uint64(began.UnixNano()), 0)))
	pod.Labels[churnLabel] = "true"
	pod.Status = corev1.PodStatus{}
	made, err := c.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	if !c.check(ctx, "create", err) {
		return
	}
	c.sayAt(began, "created", string(made.UID), "")
}

// see starts a bound pod, and has it deleted later.
func (c *churn) see(ctx context.Context, pod *corev1.Pod) {
	if pod.Spec.NodeName == "" {
		return
	}
	if _, known := c.bound.LoadOrStore(pod.UID, true); known {
		return
	}
	c.say("bound", string(pod.UID), pod.Spec.NodeName)
	c.queue(func(ctx context.Context) { c.start(ctx, pod) })
	time.AfterFunc(c.stay, func() { c.queue(func(ctx context.Context) { c.remove(ctx, pod) }) })
}

func (c *churn) start(ctx context.Context, pod *corev1.Pod) {
	running := pod.DeepCopy()
	status := runningStatus(metav1.Now())
	running.Status.Phase = status.Phase
	running.Status.StartTime = status.StartTime
	running.Status.ContainerStatuses = status.ContainerStatuses
	_, err := c.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, running, metav1.UpdateOptions{})
	if c.check(ctx, "start", err) {
		c.say("running", string(pod.UID), pod.Spec.NodeName)
	}
}

func (c *churn) remove(ctx context.Context, pod *corev1.Pod) {
	var now int64
	err := c.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	c.check(ctx, "delete", err)
}

func (c *churn) check(ctx context.Context, what string, err error) bool {
	if err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) {
		c.say("failed", fmt.Sprintf("%s: %v", what, err), "")
	}
	return err == nil
}

func (c *churn) say(what, uid, node string) { c.sayAt(time.Now(), what, uid, node) }

func (c *churn) sayAt(at time.Time, what, uid, node string) {
	c.print.Lock()
	defer c.print.Unlock()
	fmt.Println(what, at.UnixMilli(), uid, node)
}
