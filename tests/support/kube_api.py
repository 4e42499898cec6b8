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

from harness import ROOT, eventually

KUBECLUSTER = os.environ.get("KUBECLUSTER", str(ROOT / "build/kubecluster"))


class Refused(Exception):
    """The API server said no."""

    def __init__(self, status, body):
        self.status = status
        self.message = body.get("message", str(body))
        super().__init__(f"{status}: {self.message}")


class Kube:
    """Requests as the user of a kubeconfig."""

    def __init__(self, kubeconfig):
        self.kubeconfig = str(kubeconfig)
        text = subprocess.run(
            [KUBECLUSTER, "kubectl", "config", "view", "--raw", "--minify",
             "--flatten", "-o", "json"], check=True, capture_output=True,
            env=dict(os.environ, KUBECONFIG=self.kubeconfig)).stdout
        config = json.loads(text)
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
            timeout=30)
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
        kind, namespace = thing["kind"], thing["metadata"].get("namespace")
        plural = {"Node": "nodes", "Pod": "pods",
                  "Namespace": "namespaces"}[kind]
        where = f"/namespaces/{namespace}" if namespace else ""
        return self.request("POST", f"/api/v1{where}/{plural}", thing)

    def delete(self, path):
        try:
            self.request("DELETE", path)
        except Refused as no:
            if no.status != 404:
                raise

    def await_node(self, name):
        """Until the Node is Ready and carries no taint but its own."""
        def ready():
            node = self.get(f"/api/v1/nodes/{name}")
            taints = {t["key"] for t in node["spec"].get("taints", [])}
            return (not any(t.startswith("node.kubernetes.io/")
                            for t in taints)
                    and any(c["type"] == "Ready" and c["status"] == "True"
                            for c in node["status"].get("conditions", [])))
        eventually(f"{name} is ready", ready)

    def await_account(self, namespace):
        """Pods can only be created once their account is there."""
        eventually(f"{namespace} has its ServiceAccount", lambda: self.find(
            f"/api/v1/namespaces/{namespace}/serviceaccounts/default"))

    def pod(self, namespace, name):
        return self.find(f"/api/v1/namespaces/{namespace}/pods/{name}")

    def node_of(self, pod):
        """Where a pod that was created is bound to, or None."""
        meta = pod["metadata"]
        now = self.pod(meta["namespace"], meta["name"])
        return now and now["spec"].get("nodeName")

    def delete_pod(self, pod):
        """At once: no kubelet confirms it."""
        meta = pod["metadata"]
        try:
            self.request(
                "DELETE",
                f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}",
                {"gracePeriodSeconds": 0, "kind": "DeleteOptions",
                 "apiVersion": "v1"})
        except Refused as no:
            if no.status != 404:
                raise

    def events(self, pod):
        """Of this very pod, oldest first."""
        meta = pod["metadata"]
        listed = self.get("/apis/events.k8s.io/v1/namespaces/"
                          f"{meta['namespace']}/events")["items"]
        mine = [e for e in listed
                if e["regarding"].get("uid") == meta["uid"]]
        return sorted(mine, key=lambda e: e.get("eventTime") or "")

    def condition(self, pod, kind="PodScheduled"):
        meta = pod["metadata"]
        now = self.pod(meta["namespace"], meta["name"])
        conditions = now["status"].get("conditions", [])
        return next((c for c in conditions if c["type"] == kind), None)
