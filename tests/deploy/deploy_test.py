"""The manifests on a real API server with its own controllers and scheduler.
The tests run what `kubectl apply -k deploy/` makes, from the images, with the
accounts, tokens, certificates, users and mounts of the manifests. They use the
installation, try what is forbidden, and remove it."""
import collections
import json
import os
import pathlib
import re
import ssl
import sys
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from harness import (ROOT, eventually, http_get, launcher,  # noqa: E402
                     reserving)
from installation import (DISK, NAMESPACES, NODES,  # noqa: E402
                          PROGRAMS, World, account, vm_pod)
from kube_api import MERGE, Refused, path_of, path_of_object  # noqa: E402
from kubelet import own_network  # noqa: E402

PART_OF = "app.kubernetes.io/part-of=plimsoll"
FOREIGN = ROOT / "tests/deploy/foreign"
CLAIMS = path_of("PersistentVolumeClaim", "vms")
WEBHOOKS = ("/apis/admissionregistration.k8s.io/v1/"
            "validatingwebhookconfigurations")
# Without components/rebalance the scheduler asks for KubeVirt's objects in vain,
# and any account may review its own rights.
IN_VAIN = {("forbidden list", group, resource) for group, resource in (
    ("kubevirt.io", "virtualmachineinstances"),
    ("kubevirt.io", "virtualmachineinstancemigrations"),
    ("kubevirt.io", "kubevirts"),
    ("migrations.kubevirt.io", "migrationpolicies"))} | {
        ("create", "authorization.k8s.io", "selfsubjectaccessreviews")}
world = None  # the cluster of all tests here


def setUpModule():
    global world
    own_network()
    world = World(unittest.addModuleCleanup)
    for name in ("vms", "others", "monitoring"):
        world.shell.run(f"kubectl create namespace {name}")
        world.kube.await_account(name)
    apply_crds("kubevirt.yaml", "vm")


def apply_crds(name, kind):
    """Applies another project's CRDs and waits until the kind is served."""
    world.shell.run(f"kubectl apply -f {FOREIGN}/{name}")
    world.shell.run("kubectl wait --for=condition=Established crd "
                    "-l plimsoll.io/foreign --timeout=30s")
    eventually(f"{kind} is served", lambda: world.shell.try_(
        f"kubectl get {kind} -A").returncode == 0)


