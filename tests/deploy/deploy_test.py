"""The manifests on a real API server with its own controllers and scheduler:
what `kubectl apply -k deploy/` makes is run, from the images, with the
accounts, tokens, certificates, users and mounts that the manifests say; then it
is used, tried at what is forbidden, and removed.

Tests run in the order of their names: it is one installation's life."""
import collections
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import Cluster  # noqa: E402
from harness import (ROOT, Driver, Folder, Machine,  # noqa: E402
                     eventually, launcher, reserving, worker)
from kube_api import KUBECLUSTER, Refused  # noqa: E402
from kubelet import Image, Kubelet, own_network  # noqa: E402

IMAGES = ROOT / "build/images"
NODES = ("node-a", "node-b", "node-c")
OURS = ("plimsoll", "plimsoll-agents")
PROGRAMS = ("agent", "aggregator", "scheduler")
MERGE = "application/merge-patch+json"
# Made and removed by the cluster itself, all the time.
PASSING = {"events", "events.events.k8s.io", "leases.coordination.k8s.io",
           "endpointslices.discovery.k8s.io"}


def setUpModule():
    own_network()


def account(program):
    return OURS[program == "agent"], f"plimsoll-{program}"


class Shell:
    """Commands as a person types them, in a copy of deploy/ so that nothing is
    written into the checkout; kubectl is the cluster's."""

    def __init__(self, folder, kubeconfig):
        self.folder = folder
        shutil.copytree(ROOT / "deploy", folder / "deploy",
                        ignore=shutil.ignore_patterns("*.crt", "*.key"))
        (folder / "bin").mkdir()
        kubectl = folder / "bin/kubectl"
        kubectl.write_text(f"#!/bin/sh\nexec '{KUBECLUSTER}' kubectl \"$@\"\n")
        kubectl.chmod(0o755)
        self.env = dict(os.environ, KUBECONFIG=str(kubeconfig),
                        HOME=str(folder),
                        PATH=f"{folder / 'bin'}:{os.environ['PATH']}")

    def try_(self, line):
        return subprocess.run(
            ["bash", "-eu", "-c", line], cwd=self.folder, env=self.env,
            check=False, text=True, capture_output=True, timeout=120)

    def run(self, line):
        done = self.try_(line)
        if done.returncode != 0:
            raise AssertionError(f"{line}: {done.stdout}{done.stderr}")
        return done.stdout


class World:
    """A cluster of three nodes, of which the one that kube-scheduler takes for
    the fullest is the idlest, and all that plays a part around ours."""

    def __init__(self, cleanup):
        self.folder = Folder()
        cleanup(self.folder.close)
        self.path = self.folder.path
        self.path.chmod(0o755)  # other users look into it
        self.audit = self.path / "audit.log"
        self.cluster = Cluster("--with", "controller-manager,scheduler",
                               "--audit-log", str(self.audit))
        cleanup(self.cluster.close)
        self.cluster.await_ready()
        self.kube = self.cluster.kube()
        self.shell = Shell(self.path, self.cluster.kubeconfig())
        self.machines = {}
        for name, busy in zip(NODES, (0.8, 0.5, 0.0)):
            machine = self.machines[name] = Machine(self.path / name)
            cleanup(machine.close)
            machine.busy, machine.used_memory = busy, 0.1 + busy / 2
            self.kube.create(worker(name))
        for name in NODES:
            self.kube.await_node(name)
        self.kube.await_account("default")
        self.kube.create(reserving("asks-for-much", "node-c", cpu="4"))
        self.make_volume()
        self.driver = Driver(self.machines.values()).start()
        cleanup(self.driver.stop)
        self.kubelet = Kubelet(
            self.kube, self.path,
            [Image(IMAGES / f"plimsoll-{name}.tar") for name in PROGRAMS],
            OURS, self.hosts, self.has).start()
        cleanup(self.kubelet.close)

    def make_volume(self):
        """For the aggregator's claim: no provisioner is here."""
        self.kube.request("POST", "/api/v1/persistentvolumes", {
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": "disk"}, "spec": {
                "capacity": {"storage": "50Gi"},
                "accessModes": ["ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Retain",
                "hostPath": {"path": "/disk"}}})

    def hosts(self, node):
        root = self.machines[node].root
        return {"/proc": root / "proc", "/sys/fs/cgroup": root / "cgroup",
                "/dev": "/dev"}

    def has(self, node, container):
        """The machine's own /sys, which a runtime mounts for everyone."""
        if container != "agent":
            return {}
        return {"/sys": self.machines[node].root / "sys"}

    def token(self, namespace, name, *more):
        return self.shell.run(f"kubectl -n {namespace} create token {name} "
                              + " ".join(more)).strip()

    def as_account(self, program):
        """kubectl's flags for the account of this program and no other."""
        return f"--token={self.token(*account(program))} --kubeconfig=none.yaml"

    def objects(self):
        """The names of all that there is, but for what passes."""
        kinds = self.shell.run(
            "kubectl api-resources --verbs=list -o name").split()
        kinds = sorted(set(kinds) - PASSING)
        listed = self.shell.run(
            f"kubectl get -A {','.join(kinds)} --ignore-not-found -o "
            "jsonpath='{range .items[*]}{.apiVersion} {.kind} "
            "{.metadata.namespace} {.metadata.name}{\"\\n\"}{end}'")
        return set(listed.splitlines())

    def make_vm(self, name, namespace="vms", scheduler="default-scheduler",
                **spec):
        return self.kube.create(launcher(name, namespace, scheduler, **spec))

    def run_vm(self, pod):
        """As kubelet does once a pod is bound; its node."""
        node = eventually(f"{pod['metadata']['name']} is bound",
                          lambda: self.kube.node_of(pod))
        meta = pod["metadata"]
        with self.driver.lock:
            self.machines[node].run_pod(meta["uid"], cores=0.5)
        self.kube.request(
            "PATCH", f"/api/v1/namespaces/{meta['namespace']}/pods/"
            f"{meta['name']}/status", {"status": {"phase": "Running"}}, MERGE)
        return node


