//go:build !kubevirt_1_7

package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/components"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/rbac"
)

// What came after 1.7: virt-controller waits for all of these.
var newerCRDs = []newCRD{
	components.NewVirtualMachineBackupCrd,
	components.NewVirtualMachineBackupTrackerCrd,
	components.NewPluginCrd,
}

func controllerRoles() []runtime.Object {
	return rbac.GetAllController(namespace, true)
}
