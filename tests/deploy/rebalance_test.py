"""The rights of deploy/components/rebalance on a real API server: a token of
the scheduler's account orders moves, and can do nothing else with VMs."""
import copy
import json
import pathlib
import re
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import ClusterCase  # noqa: E402
from harness import ROOT, eventually  # noqa: E402
from kube_api import MERGE, Kube, Refused, token_kubeconfig  # noqa: E402

FOREIGN = ROOT / "tests/deploy/foreign/kubevirt-migrations.yaml"
VM = "/apis/kubevirt.io/v1/namespaces/vms"
MIGRATIONS = f"{VM}/virtualmachineinstancemigrations"
LABEL = "plimsoll.io/move-id"
HOSTNAME = "kubernetes.io/hostname"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
ROLE, READER = f"{ROLES}/plimsoll-mover", f"{ROLES}/plimsoll-scheduler"
ACCOUNT = "system:serviceaccount:plimsoll:plimsoll-scheduler"
TIMEOUTS = [f"kubevirt.io/migration{pod}PodTimeoutSeconds"
            for pod in ("Unschedulable", "Pending")]


def migration(name, **spec):
    """As the scheduler orders it; further members of the spec, or None to
    leave one out."""
    spec = {"vmiName": "vm", "addedNodeSelector": {HOSTNAME: "node-b"}, **spec}
    return {"apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstanceMigration",
            "metadata": {"name": name, "namespace": "vms",
                         "labels": {LABEL: name},
                         "annotations": dict.fromkeys(TIMEOUTS, "120")},
            "spec": {k: v for k, v in spec.items() if v is not None}}


def annotated(thing, **annotations):
    """With these annotations of KubeVirt, too; None to leave one out."""
    changed = copy.deepcopy(thing)
    have = changed["metadata"]["annotations"]
    have.update({f"kubevirt.io/{k}": v for k, v in annotations.items()})
    changed["metadata"]["annotations"] = {
        k: v for k, v in have.items() if v is not None}
    return changed


def finalized(thing, *finalizers):
    changed = copy.deepcopy(thing)
    changed["metadata"]["finalizers"] = list(finalizers)
    return changed


def without_label(thing, **labels):
    changed = copy.deepcopy(thing)
    changed["metadata"]["labels"] = labels
    return changed