class Deploy(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.world = World(cls.addClassCleanup)
        cls.kube, cls.shell = cls.world.kube, cls.world.shell
        cls.kubelet = cls.world.kubelet
        cls.shell.run("kubectl create namespace vms")
        cls.kube.await_account("vms")
        cls.before = cls.world.objects()

    def get(self, path, token):
        """Status and JSON of the aggregator's HTTPS."""
        trust = ssl.create_default_context(
            cafile=self.world.path / "deploy/certs/servers-ca.crt")
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

    # ---- installing ----

    def test_10_two_commands_install_it(self):
        self.shell.run("deploy/certs.sh new deploy/certs")
        said = self.shell.run(
            "kubectl apply -k deploy/ --validate=strict 2>&1")
        self.assertNotRegex(said, "(?i)warn|error|violat")
        self.kubelet.await_ready("agent", 3)
        self.kubelet.await_ready("aggregator", 1)
        self.kubelet.await_ready("scheduler", 2)
        for thing in ("-n plimsoll-agents ds/plimsoll-agent",
                      "-n plimsoll sts/plimsoll-aggregator",
                      "-n plimsoll deploy/plimsoll-scheduler"):
            self.shell.run(f"kubectl rollout status {thing} --timeout=60s")

    def test_11_every_node_is_measured(self):
        self.shell.run("kubectl create serviceaccount reader -n default")
        self.addCleanup(self.shell.run, "kubectl delete -n default "
                        "serviceaccount/reader clusterrolebinding/reader")
        self.shell.run("kubectl create clusterrolebinding reader "
                       "--clusterrole=plimsoll-reader "
                       "--serviceaccount=default:reader")
        token = self.world.token("default", "reader")

        def fresh():
            status, body = self.get("/v1/nodes", token)
            return status == 200 and {
                n["name"] for n in body["nodes"]
                if n["state"] == "fresh"} == set(NODES)
        eventually("all nodes are fresh", fresh)
        self.assertEqual(self.get(
            "/v1/nodes", self.world.token("default", "default"))[0], 403)
        for scheduler in self.kubelet.of("scheduler"):
            scheduler.program.wait_log("load is coming in")

    # ---- VMs ----

    def test_20_a_labelled_namespace_comes_to_us_without_edits(self):
        self.shell.run("kubectl label namespace vms "
                       "plimsoll.io/schedule=enabled")

        def takes_effect():
            made = self.kube.request(
                "POST", "/api/v1/namespaces/vms/pods?dryRun=All",
                launcher("try", "vms", "default-scheduler"))
            return made["spec"]["schedulerName"] == "plimsoll-scheduler"
        eventually("the policy takes effect", takes_effect)

    def test_21_vms_are_placed_by_real_load(self):
        pod = self.world.make_vm("first")
        self.assertEqual(pod["spec"]["schedulerName"], "plimsoll-scheduler")
        self.assertEqual(self.world.run_vm(pod), "node-c")
        now = self.kube.pod("vms", pod["metadata"]["name"])
        self.assertIn("plimsoll.io/decision", now["metadata"]["annotations"])
        self.assertTrue([e for e in self.kube.events(pod)
                         if e["reason"] == "Scheduled"
                         and "plimsoll" in e["reportingController"]])
        # The same VM where nobody changes it: what it reserves decides.
        self.shell.run("kubectl create namespace others")
        self.kube.await_account("others")
        other = self.world.make_vm("first", "others")
        self.assertEqual(other["spec"]["schedulerName"], "default-scheduler")
        self.assertNotEqual(self.world.run_vm(other), "node-c")

    def test_22_nobody_else_is_touched(self):
        def scheduler_of(pod):
            made = self.kube.create(pod)
            self.addCleanup(self.kube.delete_pod, made)
            return made["spec"]["schedulerName"]
        chosen = launcher("chosen", "vms", "another-scheduler")
        self.assertEqual(scheduler_of(chosen), "another-scheduler")
        declined = launcher("declined", "vms", "default-scheduler")
        declined["metadata"]["labels"]["plimsoll.io/schedule"] = "disabled"
        self.assertEqual(scheduler_of(declined), "default-scheduler")
        there = launcher("there", "vms", "default-scheduler",
                         nodeName="node-a")
        self.assertEqual(scheduler_of(there), "default-scheduler")
        plain = reserving("plain", None, cpu="10m", memory="1Mi")
        plain["metadata"]["namespace"] = "vms"
        del plain["spec"]["nodeName"]
        self.assertEqual(scheduler_of(plain), "default-scheduler")
        elsewhere = launcher("elsewhere", "others", "default-scheduler")
        self.assertEqual(scheduler_of(elsewhere), "default-scheduler")

    def test_23_kvm_is_tried_with_the_rights_of_the_manifest(self):
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

    def test_30_volumes_and_lost_answers_use_the_other_rights(self):
        for name, provisioner in (("local", "kubernetes.io/no-provisioner"),
                                  ("made", "csi.example.com")):
            self.kube.request("POST", "/apis/storage.k8s.io/v1/storageclasses",
                              {"metadata": {"name": name},
                               "provisioner": provisioner,
                               "volumeBindingMode": "WaitForFirstConsumer"})
            self.addCleanup(self.kube.delete,
                            f"/apis/storage.k8s.io/v1/storageclasses/{name}")
        self.kube.request("POST", "/api/v1/persistentvolumes", {
            "metadata": {"name": "local"}, "spec": {
                "capacity": {"storage": "1Gi"}, "storageClassName": "local",
                "accessModes": ["ReadWriteOnce"],
                "local": {"path": "/disks/1"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{
                    "matchExpressions": [{
                        "key": "kubernetes.io/hostname", "operator": "In",
                        "values": ["node-b"]}]}]}}}})
        self.addCleanup(self.kube.delete, "/api/v1/persistentvolumes/local")
        self.assertEqual(self.world.run_vm(self.vm_with_claim("local")),
                         "node-b")
        self.vm_with_claim("made")
        eventually("the provisioner hears of a node", lambda: self.kube.get(
            "/api/v1/namespaces/vms/persistentvolumeclaims/made")["metadata"]
            .get("annotations", {}).get("volume.kubernetes.io/selected-node"))
        self.lose_a_binding()

    def vm_with_claim(self, name):
        self.kube.request(
            "POST", "/api/v1/namespaces/vms/persistentvolumeclaims", {
                "metadata": {"name": name}, "spec": {
                    "accessModes": ["ReadWriteOnce"], "storageClassName": name,
                    "resources": {"requests": {"storage": "1Gi"}}}})
        self.addCleanup(
            self.kube.delete,
            f"/api/v1/namespaces/vms/persistentvolumeclaims/{name}")
        pod = launcher(name, "vms")
        pod["spec"]["volumes"].append({
            "name": "disk", "persistentVolumeClaim": {"claimName": name}})
        made = self.kube.create(pod)
        self.addCleanup(self.kube.delete_pod, made)
        return made

    def lose_a_binding(self):
        """A webhook that is not there makes the API server answer 500: the
        scheduler then reads the pod to learn what became of it."""
        hooks = ("/apis/admissionregistration.k8s.io/v1/"
                 "validatingwebhookconfigurations")
        self.kube.request("POST", hooks, {
            "metadata": {"name": "gone"}, "webhooks": [{
                "name": "gone.example.com", "sideEffects": "None",
                "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
                "clientConfig": {"url": "https://127.0.0.1:1/"},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"],
                           "operations": ["CREATE"],
                           "resources": ["pods/binding"]}]}]})
        self.addCleanup(self.kube.delete, f"{hooks}/gone")
        pod = self.world.make_vm("lost")
        self.addCleanup(self.kube.delete_pod, pod)
        eventually("the pod is read", lambda: any(
            used == ("get", "", "pods")
            for used in self.used()["scheduler"]))
        self.kube.delete(f"{hooks}/gone")
        self.world.run_vm(pod)

    def test_31_what_does_not_fit_waits_and_says_why(self):
        pod = self.world.make_vm("huge", cpu="100")
        eventually("its condition says why", lambda: (
            self.kube.condition(pod) or {}).get("reason") == "Unschedulable")

    def used(self):
        """Program -> (verb, group, resource) of each request that the API
        server let its account do; 403s as the verb "forbidden"."""
        found = collections.defaultdict(set)
        for line in self.world.audit.read_text().splitlines():
            event = json.loads(line)
            user = event["user"]["username"]
            for program in PROGRAMS:
                if user == ":".join(["system:serviceaccount",
                                     *account(program)]):
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

    def test_32_no_right_is_unused_and_none_was_lacking(self):
        for program in PROGRAMS:
            with self.subTest(program):
                granted = self.granted(program)
                eventually(f"all rights of {program} were used",
                           lambda p=program, g=granted: g <= self.used()[p])
                self.assertEqual(
                    {u for u in self.used()[program] if u[1] != "path"},
                    granted)
        self.assertEqual(self.granted("agent"), set())
        self.assertGreater(len(self.granted("scheduler")), 25)

    def test_33_the_api_server_refuses_everything_else(self):
        vm = self.kube.get("/api/v1/namespaces/vms/pods")["items"][0]
        pod = f"/api/v1/namespaces/vms/pods/{vm['metadata']['name']}"
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
            "aggregator": [("GET", "/api/v1/nodes", None), ("GET", pod, None),
                           ("POST", pod + "/binding", own),
                           ("POST", "/plimsoll/reports", {})],
            "scheduler": [("POST", "/apis/authentication.k8s.io/v1/"
                           "tokenreviews", {"spec": {"token": "x"}}),
                          ("DELETE", "/api/v1/namespaces/vms/"
                           "persistentvolumeclaims/x", None),
                          ("POST", "/plimsoll/reports", {})],
        }
        for program in PROGRAMS:
            token = self.world.token(*account(program))
            for method, path, body in calls + own_calls[program]:
                with self.subTest(f"{program}: {method} {path}"):
                    self.assertEqual(self.ask(token, method, path, body), 403)

    def ask(self, token, method, path, body):
        """The status that the account of this token gets."""
        kube = type(self.kube).__new__(type(self.kube))
        kube.server = self.kube.server
        kube.tls = ssl.create_default_context(
            cafile=next(self.world.cluster.dir.rglob("ca.crt")))
        kube.headers = {"Authorization": f"Bearer {token}"}
        kind = MERGE if method == "PATCH" else "application/json"
        try:
            kube.request(method, path, body, kind)
        except Refused as no:
            return no.status
        return 200

    def test_34_a_token_for_the_aggregator_is_none_for_the_api_server(self):
        for program in ("agent", "scheduler"):
            token = self.world.token(*account(program),
                                     "--audience=plimsoll-aggregator")
            self.assertEqual(self.ask(token, "GET", "/api/v1/nodes", None),
                             401)

    def test_35_pod_security_refuses_what_the_namespaces_do_not_allow(self):
        done = self.shell.try_(
            "kubectl -n plimsoll run x --image=x --privileged")
        self.assertIn('violates PodSecurity "restricted', done.stderr)


if __name__ == "__main__":
    unittest.main()
