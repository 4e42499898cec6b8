package main

import (
	"fmt"
	"strings"
	"time"

	k8sv1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	v1 "kubevirt.io/api/core/v1"
	"kubevirt.io/kubevirt/pkg/controller"
	"kubevirt.io/kubevirt/pkg/defaults"
	"kubevirt.io/kubevirt/pkg/virt-controller/watch/topology"
)

// story is a VM that starts, runs, and migrates: one line of output. What was
// before the migration is there twice where it changed meanwhile.
type story struct {
	Case    uint64 `json:"case"`
	Version string `json:"version"`

	StartKubeVirt *v1.KubeVirt               `json:"startKubevirt"`
	StartVMI      *v1.VirtualMachineInstance `json:"startVmi"`
	Start         *k8sv1.Pod                 `json:"start"`

	KubeVirt   *v1.KubeVirt                        `json:"kubevirt"`
	VMI        *v1.VirtualMachineInstance          `json:"vmi"`
	Source     *k8sv1.Pod                          `json:"source"`
	Node       *k8sv1.Node                         `json:"node"`
	Migration  *v1.VirtualMachineInstanceMigration `json:"migration"`
	Target     *k8sv1.Pod                          `json:"target"`
	Attachment *k8sv1.Pod                          `json:"attachment"`
	Migrated   bool                                `json:"migrated"`
}

// teller is a story as it is told.
type teller struct {
	*draw
	*cluster
	*story
	state *k8sv1.PersistentVolumeClaim
}

// tell makes the story of one case.
func (c *cluster) tell(r *draw, number uint64) (*story, error) {
	t := &teller{draw: r, cluster: c, story: &story{
		Case: number, Version: version,
	}}
	for _, part := range []func() error{
		c.clear, t.begin, t.migrateBefore, t.change, t.migrate,
	} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	for _, pod := range []*k8sv1.Pod{t.Start, t.Source, t.Target,
		t.Attachment} {
		shorten(pod)
	}
	return t.story, nil
}

// begin lets the VM start, and run on a node.
func (t *teller) begin() error {
	t.KubeVirt = drawKubeVirt(t.draw, fmt.Sprint(t.Case, "-begin"))
	if err := t.setKubeVirt(t.KubeVirt); err != nil {
		return err
	}
	t.VMI = drawVMI(t.draw, t.Case)
	err := defaults.SetDefaultVirtualMachineInstance(t.config, t.VMI)
	if err != nil {
		return err
	}
	t.VMI.Status.RuntimeUser = 107
	if topology.GetTscFrequencyRequirement(t.VMI).Type != topology.NotRequired &&
		t.chance(85) {
		t.VMI.Status.TopologyHints = &v1.TopologyHints{
			TSCFrequency: ptr(int64(2100000000 + t.IntN(3))),
		}
	}
	if err := t.addClaims(); err != nil {
		return err
	}
	t.StartKubeVirt, t.StartVMI = t.KubeVirt.DeepCopy(), t.VMI.DeepCopy()
	t.Start, err = t.templates.RenderLaunchManifest(t.VMI)
	if err != nil {
		return err
	}
	t.Start = admitted(t.draw, t.Start)
	if err := t.run(t.Start, "n1"); err != nil {
		return err
	}
	if t.chance(60) {
		t.VMI.Status.Machine = &v1.Machine{
			Type: pick(t.draw, "pc-q35-10.1", "pc-q35-rhel9.6.0"),
		}
	}
	return nil
}

