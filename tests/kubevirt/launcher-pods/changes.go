package main

import (
	"fmt"

	k8sv1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	v1 "kubevirt.io/api/core/v1"
)

// change draws what people do to the VM and to the CR while the VM runs.
func (t *teller) change() error {
	t.VMI = t.VMI.DeepCopy()
	spec := &t.VMI.Spec
	if t.chance(25) {
		spec.NodeSelector = drawSelector(t.draw)
	}
	if t.chance(20) {
		spec.Affinity = drawAffinity(t.draw)
	}
	if t.chance(20) {
		spec.Tolerations = drawTolerations(t.draw)
	}
	if t.chance(15) {
		t.addCPUs()
	}
	if t.chance(25) {
		t.addMemory()
	}
	if !spec.Domain.Devices.DisableHotplug {
		if err := t.addVolumes(); err != nil {
			return err
		}
	}
	if t.chance(15) {
		return t.changeKubeVirt()
	}
	return nil
}

func (t *teller) tellCondition(
	condition v1.VirtualMachineInstanceConditionType) {
	t.VMI.Status.Conditions = append(t.VMI.Status.Conditions,
		v1.VirtualMachineInstanceCondition{
			Type: condition, Status: k8sv1.ConditionTrue,
		})
}

// addCPUs is what virt-controller does to the VMI of a VM that gets sockets.
func (t *teller) addCPUs() {
	cpu := t.VMI.Spec.Domain.CPU
	if cpu.MaxSockets <= cpu.Sockets {
		return
	}
	before := max(1, cpu.Sockets)
	cpu.Sockets = before + 1 + uint32(t.IntN(2))
	added := int64((cpu.Sockets - before) * max(1, cpu.Cores) * max(1, cpu.Threads))
	delta := resource.NewMilliQuantity(
		added*int64(1000/t.config.GetCPUAllocationRatio()),
		resource.DecimalSI)
	for _, list := range []k8sv1.ResourceList{
		t.VMI.Spec.Domain.Resources.Requests,
		t.VMI.Spec.Domain.Resources.Limits,
	} {
		if amount, ok := list[k8sv1.ResourceCPU]; ok {
			amount.Add(*delta)
			list[k8sv1.ResourceCPU] = amount
		}
	}
	t.tellCondition(v1.VirtualMachineInstanceVCPUChange)
}

// addMemory is the same for memory.
func (t *teller) addMemory() {
	memory := t.VMI.Spec.Domain.Memory
	if memory.MaxGuest == nil || memory.MaxGuest.Cmp(*memory.Guest) <= 0 ||
		t.VMI.Status.Memory == nil {
		return
	}
	memory.Guest = resource.NewQuantity(memory.Guest.Value()+1<<30,
		resource.BinarySI)
	for _, list := range []k8sv1.ResourceList{
		t.VMI.Spec.Domain.Resources.Requests,
		t.VMI.Spec.Domain.Resources.Limits,
	} {
		if amount, ok := list[k8sv1.ResourceMemory]; ok {
			amount.Add(*quantity("1Gi"))
			list[k8sv1.ResourceMemory] = amount
		}
	}
	t.tellCondition(v1.VirtualMachineInstanceMemoryChange)
}

// addVolumes hotplugs volumes, and detaches some.
func (t *teller) addVolumes() error {
	var made []v1.Volume
	for i := range t.IntN(5) - 2 {
		name := fmt.Sprint("hot", i)
		made = append(made, hotpluggable(t.draw, name, t.VMI.Name+"-"+name))
	}
	if t.chance(8) {
		made = append(made, memoryDump("dump", t.VMI.Name+"-dump"))
	}
	for _, volume := range made {
		claim := newClaim(t.draw, t.VMI.Namespace, claimOf(volume))
		if err := t.claims.Add(claim); err != nil {
			return err
		}
		t.VMI.Spec.Volumes = append(t.VMI.Spec.Volumes, volume)
		if volume.MemoryDump != nil || !t.chance(15) {
			t.VMI.Status.VolumeStatus = append(t.VMI.Status.VolumeStatus,
				volumeStatus(t.draw, volume))
		}
	}
	if t.chance(8) { // it is not in the spec any more
		status := volumeStatus(t.draw,
			hotpluggable(t.draw, "gone", t.VMI.Name+"-gone"))
		status.Phase = v1.HotplugVolumeDetaching
		t.VMI.Status.VolumeStatus = append(t.VMI.Status.VolumeStatus, status)
	}
	return nil
}

// changeKubeVirt changes the settings on which amounts and selectors depend.
func (t *teller) changeKubeVirt() error {
	version := fmt.Sprint(t.Case, "-changed")
	other := drawKubeVirt(t.draw, version).Spec.Configuration
	t.KubeVirt = t.KubeVirt.DeepCopy()
	t.KubeVirt.ResourceVersion = version
	config := &t.KubeVirt.Spec.Configuration
	config.DeveloperConfiguration = other.DeveloperConfiguration
	config.AdditionalGuestMemoryOverheadRatio =
		other.AdditionalGuestMemoryOverheadRatio
	return t.setKubeVirt(t.KubeVirt)
}
