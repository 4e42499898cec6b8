"""All overlays on a real API server, one after the other: each is applied
twice, and nothing of the one before stays."""
import pathlib
import re
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from cluster import ClusterCase  # noqa: E402
from harness import ROOT, eventually  # noqa: E402
from installation import FOREIGN, Shell  # noqa: E402
from installation_case import (fenced,  # noqa: E402
                               second_apply_changes_nothing)
from manifests import installed, named, rendered  # noqa: E402

OVERLAYS = sorted(f"deploy/overlays/{path.name}"
                  for path in (ROOT / "deploy/overlays").iterdir())
# Another team's, with labels of which ours have one too.
THEIRS = """
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: x, labels: {app.kubernetes.io/component: monitoring}}
spec: {endpoints: [], selector: {}}
---
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: x, labels: {app.kubernetes.io/component: monitoring}}
spec: {groups: []}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: x, labels: {app.kubernetes.io/component: certificates}}
spec: {secretName: x, dnsNames: [x], issuerRef: {name: x, kind: ClusterIssuer}}
---
apiVersion: cert-manager.io/v1
kind: ClusterIssuer
metadata: {name: x, labels: {app.kubernetes.io/component: certificates}}
spec: {selfSigned: {}}
"""
LABELS = [f"app.kubernetes.io/{name}" for name in (
    "name", "component", "part-of", "version", "managed-by")]
DOCUMENT = (ROOT / "docs/install.md").read_text()


def pods_of(thing):
    """The template of the pods that an object makes, or None."""
    spec = thing.get("spec")
    return spec.get("template") if isinstance(spec, dict) else None


