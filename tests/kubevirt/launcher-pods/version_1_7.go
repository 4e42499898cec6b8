//go:build kubevirt_1_7

package main

import (
	v1 "kubevirt.io/api/core/v1"
	"kubevirt.io/kubevirt/pkg/network/netbinding"
	"kubevirt.io/kubevirt/pkg/virt-controller/services"
)

const version = "v1.7.0"

var withNetMemory = services.WithNetBindingPluginMemoryCalculator(
	netbinding.MemoryCalculator{})

func tlbFlush(enabled *bool) *v1.FeatureState {
	return &v1.FeatureState{Enabled: enabled}
}

// Gates in beta are closed unless they are named.
func closeGates(*draw, *v1.DeveloperConfiguration) {}

// What only a newer KubeVirt reads.
func drawNewer(*draw, *v1.VirtualMachineInstance) {}
