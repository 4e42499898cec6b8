package main

import (
	"encoding/json"
	"io"
	"slices"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/components"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/rbac"
)

const namespace = "kubevirt"

type newCRD func() (*extv1.CustomResourceDefinition, error)

var crds = []newCRD{
	components.NewVirtualMachineInstanceCrd,
	components.NewVirtualMachineCrd,
	components.NewPresetCrd,
	components.NewReplicaSetCrd,
	components.NewVirtualMachineInstanceMigrationCrd,
	components.NewKubeVirtCrd,
	components.NewVirtualMachinePoolCrd,
	components.NewVirtualMachineSnapshotCrd,
	components.NewVirtualMachineSnapshotContentCrd,
	components.NewVirtualMachineRestoreCrd,
	components.NewVirtualMachineExportCrd,
	components.NewVirtualMachineInstancetypeCrd,
	components.NewVirtualMachineClusterInstancetypeCrd,
	components.NewVirtualMachinePreferenceCrd,
	components.NewVirtualMachineClusterPreferenceCrd,
	components.NewMigrationPolicyCrd,
	components.NewVirtualMachineCloneCrd,
}

// manifests are in the order in which a cluster needs them. The webhooks and
// APIServices name the Service of virt-api and have no caBundle.
type manifests struct {
	CRDs        []runtime.Object `json:"crds"`
	RBAC        []runtime.Object `json:"rbac"`
	APIServices []runtime.Object `json:"apiServices"`
	Webhooks    []runtime.Object `json:"webhooks"`
}

// printManifests writes manifests as one JSON object.
func printManifests(out io.Writer) error {
	m := manifests{
		RBAC: slices.Concat(
			controllerRoles(),
			rbac.GetAllApiServer(namespace),
			rbac.GetAllHandler(namespace),
			rbac.GetAllCluster(),
		),
		Webhooks: []runtime.Object{
			components.NewVirtAPIMutatingWebhookConfiguration(namespace),
			components.NewVirtAPIValidatingWebhookConfiguration(namespace),
		},
	}
	for _, service := range components.NewVirtAPIAPIServices(namespace) {
		m.APIServices = append(m.APIServices, service)
	}
	for _, create := range slices.Concat(crds, newerCRDs) {
		crd, err := create()
		if err != nil {
			return err
		}
		m.CRDs = append(m.CRDs, crd)
	}
	return json.NewEncoder(out).Encode(m)
}