class Rendered(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.shell = Shell(pathlib.Path(folder.name), "/dev/null")
        cls.things = {overlay: rendered(cls.shell, overlay)
                      for overlay in ["deploy/", *OVERLAYS]}

    def each(self):
        """(Words for a failure, object) of all overlays."""
        for overlay, things in self.things.items():
            for thing in things:
                yield (f"{overlay}: {thing['kind']}/"
                       f"{thing['metadata']['name']}", thing)

    def find(self, overlay, kind, name):
        return next(t for t in self.things[overlay] if t["kind"] == kind
                    and t["metadata"]["name"] == name)

    def test_all_objects_and_pods_have_their_labels(self):
        for it, thing in self.each():
            self.assertLessEqual(set(LABELS), thing["metadata"].get(
                "labels", {}).keys(), it)
            if pods_of(thing):
                self.assertLessEqual(set(LABELS), pods_of(thing)["metadata"][
                    "labels"].keys(), it)

    def test_selectors_and_claims_stay_as_they_are(self):
        """The API server refuses to change them."""
        for it, thing in self.each():
            if thing["kind"] in ("DaemonSet", "Deployment", "StatefulSet"):
                self.assertEqual(thing["spec"]["selector"], {"matchLabels": {
                    LABELS[0]: thing["metadata"]["name"]}}, it)
            for claim in thing.get("spec", {}).get(
                    "volumeClaimTemplates", []):
                self.assertEqual(claim["metadata"], {"name": "data"}, it)

    def test_secrets_name_their_keys_and_tokens_their_lifetime(self):
        for it, thing in self.each():
            for volume in (pods_of(thing) or {"spec": {}})["spec"].get(
                    "volumes", []):
                if "secret" in volume:
                    self.assertTrue(volume["secret"]["items"], it)
                for source in volume.get("projected", {}).get("sources", []):
                    if "serviceAccountToken" in source:
                        self.assertIn("expirationSeconds",
                                      source["serviceAccountToken"], it)

    def test_pods_have_a_seccomp_profile_and_budgets_let_the_broken_go(self):
        for it, thing in self.each():
            if pods_of(thing):
                self.assertEqual(pods_of(thing)["spec"]["securityContext"][
                    "seccompProfile"], {"type": "RuntimeDefault"}, it)
            if thing["kind"] == "PodDisruptionBudget":
                self.assertEqual(thing["spec"]["unhealthyPodEvictionPolicy"],
                                 "AlwaysAllow", it)

    def test_openshift_gives_users_and_groups(self):
        overlay = "deploy/overlays/openshift"
        binding = self.find(overlay, "RoleBinding", "plimsoll-agent-scc")
        self.assertEqual(binding["roleRef"]["name"],
                         "system:openshift:scc:privileged")
        self.assertEqual(
            [(s["namespace"], s["name"]) for s in binding["subjects"]],
            [("plimsoll-agents", "plimsoll-agent")])
        agents = self.find(overlay, "Namespace", "plimsoll-agents")
        self.assertEqual(agents["metadata"]["annotations"],
                         {"openshift.io/node-selector": ""})
        found = 0
        for thing in self.things[overlay]:
            if pods_of(thing) and thing["kind"] != "DaemonSet":
                found += 1
                self.assertFalse(
                    pods_of(thing)["spec"]["securityContext"].keys()
                    & {"runAsUser", "runAsGroup", "fsGroup"}, thing["kind"])
        self.assertEqual(found, 3)
        # Its DNS, and microk8s' API server.
        for name, port in (("plimsoll-agent", 5353),
                           ("plimsoll-scheduler", 5353),
                           ("plimsoll-scheduler", 16443),
                           ("plimsoll-aggregator", 16443)):
            policy = self.find(overlay, "NetworkPolicy", name)
            self.assertIn(port, [p["port"] for rule in policy["spec"]["egress"]
                                 for p in rule["ports"]], name)

    def test_monitors_keep_our_namespace_label_and_know_the_authority(self):
        overlay = "deploy/overlays/monitoring"
        for name in ("plimsoll-aggregator", "plimsoll-scheduler"):
            endpoint, = self.find(overlay, "ServiceMonitor", name)["spec"][
                "endpoints"]
            self.assertTrue(endpoint["honorLabels"])
            self.assertEqual(endpoint["tlsConfig"]["ca"], {"configMap": {
                "name": "plimsoll-servers-ca", "key": "ca.crt"}})
            self.find(overlay, "ConfigMap", "plimsoll-servers-ca")
            service = self.find(overlay, "Service", name)
            self.assertIn(endpoint["port"],
                          [p["name"] for p in service["spec"]["ports"]])

    def combine(self, *components):
        """The objects of base with these components."""
        folder = tempfile.TemporaryDirectory(dir=ROOT / "build")
        self.addCleanup(folder.cleanup)
        pathlib.Path(folder.name, "kustomization.yaml").write_text(
            "resources: [../../deploy/base]\ncomponents:\n" + "".join(
                f"- ../../deploy/components/{c}\n" for c in components))
        return rendered(self.shell, folder.name)

    def test_a_component_that_would_do_harm_alone_is_not_built_alone(self):
        """An APIService without its port keeps namespaces from being deleted;
        a policy without the scheduler gives VMs to nobody."""
        for name, lacks in (("kubectl", "Service.*plimsoll-aggregator"),
                            ("admission-policy",
                             "Deployment.*plimsoll-scheduler")):
            for verb in ("kustomize", "apply -k"):
                done = self.shell.try_(
                    f"kubectl {verb} deploy/components/{name}")
                self.assertNotEqual(done.returncode, 0)
                self.assertRegex(done.stderr, "no resource matches strategic "
                                 f"merge patch.*{lacks}")

    def test_with_cert_manager_the_authority_comes_from_its_secret(self):
        things = self.combine("webhook", "cert-manager", "monitoring",
                              "monitoring-cert-manager")
        monitors = [t for t in things if t["kind"] == "ServiceMonitor"]
        self.assertEqual(len(monitors), 2)
        for monitor in monitors:
            endpoint, = monitor["spec"]["endpoints"]
            self.assertEqual(endpoint["tlsConfig"]["ca"], {"secret": {
                "name": "plimsoll-scheduler-tls", "key": "ca.crt"}})

    def test_pod_monitors_have_a_token_of_their_own_for_metrics_alone(self):
        things = self.combine("webhook", "certificates", "monitoring",
                              "monitoring-pods")
        kinds = [t["kind"] for t in things]
        self.assertNotIn("ServiceMonitor", kinds)
        self.assertEqual(kinds.count("PodMonitor"), 2)
        ports = {t["metadata"]["name"]: [
            p["name"] for c in pods_of(t)["spec"]["containers"]
            for p in c.get("ports", [])] for t in things if pods_of(t)}
        for monitor in things:
            if monitor["kind"] != "PodMonitor":
                continue
            endpoint, = monitor["spec"]["podMetricsEndpoints"]
            self.assertTrue(endpoint["honorLabels"])
            self.assertIn(endpoint["port"], ports[monitor["metadata"]["name"]])
            token = endpoint["authorization"]["credentials"]["name"]
            secret, = [t for t in things if t["kind"] == "Secret"
                       and t["metadata"]["name"] == token]
            self.assertEqual(secret["type"],
                             "kubernetes.io/service-account-token")
        role, = [t for t in things if t["kind"] == "ClusterRole"
                 and t["metadata"]["name"] == "plimsoll-metrics"]
        self.assertEqual(role["rules"], [
            {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}])


class Switching(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin_alone("--with", "controller-manager")
        cls.shell = Shell(cls.folder.path, cls.cluster.kubeconfig())
        cls.shell.run("kubectl create namespace cert-manager")
        cls.shell.run(f"kubectl apply -f {FOREIGN}/cert-manager.yaml "
                      f"-f {FOREIGN}/monitoring.yaml")
        cls.shell.run("kubectl wait --for=condition=Established crd "
                      "-l plimsoll.io/foreign --timeout=30s")
        (cls.folder.path / "theirs.yaml").write_text(THEIRS)
        cls.shell.run("kubectl apply -f theirs.yaml")
        cls.shell.run("kubectl apply -k deploy/")

    def switch(self, overlay):
        said = self.shell.run(fenced("install.md", "--prune").replace(
            "-k deploy/", f"-k {overlay}") + " 2>&1")
        self.assertNotRegex(said, "(?i)warn|error")

    def remove_rest(self, overlay):
        """The line of the document for this overlay, if there is one."""
        line = re.search(rf"^\| `{pathlib.Path(overlay).name}` \| `kubectl "
                         rf"(delete .*?)`", DOCUMENT.split(
                             "## Another overlay")[1], re.M)
        if line:
            self.shell.run(f"kubectl {line.group(1)}")

    def test_a_second_apply_with_rights_to_move_changes_nothing(self):
        folder = self.folder.path / "moving"
        folder.mkdir()
        (folder / "kustomization.yaml").write_text(
            "resources: [../deploy]\n"
            "components: [../deploy/components/rebalance]\n")
        self.shell.run("kubectl apply -k moving")
        second_apply_changes_nothing(self.shell, "-k moving")

    def test_a_component_with_another_job_needs_no_job_to_be_removed(self):
        """`kubectl apply` cannot change a Job, and makes another one."""
        self.addCleanup(self.switch, "deploy/")
        jobs = {self.job_of("deploy/")}
        for name in ("admission-policy", "kubectl", "openshift"):
            overlay = f"deploy/overlays/{name}"
            self.addCleanup(self.remove_rest, overlay)
            self.shell.run(f"kubectl apply -k {overlay}")
            jobs.add(self.job_of(overlay))
            self.assertEqual(set(self.shell.run(
                "kubectl -n plimsoll get jobs -o name").split()), jobs)
        self.assertEqual(len(jobs), 4)

    def job_of(self, overlay):
        name, = (thing["metadata"]["name"]
                 for thing in rendered(self.shell, overlay)
                 if thing["kind"] == "Job")
        return f"job.batch/{name}"

    def leave(self, overlay):
        """What the document says to do before the switch."""
        if overlay.endswith("/cert-manager"):
            self.shell.run(fenced("install.md", "issuers.cert-manager.io"))

    def test_each_overlay_is_kept_as_applied_and_leaves_nothing_behind(self):
        before = "deploy/"
        for overlay in [*OVERLAYS, "deploy/"]:
            with self.subTest(f"{before} to {overlay}"):
                self.leave(before)
                self.switch(overlay)
                self.remove_rest(before)
                wanted = named(rendered(self.shell, overlay))
                eventually("the old objects are gone", lambda w=wanted:
                           installed(self.shell) == w, every=1)
                second_apply_changes_nothing(self.shell, f"-k {overlay}")
                self.shell.run("kubectl get -f theirs.yaml")
            before = overlay


if __name__ == "__main__":
    unittest.main()
