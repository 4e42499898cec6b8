package main

import (
	k8sv1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	v1 "kubevirt.io/api/core/v1"
)

const kubevirtNamespace = "kubevirt"

// The plugin of a network that a VMI may name.
const bindingPlugin = "passt-plugin"

// drawKubeVirt draws the CR of the cluster. Most clusters keep most defaults.
func drawKubeVirt(r *draw, resourceVersion string) *v1.KubeVirt {
	config := v1.KubeVirtConfiguration{
		DeveloperConfiguration: drawDeveloper(r),
		VMRolloutStrategy: ptr(pick(r, v1.VMRolloutStrategyLiveUpdate,
			v1.VMRolloutStrategyStage)),
		CPUModel: pick(r, "", "", "", "", "", "Skylake-Server",
			"host-passthrough"),
		NetworkConfiguration: &v1.NetworkConfiguration{
			Binding: map[string]v1.InterfaceBindingPlugin{
				bindingPlugin: drawPlugin(r),
			},
		},
	}
	if r.chance(25) {
		config.AdditionalGuestMemoryOverheadRatio = ptr(
			pick(r, "1.2", "1.5", "2", "1.05"))
	}
	if r.chance(10) {
		config.CPURequest = quantity(pick(r, "250m", "1"))
	}
	if r.chance(20) {
		config.VirtualMachineOptions = &v1.VirtualMachineOptions{
			DisableSerialConsoleLog: &v1.DisableSerialConsoleLog{},
		}
	}
	if r.chance(15) {
		config.SupportContainerResources = drawSupport(r)
	}
	if r.chance(10) {
		config.AutoCPULimitNamespaceLabelSelector = &metav1.LabelSelector{
			MatchLabels: map[string]string{"limits": "yes"},
		}
	}
	return &v1.KubeVirt{
		ObjectMeta: metav1.ObjectMeta{
			Name: "kubevirt", Namespace: kubevirtNamespace,
			ResourceVersion: resourceVersion,
		},
		Spec: v1.KubeVirtSpec{Configuration: config},
		Status: v1.KubeVirtStatus{
			Phase:                   v1.KubeVirtPhaseDeployed,
			DefaultArchitecture:     "amd64",
			ObservedKubeVirtVersion: version,
			TargetKubeVirtVersion:   version,
		},
	}
}

const imageVolume = "ImageVolume"

// Feature gates on which launcher pods depend, and in how many CRs each is.
var gates = []struct {
	name    string
	percent int
}{
	{"HypervStrictCheck", 40},
	{"CrossArchitectureVirtualization", 15},
	{"IOMMUFD", 12},
	{imageVolume, 20},
	{"AlignCPUs", 20},
	{"CPUManager", 50},
	{"VmiMemoryOverheadReport", 20},
	{"Plugins", 10},
}

func drawDeveloper(r *draw) *v1.DeveloperConfiguration {
	d := &v1.DeveloperConfiguration{
		CPUAllocationRatio: pick(r, 0, 0, 0, 1, 2, 3, 7, 16),
		MemoryOvercommit:   pick(r, 0, 0, 0, 100, 120, 150, 90),
		UseEmulation:       r.chance(8),
	}
	for _, gate := range gates {
		if r.chance(gate.percent) {
			d.FeatureGates = append(d.FeatureGates, gate.name)
		}
	}
	closeGates(r, d)
	if r.chance(20) {
		d.NodeSelectors = map[string]string{"vms": "yes"}
		if r.chance(30) {
			d.NodeSelectors["pool"] = "cluster"
		}
	}
	return d
}

func drawPlugin(r *draw) v1.InterfaceBindingPlugin {
	p := v1.InterfaceBindingPlugin{}
	if r.chance(60) {
		p.SidecarImage = "registry.example.com/sidecar:v1"
	}
	if r.chance(60) {
		p.ComputeResourceOverhead = &v1.ResourceRequirementsWithoutClaims{
			Requests: k8sv1.ResourceList{
				k8sv1.ResourceMemory: resource.MustParse("250Mi"),
			},
		}
	}
	return p
}

// drawSupport draws what the containers beside compute request.
func drawSupport(r *draw) []v1.SupportContainerResources {
	var made []v1.SupportContainerResources
	for _, kind := range some(r, 5, v1.ContainerDisk, v1.SideCar,
		v1.GuestConsoleLog, v1.VirtioFS, v1.HotplugAttachment) {
		made = append(made, v1.SupportContainerResources{
			Type: kind,
			Resources: v1.ResourceRequirementsWithoutClaims{
				Requests: k8sv1.ResourceList{
					k8sv1.ResourceCPU:    resource.MustParse("20m"),
					k8sv1.ResourceMemory: resource.MustParse("50M"),
				},
				Limits: k8sv1.ResourceList{
					k8sv1.ResourceCPU:    resource.MustParse("200m"),
					k8sv1.ResourceMemory: resource.MustParse("90M"),
				},
			},
		})
	}
	return made
}