class InstallationCase(unittest.TestCase):
    """A class that installs, and must leave nothing behind."""

    maxDiff = None

    @classmethod
    def begin(cls):
        cls.kube, cls.shell, cls.kubelet = (world.kube, world.shell,
                                            world.kubelet)
        cls.addClassCleanup(cls.assert_nothing_left, world.objects())
        cls.addClassCleanup(cls.shell.run, "kubectl label namespace vms "
                            "plimsoll.io/schedule-")

    @classmethod
    def assert_nothing_left(cls, before):
        try:
            eventually("the cluster is as the class found it",
                       lambda: world.objects() == before, every=1)
        except AssertionError:
            after = world.objects()
            raise AssertionError(f"{cls.__name__} left {after - before} behind"
                                 f" and removed {before - after}") from None

    @classmethod
    def install_as_documented(cls):
        """Follows the document; what it prints."""
        cls.addClassCleanup(cls.remove)
        said = cls.shell.follow("install.md", heading="Two commands")
        cls.await_installation()
        return said

    @classmethod
    def await_installation(cls, **others):
        """Waits for so many containers of each name."""
        for name, count in {"agent": 3, "aggregator": 1, "scheduler": 2,
                            **others}.items():
            cls.kubelet.await_ready(name.replace("_", "-"), count)

    @classmethod
    def remove(cls):
        """Removes all as the document says, its pods first: a namespace that
        is deleted with pods is not looked at again for half their grace
        period."""
        cls.delete_pods()
        text = (ROOT / "docs/uninstall.md").read_text()
        cls.shell.run(re.search(r"^kubectl delete -l .*$", text,
                                re.M).group(0))
        cls.shell.run("kubectl delete -n kube-system rolebinding -l "
                      f"{PART_OF}")
        cls.free_the_disk()

    @classmethod
    def delete_pods(cls):
        cls.shell.run("kubectl delete -A daemonset,deployment,statefulset "
                      f"-l {PART_OF}")
        eventually("all pods have ended", lambda: not any(
            cls.kube.get(path_of("Pod", name))["items"]
            for name in NAMESPACES))

    @classmethod
    def free_the_disk(cls):
        cls.shell.run("rm -f deploy/certs/*.crt deploy/certs/*.key")
        cls.kube.patch(DISK, {"spec": {"claimRef": None}})

    @classmethod
    def await_loads(cls):
        for scheduler in cls.kubelet.of("scheduler"):
            scheduler.program.wait_log("receiving load")

    @classmethod
    def await_policy(cls, scheduler="plimsoll-scheduler"):
        eventually("the policy takes effect", lambda: cls.kube.request(
            "POST", "/api/v1/namespaces/vms/pods?dryRun=All", launcher(
                "try", "vms", "default-scheduler"))["spec"]["schedulerName"]
            == scheduler)

    @classmethod
    def await_idlest(cls, scheduler="plimsoll-scheduler"):
        """Waits until the policy gives VMs to this scheduler, and until the
        scheduler, which then knows the load, places them on the node that
        kube-scheduler finds fullest."""
        cls.await_policy(scheduler)
        names = iter(range(1000))

        def placed():
            pod = cls.kube.create(vm_pod(
                f"{scheduler}-{next(names)}", "vms", "default-scheduler"))
            try:
                return eventually("the VM is bound", lambda: cls.kube.node_of(
                    pod)) == "node-c"
            finally:
                cls.kube.remove(pod)
        eventually("a VM goes to the idlest node", placed, 40, every=0.3)

    def make(self, thing):
        """Creates an object that is removed when the test is done."""
        made = self.kube.create(thing)
        self.addCleanup(self.kube.remove, made)
        return made

    def make_vm(self, name, namespace="vms", scheduler="default-scheduler",
                **spec):
        return self.make(vm_pod(name, namespace, scheduler, **spec))

    def run_vm(self, pod):
        """Plays the kubelet of a VM's pod once it is bound; its node."""
        node = world.run_vm(pod)
        self.addCleanup(world.end_vm, pod, node)
        return node

    def assert_scheduler(self, expected, pod):
        self.assertEqual(self.make(pod)["spec"]["schedulerName"], expected)


