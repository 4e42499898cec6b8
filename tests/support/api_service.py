"""A test case with plimsoll's API in a cluster: the APIService, the rights and
the certificates of deploy/components/kubectl, and users who run kubectl.

    class Asks(ApiServiceCase):
        @classmethod
        def setUpClass(cls):
            # Alone: an APIService concerns every namespace of the cluster.
            cls.begin_alone("--with", "controller-manager",
                            "--local-services")
            cls.begin_api()
            ...  # start an aggregator with cls.api_flags()
            cls.await_available()

cls.users is user -> kubeconfig: "admin" has that of the cluster, and each
account() a token for some minutes."""
import base64
import contextlib
import http.client
import json
import re
import ssl
import subprocess

import yaml

from cluster import ClusterCase
from harness import BIN, PATIENCE_S, ROOT, eventually
from kube_api import KUBECLUSTER, RBAC, token_kubeconfig
from ports import free_port

APISERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
COMPONENT = ROOT / "deploy/components/kubectl"


def manifests(name):
    """The objects of a file of the component."""
    return list(yaml.safe_load_all((COMPONENT / name).read_text()))


class ApiService:
    """What a class does that has cls.cluster, cls.kube and cls.folder."""

    HOST = "127.96.77.1"  # the Service's address, on this machine

    @classmethod
    def begin_api(cls):
        """Everything but the aggregator, which needs cls.api_flags()."""
        cls.users = {"admin": cls.cluster.kubeconfig()}
        cls.port = free_port()
        for name in ("plimsoll", "plimsoll-agents"):
            cls.kube.request("POST", "/api/v1/namespaces",
                             cls.namespace(name))
        cls.make_api_rights()
        cls.register()
        cls.issue()

    @staticmethod
    def namespace(name):
        return {"apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": name}}

    @classmethod
    def make_api_rights(cls):
        """The roles of the component, and the aggregator's account."""
        for thing in manifests("roles.yaml") + manifests("page.yaml"):
            plural = thing["kind"].lower() + "s"
            cls.kube.request("POST", f"{RBAC}/{plural}", thing)
        cls.account("plimsoll", "plimsoll-aggregator")
        for thing in manifests("account.yaml"):
            namespace = thing["metadata"]["namespace"]
            cls.kube.request(
                "POST", f"{RBAC}/namespaces/{namespace}/rolebindings", thing)
        base = list(yaml.safe_load_all(
            (ROOT / "deploy/base/aggregator/account.yaml").read_text()))
        for thing in base[1:3]:
            plural = thing["kind"].lower() + "s"
            cls.kube.request("POST", f"{RBAC}/{plural}", thing)

    @classmethod
    def account(cls, namespace, name):
        cls.kube.request(
            "POST", f"/api/v1/namespaces/{namespace}/serviceaccounts",
            {"metadata": {"name": name}})
        cls.users[name] = cls.folder.path / f"{name}.kubeconfig"
        cls.users[name].write_text(token_kubeconfig(
            cls.cluster.kubeconfig(),
            cls.kube.token(namespace, name, audience=None)))

    @classmethod
    def register(cls):
        """The APIService of the component. Its Service has an address of
        this machine."""
        service, = manifests("apiservice.yaml")
        service["spec"]["service"]["port"] = cls.port
        cls.kube.request("POST", "/api/v1/namespaces/plimsoll/services", {
            "metadata": {"name": service["spec"]["service"]["name"]},
            "spec": {"clusterIP": cls.HOST,
                     "ports": [{"port": cls.port}]}})
        # kube-apiserver wants to see a pod, and calls the Service's address.
        # Kubernetes 1.30 looks for it in Endpoints.
        cls.kube.request(
            "POST", "/api/v1/namespaces/plimsoll/endpoints", {
                "metadata": {"name": "plimsoll-aggregator"},
                "subsets": [{"addresses": [{"ip": "192.0.2.1"}],
                             "ports": [{"port": cls.port}]}]})
        cls.kube.request(
            "POST", "/apis/discovery.k8s.io/v1/namespaces/plimsoll/"
            "endpointslices", {
                "metadata": {
                    "name": "plimsoll-aggregator-1", "labels": {
                        "kubernetes.io/service-name": "plimsoll-aggregator"}},
                "addressType": "IPv4", "ports": [{"port": cls.port}],
                "endpoints": [{"addresses": ["192.0.2.1"],
                               "conditions": {"ready": True}}]})
        cls.kube.request("POST", APISERVICES, service)

    @classmethod
    def issue(cls):
        """The certificates, and the authority in the APIService, as the Job
        makes them."""
        for thing in yaml.safe_load_all(
                (COMPONENT.parent / "certificates/secrets.yaml").read_text()):
            cls.kube.create(thing)
        job = yaml.safe_load((COMPONENT / "kustomization.yaml").read_text())
        flag = next(re.search(r"value: (--api-service=\S+)", one["patch"])[1]
                    for one in job["patches"] if one.get("target", {}).get(
                        "kind") == "Job")
        done = subprocess.run(
            [BIN / "plimsoll-scheduler", "certificates", "--kubeconfig",
             cls.users["admin"], flag], check=False, timeout=PATIENCE_S,
            capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        secret = cls.kube.get("/api/v1/namespaces/plimsoll/secrets/"
                              "plimsoll-aggregator-tls")["data"]
        for name in ("tls.crt", "tls.key"):
            (cls.folder.path / name).write_bytes(
                base64.b64decode(secret[name]))
        cls.authority = base64.b64decode(cls.kube.get(
            f"{APISERVICES}/v1alpha1.load.plimsoll.io")["spec"][
                "caBundle"]).decode()

    @classmethod
    def api_flags(cls):
        """The aggregator's."""
        return ("--kubeconfig", cls.users["plimsoll-aggregator"],
                *cls.listener_flags())

    @classmethod
    def listener_flags(cls):
        return ("--api", f"{cls.HOST}:{cls.port}",
                "--api-tls-cert", cls.folder.path / "tls.crt",
                "--api-tls-key", cls.folder.path / "tls.key")

    @classmethod
    def await_available(cls):
        def available():
            status = cls.kube.get(
                f"{APISERVICES}/v1alpha1.load.plimsoll.io").get("status", {})
            return any(c["type"] == "Available" and c["status"] == "True"
                       for c in status.get("conditions", []))
        eventually("the APIService is available", available)

    @classmethod
    def user_environment(cls, user):
        """Of kubectl and of plugins."""
        return {"KUBECONFIG": str(cls.users[user]),
                "HOME": str(cls.folder.path), "PATH": "/usr/bin:/bin"}

    def run_kubectl(self, user, *arguments):
        return subprocess.run(
            [KUBECLUSTER, "kubectl", *arguments], text=True,
            timeout=PATIENCE_S,
            capture_output=True, check=False, env=self.user_environment(user))

    # ---- past kube-apiserver ----

    def ask(self, path, cert=None, headers=None):
        """Status and body of a request that goes past kube-apiserver."""
        trust = ssl.create_default_context(cadata=self.authority)
        trust.check_hostname = False
        if cert:
            trust.load_cert_chain(*cert)
        with contextlib.closing(http.client.HTTPSConnection(
                self.HOST, self.port, context=trust,
                timeout=PATIENCE_S)) as connection:
            connection.request("GET", path, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def proxy_cert(self):
        pki = self.cluster.dir / "pki"
        return pki / "front-proxy-client.crt", pki / "front-proxy-client.key"


class ApiServiceCase(ApiService, ClusterCase):
    """A test case with all of this."""