class Rebalance(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin_alone("--with", "controller-manager")
        cls.cluster.kubectl("create", "namespace", "vms")
        cls.cluster.kubectl("apply", "-f", str(FOREIGN))
        cls.cluster.kubectl("wait", "--for=condition=Established", "crd", "-l",
                            "plimsoll.io/foreign", "--timeout=30s")
        cls.copy_manifests()
        cls.apply()
        cls.thief = cls.stolen()
        eventually("the account may read", lambda: {
            cls.status(*way) for way in cls.ways()} == {200})
        cls.before = {way: cls.status(*way) for way in cls.ways()}
        cls.before_order = cls.status("POST", MIGRATIONS, migration("early"))
        cls.follow_document()
        cls.apply()
        eventually("the role is bound", lambda: cls.status(
            "POST", MIGRATIONS, migration("x")) == 200)
        cls.kube.delete(f"{MIGRATIONS}/x")
        eventually("the policy is in force", lambda: cls.status(
            "POST", MIGRATIONS, migration("x", addedNodeSelector=None)) == 403
            or cls.kube.delete(f"{MIGRATIONS}/x"))

    @classmethod
    def copy_manifests(cls):
        cls.manifests = cls.folder.path / "deploy"
        shutil.copytree(ROOT / "deploy", cls.manifests)

    @classmethod
    def apply(cls):
        cls.cluster.kubectl("apply", "-k", str(cls.manifests))

    @classmethod
    def follow_document(cls):
        """Replaces the components as docs/install.md says."""
        text = (ROOT / "docs/install.md").read_text()
        block = re.search(r"^```yaml\n(components:\n.*?)^```", text,
                          re.M | re.S).group(1)
        path = cls.manifests / "kustomization.yaml"
        path.write_text(path.read_text().split("components:")[0] + block)

    @classmethod
    def stolen(cls):
        """Requests from outside with a token of the scheduler's account."""
        path = cls.folder.path / "stolen"
        path.write_text(token_kubeconfig(
            cls.cluster.kubeconfig(),
            cls.kube.token("plimsoll", "plimsoll-scheduler")))
        return Kube(path)

    @classmethod
    def ask(cls, method, path, body=None):
        """The status that the thief gets, and the reason."""
        kind = MERGE if method == "PATCH" else "application/json"
        try:
            cls.thief.request(method, path, body, kind)
        except Refused as no:
            return no.status, no.message
        return 200, ""

    @classmethod
    def status(cls, *request):
        return cls.ask(*request)[0]

    def assert_denied(self, why, *request):
        status, message = self.ask(*request)
        self.assertEqual(status, 403)
        self.assertIn(why, message)

    @staticmethod
    def ways():
        """The lists of all kinds that the role names."""
        return [("GET", f"/apis/{path}") for path in (
            "kubevirt.io/v1/virtualmachineinstances",
            "kubevirt.io/v1/virtualmachineinstancemigrations",
            "kubevirt.io/v1/kubevirts",
            "migrations.kubevirt.io/v1alpha1/migrationpolicies")]

    def given(self, thing):
        """An object that the test's admin creates."""
        self.kube.request("POST", MIGRATIONS, thing)
        path = f"{MIGRATIONS}/{thing['metadata']['name']}"
        self.addCleanup(self.kube.delete, path)
        return path

    def given_by_thief(self, thing):
        """The policy admits this object."""
        self.assertEqual(self.ask("POST", MIGRATIONS, thing), (200, ""))
        self.kube.delete(f"{MIGRATIONS}/{thing['metadata']['name']}")

    def test_without_the_component_the_account_only_reads(self):
        self.assertEqual(set(self.before.values()), {200})
        self.assertEqual(self.before_order, 403)

    def test_an_order_as_the_scheduler_gives_it_is_admitted(self):
        # KubeVirt's webhook adds this finalizer.
        order = finalized(migration("ordered"),
                          "kubevirt.io/migrationJobFinalize")
        order["metadata"]["annotations"]["example.com/note"] = "x"
        self.assertEqual(self.status("POST", MIGRATIONS, order), 200)
        uid = self.kube.get(f"{MIGRATIONS}/ordered")["metadata"]["uid"]
        self.assertEqual(self.status("DELETE", f"{MIGRATIONS}/ordered", {
            "apiVersion": "v1", "kind": "DeleteOptions",
            "preconditions": {"uid": uid}}), 200)
        self.kube.patch(f"{MIGRATIONS}/ordered",
                        {"metadata": {"finalizers": None}})
        self.assertIsNone(self.kube.find(f"{MIGRATIONS}/ordered"))

    def test_a_stolen_token_orders_nothing_else(self):
        order = migration("stolen")
        for labels in {}, {"a": "b"}, {LABEL: ""}:
            with self.subTest(labels=labels):
                self.assert_denied("has no label", "POST", MIGRATIONS,
                                   without_label(order, **labels))
        for selector in (None, {}, {HOSTNAME: ""}, {"a": "b"},
                         {HOSTNAME: "node-b", "a": "b"}):
            with self.subTest(selector=selector):
                self.assert_denied(
                    "must have kubernetes.io/hostname alone", "POST",
                    MIGRATIONS,
                    migration("stolen", addedNodeSelector=selector))
        for more in ({"priority": "system-critical"},
                     {"sendTo": {"connectURL": "thief:9185"}},
                     {"receive": {"migrationID": "m"}}):
            with self.subTest(more=more):
                self.assert_denied("vmiName and addedNodeSelector alone",
                                   "POST", MIGRATIONS,
                                   migration("stolen", **more))
        self.assertIsNone(self.kube.find(f"{MIGRATIONS}/stolen"))

    def test_a_stolen_token_holds_no_slot_of_kubevirt_for_long(self):
        order = migration("slow")
        for key in TIMEOUTS:
            for value in (None, "", "0", "301", "1000000000", "1e9", "-1",
                          "60s", "060", " 60"):
                with self.subTest(key=key, value=value):
                    self.assert_denied(
                        "must be 1 to 300 seconds", "POST", MIGRATIONS,
                        annotated(order, **{key.split("/")[1]: value}))
        bare = copy.deepcopy(order)
        del bare["metadata"]["annotations"]
        self.assert_denied("must be 1 to 300 seconds", "POST", MIGRATIONS,
                           bare)
        for finalizers in (["example.com/stay"],
                           ["kubevirt.io/migrationJobFinalize", "a.b/c"]):
            with self.subTest(finalizers=finalizers):
                self.assert_denied("no finalizer but KubeVirt's", "POST",
                                   MIGRATIONS, finalized(order, *finalizers))
        for value in "1", "99", "299", "300":
            self.given_by_thief(annotated(order, **{
                key.split("/")[1]: value for key in TIMEOUTS}))

    def test_a_stolen_token_sets_none_of_kubevirts_test_annotations(self):
        for name in ("func-test-migration-target-image-override",
                     "func-test-ignore-migration-backoff",
                     "evacuationMigration",
                     "migrationUtilityVolumesTimeoutSeconds"):
            with self.subTest(name):
                self.assert_denied(
                    "only annotations of KubeVirt", "POST", MIGRATIONS,
                    annotated(migration("image"), **{name: "thief/image"}))

    def test_a_stolen_token_ends_no_migration_of_others(self):
        foreign = self.given(without_label(migration("foreign"), a="b"))
        self.assert_denied("has no label", "DELETE", foreign)
        self.assertEqual(self.status("DELETE", MIGRATIONS), 403)
        # The label cannot be added first.
        change = {"metadata": {"labels": {LABEL: "x"}}}
        self.assertEqual(self.status("PATCH", foreign, change), 403)
        self.assertEqual(self.kube.get(foreign)["metadata"]["labels"],
                         {"a": "b"})

    def test_a_stolen_token_changes_no_order_and_no_vm(self):
        own = self.given(migration("own"))
        vmi = {"apiVersion": "kubevirt.io/v1",
               "kind": "VirtualMachineInstance",
               "metadata": {"name": "vm", "namespace": "vms"}, "spec": {}}
        self.kube.request("POST", f"{VM}/virtualmachineinstances", vmi)
        path = f"{VM}/virtualmachineinstances/vm"
        self.addCleanup(self.kube.delete, path)
        policies = "/apis/migrations.kubevirt.io/v1alpha1/migrationpolicies"
        calls = "/apis/subresources.kubevirt.io/v1/namespaces/vms"
        for method, where, body in (
                ("PATCH", own, {"spec": {"sendTo": {"migrationID": "m"}}}),
                ("PUT", own, migration("own")),
                ("PATCH", f"{own}/status", {}),
                ("GET", own, None), ("GET", path, None),
                ("PATCH", path, {"spec": {}}), ("PUT", path, vmi),
                ("DELETE", path, None),
                ("POST", f"{VM}/virtualmachineinstances", vmi),
                ("POST", f"{VM}/virtualmachines", vmi),
                ("POST", f"{VM}/kubevirts", vmi),
                ("POST", policies, vmi),
                ("PUT", f"{calls}/virtualmachines/vm/migrate", {}),
                ("PUT", f"{calls}/virtualmachineinstances/vm/pause", {}),
                ("DELETE", "/apis/admissionregistration.k8s.io/v1/"
                 "validatingadmissionpolicies/plimsoll-mover", None),
                ("DELETE", ROLE, None)):
            with self.subTest(f"{method} {where}"):
                self.assertEqual(self.status(method, where, body), 403)

    def test_the_policy_holds_even_if_the_role_is_widened(self):
        """An administrator may add rights by mistake."""
        rules = self.kube.get(ROLE)["rules"]
        self.addCleanup(self.kube.patch, ROLE, {"rules": rules})
        self.kube.patch(ROLE, {"rules": [{
            "apiGroups": ["kubevirt.io"], "resources": ["*"],
            "verbs": ["*"]}]})
        own = self.given(migration("widened"))
        eventually("the role is wider",
                   lambda: self.status("GET", own) == 200)
        only = "only creates and deletes migrations"
        self.assert_denied(only, "PATCH", own, {
            "spec": {"sendTo": {"migrationID": "m"}}})
        self.assert_denied(only, "POST", f"{VM}/virtualmachineinstances", {
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
            "metadata": {"name": "new", "namespace": "vms"}})
        foreign = self.given(without_label(migration("foreign-2")))
        self.assert_denied("has no label", "DELETE", foreign)
        self.assertNotEqual(self.status("DELETE", MIGRATIONS), 200)
        self.assertIsNotNone(self.kube.find(foreign))

    def test_other_accounts_are_not_affected(self):
        foreign = self.given(without_label(
            migration("drain", addedNodeSelector=None, priority="x")))
        self.kube.delete(foreign)
        self.assertIsNone(self.kube.find(foreign))

    def test_the_document_turns_orders_on(self):
        scheduler = self.kube.get(
            "/apis/apps/v1/namespaces/plimsoll/deployments/plimsoll-scheduler")
        self.assertIn(
            "--rebalance=automatic",
            scheduler["spec"]["template"]["spec"]["containers"][0]["args"])

    def test_the_policy_knows_the_account_under_another_name(self):
        """A kustomization around this one renames the account."""
        outer = self.folder.path / "outer"
        outer.mkdir()
        for add in "", "namePrefix: a-", "nameSuffix: -b":
            with self.subTest(add):
                (outer / "kustomization.yaml").write_text(
                    f"resources: [../deploy]\n{add}\n")
                things = self.rendered(outer)
                pattern, name = (re.search(part, things[kind], re.S).group(1)
                                 for kind, part in (
                    ("ValidatingAdmissionPolicy", r'matches\(\s*"(.*?)"\)'),
                    ("ValidatingAdmissionPolicy", r"\n  name: (\S+)")))
                account = re.search(r"subjects:\n.*?  name: (\S+)\n"
                                    r"  namespace: (\S+)",
                                    things["ClusterRoleBinding"], re.S)
                for namespace in account[2], "elsewhere":
                    self.assertRegex(f"system:serviceaccount:{namespace}:"
                                     f"{account[1]}", pattern)
                self.assertNotRegex(ACCOUNT.replace("scheduler", "aggregator"),
                                    pattern)
                self.assertIn(f"policyName: {name}\n",
                              things["ValidatingAdmissionPolicyBinding"])

    def rendered(self, folder):
        """The manifests named plimsoll-mover, by kind."""
        parts = self.cluster.kubectl("kustomize", str(folder)).split("\n---\n")
        return {re.search(r"^kind: (\S+)", part, re.M).group(1): part + "\n"
                for part in parts
                if re.search(r"^  name: \S*plimsoll-mover", part, re.M)}

    # ---- the audit log ----

    def granted(self, role):
        """(verb, resource) of each right to objects of KubeVirt."""
        return {(verb, resource) for rule in self.kube.get(role)["rules"]
                for group in rule.get("apiGroups", [])
                if group.endswith("kubevirt.io")
                for verb in rule["verbs"] for resource in rule["resources"]}

    def used(self, program):
        """The same of each accepted request to KubeVirt's groups that the
        account made; program: a part of its user agent."""
        found = set()
        for line in self.cluster.audit.read_text().splitlines():
            event = json.loads(line)
            thing = event.get("objectRef", {})
            if (event["user"].get("username") == ACCOUNT
                    and program in event.get("userAgent", "")
                    and thing.get("apiGroup", "").endswith("kubevirt.io")
                    and event["responseStatus"].get("code", 0) < 300):
                found.add((event["verb"], thing["resource"]))
        return found

    def test_the_roles_have_what_an_order_needs_and_no_more(self):
        self.assertEqual(self.granted(READER), {
            (verb, resource) for resource in (
                "virtualmachineinstances", "kubevirts", "migrationpolicies",
                "virtualmachineinstancemigrations")
            for verb in ("list", "watch")})
        self.assertEqual(self.granted(ROLE), {
            (verb, "virtualmachineinstancemigrations")
            for verb in ("create", "delete")})

    def test_the_scheduler_watches_with_exactly_these_rights(self):
        scheduler = self.scheduler(
            "--rebalance=recommend",
            kubeconfig=self.folder.path / "stolen").start()
        self.addCleanup(scheduler.kill)
        reads = self.granted(READER)
        eventually("all of KubeVirt's kinds are watched",
                   lambda: self.used("plimsoll") == reads)


if __name__ == "__main__":
    unittest.main()
