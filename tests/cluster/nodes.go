package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

const (
	keeperName = "node-keeper"

	// silentAnnotation set to "true" makes the keeper leave a node alone.
	silentAnnotation = "plimsoll.io/test-silent"

	heartbeatPeriod = 5 * time.Second
	retryPeriod     = 500 * time.Millisecond // while kube-apiserver is away
	keeperWorkers   = 8
)

// nodeKeeper does for every node what its kubelet would: it sets the condition
// Ready and renews the Lease.
type nodeKeeper struct {
	client  kubernetes.Interface
	nodes   corelisters.NodeLister
	factory informers.SharedInformerFactory
	queue   workqueue.DelayingInterface // of names; 1.30 has no typed one

	// Admission adds the taint not-ready to every new node. The
	// controller-manager removes it; without one the keeper does.
	removesTaint bool
}

func newNodeKeeper(c *cluster) (*nodeKeeper, error) {
	log, err := os.Create(c.logFile(keeperName))
	if err != nil {
		return nil, err
	}
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(log, nil)))

	client, err := c.newClient(keeperName)
	if err != nil {
		return nil, err
	}
	k := &nodeKeeper{
		client:       client,
		factory:      informers.NewSharedInformerFactory(client, 0),
		queue:        workqueue.NewDelayingQueue(),
		removesTaint: !c.controllerManager,
	}
	nodes := k.factory.Core().V1().Nodes()
	k.nodes = nodes.Lister()
	_, err = nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { k.queue.Add(object.(*corev1.Node).Name) },
		UpdateFunc: func(_, object any) { k.update(object.(*corev1.Node)) },
	})
	return k, err
}

// update queues a node that is not ready or still tainted. Other nodes wait for
// their next heartbeat: the keeper's own writes are updates too.
func (k *nodeKeeper) update(node *corev1.Node) {
	if !isReady(node) || k.removesTaint && hasNotReadyTaint(node) {
		k.queue.Add(node.Name)
	}
}

// run keeps nodes until ctx ends.
func (k *nodeKeeper) run(ctx context.Context) {
	k.factory.Start(ctx.Done())
	k.factory.WaitForCacheSync(ctx.Done())
	for range keeperWorkers {
		go k.work(ctx)
	}
	<-ctx.Done()
	k.queue.ShutDown()
}

func (k *nodeKeeper) work(ctx context.Context) {
	for {
		item, shutdown := k.queue.Get()
		if shutdown {
			return
		}
		node, err := k.nodes.Get(item.(string))
		if err == nil {
			k.queue.AddAfter(item, k.serve(ctx, node))
		}
		k.queue.Done(item)
	}
}

// serve sends one heartbeat and returns the time until the next one.
func (k *nodeKeeper) serve(ctx context.Context, node *corev1.Node) time.Duration {
	if node.Annotations[silentAnnotation] == "true" {
		return heartbeatPeriod
	}
	err := k.beat(ctx, node)
	if err == nil || apierrors.IsNotFound(err) {
		return heartbeatPeriod
	}
	if ctx.Err() == nil {
		klog.ErrorS(err, "Cannot keep node", "node", node.Name)
	}
	return retryPeriod
}

func (k *nodeKeeper) beat(ctx context.Context, node *corev1.Node) error {
	ctx, cancel := context.WithTimeout(ctx, heartbeatPeriod)
	defer cancel()
	node, err := k.markReady(ctx, node)
	if err != nil {
		return err
	}
	if err := k.renewLease(ctx, node); err != nil {
		return err
	}
	if k.removesTaint && hasNotReadyTaint(node) {
		return k.removeTaint(ctx, node)
	}
	return nil
}

// markReady sets the condition Ready and returns the updated node.
func (k *nodeKeeper) markReady(ctx context.Context, node *corev1.Node) (*corev1.Node, error) {
	now := metav1.Now()
	ready := corev1.NodeCondition{
		Type:               corev1.NodeReady,
		Status:             corev1.ConditionTrue,
		Reason:             "KubeletReady",
		Message:            "kept ready by kubecluster",
		LastHeartbeatTime:  now,
		LastTransitionTime: now,
	}
	if old := readyCondition(node); old != nil && old.Status == ready.Status {
		ready.LastTransitionTime = old.LastTransitionTime
	}
	patch, err := json.Marshal(map[string]any{
		"status": map[string]any{"conditions": []corev1.NodeCondition{ready}},
	})
	if err != nil {
		return nil, err
	}
	return k.client.CoreV1().Nodes().PatchStatus(ctx, node.Name, patch)
}

// renewLease patches the Lease without reading it; only the first renewal of a
// node needs the second request.
func (k *nodeKeeper) renewLease(ctx context.Context, node *corev1.Node) error {
	now := metav1.NowMicro()
	leases := k.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"renewTime": now}})
	if err != nil {
		return err
	}
	_, err = leases.Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	_, err = leases.Create(ctx, newLease(node, now), metav1.CreateOptions{})
	return err
}

func newLease(node *corev1.Node, now metav1.MicroTime) *coordinationv1.Lease {
	seconds := int32(40) // what kubelets write
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name:      node.Name,
			Namespace: corev1.NamespaceNodeLease,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID,
			}},
		},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity:       &node.Name,
			LeaseDurationSeconds: &seconds,
			RenewTime:            &now,
		},
	}
}

// removeTaint sends the version it read: taints can only be replaced all
// together, and a test may change them at the same time.
func (k *nodeKeeper) removeTaint(ctx context.Context, node *corev1.Node) error {
	kept := slices.DeleteFunc(slices.Clone(node.Spec.Taints), isNotReadyTaint)
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": node.ResourceVersion},
		"spec":     map[string]any{"taints": kept},
	})
	if err != nil {
		return err
	}
	_, err = k.client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

func readyCondition(node *corev1.Node) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == corev1.NodeReady {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}

func isReady(node *corev1.Node) bool {
	ready := readyCondition(node)
	return ready != nil && ready.Status == corev1.ConditionTrue
}

func isNotReadyTaint(taint corev1.Taint) bool {
	return taint.Key == corev1.TaintNodeNotReady
}

func hasNotReadyTaint(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, isNotReadyTaint)
}
