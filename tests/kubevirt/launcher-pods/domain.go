package main

import (
	"fmt"

	k8sv1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	v1 "kubevirt.io/api/core/v1"
)

// drawVMI draws a VMI as a user writes it: virt-api has not set its defaults.
func drawVMI(r *draw, number uint64) *v1.VirtualMachineInstance {
	vmi := &v1.VirtualMachineInstance{
		TypeMeta: metav1.TypeMeta{
			APIVersion: "kubevirt.io/v1", Kind: "VirtualMachineInstance",
		},
		ObjectMeta: metav1.ObjectMeta{
			Name:        fmt.Sprint("vm-", number),
			Namespace:   "vms",
			UID:         r.uid(),
			Labels:      map[string]string{"app": pick(r, "db", "web")},
			Annotations: map[string]string{},
		},
	}
	vmi.Spec.EvictionStrategy = ptr(v1.EvictionStrategyLiveMigrate)
	vmi.Spec.Domain.Firmware = &v1.Firmware{UUID: r.uid()}
	drawArchitecture(r, vmi)
	drawCPU(r, vmi)
	drawMemory(r, vmi)
	drawFeatures(r, vmi)
	drawDevices(r, vmi)
	drawNetwork(r, vmi)
	drawProbes(r, vmi)
	drawConstraints(r, vmi)
	drawVolumes(r, vmi)
	drawNewer(r, vmi)
	return vmi
}

func drawArchitecture(r *draw, vmi *v1.VirtualMachineInstance) {
	vmi.Spec.Architecture = pick(r, "", "", "amd64", "amd64", "amd64",
		"amd64", "arm64", "s390x")
	if r.chance(40) {
		vmi.Spec.Domain.Machine = &v1.Machine{
			Type: pick(r, "q35", "pc-q35-rhel9.4.0", ""),
		}
	}
	if !r.chance(25) {
		return
	}
	vmi.Spec.Domain.LaunchSecurity = pick(r,
		&v1.LaunchSecurity{SEV: &v1.SEV{}},
		&v1.LaunchSecurity{SEV: &v1.SEV{
			Policy: &v1.SEVPolicy{EncryptedState: ptr(true)},
		}},
		&v1.LaunchSecurity{SEV: &v1.SEV{
			Policy: &v1.SEVPolicy{EncryptedState: r.state(30)},
		}},
		&v1.LaunchSecurity{SNP: &v1.SEVSNP{}},
		&v1.LaunchSecurity{TDX: &v1.TDX{}})
	if r.chance(20) { // Secure Execution
		vmi.Spec.Architecture = "s390x"
		vmi.Spec.Domain.LaunchSecurity = &v1.LaunchSecurity{}
	}
}

func drawCPU(r *draw, vmi *v1.VirtualMachineInstance) {
	if r.chance(8) {
		return
	}
	cpu := &v1.CPU{Model: pick(r, "", "", "", "", "host-model",
		"host-model", "host-passthrough", "Skylake-Server",
		"Icelake-Server", "EPYC-Rome")}
	vmi.Spec.Domain.CPU = cpu
	if !r.chance(10) {
		cpu.Cores = uint32(1 + r.IntN(8))
		cpu.Sockets = uint32(r.IntN(4))
		cpu.Threads = uint32(r.IntN(3))
	}
	for _, name := range some(r, 3, "gfni", "avx512f", "vmx", "svm",
		"invtsc") {
		cpu.Features = append(cpu.Features, v1.CPUFeature{
			Name: name,
			Policy: pick(r, "", "require", "forbid", "optional",
				"disable", "force"),
		})
	}
	if !r.chance(25) {
		return
	}
	cpu.DedicatedCPUPlacement = true
	cpu.IsolateEmulatorThread = r.chance(60)
	if cpu.IsolateEmulatorThread && r.chance(60) {
		vmi.Annotations[v1.EmulatorThreadCompleteToEvenParity] = ""
	}
	if r.chance(40) {
		cpu.Realtime = &v1.Realtime{}
	}
}

func memoryOf(vmi *v1.VirtualMachineInstance) *v1.Memory {
	if vmi.Spec.Domain.Memory == nil {
		return &v1.Memory{}
	}
	return vmi.Spec.Domain.Memory
}

