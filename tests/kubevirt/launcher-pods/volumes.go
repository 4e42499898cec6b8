package main

import (
	"fmt"

	k8sv1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	v1 "kubevirt.io/api/core/v1"
	backendstorage "kubevirt.io/kubevirt/pkg/storage/backend-storage"
)

func pvc(claim string) k8sv1.PersistentVolumeClaimVolumeSource {
	return k8sv1.PersistentVolumeClaimVolumeSource{ClaimName: claim}
}

func named(name string) *k8sv1.LocalObjectReference {
	return &k8sv1.LocalObjectReference{Name: name}
}

// sources makes a volume of each kind; claim is a name of its own.
var sources = []func(r *draw, claim string) v1.VolumeSource{
	func(_ *draw, claim string) v1.VolumeSource {
		return v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{
				PersistentVolumeClaimVolumeSource: pvc(claim),
			},
		}
	},
	func(_ *draw, claim string) v1.VolumeSource {
		return v1.VolumeSource{DataVolume: &v1.DataVolumeSource{Name: claim}}
	},
	func(_ *draw, claim string) v1.VolumeSource {
		source := pvc(claim)
		return v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{
			PersistentVolumeClaim: &source,
		}}
	},
	func(*draw, string) v1.VolumeSource {
		return v1.VolumeSource{ContainerDisk: &v1.ContainerDiskSource{
			Image: "registry.example.com/os:v1",
		}}
	},
	func(*draw, string) v1.VolumeSource {
		return v1.VolumeSource{HostDisk: &v1.HostDisk{
			Path: "/data/disk.img", Type: v1.HostDiskExistsOrCreate,
		}}
	},
	func(r *draw, _ string) v1.VolumeSource {
		source := &v1.CloudInitNoCloudSource{UserData: "#cloud-config"}
		if r.chance(50) {
			source.UserDataSecretRef = named("user-data")
		}
		return v1.VolumeSource{CloudInitNoCloud: source}
	},
	func(*draw, string) v1.VolumeSource {
		return v1.VolumeSource{
			CloudInitConfigDrive: &v1.CloudInitConfigDriveSource{
				UserDataSecretRef: named("user-data"),
			},
		}
	},
	func(*draw, string) v1.VolumeSource {
		return v1.VolumeSource{Sysprep: &v1.SysprepSource{
			ConfigMap: named("answers"),
		}}
	},
	func(*draw, string) v1.VolumeSource {
		return v1.VolumeSource{EmptyDisk: &v1.EmptyDiskSource{
			Capacity: *quantity("1Gi"),
		}}
	},
	func(*draw, string) v1.VolumeSource {
		return v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{
			LocalObjectReference: *named("settings"),
		}}
	},
	func(*draw, string) v1.VolumeSource {
		return v1.VolumeSource{Secret: &v1.SecretVolumeSource{
			SecretName: "keys",
		}}
	},
	func(*draw, string) v1.VolumeSource {
		return v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{}}
	},
	func(*draw, string) v1.VolumeSource {
		return v1.VolumeSource{
			ServiceAccount: &v1.ServiceAccountVolumeSource{
				ServiceAccountName: "default",
			},
		}
	},
	func(*draw, string) v1.VolumeSource {
		return v1.VolumeSource{
			DownwardMetrics: &v1.DownwardMetricsVolumeSource{},
		}
	},
}

// drawVolumes gives the VM up to five volumes of different kinds, and sometimes
// a second claim.
func drawVolumes(r *draw, vmi *v1.VirtualMachineInstance) {
	makers := some(r, 5, sources...)
	if r.chance(25) {
		makers = append(makers, sources[r.IntN(2)])
	}
	for i, source := range makers {
		name := fmt.Sprint("disk", i)
		volume := v1.Volume{
			Name:         name,
			VolumeSource: source(r, fmt.Sprintf("%s-%s", vmi.Name, name)),
		}
		vmi.Spec.Volumes = append(vmi.Spec.Volumes, volume)
		d := &vmi.Spec.Domain.Devices
		if volume.ConfigMap != nil && r.chance(60) {
			d.Filesystems = append(d.Filesystems, v1.Filesystem{
				Name: name, Virtiofs: &v1.FilesystemVirtiofs{},
			})
			continue
		}
		d.Disks = append(d.Disks, v1.Disk{Name: name})
	}
	if r.chance(8) && !vmi.Spec.Domain.Devices.DisableHotplug {
		vmi.Spec.Volumes = append(vmi.Spec.Volumes,
			hotpluggable(r, "declared", vmi.Name+"-declared"))
	}
	if r.chance(8) {
		vmi.Spec.Domain.Firmware.KernelBoot = &v1.KernelBoot{
			Container: &v1.KernelBootContainer{
				Image: "registry.example.com/kernel:v1",
			},
		}
	}
}