class Installed(InstallationCase):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.said = cls.install_as_documented()
        cls.shell.run("kubectl -n monitoring create serviceaccount prometheus")
        cls.addClassCleanup(cls.stop_reading)
        cls.shell.follow("install.md", heading="Granting read access")
        cls.addClassCleanup(cls.shell.run, "kubectl -n vms delete vm/example")
        cls.shell.follow("install.md", heading="VMs")
        cls.await_loads()
        cls.await_idlest()

    @classmethod
    def stop_reading(cls):
        cls.shell.run("kubectl delete clusterrolebinding "
                      "monitoring-reads-plimsoll")
        cls.shell.run("kubectl label namespace monitoring "
                      "plimsoll.io/reader-")
        cls.shell.run("kubectl -n monitoring delete sa/prometheus")

    def get(self, path, token):
        """Status and JSON of the aggregator's HTTPS."""
        trust = ssl.create_default_context(
            cafile=world.path / "deploy/certs/servers-ca.crt")
        trust.check_hostname = False  # by its address, here
        address = self.kubelet.of("aggregator")[0].address
        request = urllib.request.Request(
            f"https://{address}:7474{path}",
            headers={"Authorization": f"Bearer {token}"})
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPSHandler(context=trust))
        try:
            with opener.open(request, timeout=10) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as no:
            return no.code, json.load(no)

    def test_the_installation_gives_no_warning_and_becomes_ready(self):
        again = self.shell.run("kubectl apply -k deploy/ --dry-run=server 2>&1")
        for said in (self.said, again):
            self.assertNotRegex(said, "(?i)warn|error|violat")
        for container in [c for n in PROGRAMS for c in self.kubelet.of(n)]:
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                self.assertTrue(container.probe(probe), container.spec["name"])

    def test_every_node_is_measured_and_readers_alone_may_read(self):
        token = world.token("monitoring", "prometheus")

        def fresh():
            status, body = self.get("/v1/nodes", token)
            return status == 200 and {
                n["name"] for n in body["nodes"]
                if n["state"] == "fresh"} == set(NODES)
        eventually("all nodes are fresh", fresh)
        self.assertEqual(self.get(
            "/v1/nodes", world.token("default", "default"))[0], 403)

    # ---- VMs ----

    def test_vms_of_a_labelled_namespace_are_placed_by_real_load(self):
        pod = self.make_vm("first")
        self.assertEqual(pod["spec"]["schedulerName"], "plimsoll-scheduler")
        self.assertEqual(self.run_vm(pod), "node-c")
        now = self.kube.pod("vms", pod["metadata"]["name"])
        self.assertIn("plimsoll.io/decision", now["metadata"]["annotations"])
        eventually("an event says so", lambda: [
            e for e in self.kube.events(pod) if e["reason"] == "Scheduled"
            and "plimsoll" in e["reportingController"]])
        # In another namespace the requests decide about the same VM.
        other = self.make_vm("first", "others")
        self.assertEqual(other["spec"]["schedulerName"], "default-scheduler")
        self.assertNotEqual(self.run_vm(other), "node-c")

    def test_the_policy_changes_no_other_pod(self):
        self.assert_scheduler("another-scheduler", launcher(
            "chosen", "vms", "another-scheduler"))
        declined = launcher("declined", "vms", "default-scheduler")
        declined["metadata"]["labels"]["plimsoll.io/schedule"] = "disabled"
        self.assert_scheduler("default-scheduler", declined)
        self.assert_scheduler("default-scheduler", launcher(
            "there", "vms", "default-scheduler", nodeName="node-a"))
        plain = reserving("plain", None, cpu="10m", memory="1Mi")
        plain["metadata"]["namespace"] = "vms"
        del plain["spec"]["nodeName"]
        self.assert_scheduler("default-scheduler", plain)
        self.assert_scheduler("default-scheduler", launcher(
            "elsewhere", "others", "default-scheduler"))

    def test_kvm_is_probed_with_the_rights_of_the_manifest(self):
        agent = self.kubelet.of("agent")[0]
        code, said = agent.run(
            *agent.entrypoint, "--once", "--proc-root=/host/proc",
            "--cgroup-root=/host/cgroup", "--dev-root=/host/dev")
        self.assertEqual(code, 0, said)
        state = json.loads(said)["kvm"]["state"]
        if os.path.exists("/dev/kvm"):
            self.assertNotIn(state, ("missing", "unverified"))
        else:
            self.assertEqual(state, "missing")

    # ---- rights ----

    def make_volumes(self):
        """Two StorageClasses, and a local volume on node-b."""
        for name, provisioner in (("local", "kubernetes.io/no-provisioner"),
                                  ("made", "csi.example.com")):
            self.make({"kind": "StorageClass", "metadata": {"name": name},
                       "provisioner": provisioner,
                       "volumeBindingMode": "WaitForFirstConsumer"})
        self.make({"kind": "PersistentVolume", "metadata": {"name": "local"},
                   "spec": {
                       "capacity": {"storage": "1Gi"},
                       "storageClassName": "local",
                       "accessModes": ["ReadWriteOnce"],
                       "local": {"path": "/disks/1"},
                       "nodeAffinity": {"required": {"nodeSelectorTerms": [{
                           "matchExpressions": [{
                               "key": "kubernetes.io/hostname",
                               "operator": "In", "values": ["node-b"]}]}]}}}})

    def vm_with_claim(self, name):
        self.make({"kind": "PersistentVolumeClaim",
                   "metadata": {"name": name, "namespace": "vms"}, "spec": {
                       "accessModes": ["ReadWriteOnce"],
                       "storageClassName": name,
                       "resources": {"requests": {"storage": "1Gi"}}}})
        pod = vm_pod(name)
        pod["spec"]["volumes"].append({
            "name": "disk", "persistentVolumeClaim": {"claimName": name}})
        return self.make(pod)

    def lose_a_binding(self):
        """A webhook without a server makes the API server answer 500: the
        scheduler then reads the pod to learn whether it is bound."""
        self.kube.request("POST", WEBHOOKS, {
            "metadata": {"name": "gone"}, "webhooks": [{
                "name": "gone.example.com", "sideEffects": "None",
                "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
                "clientConfig": {"url": "https://127.0.0.1:1/"},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"],
                           "operations": ["CREATE"],
                           "resources": ["pods/binding"]}]}]})
        self.addCleanup(self.kube.delete, f"{WEBHOOKS}/gone")
        pod = self.make_vm("lost")
        eventually("the pod is read", lambda: any(
            used == ("get", "", "pods")
            for used in self.used()["scheduler"]))
        self.kube.delete(f"{WEBHOOKS}/gone")
        self.run_vm(pod)

    def make_unschedulable_vm(self):
        pod = self.make_vm("huge", cpu="100")
        eventually("its condition says why", lambda: (
            self.kube.condition(pod) or {}).get("reason") == "Unschedulable")
        return pod

    def used(self):
        """Program -> (verb, group, resource) of each request that it made
        under its account; the verb of a 403 begins with "forbidden"."""
        found = collections.defaultdict(set)
        for line in world.audit.read_text().splitlines():
            event = json.loads(line)
            user = event["user"].get("username")  # None: a 401
            for program in PROGRAMS:
                # Not what a test asks with the account's token.
                if (user == ":".join(["system:serviceaccount",
                                      *account(program)])
                        and "plimsoll" in event.get("userAgent", "")):
                    found[program].add(self.request_of(event))
        return found

    @staticmethod
    def request_of(event):
        thing = event.get("objectRef")
        if thing is None:
            return event["verb"], "path", event["requestURI"].split("?")[0]
        resource = thing["resource"]
        if "subresource" in thing:
            resource += "/" + thing["subresource"]
        no = event.get("responseStatus", {}).get("code") == 403
        return ("forbidden " * no + event["verb"],
                thing.get("apiGroup", ""), resource)

    def granted(self, program):
        """The same of the roles that the manifests bind to it; paths are
        rights at the aggregator."""
        kinds = "clusterrolebindings,rolebindings,clusterroles,roles"
        things = json.loads(self.shell.run(
            f"kubectl get -A {kinds} -o json -l "
            "app.kubernetes.io/part-of=plimsoll"))["items"]
        roles = {b["roleRef"]["name"] for b in things
                 if any((s.get("namespace"), s["name"]) == account(program)
                        for s in b.get("subjects", []))}
        return {(verb, group, resource)
                for role in things if "rules" in role
                and role["metadata"]["name"] in roles
                for rule in role["rules"] for verb in rule["verbs"]
                for group in rule.get("apiGroups", [])
                for resource in rule.get("resources", [])}

    def test_no_right_is_unused_and_none_is_missing(self):
        self.make_volumes()
        self.assertEqual(self.run_vm(self.vm_with_claim("local")), "node-b")
        self.vm_with_claim("made")
        eventually("the claim names a node", lambda: self.kube.get(
            f"{CLAIMS}/made")["metadata"].get("annotations", {}).get(
                "volume.kubernetes.io/selected-node"))
        self.lose_a_binding()
        self.make_unschedulable_vm()
        for program in PROGRAMS:
            with self.subTest(program):
                granted = self.granted(program)
                eventually(f"all rights of {program} were used",
                           lambda p=program, g=granted: g <= self.used()[p])
                self.assertEqual(
                    {u for u in self.used()[program] - IN_VAIN
                     if u[1] != "path"}, granted)
        self.assertEqual(self.granted("agent"), set())
        self.assertGreater(len(self.granted("scheduler")), 25)

    def test_without_rights_to_kubevirt_the_log_stays_quiet(self):
        """By default the scheduler asks for what only components/rebalance
        allows."""
        said = r'I\d.*"not watching KubeVirt.s objects" resource="?(\w+)'
        wanted = ["kubevirts", "migrationpolicies", "virtualmachineinstances"]
        for scheduler in self.kubelet.of("scheduler"):
            log = scheduler.program.log
            eventually("each kind is named once", lambda log=log: sorted(
                re.findall(said, log())) == wanted)
            self.assertEqual(re.findall(r"(?im)^[WE]\d.*kubevirt.*", log()),
                             [])

    def test_the_scheduler_says_why_it_moves_nothing(self):
        def answers():
            return [json.loads(http_get(
                f"http://{scheduler.address}:7475/v1/rebalance")[2])
                for scheduler in self.kubelet.of("scheduler")]
        leader, = [a for a in answers() if a["leads"]]
        self.assertEqual(leader["effective_mode"], "recommend")
        self.assertIn("virtualmachineinstances are not watched", leader["why"])

    def test_the_api_server_refuses_everything_else(self):
        vm = self.make_vm("untouchable")
        pod = path_of_object(vm)
        own = {"metadata": {"name": "x"}}
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        calls = [
            ("GET", "/api/v1/secrets", None),
            ("GET", "/api/v1/namespaces/plimsoll/secrets", None),
            ("GET", "/api/v1/namespaces/kube-system/configmaps", None),
            ("DELETE", pod, None), ("PATCH", pod, {}), ("PUT", pod, vm),
            ("POST", pod + "/eviction", own), ("GET", pod + "/log", None),
            ("POST", pod + "/exec?command=id", None),
            ("POST", "/api/v1/namespaces/vms/pods", launcher("x", "vms")),
            ("PATCH", "/api/v1/nodes/node-a", {}),
            ("DELETE", "/api/v1/nodes/node-a", None),
            ("PATCH", "/api/v1/nodes/node-a/status", {}),
            ("GET", "/api/v1/nodes/node-a/proxy/pods", None),
            ("DELETE", "/api/v1/persistentvolumes/disk", None),
            ("POST", "/api/v1/persistentvolumes", own),
            ("DELETE", "/apis/coordination.k8s.io/v1/namespaces/plimsoll/"
             "leases/plimsoll-scheduler", None),
            ("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/"
             "leases/kube-scheduler", None),
            ("POST", "/api/v1/namespaces/plimsoll/serviceaccounts/"
             "plimsoll-scheduler/token", {"spec": {}}),
            ("POST", f"{rbac}/clusterrolebindings", {
                **own, "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole", "name": "cluster-admin"}}),
            ("PATCH", f"{rbac}/clusterroles/plimsoll-scheduler", {}),
            ("DELETE", "/apis/apps/v1/namespaces/plimsoll/deployments/"
             "plimsoll-scheduler", None),
            ("DELETE", "/apis/admissionregistration.k8s.io/v1/"
             "mutatingadmissionpolicies/plimsoll-scheduler-name", None),
            ("GET", "/metrics", None),
        ]
        own_calls = {
            "agent": [("GET", "/api/v1/pods", None),
                      ("GET", "/api/v1/nodes", None),
                      ("GET", "/api/v1/nodes/node-a", None),
                      ("POST", "/plimsoll/snapshots", {})],
            "aggregator": [("GET", "/api/v1/nodes/node-a", None),
                           ("GET", pod, None),
                           ("POST", pod + "/binding", own),
                           ("POST", "/plimsoll/reports", {})],
            "scheduler": [("POST", "/apis/authentication.k8s.io/v1/"
                           "tokenreviews", {"spec": {"token": "x"}}),
                          ("DELETE", "/api/v1/namespaces/vms/"
                           "persistentvolumeclaims/x", None),
                          ("POST", "/plimsoll/reports", {})],
        }
        for program in PROGRAMS:
            token = world.token(*account(program))
            for method, path, body in calls + own_calls[program]:
                with self.subTest(f"{program}: {method} {path}"):
                    self.assertEqual(self.ask(token, method, path, body), 403)

    def ask(self, token, method, path, body):
        """The status that the account of this token gets."""
        kube = type(self.kube).__new__(type(self.kube))
        kube.server = self.kube.server
        kube.tls = ssl.create_default_context(
            cafile=next(world.cluster.dir.rglob("ca.crt")))
        kube.headers = {"Authorization": f"Bearer {token}"}
        kind = MERGE if method == "PATCH" else "application/json"
        try:
            kube.request(method, path, body, kind)
        except Refused as no:
            return no.status
        return 200

    def test_the_api_server_refuses_tokens_for_the_aggregator(self):
        for program in ("agent", "scheduler"):
            token = world.token(*account(program),
                                "--audience=plimsoll-aggregator")
            self.assertEqual(self.ask(token, "GET", "/api/v1/nodes", None),
                             401)

    def test_pod_security_refuses_what_the_namespaces_do_not_allow(self):
        done = self.shell.try_(
            "kubectl -n plimsoll run x --image=x --privileged")
        self.assertIn('violates PodSecurity "restricted', done.stderr)

    # ---- operating ----

    def test_troubleshooting_explains_why_a_vm_waits(self):
        self.make_unschedulable_vm()
        said = self.shell.follow("troubleshooting.md")
        self.assertIn("Insufficient cpu", said)
        self.assertIn("plimsoll.io/schedule=enabled", said)
        self.assertRegex(
            said, r"virt-launcher-huge +plimsoll-scheduler +<none>")
        self.assertIn("mutatingadmissionpolicybinding", said)
        self.assertRegex(said, r"plimsoll-scheduler +\S+_[0-9a-f]+ ")

    def test_the_backup_of_the_document_is_made(self):
        text = (ROOT / "docs/upgrade.md").read_text()
        line = re.search(r"^```exec\nkubectl -n plimsoll exec "
                         r"sts/plimsoll-aggregator -- (.*)\n```", text,
                         re.M).group(1)
        aggregator = self.kubelet.of("aggregator")[0]
        code, said = aggregator.run(*line.split())
        self.assertEqual(code, 0, said)
        copy = world.path / "claims/data-plimsoll-aggregator-0"
        self.assertTrue((copy / "before-upgrade.db").stat().st_size)

    def containers(self):
        return {c.uid for name in PROGRAMS for c in self.kubelet.of(name)}

    def test_an_upgrade_with_new_certificates_restarts_everything(self):
        before = self.containers()
        self.shell.follow("upgrade.md")
        self.await_installation()
        self.assertEqual(len(self.containers()), 6)
        self.assertFalse(self.containers() & before)
        self.await_loads()
        for agent in self.kubelet.of("agent"):
            agent.program.wait_log("connected")
        self.await_idlest()
        pod = self.make_vm("after", scheduler="plimsoll-scheduler")
        self.assertEqual(self.run_vm(pod), "node-c")


