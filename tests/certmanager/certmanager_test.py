"""cert-manager's own controllers make, inject and renew the certificates of the
overlay cert-manager, for the programs from the images."""
import base64
import json
import os
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "deploy"))

from harness import ROOT, Program, eventually  # noqa: E402
from installation import NODES, PROGRAMS  # noqa: E402
from installation_case import (InstallationCase, Reader,  # noqa: E402
                               fenced, new_world,
                               second_apply_changes_nothing)
from kubelet import own_network  # noqa: E402
from manifests import rendered  # noqa: E402

BUILT = pathlib.Path(os.environ.get(
    "CERTMANAGER", str(ROOT / "build/ci/certmanager")))
OVERLAY = "deploy/overlays/cert-manager"
CERTIFICATES = "/apis/cert-manager.io/v1/namespaces/{}/certificates/{}"
AUTHORITY = ("cert-manager", "plimsoll-ca")
SERVERS = [("plimsoll", "plimsoll-aggregator"),
           ("plimsoll", "plimsoll-scheduler-server")]
CLIENTS = [("plimsoll-agents", "plimsoll-agent"),
           ("plimsoll", "plimsoll-scheduler")]
IN_USE = "TLS files changed and are in use"
world = None  # the cluster of all tests here


def setUpModule():
    global world
    own_network()
    world = new_world()
    world.make_namespaces("cert-manager")
    world.shell.run(f"kubectl apply -f {BUILT}/crds.yaml")
    world.shell.run("kubectl wait --for=condition=Established crd --all "
                    "--timeout=30s")
    program = Program(world.path, "cert-manager", [BUILT / "certmanager"],
                      {"KUBECONFIG": str(world.cluster.kubeconfig())}).start()
    unittest.addModuleCleanup(program.stop)


