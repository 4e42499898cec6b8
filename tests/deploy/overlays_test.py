"""Each overlay on a real API server, with the programs from the images."""
import http.server
import json
import os
import pathlib
import socket
import ssl
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from harness import eventually, launcher  # noqa: E402
from installation import FOREIGN, NAMESPACES  # noqa: E402
from installation_case import (PART_OF, InstallationCase,  # noqa: E402
                               new_world)
from kubelet import own_network  # noqa: E402

# As OpenShift's SCC `restricted-v2` gives them.
GIVEN_USER = 1000660000
ENGINE = ("vminsert.monitoring.svc", "10.77.3.1", 8480)
world = None  # the cluster of all tests here


def setUpModule():
    global world
    own_network()
    world = new_world()


class Engine:
    """An HTTPS server that counts what the aggregator sends."""

    def __init__(self, certificate, key):
        self.paths = paths = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                paths.append(self.path)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                """Says nothing."""
        self.server = http.server.ThreadingHTTPServer(ENGINE[1:], Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.server.socket = context.wrap_socket(self.server.socket,
                                                 server_side=True)
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Overlays(InstallationCase):
    """Each test installs an overlay and removes it, but for the namespaces,
    which takes five seconds each."""

    @classmethod
    def setUpClass(cls):
        cls.begin(world)
        cls.addClassCleanup(cls.remove)
        cls.shell.run("kubectl label namespace vms "
                      "plimsoll.io/schedule=enabled")

    def empty_namespaces(self):
        self.delete_pods()
        self.shell.run(f"kubectl delete -A -l {PART_OF} "
                       + world.kinds("list,delete", "namespaces"))
        for name in NAMESPACES:
            self.shell.run(f"kubectl -n {name} delete secret,pvc --all")
        self.free_the_disk()

    def begin_overlay(self, folder):
        """Applies it; its pods are not awaited."""
        self.addCleanup(self.empty_namespaces)
        said = self.shell.run(f"kubectl apply -k {folder} 2>&1")
        self.assertNotRegex(said, "(?i)warn|error|violat")

    def use(self, overlay, **others):
        self.begin_overlay(f"deploy/overlays/{overlay}")
        self.await_installation(**others)
        self.await_loads()

    # ---- who sets schedulerName ----

    def test_the_api_server_sets_the_scheduler_by_policy(self):
        self.use("admission-policy")
        self.await_idlest()
        reader = self.let_read()
        eventually("the schedulers know", lambda: all(
            'plimsoll_scheduler_admission_state{state="policy"} 1' in text
            for text in self.ask_schedulers("/metrics", reader)))
        for resource in ("mutatingadmissionpolicies",
                         "mutatingadmissionpolicybindings"):
            self.assertTrue(any(
                f'"{resource}"' in line
                and '"code":200' in line and "plimsoll-scheduler/" in line
                for line in world.audit.read_text().splitlines()), resource)
        self.assert_left_alone("resourceClaims", {
            "name": "gpu", "resourceClaimName": "gpu"})
        self.assert_left_alone("volumes", {
            "name": "disk", "awsElasticBlockStore": {"volumeID": "v"}})

    def assert_left_alone(self, field, entry):
        """A VM with this entry in a list of its pod keeps its scheduler."""
        pod = launcher(field.lower(), "vms", "default-scheduler")
        pod["spec"].setdefault(field, []).append(entry)
        self.assertEqual(self.make(pod)["spec"]["schedulerName"],
                         "default-scheduler")

    def test_a_second_kube_scheduler_uses_the_extender(self):
        self.use("extender", kube_scheduler=2)
        if os.path.exists("/dev/kvm"):
            self.await_idlest("plimsoll-extended")
        else:
            self.await_name("plimsoll-extended")
            self.assert_kvm_is_missing("plimsoll-extended")

    def assert_kvm_is_missing(self, scheduler):
        """kube-scheduler asks the extender about pods that request KVM, which
        no node here has."""
        pod = self.make(launcher("no-kvm", "vms", scheduler))
        eventually("an event says why the pod waits", lambda: any(
            "KVM missing" in e["note"] for e in self.kube.events(pod)))
        self.assertIsNone(self.kube.node_of(pod))

    # ---- the API for kubectl ----

    def test_the_documented_commands_keep_the_api_of_the_overlay_kubectl(self):
        self.addCleanup(self.empty_namespaces)
        before = world.objects()
        ours = {"overlay": "deploy/overlays/kubectl"}
        self.shell.follow("install.md",
                          heading="The certificates, then the rest", **ours)
        self.await_installation()
        self.await_api()
        pids, served = self.pids(), self.served()
        authority = self.authority()
        self.shell.follow("upgrade.md", heading="New certificates", **ours)
        eventually("every server presents its new certificate",
                   lambda: not set(self.served()) & set(served))
        self.assertEqual(self.authority(), authority)
        self.await_api()
        self.shell.run("kubectl create namespace passing")
        self.shell.run("kubectl delete namespace passing --timeout=60s")
        self.shell.follow("upgrade.md", heading="Steps", **ours)
        self.await_installation()
        self.await_api()
        self.assertEqual(self.pids(), pids)
        self.addCleanup(self.shell.run, "kubectl label namespace vms "
                        "plimsoll.io/schedule=enabled")
        self.shell.follow("uninstall.md", **ours)
        self.assertFalse([line for line in world.objects() - before
                          if "plimsoll" in line])

    def await_api(self):
        """kube-apiserver reaches the aggregator, and believes it."""
        eventually("the API serves all nodes", lambda: self.shell.try_(
            "kubectl get nodeloads -o name").stdout.count("/node-") == 3)
        self.shell.run("kubectl wait --for=condition=Available "
                       "apiservice/v1alpha1.load.plimsoll.io --timeout=60s")

    # ---- users ----

    def test_unprivileged_agents_measure_and_never_report_kvm_as_ok(self):
        self.use("unprivileged")
        states = set()
        for agent in self.kubelet.of("agent"):
            self.assertNotEqual(agent.user, 0)
            self.assertEqual(agent.context["capabilities"], {"drop": ["ALL"]})
            code, said = agent.run(
                *agent.entrypoint, "--once", "--proc-root=/host/proc",
                "--cgroup-root=/host/cgroup", "--dev-root=/host/dev")
            self.assertEqual(code, 0, said)
            states.add(json.loads(said)["kvm"]["state"])
        self.assertEqual(states, {"unverified" if os.path.exists("/dev/kvm")
                                  else "missing"})
        self.await_idlest()

    def test_the_programs_work_as_any_user_that_openshift_gives(self):
        """The SCC's admission is played: it writes these fields."""
        folder = world.path / "deploy/given"
        folder.mkdir()
        (folder / "kustomization.yaml").write_text(f"""
resources: [../overlays/openshift]
patches:
- target: {{kind: Deployment|StatefulSet|Job}}
  patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata: {{name: each}}
    spec: {{template: {{spec: {{securityContext: {{
      runAsUser: {GIVEN_USER}, runAsGroup: 0, fsGroup: {GIVEN_USER}}}}}}}}}
""")
        self.begin_overlay("deploy/given")
        self.await_installation()
        self.await_loads()
        for name in ("aggregator", "scheduler"):
            for container in self.kubelet.of(name):
                self.assertEqual((container.user, container.own_group),
                                 (GIVEN_USER, 0))
        database = world.path / "claims/data-plimsoll-aggregator-0/plimsoll.db"
        self.assertEqual(database.stat().st_gid, GIVEN_USER)
        self.await_idlest()

    # ---- cert-manager ----

    def test_it_works_with_certificates_of_cert_manager_that_change(self):
        self.addCleanup(self.shell.run,
                        "kubectl delete namespace cert-manager --wait=false")
        self.shell.run("kubectl create namespace cert-manager")
        self.addCleanup(self.shell.run,
                        f"kubectl delete -f {FOREIGN}/cert-manager.yaml")
        world.apply_crds("cert-manager.yaml", "certificates")
        self.begin_overlay("deploy/overlays/cert-manager")
        keys = world.path / "cert-manager"
        keys.mkdir()
        self.play_cert_manager(keys)
        self.await_installation()
        self.await_loads()
        self.await_idlest()
        pids, served = self.pids(), self.served()
        self.play_cert_manager(keys)
        eventually("every server presents its new certificate",
                   lambda: not set(self.served()) & set(served))
        for agent in self.kubelet.of("agent"):
            agent.program.wait_log("connected")
        self.await_idlest()
        self.assertEqual(self.pids(), pids)

    def play_cert_manager(self, keys):
        """Signs the Certificates, the authority first and once, and fills in
        the webhook's caBundle."""
        asked = json.loads(self.shell.run(
            "kubectl get certificates -A -o json"))["items"]
        self.assertEqual(len(asked), 5)
        for thing in sorted(asked, key=lambda c: "isCA" not in c["spec"]):
            self.sign(keys, thing["metadata"]["namespace"], thing["spec"])
        webhook = json.loads(self.shell.run(
            "kubectl get mutatingwebhookconfigurations "
            "plimsoll-scheduler-name -o json"))
        namespace, name = webhook["metadata"]["annotations"][
            "cert-manager.io/inject-ca-from"].split("/")
        secret, = [c["spec"]["secretName"] for c in asked
                   if c["metadata"]["name"] == name]
        self.shell.run(
            "kubectl patch mutatingwebhookconfigurations "
            "plimsoll-scheduler-name --type=json -p '[{\"op\": \"add\", "
            '"path": "/webhooks/0/clientConfig/caBundle", "value": "\'$('
            f"kubectl -n {namespace} get secret {secret} "
            "-o jsonpath='{.data.ca\\.crt}')'\"}]'")

    def sign(self, keys, namespace, spec):
        new = keys / spec["secretName"]
        if "isCA" in spec:
            if (keys / "ca.key").exists():
                return
            line = (f"-x509 -subj '/CN={spec['commonName']}' -addext "
                    "basicConstraints=critical,CA:TRUE")
            new = keys / "ca"
        else:
            usages = ",".join(
                {"digital signature": "digitalSignature",
                 "server auth": "serverAuth", "client auth": "clientAuth"}[u]
                for u in spec["usages"] if u != "digital signature")
            names = ",".join(f"DNS:{n}" for n in spec["dnsNames"])
            line = (f"-x509 -CA {keys}/ca.crt -CAkey {keys}/ca.key -subj /CN=x"
                    " -addext basicConstraints=critical,CA:FALSE"
                    f" -addext extendedKeyUsage={usages}"
                    f" -addext subjectAltName={names}")
        self.shell.run(
            "openssl req -new -newkey ec -pkeyopt "
            f"ec_paramgen_curve:prime256v1 -nodes -keyout {new}.key "
            f"-out {new}.crt -days 30 {line} 2>&1")
        if "isCA" not in spec:
            self.shell.run(
                f"kubectl -n {namespace} create secret generic "
                f"{spec['secretName']} --from-file=ca.crt={keys}/ca.crt "
                f"--from-file=tls.crt={new}.crt --from-file=tls.key={new}.key"
                " --dry-run=client -o yaml | kubectl apply -f -")

    # ---- Prometheus and others ----

    def test_prometheus_finds_the_authority_of_the_servers(self):
        self.addCleanup(self.shell.run,
                        f"kubectl delete -f {FOREIGN}/monitoring.yaml")
        world.apply_crds("monitoring.yaml", "servicemonitors")
        self.use("monitoring")
        monitors = json.loads(self.shell.run(
            "kubectl -n plimsoll get servicemonitors -o json"))["items"]
        for program, port in (("aggregator", 7474), ("scheduler", 7475)):
            endpoint, = [m["spec"]["endpoints"][0] for m in monitors
                         if m["metadata"]["name"] == f"plimsoll-{program}"]
            self.assertEqual(endpoint["scheme"], "https")
            asked = endpoint["tlsConfig"]
            authority = asked["ca"]["configMap"]
            held = json.loads(self.shell.run(
                "kubectl -n plimsoll get configmap -o json "
                + authority["name"]))["data"]
            trust = ssl.create_default_context(cadata=held[authority["key"]])
            address = self.kubelet.of(program)[0].address
            with socket.create_connection(
                    (address, port)) as plain, trust.wrap_socket(
                    plain, server_hostname=asked["serverName"]) as checked:
                self.assertTrue(checked.getpeercert())

    def test_reports_reach_an_engine_whose_authority_is_private(self):
        name, address, _ = ENGINE
        self.shell.run(
            "openssl req -x509 -new -newkey ec -pkeyopt "
            "ec_paramgen_curve:prime256v1 -nodes -keyout engine.key "
            f"-out engine.crt -days 2 -subj /CN=engine -addext "
            f"subjectAltName=DNS:{name} 2>&1")
        engine = Engine(world.path / "engine.crt", world.path / "engine.key")
        self.addCleanup(engine.close)
        world.kubelet.more_names[name] = address
        self.shell.run("kubectl create namespace plimsoll --dry-run=client "
                       "-o yaml | kubectl apply -f -")
        self.shell.run("kubectl -n plimsoll create configmap plimsoll-remote-"
                       "write-ca --from-file=ca.crt=engine.crt")
        self.addCleanup(self.shell.run, "kubectl -n plimsoll delete configmap "
                        "plimsoll-remote-write-ca")
        self.use("remote-write")
        eventually("the engine has reports", lambda: engine.paths)
        self.assertEqual(set(engine.paths),
                         {"/insert/0/prometheus/api/v1/write"})


if __name__ == "__main__":
    unittest.main()
