"""The Kubernetes API for tests: a kubeconfig with a client certificate or a
token, JSON in and out."""
import base64
import http.client
import json
import os
import pathlib
import ssl
import subprocess
import tempfile
import urllib.parse

from harness import PATIENCE_S, ROOT, eventually

KUBECLUSTER = os.environ.get("KUBECLUSTER", str(ROOT / "build/kubecluster"))


STORAGE = "/apis/storage.k8s.io/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
MERGE = "application/merge-patch+json"

# Kind -> where its API is, its plural, and whether it is in a namespace.
KINDS = {
    "Node": ("/api/v1", "nodes", False),
    "Namespace": ("/api/v1", "namespaces", False),
    "Pod": ("/api/v1", "pods", True),
    "ServiceAccount": ("/api/v1", "serviceaccounts", True),
    "PersistentVolume": ("/api/v1", "persistentvolumes", False),
    "PersistentVolumeClaim": ("/api/v1", "persistentvolumeclaims", True),
    "StorageClass": (STORAGE, "storageclasses", False),
    "CSINode": (STORAGE, "csinodes", False),
    "CSIDriver": (STORAGE, "csidrivers", False),
    "CSIStorageCapacity": (STORAGE, "csistoragecapacities", True),
    "VolumeAttachment": (STORAGE, "volumeattachments", False),
    "ClusterRole": (RBAC, "clusterroles", False),
    "ClusterRoleBinding": (RBAC, "clusterrolebindings", False),
    "MutatingWebhookConfiguration": (
        "/apis/admissionregistration.k8s.io/v1",
        "mutatingwebhookconfigurations", False),
    "Job": ("/apis/batch/v1", "jobs", True),
    "Lease": ("/apis/coordination.k8s.io/v1", "leases", True),
}
# Those that the cluster itself makes in every namespace.
COMMON_KINDS = {
    "ConfigMap": ("/api/v1", "configmaps", True),
    "Secret": ("/api/v1", "secrets", True),
}
# What a cluster serves only once its CustomResourceDefinition is there.
CUSTOM_KINDS = {
    "Certificate": ("/apis/cert-manager.io/v1", "certificates", True),
}
# The cluster makes and removes objects here at any time.
SYSTEM_NAMESPACES = ("kube-system", "kube-node-lease", "kube-public")


def path_of(kind, namespace=None, name=None):
    """The path of one object, or without a name of a list; without a
    namespace the list of all namespaces."""
    base, plural, is_namespaced = (
        KINDS | COMMON_KINDS | CUSTOM_KINDS)[kind]
    path = base
    if is_namespaced and namespace:
        path += f"/namespaces/{namespace}"
    return f"{path}/{plural}" + (f"/{name}" if name else "")


def path_of_object(thing):
    meta = thing["metadata"]
    return path_of(thing["kind"], meta.get("namespace"), meta["name"])


class Refused(Exception):
    """The API server answered with an error."""

    def __init__(self, status, body):
        self.status = status
        self.message = body.get("message", str(body))
        super().__init__(f"{status}: {self.message}")


def read_kubeconfig(path):
    """The current context of a kubeconfig file, with all data inline."""
    try:  # kubecluster writes JSON
        return json.loads(pathlib.Path(path).read_text())
    except ValueError:
        return json.loads(kubectl(path, "config", "view", "--raw", "--minify",
                                  "--flatten", "-o", "json"))


def kubectl(kubeconfig, *arguments, text=None):
    """The output of kubectl; CalledProcessError if it fails."""
    return subprocess.run(
        [KUBECLUSTER, "kubectl", *arguments], input=text, text=True,
        check=True, capture_output=True,
        env=dict(os.environ, KUBECONFIG=str(kubeconfig))).stdout


def token_kubeconfig(admin, token, server=None):
    """The text of a kubeconfig for the admin's cluster with this token as the
    user, and with another server if one is named."""
    config = read_kubeconfig(admin)
    if server:
        config["clusters"][0]["cluster"]["server"] = server
    config["users"][0]["user"] = {"token": token}
    return json.dumps(config)