class CertManager(InstallationCase):
    @classmethod
    def setUpClass(cls):
        cls.begin(world)
        cls.install(f"kubectl apply -k {OVERLAY}")
        cls.shell.run("kubectl label namespace vms "
                      "plimsoll.io/schedule=enabled")
        cls.reader = cls.let_read()
        cls.await_loads()
        cls.await_idlest()

    @classmethod
    def remove(cls):
        """As the document says."""
        cls.delete_pods()
        cls.shell.run(f"kubectl delete -k {OVERLAY} --ignore-not-found")
        cls.shell.run(fenced("uninstall.md", "secret plimsoll-ca"))
        super().remove()

    # ---- cert-manager's objects ----

    def certificate(self, which):
        return self.kube.get(CERTIFICATES.format(*which))

    def renew(self, *all_):
        """Asks for a renewal as `cmctl renew` does, and awaits it."""
        before = {which: self.certificate(which) for which in all_}
        for which, found in before.items():
            conditions = [c for c in found["status"]["conditions"]
                          if c["type"] != "Issuing"]
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            self.kube.request(
                "PATCH", CERTIFICATES.format(*which) + "/status",
                {"status": {"conditions": [*conditions, {
                    "type": "Issuing", "status": "True",
                    "reason": "ManuallyTriggered", "message": "by a test",
                    "lastTransitionTime": now}]}},
                "application/merge-patch+json")
        for which, found in before.items():
            eventually(f"{which[1]} is renewed", lambda w=which, f=found:
                       self.certificate(w)["status"]["revision"]
                       > f["status"]["revision"])

    def in_use(self):
        """Container -> how often it took changed files."""
        return {c.uid: c.program.log().count(IN_USE) for name in PROGRAMS
                for c in self.kubelet.of(name)}

    def renew_and_await(self, *all_):
        """Waits until every program that has these files uses the new ones."""
        before, old = self.in_use(), self.served()
        self.renew(*all_)
        names = {name for _, which in all_ for name in PROGRAMS
                 if which.startswith(f"plimsoll-{name}")}
        users = [c.uid for name in names for c in self.kubelet.of(name)]
        eventually("the programs use the new files", lambda: all(
            self.in_use()[user] > before[user] for user in users))
        if set(SERVERS) <= set(all_):
            eventually("every server presents its new certificate",
                       lambda: not set(self.served()) & set(old))

    # ---- the tests ----

    def test_a_second_apply_changes_nothing(self):
        second_apply_changes_nothing(self.shell, f"-k {OVERLAY}")

    def test_the_api_service_gets_the_authority_of_the_aggregator(self):
        folder = self.shell.folder / "with-kubectl"
        folder.mkdir()
        parts = ("webhook", "cert-manager", "kubectl")
        (folder / "kustomization.yaml").write_text(json.dumps({
            "resources": ["../deploy/base"], "components": [
                f"../deploy/components/{name}" for name in parts]}))
        service, = (thing for thing in rendered(self.shell, "with-kubectl")
                    if thing["kind"] == "APIService")
        self.assertNotIn("caBundle", service["spec"])
        # Alone: no aggregator here listens for kube-apiserver.
        (folder / "service.json").write_text(json.dumps(service))
        path = ("/apis/apiregistration.k8s.io/v1/apiservices/"
                + service["metadata"]["name"])
        self.addCleanup(self.kube.delete, path)
        self.shell.run("kubectl apply -f with-kubectl/service.json")

        def has_the_authority():
            bundle = self.kube.get(path)["spec"].get("caBundle", "")
            return base64.b64decode(bundle).decode() == self.secret(
                "plimsoll-aggregator-tls", r"ca\.crt")
        eventually("cert-manager injects it", has_the_authority)
        self.assertIn("unchanged", self.shell.run(
            "kubectl apply -f with-kubectl/service.json"))
        self.assertTrue(has_the_authority())

    def test_renewals_come_without_a_restart_or_a_lost_report(self):
        """The authority too, with certificates of before and after it."""
        for agent in self.kubelet.of("agent"):
            agent.program.wait_log("connected")
        pids, begin, trust = self.pids(), int(time.time()), self.trust()
        reader = Reader(lambda: self.get("/v1/nodes", self.reader, trust))
        self.addCleanup(reader.close)
        self.renew_and_await(*SERVERS, *CLIENTS)
        self.works()
        key, authority = (self.secret("plimsoll-ca", name, "cert-manager")
                          for name in (r"tls\.key", r"tls\.crt"))
        self.renew(AUTHORITY)
        self.assertEqual(key, self.secret("plimsoll-ca", r"tls\.key",
                                          "cert-manager"))
        self.assertNotEqual(authority, self.secret("plimsoll-ca", r"tls\.crt",
                                                   "cert-manager"))
        self.renew_and_await(*CLIENTS)
        self.assertNotEqual(self.authority(), authority)
        self.works()
        self.renew_and_await(*SERVERS)
        self.works()
        eventually("it was asked meanwhile", lambda: reader.answers > 10)
        reader.close()
        self.assertEqual(reader.failures, [])
        self.assertEqual(self.pids(), pids)
        self.assertEqual([c.restarts for name in PROGRAMS
                          for c in self.kubelet.of(name)], [0] * 6)
        self.assert_no_report_lost(begin, self.reader)

    def works(self):
        """Reports arrive, the API server trusts the webhook, and schedulers
        have the load."""
        since = int(time.time())
        eventually("a report of after that", lambda: self.history(
            since, int(time.time()) + 2, self.reader))
        eventually("all nodes are fresh", lambda: self.fresh_nodes(
            self.reader) == set(NODES))
        self.await_idlest()

    def make_certificate(self, namespace, name, usage="server auth", **spec):
        """Named as the webhook's service, for which an attacker would want
        one; its path."""
        self.make({
            "apiVersion": "cert-manager.io/v1", "kind": "Certificate",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"secretName": name, "usages": [usage],
                     "dnsNames": ["plimsoll-scheduler.plimsoll.svc"],
                     "issuerRef": {"kind": "ClusterIssuer",
                                   "name": "plimsoll-ca"}, **spec}})
        return CERTIFICATES.format(namespace, name)

    def assert_refused(self, path, why):
        """cert-manager says so in an event or in its log."""
        namespace, name = path.split("/")[-3], path.split("/")[-1]
        eventually("an event says why", lambda: any(
            why in e.get("message", "") for e in self.kube.get(
                f"/api/v1/namespaces/{namespace}/events?fieldSelector="
                f"involvedObject.name={name}")["items"])
            or why in world.path.joinpath("cert-manager.log").read_text())
        secrets = self.shell.run(
            f"kubectl -n {namespace} get secret {name} --ignore-not-found")
        self.assertEqual(secrets, "")

    def test_no_tenant_gets_a_certificate_of_the_authority(self):
        for name, usage in (("as-server", "server auth"),
                            ("as-client", "client auth")):
            self.assert_refused(
                self.make_certificate("others", name, usage),
                "plimsoll-ca signs certificates of plimsoll's namespaces")

    def test_the_namespace_of_the_agents_gets_clients_alone(self):
        self.assert_refused(
            self.make_certificate("plimsoll-agents", "as-server"),
            "plimsoll-ca signs certificates of clients alone")
        self.assert_refused(
            self.make_certificate("plimsoll", "as-ca", "cert sign", isCA=True),
            "plimsoll-ca signs no authorities")

    def test_nobody_asks_the_authority_through_kubernetes(self):
        done = self.shell.try_(
            "openssl req -new -newkey rsa:2048 -nodes -keyout x.key -subj "
            "/CN=x -out x.csr; kubectl create -f - <<X\n"
            "apiVersion: certificates.k8s.io/v1\n"
            "kind: CertificateSigningRequest\nmetadata: {name: x}\n"
            "spec: {signerName: clusterissuers.cert-manager.io/plimsoll-ca, "
            "usages: [client auth], request: $(base64 -w0 x.csr)}\nX")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("plimsoll-ca signs no CertificateSigningRequests",
                      done.stderr)


if __name__ == "__main__":
    unittest.main()
