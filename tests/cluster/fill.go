package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	fillBatch  = 100 // etcd takes 128 operations in a transaction
	fillTenant = "tenant-%02d"
	tenants    = 20
	kvm        = corev1.ResourceName("devices.kubevirt.io/kvm")
	fillAge    = 24 * time.Hour // of everything that is filled in
)

// filler writes objects into a data folder of etcd, as kube-apiserver stores
// them. A hundred and fifty thousand pods take seconds so; kube-apiserver
// itself creates a few hundred a second.
type filler struct {
	template *corev1.Pod
	created  metav1.Time
	encoder  runtime.Encoder
	client   *clientv3.Client
	batch    []clientv3.Op
}

func newFillCommand() *cobra.Command {
	var dataDir, template string
	var nodes, vms int

	command := &cobra.Command{
		Use:   "fill --etcd-data DIR --pod FILE --nodes N --vms M",
		Short: "Make a data folder for etcd with nodes and running VM pods",
		Long: `Writes N Nodes, which nothing keeps Ready after that, and M running pods on each
into a new data folder, for up --etcd-data. A pod is the pod in FILE with the fields that
plimsoll reads, and has the uid that tests/bench/fleet.c gives it.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			pod, err := readPod(template)
			if err != nil {
				return err
			}
			return fill(command.Context(), dataDir, pod, nodes, vms)
		},
	}
	flags := command.Flags()
	flags.StringVar(&dataDir, "etcd-data", "", "a folder that does not exist")
	flags.StringVar(&template, "pod", "", "JSON of a virt-launcher pod")
	flags.IntVar(&nodes, "nodes", 1, "Nodes")
	flags.IntVar(&vms, "vms", 1, "pods on each")
	_ = command.MarkFlagRequired("etcd-data")
	_ = command.MarkFlagRequired("pod")
	return command
}

// readPod reads a pod, to which it gives the memory of the VMs in
// tests/bench/fleet.c.
func readPod(path string) (*corev1.Pod, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pod := &corev1.Pod{}
	if err := json.Unmarshal(text, pod); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(pod.Spec.Containers) == 0 {
		return nil, fmt.Errorf("%s: the pod has no container", path)
	}
	pod.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse("2Gi")
	return pod, nil
}

func fill(ctx context.Context, dataDir string, pod *corev1.Pod, nodes, vms int) error {
	if err := os.Mkdir(dataDir, 0o700); err != nil {
		return err
	}
	server, err := embed.StartEtcd(etcdConfig(dataDir, 0))
	if err != nil {
		return err
	}
	defer server.Close()
	<-server.Server.ReadyNotify()

	f := &filler{
		template: slim(pod),
		created:  metav1.NewTime(time.Now().Add(-fillAge).Truncate(time.Second)),
		encoder: scheme.Codecs.EncoderForVersion(
			protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), corev1.SchemeGroupVersion),
		client: v3client.New(server.Server),
	}
	defer f.client.Close()
	for i := range tenants {
		if err := f.putTenant(ctx, i); err != nil {
			return err
		}
	}
	for i := range nodes {
		if err := f.putNode(ctx, i, vms); err != nil {
			return err
		}
	}
	return f.commit(ctx)
}

// slim keeps what plimsoll reads of a running pod, in one container.
func slim(pod *corev1.Pod) *corev1.Pod {
	slimmed := pod.DeepCopy()
	slimmed.Spec.Volumes = nil
	slimmed.Spec.NodeSelector = nil
	slimmed.Spec.Affinity = nil
	slimmed.Spec.Tolerations = nil
	slimmed.Spec.InitContainers = nil
	slimmed.Spec.Containers = slimmed.Spec.Containers[:1]
	compute := &slimmed.Spec.Containers[0]
	compute.Image = ""
	compute.Resources = corev1.ResourceRequirements{Requests: corev1.ResourceList{}}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, kvm} {
		compute.Resources.Requests[name] = pod.Spec.Containers[0].Resources.Requests[name]
	}
	return slimmed
}

func (f *filler) put(ctx context.Context, key string, object runtime.Object) error {
	bytes, err := runtime.Encode(f.encoder, object)
	if err != nil {
		return err
	}
	f.batch = append(f.batch, clientv3.OpPut("/registry/"+key, string(bytes)))
	if len(f.batch) < fillBatch {
		return nil
	}
	return f.commit(ctx)
}

func (f *filler) commit(ctx context.Context) error {
	_, err := f.client.Txn(ctx).Then(f.batch...).Commit()
	f.batch = f.batch[:0]
	return err
}

// putTenant makes a namespace in which pods can be created.
func (f *filler) putTenant(ctx context.Context, i int) error {
	name := fmt.Sprintf(fillTenant, i)
	namespace := &corev1.Namespace{
		ObjectMeta: f.meta("", name, uidOf(uint64(i+1), 1)),
		Spec:       corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}},
		Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
	}
	namespace.Labels = map[string]string{corev1.LabelMetadataName: name}
	if err := f.put(ctx, "namespaces/"+name, namespace); err != nil {
		return err
	}
	return f.put(ctx, "serviceaccounts/"+name+"/default", &corev1.ServiceAccount{
		ObjectMeta: f.meta(name, "default", uidOf(uint64(i+1), 2)),
	})
}

func (f *filler) meta(namespace, name string, uid types.UID) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid, CreationTimestamp: f.created}
}

func (f *filler) putNode(ctx context.Context, i, vms int) error {
	id := uint64(i+1) * 1000003 // as in tests/bench/fleet.c
	name := fmt.Sprintf("node-%04d", i)
	node := &corev1.Node{ObjectMeta: f.meta("", name, uidOf(id, 0)), Status: f.nodeStatus()}
	node.Annotations = map[string]string{silentAnnotation: "true"}
	node.Labels = map[string]string{
		corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux", corev1.LabelHostname: name,
		corev1.LabelTopologyZone:  fmt.Sprintf("zone-%d", i%3),
		"kubevirt.io/schedulable": "true", "machine-type.node.kubevirt.io/q35": "true",
	}
	if err := f.put(ctx, "minions/"+name, node); err != nil {
		return err
	}
	for vm := range vms {
		pod := f.pod(name, i*vms+vm, uidOf(id, vm+1))
		if err := f.put(ctx, "pods/"+pod.Namespace+"/"+pod.Name, pod); err != nil {
			return err
		}
	}
	return nil
}

// nodeStatus has the size of the nodes in tests/bench/fleet.c.
func (f *filler) nodeStatus() corev1.NodeStatus {
	size := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("16"),
		corev1.ResourceMemory:           resource.MustParse("128Gi"),
		corev1.ResourcePods:             resource.MustParse("110"),
		corev1.ResourceEphemeralStorage: resource.MustParse("200Gi"),
		kvm:                             resource.MustParse("1k"),
		"devices.kubevirt.io/tun":       resource.MustParse("1k"),
		"devices.kubevirt.io/vhost-net": resource.MustParse("1k"),
	}
	return corev1.NodeStatus{
		Capacity:    size,
		Allocatable: size,
		Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue,
			LastHeartbeatTime: f.created, LastTransitionTime: f.created,
		}},
	}
}

func (f *filler) pod(node string, number int, uid types.UID) *corev1.Pod {
	pod := f.template.DeepCopy()
	vm := fmt.Sprintf("vm-%06d", number)
	pod.ObjectMeta = launcherMeta(pod.ObjectMeta, fmt.Sprintf(fillTenant, number%tenants), vm, string(uidOf(uint64(number), 3)))
	pod.UID, pod.CreationTimestamp = uid, f.created
	pod.Spec.NodeName = node
	pod.Status = runningStatus(f.created)
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: f.created,
	}}
	return pod
}

// launcherMeta are the names that virt-controller gives the pod of a VM.
func launcherMeta(template metav1.ObjectMeta, namespace, vm, vmi string) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "virt-launcher-" + vm}
	meta.Labels = map[string]string{
		"app": "scale", "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": vmi,
		"vm.kubevirt.io/name": vm, "vmi.kubevirt.io/id": vm,
	}
	meta.Annotations = map[string]string{}
	for key, value := range template.Annotations {
		meta.Annotations[key] = value
	}
	meta.Annotations["kubevirt.io/domain"] = vm
	return meta
}

// runningStatus is what is read of a kubelet's status.
func runningStatus(since metav1.Time) corev1.PodStatus {
	return corev1.PodStatus{
		Phase:     corev1.PodRunning,
		StartTime: &since,
		ContainerStatuses: []corev1.ContainerStatus{{
			Name:  "compute",
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}},
		}},
	}
}

// uidOf is the uid of the VM's pod that tests/bench/fleet.c gives that id.
func uidOf(id uint64, part int) types.UID {
	x := mix(id + 100*uint64(part))
	return types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", uint32(x>>32), x&0xffffffffffff))
}

// mix is splitmix64, as in tests/bench/fleet.c.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}
