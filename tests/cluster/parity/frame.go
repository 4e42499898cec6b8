package main

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/version"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// frameworks makes a scheduling framework with the default plugins for each
// case. It shares the parts that do not depend on the case.
type frameworks struct {
	profile *config.KubeSchedulerProfile
	client  *fake.Clientset
	devices fwk.SharedDRAManager
}

func newFrameworks() (*frameworks, error) {
	ctx := context.Background()
	defaults, err := latest.Default()
	if err != nil {
		return nil, err
	}
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	claims := assumecache.NewAssumeCache(klog.Background(),
		factory.Resource().V1().ResourceClaims().Informer(), "ResourceClaim", "", nil)
	devices, err := tracker.StartTracker(ctx, tracker.Options{
		SliceInformer: factory.Resource().V1().ResourceSlices(), KubeClient: client})
	if err != nil {
		return nil, err
	}
	return &frameworks{
		profile: &defaults.Profiles[0],
		client:  client,
		devices: dynamicresources.NewDRAManager(ctx, claims, devices, factory),
	}, nil
}

// nominations are pods that were nominated to a node by a preemption.
type nominations []*v1.Pod

func (nominations) AddNominatedPod(klog.Logger, fwk.PodInfo, *fwk.NominatingInfo) {}
func (nominations) DeleteNominatedPodIfExists(*v1.Pod)                            {}
func (nominations) UpdateNominatedPod(klog.Logger, *v1.Pod, fwk.PodInfo)          {}

func (n nominations) NominatedPodsForNode(name string) []fwk.PodInfo {
	var found []fwk.PodInfo
	for _, p := range n {
		if p.Status.NominatedNodeName == name {
			info, err := framework.NewPodInfo(p)
			if err != nil {
				panic(err) // selectors were validated
			}
			found = append(found, info)
		}
	}
	return found
}

func isTerminated(p *v1.Pod) bool {
	return p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed
}

func (g *given) hasNode(name string) bool {
	return slices.ContainsFunc(g.Nodes, func(n *v1.Node) bool { return n.Name == name })
}

// population separates pods that are bound from nominated pods. As in the
// scheduler's own snapshot, pods of a node that does not exist are left out.
func (g *given) population() (running []*v1.Pod, nominated nominations) {
	for _, p := range g.Pods {
		switch {
		case isTerminated(p):
		case g.hasNode(p.Spec.NodeName):
			running = append(running, p)
		case len(p.Spec.SchedulingGates) > 0 && version.Get().Minor == "36":
			// Its queue keeps only the nominations of other pods.
		case p.Spec.NodeName == "" && p.Status.NominatedNodeName != "":
			nominated = append(nominated, p)
		}
	}
	return running, nominated
}

func (g *given) snapshot() *schedulercache.Snapshot {
	running, _ := g.population()
	return schedulercache.NewSnapshot(running, g.Nodes)
}

func amountOf(r fwk.Resource, name v1.ResourceName) int64 {
	switch name {
	case v1.ResourceCPU:
		return r.GetMilliCPU()
	case v1.ResourceMemory:
		return r.GetMemory()
	case v1.ResourceEphemeralStorage:
		return r.GetEphemeralStorage()
	}
	return r.GetScalarResources()[name]
}

func quantity(name v1.ResourceName, amount int64) resource.Quantity {
	if name == v1.ResourceCPU {
		return *resource.NewMilliQuantity(amount, resource.DecimalSI)
	}
	return *resource.NewQuantity(amount, resource.DecimalSI)
}

// applyEdges computes the edges with upstream's own sums.
func (g *given) applyEdges() error {
	pod, err := framework.NewPodInfo(g.Pod)
	if err != nil {
		return err
	}
	wanted := pod.CalculateResource().Resource
	snapshot := g.snapshot()
	for _, e := range g.edges {
		info, err := snapshot.NodeInfos().Get(e.Node)
		if err != nil {
			return err
		}
		name := v1.ResourceName(e.Resource)
		total := int64(len(info.GetPods())) + 1
		if name != v1.ResourcePods {
			total = amountOf(wanted, name) + amountOf(info.GetRequested(), name)
		}
		if info.Node().Status.Allocatable == nil {
			info.Node().Status.Allocatable = v1.ResourceList{}
		}
		info.Node().Status.Allocatable[name] = quantity(name, max(0, total+e.Delta))
	}
	return nil
}

