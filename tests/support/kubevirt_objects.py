"""KubeVirt's objects on an API server without KubeVirt: their definitions admit
everything. kubevirt.py has KubeVirt itself."""
from harness import eventually
from kube_api import Refused

KINDS = {"kubevirts": "KubeVirt",
         "virtualmachineinstances": "VirtualMachineInstance",
         "virtualmachineinstancemigrations":
             "VirtualMachineInstanceMigration"}
GROUP = "/apis/kubevirt.io/v1"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def definition(plural, kind):
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "metadata": {"name": f"{plural}.kubevirt.io"},
        "spec": {"group": "kubevirt.io", "scope": "Namespaced",
                 "names": {"plural": plural, "kind": kind},
                 "versions": [{"name": "v1", "served": True, "storage": True,
                               "schema": {"openAPIV3Schema": schema}}]}}


def is_served(kube, path):
    try:
        return kube.get(path) is not None
    except Refused:
        return False


def serve_kubevirt_objects(kube):
    """Returns when the API server serves them. KubeVirt seems to be
    installed."""
    for plural, kind in KINDS.items():
        kube.request("POST", CRDS, definition(plural, kind))
    for plural in KINDS:
        eventually(f"{plural} are served", lambda path=f"{GROUP}/{plural}":
                   is_served(kube, path))
    kube.request("POST", f"{GROUP}/namespaces/default/kubevirts", {
        "apiVersion": "kubevirt.io/v1", "kind": "KubeVirt",
        "metadata": {"name": "kubevirt"},
        "status": {"phase": "Deployed", "observedKubeVirtVersion": "v1.9.0"}})


def delete_vmi(kube, vmi):
    meta = vmi["metadata"]
    kube.delete(f"{GROUP}/namespaces/{meta['namespace']}/"
                f"virtualmachineinstances/{meta['name']}")


def create_running_vmi(kube, name, namespace, node, why_not=None, cores=None):
    """A VMI that runs on the node, as KubeVirt would show it. why_not: why it
    cannot migrate. cores: None if it does not say."""
    spec = {"domain": {"cpu": {"cores": cores}}} if cores else {}
    return kube.request(
        "POST", f"{GROUP}/namespaces/{namespace}/virtualmachineinstances", {
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
            "metadata": {"name": name},
            "spec": spec,
            "status": {"phase": "Running", "nodeName": node, "conditions": [{
                "type": "LiveMigratable",
                "status": "True" if why_not is None else "False",
                "message": why_not or ""}]}})