// addClaims creates the claims that the VM's volumes name, and a namespace with
// or without limits.
func (t *teller) addClaims() error {
	for _, volume := range t.VMI.Spec.Volumes {
		if name := claimOf(volume); name != "" {
			err := t.claims.Add(newClaim(t.draw, t.VMI.Namespace, name))
			if err != nil {
				return err
			}
		}
	}
	if t.state = stateClaim(t.draw, t.VMI); t.state != nil {
		if err := t.claims.Add(t.state); err != nil {
			return err
		}
	}
	if t.chance(10) {
		quota := &k8sv1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{
				Name: "limits", Namespace: t.VMI.Namespace,
			},
			Spec: k8sv1.ResourceQuotaSpec{Hard: k8sv1.ResourceList{
				"limits.memory": *quantity("1Ti"),
				"limits.cpu":    *quantity("100"),
			}},
		}
		if err := t.quotas.Add(quota); err != nil {
			return err
		}
	}
	return t.namespaces.Add(&k8sv1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   t.VMI.Namespace,
		Labels: map[string]string{"limits": pick(t.draw, "yes", "no")},
	}})
}

// run lets the VM run in this pod.
func (t *teller) run(pod *k8sv1.Pod, nodeName string) error {
	t.Node = drawNode(t.draw, nodeName, pod.Spec.NodeSelector)
	t.Source = running(pod, nodeName)
	status := &t.VMI.Status
	status.Phase, status.NodeName = v1.Running, nodeName
	status.SelinuxContext = "none"
	status.MigrationMethod = v1.LiveMigration
	status.LauncherContainerImageVersion = "quay.io/kubevirt/virt-launcher"
	t.VMI.Labels[v1.NodeNameLabel] = nodeName
	status.ActivePods = map[types.UID]string{t.Source.UID: nodeName}
	status.Conditions = []v1.VirtualMachineInstanceCondition{
		{Type: v1.VirtualMachineInstanceReady, Status: k8sv1.ConditionTrue},
		{Type: v1.VirtualMachineInstanceIsMigratable,
			Status: k8sv1.ConditionTrue},
	}
	if !t.Migrated {
		t.tellVolumes()
	}
	return t.nodes.Add(t.Node)
}

// tellVolumes writes the status of the volumes.
func (t *teller) tellVolumes() {
	status := &t.VMI.Status
	for _, volume := range t.VMI.Spec.Volumes {
		status.VolumeStatus = append(status.VolumeStatus,
			volumeStatus(t.draw, volume))
	}
	if t.state != nil {
		status.VolumeStatus = append(status.VolumeStatus, v1.VolumeStatus{
			Name: t.state.Name,
			PersistentVolumeClaimInfo: &v1.PersistentVolumeClaimInfo{
				ClaimName: t.state.Name,
			},
		})
	}
}

// newMigration is as virt-controller sees it before it creates the pod.
func (t *teller) newMigration() *v1.VirtualMachineInstanceMigration {
	m := &v1.VirtualMachineInstanceMigration{
		TypeMeta: metav1.TypeMeta{
			APIVersion: "kubevirt.io/v1",
			Kind:       "VirtualMachineInstanceMigration",
		},
		ObjectMeta: metav1.ObjectMeta{
			Name: t.name("move-"), Namespace: t.VMI.Namespace, UID: t.uid(),
		},
		Spec: v1.VirtualMachineInstanceMigrationSpec{VMIName: t.VMI.Name},
	}
	if t.chance(55) {
		added := map[string]string{}
		for _, key := range some(t.draw, 3, "pool", "rack",
			k8sv1.LabelHostname) {
			added[key] = pick(t.draw, "a", "b", "n2")
		}
		m.Spec.AddedNodeSelector = added
	}
	if t.state != nil {
		m.Status.MigrationState = &v1.VirtualMachineInstanceMigrationState{
			SourcePersistentStatePVCName: t.state.Name,
			TargetPersistentStatePVCName: t.state.Name,
		}
	}
	return m
}