class Kube:
    """Requests as the user of a kubeconfig."""

    def __init__(self, kubeconfig):
        config = read_kubeconfig(kubeconfig)
        cluster = config["clusters"][0]["cluster"]
        user = config["users"][0]["user"]
        ca = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self.server = urllib.parse.urlsplit(cluster["server"])
        self.tls = ssl.create_default_context(cadata=ca)
        self.headers = {"Accept": "application/json"}
        if "token" in user:
            self.headers["Authorization"] = f"Bearer {user['token']}"
        if "client-certificate-data" in user:
            self.load_certificate(user)

    def load_certificate(self, user):
        with tempfile.TemporaryDirectory() as folder:
            cert, key = pathlib.Path(folder, "c"), pathlib.Path(folder, "k")
            cert.write_bytes(
                base64.b64decode(user["client-certificate-data"]))
            key.write_bytes(base64.b64decode(user["client-key-data"]))
            self.tls.load_cert_chain(cert, key)

    def request(self, method, path, body=None, kind="application/json"):
        connection = http.client.HTTPSConnection(
            self.server.hostname, self.server.port, context=self.tls,
            timeout=PATIENCE_S)
        try:
            connection.request(
                method, self.server.path.rstrip("/") + path,
                body=None if body is None else json.dumps(body),
                headers=dict(self.headers, **{"Content-Type": kind}))
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        try:
            parsed = json.loads(text or b"{}")
        except ValueError:
            parsed = {"message": text.decode(errors="replace")}
        if answer.status >= 300:
            raise Refused(answer.status, parsed)
        return parsed

    def get(self, path):
        return self.request("GET", path)

    def find(self, path):
        """The object, or None if there is none."""
        try:
            return self.get(path)
        except Refused as no:
            if no.status == 404:
                return None
            raise

    def create(self, thing):
        path = path_of(thing["kind"], thing["metadata"].get("namespace"))
        return self.request("POST", path, thing)

    def delete(self, path):
        """At once: no kubelet has to confirm the end of a pod."""
        try:
            self.request("DELETE", path, {
                "gracePeriodSeconds": 0, "kind": "DeleteOptions",
                "apiVersion": "v1"})
        except Refused as no:
            if no.status != 404:
                raise

    def remove(self, thing):
        self.delete(path_of_object(thing))

    def patch(self, path, change):
        return self.request("PATCH", path, change, MERGE)

    def patch_status(self, thing, status):
        return self.patch(path_of_object(thing) + "/status",
                          {"status": status})

    def objects(self):
        """(Kind, namespace, name) of everything that tests can leave."""
        return {(kind, meta.get("namespace"), meta["name"])
                for kind in KINDS
                for meta in (item["metadata"] for item in self.get(
                    path_of(kind))["items"])
                if meta.get("namespace") not in SYSTEM_NAMESPACES}

    def await_node(self, name):
        """Waits until the Node is Ready and the control plane has removed
        its own taints."""
        def ready():
            node = self.get(f"/api/v1/nodes/{name}")
            taints = {t["key"] for t in node["spec"].get("taints", [])}
            return (not any(t.startswith("node.kubernetes.io/")
                            for t in taints)
                    and any(c["type"] == "Ready" and c["status"] == "True"
                            for c in node["status"].get("conditions", [])))
        eventually(f"{name} is ready", ready)

    def await_account(self, namespace):
        """Pods can be created once their ServiceAccount exists."""
        eventually(f"{namespace} has its ServiceAccount", lambda: self.find(
            f"/api/v1/namespaces/{namespace}/serviceaccounts/default"))

    def token(self, namespace, account, pod=None, audience=None):
        """A token of a ServiceAccount, bound to a pod if one is given; without
        an audience for the API server."""
        spec = {"expirationSeconds": 600}
        if audience:
            spec["audiences"] = [audience]
        if pod:
            spec["boundObjectRef"] = {
                "kind": "Pod", "apiVersion": "v1",
                "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
        path = path_of("ServiceAccount", namespace, account)
        return self.request("POST", f"{path}/token",
                            {"spec": spec})["status"]["token"]

    def pod(self, namespace, name):
        return self.find(f"/api/v1/namespaces/{namespace}/pods/{name}")

    def node_of(self, pod):
        """The node that a created pod is bound to, or None."""
        meta = pod["metadata"]
        now = self.pod(meta["namespace"], meta["name"])
        return now and now["spec"].get("nodeName")

    def events(self, pod):
        """The events of this pod by its uid, oldest first."""
        meta = pod["metadata"]
        listed = self.get(
            f"/apis/events.k8s.io/v1/namespaces/{meta['namespace']}/events"
            f"?fieldSelector=regarding.uid={meta['uid']}")["items"]
        return sorted(listed, key=lambda e: e.get("eventTime") or "")

    def condition(self, pod, kind="PodScheduled"):
        meta = pod["metadata"]
        now = self.pod(meta["namespace"], meta["name"])
        conditions = now["status"].get("conditions", [])
        return next((c for c in conditions if c["type"] == kind), None)
