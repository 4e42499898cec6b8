"""KubeVirt's own virt-controller and virt-api on a local control plane, as
virt-operator would install them, and the objects that tests give them.

virt-api is reached as in any cluster: through an APIService and webhooks that
name the Service kubevirt/virt-api, with the certificate of that name. The
Service has the type ExternalName and leads to this machine, which kube-apiserver
follows only with `kubecluster up --local-services`. Nodes, kubelets and
virt-handlers are played: see virt_handler.py. kubevirt_case.py has a test case
with all of it."""
import base64
import concurrent.futures
import http.client
import json
import os
import pathlib
import ssl
import subprocess

from harness import PATIENCE_S, ROOT, Program, eventually, worker
from kube_api import RBAC, Refused, token_kubeconfig
from ports import free_port

# The folder with virt-controller and virt-api (tests/kubevirt/build.sh).
PROGRAMS = pathlib.Path(os.environ.get(
    "KUBEVIRT", str(ROOT / "build/ci/kubevirt")))
NAMESPACE = "kubevirt"
GROUP = "/apis/kubevirt.io/v1"
SUBRESOURCES = "/apis/subresources.kubevirt.io/v1"
READY_S = 120  # 18 on an idle machine
TOKEN_S = 7200
ADMISSION = "/apis/admissionregistration.k8s.io/v1"

# Kind -> where its API is, and its plural.
KINDS = {
    "Service": ("/api/v1", "services"),
    "ServiceAccount": ("/api/v1", "serviceaccounts"),
    "ConfigMap": ("/api/v1", "configmaps"),
    "ClusterRole": (RBAC, "clusterroles"),
    "ClusterRoleBinding": (RBAC, "clusterrolebindings"),
    "Role": (RBAC, "roles"),
    "RoleBinding": (RBAC, "rolebindings"),
    "CustomResourceDefinition":
        ("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions"),
    "APIService": ("/apis/apiregistration.k8s.io/v1", "apiservices"),
    "MutatingWebhookConfiguration":
        (ADMISSION, "mutatingwebhookconfigurations"),
    "ValidatingWebhookConfiguration":
        (ADMISSION, "validatingwebhookconfigurations"),
    "KubeVirt": (GROUP, "kubevirts"),
    "VirtualMachine": (GROUP, "virtualmachines"),
    "VirtualMachineInstance": (GROUP, "virtualmachineinstances"),
    "VirtualMachineInstanceMigration":
        (GROUP, "virtualmachineinstancemigrations"),
    "MigrationPolicy":
        ("/apis/migrations.kubevirt.io/v1alpha1", "migrationpolicies"),
}

CERTIFICATE = """
[req]
distinguished_name = name
prompt = no
x509_extensions = extensions
[name]
CN = {names[0]}
[extensions]
basicConstraints = critical, CA:FALSE
keyUsage = digitalSignature
extendedKeyUsage = serverAuth, clientAuth
subjectAltName = {alternatives}
"""


def path_of(kind, namespace=None, name=None):
    """As kube_api.path_of, for the kinds that KubeVirt needs."""
    base, plural = KINDS[kind]
    if namespace:
        base += f"/namespaces/{namespace}"
    return f"{base}/{plural}" + (f"/{name}" if name else "")


def create(kube, thing):
    return kube.request("POST", path_of(
        thing["kind"], thing["metadata"].get("namespace")), thing)