// drawMemory draws the sizes of the guest and what the VMI itself requests.
func drawMemory(r *draw, vmi *v1.VirtualMachineInstance) {
	size := pick(r, "512Mi", "2Gi", "4Gi", "6G", "3000Mi", "16Gi")
	requests, limits := k8sv1.ResourceList{}, k8sv1.ResourceList{}
	memory := &v1.Memory{Guest: quantity(size)}
	switch r.IntN(8) {
	case 0: // requests alone
		memory = nil
		requests[k8sv1.ResourceMemory] = resource.MustParse(size)
	case 1:
		requests[k8sv1.ResourceMemory] = resource.MustParse("16Gi")
	case 2:
		limits[k8sv1.ResourceMemory] = resource.MustParse("16Gi")
	case 3:
		requests[k8sv1.ResourceMemory] = resource.MustParse(size)
		limits[k8sv1.ResourceMemory] = resource.MustParse(size)
	}
	if r.chance(20) {
		memory = memoryOf(vmi)
		memory.Guest = quantity(pick(r, "2Gi", "4Gi"))
		memory.Hugepages = &v1.Hugepages{
			PageSize: pick(r, "2Mi", "1Gi"),
		}
	}
	vmi.Spec.Domain.Memory = memory
	if r.chance(20) {
		requests[k8sv1.ResourceCPU] = resource.MustParse(
			pick(r, "2", "1500m", "4"))
		if r.chance(60) {
			limits[k8sv1.ResourceCPU] = requests[k8sv1.ResourceCPU]
		}
	} else if r.chance(10) {
		limits[k8sv1.ResourceCPU] = resource.MustParse("4")
	}
	if r.chance(6) {
		requests[k8sv1.ResourceEphemeralStorage] = resource.MustParse("1Gi")
	}
	vmi.Spec.Domain.Resources = v1.ResourceRequirements{
		Requests: requests, Limits: limits,
		OvercommitGuestOverhead: r.chance(8),
	}
}

func drawFeatures(r *draw, vmi *v1.VirtualMachineInstance) {
	if r.chance(60) {
		return
	}
	h := &v1.FeatureHyperv{}
	on := func() *v1.FeatureState {
		return &v1.FeatureState{Enabled: r.state(30)}
	}
	for _, state := range some(r, 6, &h.VPIndex, &h.Runtime, &h.Reset,
		&h.SyNIC, &h.Frequencies, &h.Reenlightenment, &h.IPI, &h.Relaxed) {
		*state = on()
	}
	if r.chance(50) {
		h.EVMCS = on()
	}
	if r.chance(30) {
		h.SyNICTimer = &v1.SyNICTimer{}
		h.SyNICTimer.Enabled = r.state(30)
	}
	if r.chance(30) {
		h.TLBFlush = tlbFlush(r.state(30))
	}
	vmi.Spec.Domain.Features = &v1.Features{Hyperv: h}
}

func drawDevices(r *draw, vmi *v1.VirtualMachineInstance) {
	d := &vmi.Spec.Domain.Devices
	d.AutoattachGraphicsDevice = r.state(75)
	d.AutoattachSerialConsole = r.state(85)
	d.LogSerialConsole = r.state(75)
	d.AutoattachVSOCK = r.state(85)
	d.DisableHotplug = r.chance(8)
	if r.chance(18) {
		d.TPM = &v1.TPMDevice{
			Enabled: r.state(80), Persistent: r.state(40),
		}
	}
	if r.chance(10) {
		vmi.Spec.Domain.Firmware.Bootloader = &v1.Bootloader{
			EFI: &v1.EFI{Persistent: r.state(30)},
		}
	}
	for i := range r.IntN(12) - 9 {
		d.GPUs = append(d.GPUs, v1.GPU{
			Name:       fmt.Sprint("gpu", i),
			DeviceName: pick(r, "nvidia.com/A100", "nvidia.com/T4"),
		})
	}
	for i := range r.IntN(12) - 9 {
		d.HostDevices = append(d.HostDevices, v1.HostDevice{
			Name:       fmt.Sprint("dev", i),
			DeviceName: pick(r, "example.com/fpga", "nvidia.com/T4"),
		})
	}
	if r.chance(8) {
		vmi.Spec.Domain.IOThreadsPolicy = ptr(
			v1.IOThreadsPolicySupplementalPool)
		vmi.Spec.Domain.IOThreads = &v1.DiskIOThreads{
			SupplementalPoolThreadCount: ptr(uint32(1 + r.IntN(3))),
		}
	}
	if r.chance(8) {
		vmi.Annotations["hooks.kubevirt.io/hookSidecars"] =
			`[{"image": "registry.example.com/hook:v1"}]`
	}
}

// drawNetwork leaves most VMIs with the network that virt-api gives them.
func drawNetwork(r *draw, vmi *v1.VirtualMachineInstance) {
	d := &vmi.Spec.Domain.Devices
	if r.chance(10) {
		d.AutoattachPodInterface = ptr(false)
		return
	}
	if r.chance(60) {
		return
	}
	network := v1.Interface{
		Name: "default", Model: pick(r, "", "virtio", "e1000e"),
	}
	switch r.IntN(3) {
	case 0:
		network.Masquerade = &v1.InterfaceMasquerade{}
	case 1:
		network.Bridge = &v1.InterfaceBridge{}
	default:
		network.Binding = &v1.PluginBinding{Name: bindingPlugin}
	}
	d.Interfaces = []v1.Interface{network}
	vmi.Spec.Networks = []v1.Network{*v1.DefaultPodNetwork()}
}

func drawProbes(r *draw, vmi *v1.VirtualMachineInstance) {
	probe := func() *v1.Probe {
		p := &v1.Probe{}
		if r.chance(70) {
			p.Exec = &k8sv1.ExecAction{Command: []string{"true"}}
		} else {
			p.TCPSocket = &k8sv1.TCPSocketAction{}
		}
		return p
	}
	if r.chance(8) {
		vmi.Spec.LivenessProbe = probe()
	}
	if r.chance(8) {
		vmi.Spec.ReadinessProbe = probe()
	}
}
