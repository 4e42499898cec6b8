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
import ssl
import sys
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import ROOT, eventually, launcher, reserving  # noqa: E402
from installation import (MERGE, NODES, PROGRAMS, World,  # noqa: E402
                          account, vm_pod)
from kube_api import Refused  # noqa: E402
from kubelet import own_network  # noqa: E402

FOREIGN = ROOT / "tests/deploy/foreign"


def setUpModule():
    own_network()


class Deploy(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.world = World(cls.addClassCleanup)
        cls.kube, cls.shell = cls.world.kube, cls.world.shell
        cls.kubelet = cls.world.kubelet
        cls.before = None  # what there was without us

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

    def test_10_installing_as_the_document_says(self):
        for name in ("vms", "others", "monitoring"):
            self.shell.run(f"kubectl create namespace {name}")
            self.kube.await_account(name)
        self.shell.run(f"kubectl apply -f {FOREIGN}/kubevirt.yaml")
        eventually("VMs are served", lambda: self.shell.try_(
            "kubectl get vm -A").returncode == 0)
        self.shell.run("kubectl wait --for=condition=Established crd "
                       "-l plimsoll.io/foreign --timeout=30s")
        type(self).before = self.world.objects()
        said = self.shell.follow("install.md", heading="Two commands")
        self.assertNotRegex(said, "(?i)warn|error|violat")
        self.kubelet.await_ready("agent", 3)
        self.kubelet.await_ready("aggregator", 1)
        self.kubelet.await_ready("scheduler", 2)
        for container in [c for n in PROGRAMS for c in self.kubelet.of(n)]:
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                self.assertTrue(container.probe(probe), container.spec["name"])
        said = self.shell.run("kubectl apply -k deploy/ --dry-run=server 2>&1")
        self.assertNotRegex(said, "(?i)warn|error|violat")

    def test_11_every_node_is_measured(self):
        self.shell.run("kubectl -n monitoring create serviceaccount prometheus")
        self.shell.follow("install.md", heading="Who may read")
        token = self.world.token("monitoring", "prometheus")

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
        self.shell.follow("install.md", heading="VMs")

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
        pod = vm_pod(name)
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

    def test_36_what_to_do_when_a_vm_waits_is_answered(self):
        said = self.shell.follow("troubleshooting.md")
        self.assertIn("Insufficient cpu", said)
        self.assertIn("plimsoll.io/schedule=enabled", said)
        self.assertRegex(
            said, r"virt-launcher-huge +plimsoll-scheduler +<none>")
        self.assertIn("mutatingadmissionpolicybinding", said)
        self.assertRegex(said, r"plimsoll-scheduler +\S+_[0-9a-f]+ ")

    # ---- upgrading ----

    def test_40_the_backup_of_the_document_is_made(self):
        text = (ROOT / "docs/upgrade.md").read_text()
        line = re.search(r"^```exec\nkubectl -n plimsoll exec "
                         r"sts/plimsoll-aggregator -- (.*)\n```", text,
                         re.M).group(1)
        aggregator = self.kubelet.of("aggregator")[0]
        code, said = aggregator.run(*line.split())
        self.assertEqual(code, 0, said)
        copy = self.world.path / "claims/data-plimsoll-aggregator-0"
        self.assertTrue((copy / "before-upgrade.db").stat().st_size)

    def test_41_new_certificates_restart_everything_and_it_works(self):
        before = {c.uid for c in self.kubelet.of("agent")
                  + self.kubelet.of("aggregator")
                  + self.kubelet.of("scheduler")}
        self.shell.follow("upgrade.md", heading="New certificates")
        self.shell.follow("upgrade.md", heading="")
        self.kubelet.await_ready("agent", 3)
        self.kubelet.await_ready("scheduler", 2)
        now = {c.uid for name in PROGRAMS for c in self.kubelet.of(name)}
        self.assertEqual(len(now), 6)
        self.assertFalse(now & before)
        for name in ("agent", "scheduler"):
            for one in self.kubelet.of(name):
                one.program.wait_log("load is coming in" if name == "scheduler"
                                     else "connected")
        # One that the policy did not name: the scheduler waits for no label.
        pod = self.world.make_vm("after", scheduler="plimsoll-scheduler")
        self.assertEqual(self.world.run_vm(pod), "node-c")

    # ---- uninstalling ----

    def vms(self):
        """Node and phase of each VM pod that runs."""
        pods = self.kube.get("/api/v1/pods?labelSelector="
                             "kubevirt.io=virt-launcher")["items"]
        return {(p["metadata"]["uid"], p["spec"].get("nodeName"),
                 p["status"]["phase"]) for p in pods
                if p["status"]["phase"] == "Running"}

    def test_50_uninstalling_leaves_nothing_and_vms_run(self):
        running = self.vms()
        self.assertGreater(len(running), 1)
        huge = self.kube.get("/api/v1/namespaces/vms/pods?fieldSelector="
                             "spec.nodeName=")["items"]
        self.assertEqual([p["spec"]["schedulerName"] for p in huge],
                         ["plimsoll-scheduler"])
        self.shell.follow("uninstall.md")
        self.assertEqual(self.vms(), running)
        self.assertEqual(self.kube.get(
            "/api/v1/namespaces/vms/pods?fieldSelector=spec.nodeName=")[
                "items"], [])
        self.shell.run("kubectl -n vms delete vm/example")
        self.shell.run("kubectl -n monitoring delete sa/prometheus")
        self.shell.run("kubectl delete clusterrolebinding "
                       "monitoring-reads-plimsoll")
        self.kube.request("PATCH", "/api/v1/persistentvolumes/disk",
                          {"spec": {"claimRef": None}}, MERGE)
        left = {line for line in self.world.objects() - self.before
                if not re.match(r"v1 Pod (vms|others) virt-launcher-", line)}
        self.assertEqual(left, set())
        self.assertEqual(self.before - self.world.objects(), set())

    # ---- overlays ----

    def install(self, overlay, **ready):
        """Applies an overlay and waits for so many containers of each name;
        removed with the test."""
        self.addCleanup(self.remove)
        said = self.shell.run(
            f"kubectl apply -k deploy/overlays/{overlay} 2>&1")
        self.assertNotRegex(said, "(?i)warn|error|violat")
        if overlay == "cert-manager":
            self.play_cert_manager()
        for name, count in {"agent": 3, "aggregator": 1, "scheduler": 2,
                            **ready}.items():
            self.kubelet.await_ready(name.replace("_", "-"), count)
        self.shell.run("kubectl label namespace vms --overwrite "
                       "plimsoll.io/schedule=enabled")

    def remove(self):
        text = (ROOT / "docs/uninstall.md").read_text()
        self.shell.run(re.search(r"^kubectl delete -l .*$", text,
                                 re.M).group(0))
        self.shell.run("kubectl delete -n kube-system rolebinding -l "
                       "app.kubernetes.io/part-of=plimsoll")
        self.kube.request("PATCH", "/api/v1/persistentvolumes/disk",
                          {"spec": {"claimRef": None}}, MERGE)

    def assert_idlest_is_found(self, scheduler):
        """VMs come by the policy to this scheduler, and once load is known
        (an agent's second report) to the node that kube-scheduler shuns."""
        eventually("the policy takes effect", lambda: self.kube.request(
            "POST", "/api/v1/namespaces/vms/pods?dryRun=All", launcher(
                "try", "vms", "default-scheduler"))["spec"]["schedulerName"]
            == scheduler)
        names = iter(range(100))

        def placed():
            pod = self.world.make_vm(f"{scheduler}-{next(names)}")
            try:
                return eventually("it is bound", lambda: self.kube.node_of(
                    pod)) == "node-c"
            finally:
                self.kube.delete_pod(pod)
        eventually("a VM goes to the idlest node", placed, 40, every=1)

    def await_loads(self):
        for scheduler in self.kubelet.of("scheduler"):
            scheduler.program.wait_log("load is coming in")

    def test_60_unprivileged_agents_measure_and_never_say_kvm_is_ok(self):
        self.install("unprivileged")
        self.await_loads()
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
        self.assert_idlest_is_found("plimsoll-scheduler")

    def play_cert_manager(self):
        """Signs what is asked for, as asked for: the authority first."""
        asked = json.loads(self.shell.run(
            "kubectl get certificates -A -o json"))["items"]
        self.assertEqual(len(asked), 4)
        keys = self.world.path / "cert-manager"
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

    def test_70_with_certificates_as_cert_manager_makes_them(self):
        self.shell.run("kubectl create namespace cert-manager")
        self.shell.run(f"kubectl apply -f {FOREIGN}/cert-manager.yaml")
        self.shell.run("kubectl wait --for=condition=Established crd "
                       "-l plimsoll.io/foreign --timeout=30s")
        eventually("certificates are served", lambda: self.shell.try_(
            "kubectl get certificates -A").returncode == 0)
        self.install("cert-manager")
        self.await_loads()
        self.assert_idlest_is_found("plimsoll-scheduler")

    def test_75_with_the_policy_of_older_kubernetes(self):
        """1.34 and 1.35 know it as v1beta1, which 1.36 serves if it is told."""
        self.install("kubernetes-1.34")
        self.await_loads()
        self.assert_idlest_is_found("plimsoll-scheduler")

    def test_80_a_second_kube_scheduler_asks_us(self):
        self.install("extender", kube_scheduler=2)
        self.await_loads()
        if os.path.exists("/dev/kvm"):
            self.assert_idlest_is_found("plimsoll-extended")
        else:
            self.assert_kvm_is_missed("plimsoll-extended")

    def assert_kvm_is_missed(self, scheduler):
        """It asks us for pods that want KVM alone, and no node here has it."""
        pod = self.kube.create(launcher("no-kvm", "vms", scheduler))
        self.addCleanup(self.kube.delete_pod, pod)
        eventually("it waits, and says why", lambda: any(
            "KVM missing" in e["note"] for e in self.kube.events(pod)), 40)
        self.assertIsNone(self.kube.node_of(pod))

    def test_90_overlays_leave_nothing_either(self):
        self.shell.run("kubectl label namespace vms plimsoll.io/schedule-")
        self.shell.run("kubectl delete namespace cert-manager")
        self.shell.run(f"kubectl delete -f {FOREIGN}/cert-manager.yaml")
        left = {line for line in self.world.objects() - self.before
                if not re.match(r"v1 Pod (vms|others) virt-launcher-", line)}
        self.assertEqual(left, set())

    def test_95_older_kubernetes_gets_the_same_but_for_the_policy(self):
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