// index adds objects to the indexers that the plugins' listers read. The
// informers are never started: nothing changes while a case is judged.
func index(factory informers.SharedInformerFactory, objects []runtime.Object) error {
	core, storage := factory.Core().V1(), factory.Storage().V1()
	for _, object := range objects {
		var to cache.SharedIndexInformer
		switch object.(type) {
		case *v1.Namespace:
			to = core.Namespaces().Informer()
		case *v1.PersistentVolume:
			to = core.PersistentVolumes().Informer()
		case *v1.PersistentVolumeClaim:
			to = core.PersistentVolumeClaims().Informer()
		case *storagev1.StorageClass:
			to = storage.StorageClasses().Informer()
		case *storagev1.CSINode:
			to = storage.CSINodes().Informer()
		case *storagev1.CSIDriver:
			to = storage.CSIDrivers().Informer()
		case *storagev1.CSIStorageCapacity:
			to = storage.CSIStorageCapacities().Informer()
		case *storagev1.VolumeAttachment:
			to = storage.VolumeAttachments().Informer()
		}
		if err := to.GetIndexer().Add(object); err != nil {
			return err
		}
	}
	return nil
}

func (f *frameworks) run(g *given) (map[string]verdict, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, nominated := g.population()
	snapshot := g.snapshot()
	factory := informers.NewSharedInformerFactory(f.client, 0)
	limits := nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())
	fw, err := frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), f.profile,
		frameworkruntime.WithClientSet(f.client),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSnapshotSharedLister(snapshot),
		frameworkruntime.WithSharedCSIManager(limits),
		frameworkruntime.WithPodNominator(nominated),
		frameworkruntime.WithSharedDRAManager(f.devices),
		frameworkruntime.WithEventRecorder(&events.FakeRecorder{}))
	if err != nil {
		return nil, err
	}
	if err := index(factory, g.Objects); err != nil {
		return nil, err
	}
	infos, err := snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	state := framework.NewCycleState()
	verdicts := filter(ctx, fw, state, g.Pod, infos)
	return verdicts, score(ctx, fw, state, g.Pod, infos, verdicts)
}

// score adds the scores of the nodes where the pod fits. A plugin that skips the
// pod gives none.
func score(ctx context.Context, fw framework.Framework, state fwk.CycleState, pod *v1.Pod,
	infos []fwk.NodeInfo, verdicts map[string]verdict) error {
	fit := slices.DeleteFunc(slices.Clone(infos), func(info fwk.NodeInfo) bool {
		return verdicts[info.Node().Name].Plugin != ""
	})
	if len(fit) == 0 {
		return nil
	}
	if status := fw.RunPreScorePlugins(ctx, state, pod, fit); !status.IsSuccess() {
		return status.AsError()
	}
	all, status := fw.RunScorePlugins(ctx, state, pod, fit)
	if !status.IsSuccess() {
		return status.AsError()
	}
	for _, node := range all {
		judged := verdicts[node.Name]
		judged.Scores = map[string]int64{}
		for _, s := range node.Scores {
			if name, is := scored[s.Name]; is {
				judged.Scores[name] = s.Score
			}
		}
		verdicts[node.Name] = judged
	}
	return nil
}

// filter judges every node; kube-scheduler itself stops when it has found enough
// nodes that fit.
func filter(ctx context.Context, fw framework.Framework, state fwk.CycleState, pod *v1.Pod,
	infos []fwk.NodeInfo) map[string]verdict {
	result, status, by := fw.RunPreFilterPlugins(ctx, state, pod)
	verdicts := make(map[string]verdict, len(infos))
	for _, info := range infos {
		name := info.Node().Name
		switch {
		case !status.IsSuccess():
			verdicts[name] = verdictOf(status)
			if len(by) > 1 { // names of nodes that exclude each other
				verdicts[name] = verdict{Plugin: sets.List(by)[0], Reasons: status.Reasons()}
			}
		case !result.AllNodes() && !result.NodeNames.Has(name):
			names := sets.List(by)
			verdicts[name] = verdict{Plugin: names[0], Reasons: []string{
				fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", names)}}
		default:
			verdicts[name] = verdictOf(
				fw.RunFilterPluginsWithNominatedPods(ctx, state, pod, info))
		}
	}
	return verdicts
}

func verdictOf(status *fwk.Status) verdict {
	if status.IsSuccess() {
		return verdict{Reasons: []string{}}
	}
	return verdict{Plugin: status.Plugin(), Reasons: status.Reasons()}
}