class Uninstalled(InstallationCase):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.install_as_documented()
        cls.await_loads()

    def vms(self):
        """Node and phase of each VM pod that runs."""
        pods = self.kube.get("/api/v1/pods?labelSelector="
                             "kubevirt.io=virt-launcher")["items"]
        return {(p["metadata"]["uid"], p["spec"].get("nodeName"),
                 p["status"]["phase"]) for p in pods
                if p["status"]["phase"] == "Running"}

    def waiting(self):
        return self.kube.get("/api/v1/namespaces/vms/pods?fieldSelector="
                             "spec.nodeName=")["items"]

    def test_uninstalling_leaves_nothing_and_vms_run(self):
        self.shell.run("kubectl label namespace vms "
                       "plimsoll.io/schedule=enabled")
        for name in ("one", "two"):
            self.run_vm(self.make_vm(name, scheduler="plimsoll-scheduler"))
        self.make_vm("huge", scheduler="plimsoll-scheduler", cpu="100")
        running = self.vms()
        self.assertEqual(len(running), 2)
        self.assertEqual(len(self.waiting()), 1)
        self.shell.follow("uninstall.md")
        self.assertEqual(self.vms(), running)
        self.assertEqual(self.waiting(), [])
        kinds = {line.split()[1] for line in world.objects()
                 if "plimsoll" in line}
        self.assertEqual(kinds, set())