// hotpluggable is a volume that is attached to the running VM.
func hotpluggable(r *draw, name, claim string) v1.Volume {
	volume := v1.Volume{Name: name}
	if r.chance(40) {
		volume.DataVolume = &v1.DataVolumeSource{
			Name: claim, Hotpluggable: true,
		}
		return volume
	}
	volume.PersistentVolumeClaim = &v1.PersistentVolumeClaimVolumeSource{
		PersistentVolumeClaimVolumeSource: pvc(claim), Hotpluggable: true,
	}
	return volume
}

func memoryDump(name, claim string) v1.Volume {
	return v1.Volume{Name: name, VolumeSource: v1.VolumeSource{
		MemoryDump: &v1.MemoryDumpVolumeSource{
			PersistentVolumeClaimVolumeSource: v1.PersistentVolumeClaimVolumeSource{
				PersistentVolumeClaimVolumeSource: pvc(claim),
				Hotpluggable:                      true,
			},
		},
	}}
}

// volumeStatus is what virt-controller tells of a volume of a running VM.
func volumeStatus(r *draw, volume v1.Volume) v1.VolumeStatus {
	status := v1.VolumeStatus{Name: volume.Name, Target: "vda"}
	if claim := claimOf(volume); claim != "" {
		status.PersistentVolumeClaimInfo = &v1.PersistentVolumeClaimInfo{
			ClaimName: claim,
		}
	}
	if isHotplugged(volume) {
		status.Phase = v1.VolumePending
		status.HotplugVolume = &v1.HotplugVolumeStatus{}
	}
	if isHotplugged(volume) && r.chance(75) {
		status.Phase = pick(r, v1.VolumeReady, v1.HotplugVolumeMounted)
		status.HotplugVolume.AttachPodName = "hp-volume-xk2vp"
		status.HotplugVolume.AttachPodUID = "hp-volume-uid"
	}
	return status
}

func isHotplugged(volume v1.Volume) bool {
	return volume.MemoryDump != nil ||
		volume.DataVolume != nil && volume.DataVolume.Hotpluggable ||
		volume.PersistentVolumeClaim != nil &&
			volume.PersistentVolumeClaim.Hotpluggable
}

func claimOf(volume v1.Volume) string {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return volume.PersistentVolumeClaim.ClaimName
	case volume.DataVolume != nil:
		return volume.DataVolume.Name
	case volume.Ephemeral != nil:
		return volume.Ephemeral.PersistentVolumeClaim.ClaimName
	case volume.MemoryDump != nil:
		return volume.MemoryDump.ClaimName
	}
	return ""
}

func newClaim(r *draw, namespace, name string) *k8sv1.PersistentVolumeClaim {
	return &k8sv1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace, UID: r.uid(),
		},
		Spec: k8sv1.PersistentVolumeClaimSpec{
			AccessModes: []k8sv1.PersistentVolumeAccessMode{
				k8sv1.ReadWriteMany,
			},
			VolumeMode: ptr(pick(r, k8sv1.PersistentVolumeBlock,
				k8sv1.PersistentVolumeFilesystem)),
		},
	}
}

// stateClaim is the claim of a VM with a persistent TPM or EFI: KubeVirt makes
// it. It is shared by all nodes, so that a migration keeps it.
func stateClaim(r *draw, vmi *v1.VirtualMachineInstance) *k8sv1.PersistentVolumeClaim {
	if !backendstorage.IsBackendStorageNeeded(vmi) {
		return nil
	}
	claim := newClaim(r, vmi.Namespace,
		r.name(backendstorage.PVCPrefix+"-"+vmi.Name+"-"))
	claim.Labels = map[string]string{backendstorage.PVCPrefix: vmi.Name}
	return claim
}