def sign(folder, ca, ca_key, *names):
    """A certificate for these DNS names and 127.0.0.1, and its key, as
    files."""
    config, cert, key = (pathlib.Path(folder, f"{names[0]}.{suffix}")
                         for suffix in ("cnf", "crt", "key"))
    config.write_text(CERTIFICATE.format(names=names, alternatives=", ".join(
        [f"DNS:{name}" for name in names] + ["IP:127.0.0.1"])))
    subprocess.run(
        ["openssl", "req", "-x509", "-config", config, "-CA", ca, "-CAkey",
         ca_key, "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "7", "-out", cert, "-keyout", key],
        check=True, capture_output=True, timeout=PATIENCE_S)
    return cert, key


# ---- objects ----

def virt_node(name, cores=6, memory="16Gi", labels=None,
              model="Skylake-Server", older=(), features=(), vendor="Intel"):
    """A Node as a virt-handler that does not have to send heartbeats labels
    it. model: of its CPU, which also runs VMs of the older models. features:
    those that a VM of this model requires elsewhere."""
    node = worker(name, cores, memory, labels={
        **{f"{kind}.node.kubevirt.io/{one}": "true"
           for one in (model, *older)
           for kind in ("cpu-model", "cpu-model-migration")},
        f"host-model-cpu.node.kubevirt.io/{model}": "true",
        **{f"{kind}.node.kubevirt.io/{feature}": "true"
           for feature in features
           for kind in ("cpu-feature", "host-model-required-features")},
        f"cpu-vendor.node.kubevirt.io/{vendor}": "true",
        "cpumanager": "true", "kubevirt.io/cpumanager": "true",
        "machine-type.node.kubevirt.io/pc-q35-10.1": "true",
        **(labels or {})})
    node["metadata"]["annotations"] = {
        "kubevirt.io/heartbeat": "2099-01-01T00:00:00Z"}
    return node


def virtual_machine(name, cores=2, memory="1Gi", annotations=None,
                    scheduler="plimsoll-scheduler", **spec):
    """A VirtualMachine of the namespace default that runs and migrates.
    annotations and spec: of its VMI."""
    return {
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"runStrategy": "Always", "template": {
            "metadata": {"annotations": annotations or {}},
            "spec": {
                "schedulerName": scheduler, "evictionStrategy": "LiveMigrate",
                "terminationGracePeriodSeconds": 0,
                "domain": {
                    "cpu": {"cores": cores}, "memory": {"guest": memory},
                    "devices": {
                        "disks": [{"name": "root",
                                   "disk": {"bus": "virtio"}}],
                        "interfaces": [{"name": "default",
                                        "masquerade": {}}]}},
                "networks": [{"name": "default", "pod": {}}],
                "volumes": [{"name": "root", "containerDisk": {
                    "image": "registry.example/disk:1"}}],
                **spec}}}}


def migration(name, node=None, annotations=None):
    """A VirtualMachineInstanceMigration of the VM with this name. node: the
    only one that may become its target."""
    selector = {"kubernetes.io/hostname": node}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"generateName": f"{name}-", "namespace": "default",
                     "annotations": annotations or {}},
        "spec": {"vmiName": name,
                 **({"addedNodeSelector": selector} if node else {})}}


# ---- the programs ----