// migrateBefore lets some VMs have migrated once.
func (t *teller) migrateBefore() error {
	if !t.chance(40) {
		return nil
	}
	m := t.newMigration()
	pod, err := t.target(m, t.VMI, t.Source)
	if err != nil {
		return err
	}
	t.Migrated = true
	before := t.Node.Name
	if err := t.run(admitted(t.draw, pod), "n2"); err != nil {
		return err
	}
	t.VMI.Status.MigrationState = &v1.VirtualMachineInstanceMigrationState{
		MigrationUID: m.UID, Completed: true, SourceNode: before,
		TargetNode: t.Node.Name, TargetPod: t.Source.Name,
		StartTimestamp: ptr(metav1.NewTime(time.Unix(1790000000, 0))),
		EndTimestamp:   ptr(metav1.NewTime(time.Unix(1790000060, 0))),
	}
	return nil
}

// migrate creates the pod that the story ends with.
func (t *teller) migrate() error {
	var err error
	t.Migration = t.newMigration()
	t.Target, err = t.target(t.Migration, t.VMI, t.Source)
	if err != nil {
		return err
	}
	t.Target = admitted(t.draw, t.Target)
	if controller.VMIHasHotplugVolumes(t.VMI) {
		pod, err := t.attachment(t.Migration, t.VMI, t.Source,
			running(t.Target, "n3"))
		if err != nil {
			return err
		}
		t.Attachment = admitted(t.draw, pod)
	}
	return nil
}

// admitted is the pod as the API server keeps it: it has a name, and what has a
// limit requests it.
func admitted(r *draw, pod *k8sv1.Pod) *k8sv1.Pod {
	pod = pod.DeepCopy()
	pod.Name, pod.Namespace = r.name(pod.GenerateName), "vms"
	pod.UID = r.uid()
	pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	containers := append(pod.Spec.Containers[:len(pod.Spec.Containers):len(
		pod.Spec.Containers)], pod.Spec.InitContainers...)
	for i := range containers {
		resources := containers[i].Resources
		for name, limit := range resources.Limits {
			if _, ok := resources.Requests[name]; !ok {
				resources.Requests[name] = limit
			}
		}
	}
	pod.Spec.Priority = ptr(int32(0))
	if pod.Spec.PriorityClassName != "" {
		pod.Spec.Priority = ptr(int32(1000))
	}
	return pod
}

// running is the pod when it runs on the node. Admission has added tolerations
// to it.
func running(pod *k8sv1.Pod, nodeName string) *k8sv1.Pod {
	pod = pod.DeepCopy()
	pod.CreationTimestamp = metav1.NewTime(time.Unix(1789000000, 0))
	pod.Labels[v1.NodeNameLabel] = nodeName
	pod.Spec.NodeName = nodeName
	for _, key := range []string{k8sv1.TaintNodeNotReady,
		k8sv1.TaintNodeUnreachable} {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations,
			k8sv1.Toleration{
				Key: key, Operator: k8sv1.TolerationOpExists,
				Effect:            k8sv1.TaintEffectNoExecute,
				TolerationSeconds: ptr(int64(300)),
			})
	}
	pod.Status.Phase = k8sv1.PodRunning
	pod.Status.ContainerStatuses = statuses(pod.Spec.Containers)
	pod.Status.InitContainerStatuses = statuses(pod.Spec.InitContainers)
	return pod
}

func statuses(containers []k8sv1.Container) []k8sv1.ContainerStatus {
	var made []k8sv1.ContainerStatus
	for _, c := range containers {
		made = append(made, k8sv1.ContainerStatus{
			Name: c.Name, Image: c.Image,
			ImageID: fmt.Sprint("registry.example.com/image@sha256:",
				strings.Repeat("ab", 32)),
		})
	}
	return made
}

// shorten leaves out what has no meaning for placement.
func shorten(pod *k8sv1.Pod) {
	if pod == nil {
		return
	}
	for _, list := range [][]k8sv1.Container{pod.Spec.Containers,
		pod.Spec.InitContainers} {
		for i := range list {
			list[i] = k8sv1.Container{
				Name: list[i].Name, Image: list[i].Image,
				Resources:     list[i].Resources,
				RestartPolicy: list[i].RestartPolicy,
				Ports:         list[i].Ports,
			}
		}
	}
}
