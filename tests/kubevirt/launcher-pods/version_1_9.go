//go:build !kubevirt_1_7

package main

import (
	"slices"

	v1 "kubevirt.io/api/core/v1"
	netresources "kubevirt.io/kubevirt/pkg/network/resources"
	"kubevirt.io/kubevirt/pkg/virt-controller/services"
)

const version = "v1.9.0"

var withNetMemory = services.WithNetMemoryCalculator(
	netresources.MemoryCalculator{})

func tlbFlush(enabled *bool) *v1.TLBFlush {
	return &v1.TLBFlush{FeatureState: v1.FeatureState{Enabled: enabled}}
}

// closeGates draws gates in beta that are closed; all others are open.
func closeGates(r *draw, d *v1.DeveloperConfiguration) {
	if !slices.Contains(d.FeatureGates, imageVolume) && r.chance(70) {
		d.DisabledFeatureGates = []string{imageVolume}
	}
}

// drawNewer draws what KubeVirt 1.7 does not read.
func drawNewer(r *draw, vmi *v1.VirtualMachineInstance) {
	if r.chance(4) {
		vmi.Spec.Domain.Memory = memoryOf(vmi)
		vmi.Spec.Domain.Memory.ReservedOverhead = &v1.ReservedOverhead{
			AddedOverhead: quantity(pick(r, "64Mi", "300M")),
		}
	}
}