class KubeVirt:
    """One virt-api and one virt-controller of a LocalCluster. Both are
    Programs of the Folder: kill() and start() are a crash and its end."""

    def __init__(self, cluster, folder, configuration=None):
        """configuration: that of the KubeVirt CR."""
        if not os.access(PROGRAMS / "virt-controller", os.X_OK):
            raise RuntimeError(
                f"{PROGRAMS}/virt-controller is missing: `make kubevirt` "
                "builds it, or set KUBEVIRT")
        self.cluster, self.folder = cluster, folder
        self.kube = cluster.kube()
        self.configuration = configuration or {}
        pki = cluster.dir / "pki"
        self.ca = (pki / "ca.crt").read_text()
        # The programs watch this folder. Logs in it would have no end, as each
        # change is logged.
        keys = folder.path / "kubevirt-keys"
        keys.mkdir()
        self.cert, self.key = sign(
            keys, pki / "ca.crt", pki / "ca.key",
            f"virt-api.{NAMESPACE}.svc", "localhost")
        self.ports = {name: free_port() for name in (
            "virt-api", "virt-controller")}

    def start(self):
        """Installs and starts everything; returns when it works."""
        self.manifests = json.loads(subprocess.run(
            [PROGRAMS / "virt-controller", "manifests"], check=True,
            capture_output=True, timeout=PATIENCE_S).stdout)
        self.create_definitions()
        self.create_service()
        self.begin_programs()
        self.register()
        self.await_ready()
        return self

    def create_definitions(self):
        """The definitions, the accounts and their rights, and the CR."""
        self.kube.create({"apiVersion": "v1", "kind": "Namespace",
                          "metadata": {"name": NAMESPACE}})
        # Each definition makes the API server work: no more at one time.
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(self.create, self.manifests["crds"]))
        for thing in self.manifests["rbac"]:
            self.create(thing)
        self.create({"apiVersion": "v1", "kind": "ConfigMap",
                     "metadata": {"name": "kubevirt-ca",
                                  "namespace": NAMESPACE},
                     "data": {"ca-bundle": self.ca}})
        for crd in self.manifests["crds"]:
            name = crd["metadata"]["name"]
            eventually(f"{name} is established",
                       lambda name=name: self.established(name))
        self.create({
            "apiVersion": "kubevirt.io/v1", "kind": "KubeVirt",
            "metadata": {"name": "kubevirt", "namespace": NAMESPACE},
            "spec": {"configuration": self.configuration}})
        self.patch_cr({"status": {
            "phase": "Deployed", "defaultArchitecture": "amd64",
            "observedKubeVirtVersion": self.version(),
            "targetKubeVirtVersion": self.version(),
            "operatorVersion": self.version(),
            "outdatedVirtualMachineInstanceWorkloads": 0}}, "/status")

    def create(self, thing):
        thing.pop("status", None)
        return create(self.kube, thing)

    def established(self, name):
        status = self.kube.get(path_of("CustomResourceDefinition", name=name))
        return any(c["type"] == "Established" and c["status"] == "True"
                   for c in status["status"].get("conditions") or [])

    @staticmethod
    def version():
        """As the module's file says it."""
        return os.environ.get("KUBEVIRT_VERSION", "v1.9.0")

    def patch_cr(self, change, subresource=""):
        """Changes the KubeVirt CR, as an administrator does."""
        return self.kube.patch(path_of(
            "KubeVirt", NAMESPACE, "kubevirt") + subresource, change)

    def create_service(self):
        self.create({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "virt-api", "namespace": NAMESPACE},
            "spec": {"type": "ExternalName", "externalName": "localhost"}})

    def kubeconfig(self, account):
        token = self.kube.request(
            "POST", path_of("ServiceAccount", NAMESPACE, account) + "/token",
            {"spec": {"expirationSeconds": TOKEN_S}})["status"]["token"]
        path = self.folder.path / f"{account}.kubeconfig"
        path.write_text(token_kubeconfig(self.cluster.kubeconfig(), token))
        return path

    def program(self, name, account, *flags):
        return self.folder.add(Program(self.folder.path, name, [
            PROGRAMS / name, "--kubeconfig", self.kubeconfig(account),
            "--listen", "127.0.0.1", "--port", self.ports[name],
            *flags])).start()

    def begin_programs(self):
        # The same pair for each purpose: the tests are not about these.
        self.virt_api = self.program(
            "virt-api", "kubevirt-apiserver",
            "--tls-cert-file", self.cert, "--tls-key-file", self.key,
            "--handler-cert-file", self.cert,
            "--handler-key-file", self.key)
        self.virt_controller = self.program(
            "virt-controller", "kubevirt-controller",
            "--launcher-image", "registry.example/virt-launcher:test",
            "--prom-cert-file", self.cert, "--prom-key-file", self.key)

    def register(self):
        """The APIServices, and when virt-api answers the webhooks."""
        for thing in self.manifests["apiServices"]:
            thing["spec"]["caBundle"] = self.bundle()
            thing["spec"]["service"]["port"] = self.ports["virt-api"]
            self.create(thing)
        eventually("virt-api answers", self.virt_api_answers)
        for thing in self.manifests["webhooks"]:
            for hook in thing["webhooks"]:
                hook["clientConfig"]["caBundle"] = self.bundle()
                hook["clientConfig"]["service"]["port"] = self.ports[
                    "virt-api"]
            self.create(thing)

    def bundle(self):
        return base64.b64encode(self.ca.encode()).decode()

    def check(self, program):
        if not program.running():
            raise AssertionError(f"{program.name} ended with "
                                 f"{program.process.returncode}: "
                                 f"{program.log()[-2000:]}")

    def virt_api_answers(self):
        """Whether virt-api serves its API, asked through kube-apiserver."""
        self.check(self.virt_api)
        try:
            self.kube.get(f"{SUBRESOURCES}/healthz")
        except Refused:
            return False
        return True

    def virt_controller_leads(self):
        self.check(self.virt_controller)
        link = http.client.HTTPSConnection(
            "localhost", self.ports["virt-controller"], timeout=PATIENCE_S,
            context=ssl.create_default_context(cadata=self.ca))
        try:
            link.request("GET", "/leader")
            return b"true" in link.getresponse().read()
        except OSError:
            return False
        finally:
            link.close()

    def await_ready(self):
        """Waits until both work, also after a crash."""
        eventually("virt-api answers", self.virt_api_answers)
        eventually("virt-controller leads", self.virt_controller_leads)
