//go:build kubevirt_1_7

package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/rbac"
)

var newerCRDs []newCRD

func controllerRoles() []runtime.Object {
	return rbac.GetAllController(namespace)
}