class Overlays(InstallationCase):
    """Each test installs an overlay and removes it, but for the namespaces,
    which takes five seconds each."""

    @classmethod
    def setUpClass(cls):
        cls.begin()
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

    def install(self, overlay, **others):
        self.addCleanup(self.empty_namespaces)
        self.shell.run("deploy/certs.sh new deploy/certs")
        said = self.shell.run(
            f"kubectl apply -k deploy/overlays/{overlay} 2>&1")
        self.assertNotRegex(said, "(?i)warn|error|violat")
        if overlay == "cert-manager":
            self.play_cert_manager()
        self.await_installation(**others)
        self.await_loads()

    def test_unprivileged_agents_measure_and_never_report_kvm_as_ok(self):
        self.install("unprivileged")
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

    def play_cert_manager(self):
        """Signs the Certificates, the authority first."""
        asked = json.loads(self.shell.run(
            "kubectl get certificates -A -o json"))["items"]
        self.assertEqual(len(asked), 4)
        keys = world.path / "cert-manager"
        keys.mkdir()
        for thing in sorted(asked, key=lambda c: "isCA" not in c["spec"]):
            self.sign(keys, thing["metadata"]["namespace"], thing["spec"])

    def sign(self, keys, namespace, spec):
        new = keys / spec["secretName"]
        if "isCA" in spec:
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
                f"--from-file=tls.crt={new}.crt --from-file=tls.key={new}.key")

    def test_it_works_with_certificates_of_cert_manager(self):
        self.addCleanup(self.shell.run,
                        "kubectl delete namespace cert-manager --wait=false")
        self.shell.run("kubectl create namespace cert-manager")
        self.addCleanup(self.shell.run,
                        f"kubectl delete -f {FOREIGN}/cert-manager.yaml")
        apply_crds("cert-manager.yaml", "certificates")
        self.install("cert-manager")
        self.await_idlest()

    def test_it_works_with_the_policy_of_older_kubernetes(self):
        """1.34 and 1.35 serve the policy as v1beta1, as 1.36 can."""
        self.install("kubernetes-1.34")
        self.await_idlest()

    def test_a_second_kube_scheduler_uses_the_extender(self):
        self.install("extender", kube_scheduler=2)
        if os.path.exists("/dev/kvm"):
            self.await_idlest("plimsoll-extended")
        else:
            self.assert_kvm_is_missing("plimsoll-extended")

    def assert_kvm_is_missing(self, scheduler):
        """kube-scheduler asks the extender about pods that request KVM, which
        no node here has."""
        pod = self.make(launcher("no-kvm", "vms", scheduler))
        eventually("an event says why the pod waits", lambda: any(
            "KVM missing" in e["note"] for e in self.kube.events(pod)), 40)
        self.assertIsNone(self.kube.node_of(pod))

    def test_overlays_for_older_kubernetes_differ_in_the_policy_alone(self):
        self.addCleanup(self.shell.run,
                        "rm -f deploy/certs/*.crt deploy/certs/*.key")
        self.shell.run("deploy/certs.sh new deploy/certs")

        def rendered(folder):
            text = self.shell.run(f"kubectl kustomize {folder}")
            return set(text.split("\n---\n"))
        now = rendered("deploy/")
        older = rendered("deploy/overlays/kubernetes-1.34")
        oldest = rendered("deploy/overlays/kubernetes-1.33")
        self.assertEqual(
            {part.replace("k8s.io/v1beta1", "k8s.io/v1") for part in older},
            {part.strip("\n") + "\n" * part.endswith("\n")
             for part in now})
        self.assertEqual(len(older - now), 2)
        self.assertEqual({"Mutating" in part for part in now - oldest}, {True})
        self.assertEqual(len(now - oldest), 2)


if __name__ == "__main__":
    unittest.main()
