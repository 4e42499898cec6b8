"""The webhook that names the scheduler of new VMs, on a real API server, and
the scheduler that says when nothing does."""
import base64
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import ClusterCase  # noqa: E402
from harness import eventually, http_get, launcher  # noqa: E402
from kube_api import path_of  # noqa: E402
from ports import free_port  # noqa: E402
from secure import certs  # noqa: E402

NAME = "plimsoll-scheduler-name"
OURS, STOCK = "plimsoll-scheduler", "default-scheduler"
KEY = "plimsoll.io/schedule"
IN_TREE = {"name": "disk", "awsElasticBlockStore": {"volumeID": "v"}}
CONDITIONS = [
    {"name": "nobody-chose-a-scheduler",
     "expression": f'object.spec.schedulerName == "{STOCK}"'},
    {"name": "no-node-was-chosen",
     "expression": "!has(object.spec.nodeName)"}]


def configuration(url, authority, conditions):
    """The webhook configuration; authority None: without a caBundle."""
    client = {"url": url}
    if authority:
        client["caBundle"] = base64.b64encode(authority).decode()
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration", "metadata": {"name": NAME},
        "webhooks": [{
            "name": "scheduler-name.plimsoll.io", "failurePolicy": "Ignore",
            "reinvocationPolicy": "Never", "timeoutSeconds": 30,
            "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": client, "matchConditions": conditions,
            "namespaceSelector": {"matchLabels": {KEY: "enabled"}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"],
                       "operations": ["CREATE"], "resources": ["pods"]}]}]}


class Webhook(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.keys = cls.folder.path / "keys"
        certs("new", cls.keys)
        cls.authority = (cls.keys / "servers-ca.crt").read_bytes()
        port = free_port()
        cls.url = f"https://localhost:{port}/mutate-pods"
        for name, labels in (("served", {KEY: "enabled"}), ("plain", {})):
            cls.make_for_class({
                "apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": name, "labels": labels}})
            cls.kube.await_account(name)
        cls.program = cls.scheduler(
            "--webhook", f"127.0.0.1:{port}",
            "--webhook-tls-cert", cls.keys / "scheduler-server.crt",
            "--webhook-tls-key", cls.keys / "scheduler-server.key")
        # Beside it, without a webhook.
        cls.deaf = cls.scheduler(name="plimsoll-deaf")

    def setUp(self):
        self.running = []

    def tearDown(self):
        for program in self.running:
            program.stop()

    def start(self, program):
        """Starts it until the end of the test, with a new log."""
        self.running.append(program)
        program.log_path.unlink(missing_ok=True)
        program.start()
        program.wait_log("caches synced")

    def configure(self, authority=None, conditions=()):
        return self.make(configuration(self.url, authority or self.authority,
                                       list(conditions)))

    def name_of(self, pod):
        """The scheduler's name of a pod that is created now."""
        return self.make(pod)["spec"].get("schedulerName")

    @staticmethod
    def vm(name, namespace="served", scheduler=STOCK, **spec):
        return launcher(name, namespace, scheduler, **spec)

    def await_service(self):
        """The API server has read the configuration."""
        def called():
            pod = self.kube.create(self.vm("probe"))
            self.kube.remove(pod)
            return pod["spec"]["schedulerName"] == OURS
        eventually("the webhook is called", called)

    def get(self, program, path):
        port = program.wait_log(r" http=(\d+)")[1]
        return http_get(f"http://127.0.0.1:{port}{path}")

    def await_readyz(self, program, pattern):
        def says():
            status, _, text = self.get(program, "/readyz")
            return status == 200 and re.search(pattern, text)
        return eventually(f"/readyz says {pattern}", says)

    def metric(self, program, series):
        _, _, text = self.get(program, "/metrics")
        return float(re.search(
            rf"^plimsoll_scheduler_admission_{re.escape(series)} (.*)$", text,
            re.M)[1])

    # ---- the webhook ----

    def assert_names_only_vms_without_a_choice(self):
        opted_out = self.vm("out")
        opted_out["metadata"]["labels"][KEY] = "disabled"
        other = self.vm("other")
        other["metadata"]["labels"].pop("kubevirt.io")
        for pod, name in (
                (self.vm("stock"), OURS), (self.vm("none", scheduler=None),
                                           OURS),
                (self.vm("chosen", scheduler="another"), "another"),
                (self.vm("node", nodeName="n1"), STOCK),
                (opted_out, STOCK), (other, STOCK),
                (self.vm("elsewhere", namespace="plain"), STOCK)):
            with self.subTest(pod["metadata"]["name"]):
                self.assertEqual(self.name_of(pod), name)

    def test_names_only_vms_for_which_nobody_chose(self):
        self.configure()
        self.start(self.program)
        self.await_service()
        self.assert_names_only_vms_without_a_choice()
        self.assertGreaterEqual(
            self.metric(self.program, 'reviews_total{outcome="named"}'), 2)
        self.assertGreaterEqual(
            self.metric(self.program, 'reviews_total{outcome="left"}'), 3)
        self.assertEqual(
            self.metric(self.program, 'reviews_total{outcome="invalid"}'), 0)

    def test_conditions_of_the_configuration_change_nothing(self):
        self.configure(conditions=CONDITIONS)
        self.start(self.program)
        self.await_service()
        self.assert_names_only_vms_without_a_choice()

    def test_all_is_well_while_the_webhook_answers(self):
        self.configure()
        self.start(self.program)
        self.await_service()
        eventually("the state is known", lambda: self.metric(
            self.program, 'state{state="webhook"}') == 1)
        self.program.wait_log(
            "the webhook plimsoll-scheduler-name sets schedulerName on VMs")
        self.assertNotIn("schedulerName",
                         self.get(self.program, "/readyz")[2])

    def test_a_vm_that_plimsoll_cannot_place_stays_and_says_why(self):
        self.configure()
        self.start(self.program)
        self.await_service()
        in_tree = self.vm("in-tree")
        in_tree["spec"]["volumes"].append(IN_TREE)
        in_tree = self.make(in_tree)
        claims = self.make(self.vm("claims", resourceClaims=[
            {"name": "gpu", "resourceClaimName": "gpu"}]))
        # Kubernetes 1.30 drops the field once the webhook has seen it.
        has_claims = bool(claims["spec"].get("resourceClaims"))
        for pod in (in_tree, claims):
            self.assertEqual(pod["spec"]["schedulerName"], STOCK)
        note = self.event(in_tree, "LeftToDefault")["note"]
        self.assertIn("awsElasticBlockStore, which plimsoll-scheduler does "
                      "not support", note)
        self.await_readyz(self.program, "with default-scheduler, because "
                          "plimsoll cannot place")
        self.assertEqual(self.metric(self.program, "unsupported_pods"),
                         1 + has_claims)
        self.assertGreaterEqual(self.metric(
            self.program, 'reviews_total{outcome="unsupported"}'), 1)
        self.assertEqual(self.metric(self.program, "missed_pods_total"),
                         not has_claims)

    # ---- when nothing sets the name ----

    def test_vms_are_created_without_the_scheduler_and_it_says_so_later(self):
        self.configure()
        self.start(self.program)
        self.await_service()
        self.program.kill()
        self.assertEqual(self.name_of(self.vm("missed")), STOCK)
        self.start(self.program)
        self.await_readyz(
            self.program, "1 pod of VMs in labelled namespaces has "
            "schedulerName default-scheduler from before this scheduler")
        self.program.wait_log("VMs of labelled namespaces had the default "
                              'scheduler\'s name before .* pods=1')
        self.assertEqual(self.metric(
            self.program, 'default_pods{created="earlier"}'), 1)

    def test_another_scheduler_sees_the_vms_that_slip_through(self):
        self.configure()
        self.start(self.deaf)
        pod = self.make(self.vm("missed"))
        self.assertEqual(pod["spec"]["schedulerName"], STOCK)
        name = pod["metadata"]["name"]
        self.await_readyz(
            self.deaf, "1 pod of VMs in labelled namespaces was created with "
            rf"schedulerName default-scheduler \(the newest is served/{name}")
        self.deaf.wait_log("a VM of a labelled namespace has the default "
                           f'scheduler\'s name" namespace="served" '
                           f'pod="{name}"')
        self.assertEqual(self.metric(self.deaf, "missed_pods_total"), 1)
        self.kube.remove(pod)
        eventually("the pod no longer counts", lambda: self.metric(
            self.deaf, 'default_pods{created="watched"}') == 0)

    def test_a_missing_configuration_is_named_with_the_namespaces(self):
        self.start(self.program)
        sentence = (
            "nothing sets schedulerName on VMs of the labelled namespace "
            f"served: neither the webhook nor the policy {NAME} exists; only "
            f"VMs that name {OURS} are placed")
        self.await_readyz(self.program, re.escape(sentence))
        self.program.wait_log("W.*" + re.escape(sentence))
        self.assertEqual(
            self.metric(self.program, 'state{state="nothing"}'), 1)
        self.assertEqual(self.metric(self.program, "namespaces"), 1)

    def test_a_webhook_without_an_authority_does_not_count(self):
        self.make(configuration(self.url, None, []))
        self.start(self.program)
        self.await_readyz(self.program, f"the webhook {NAME} has no caBundle")
        self.assertEqual(self.name_of(self.vm("refused")), STOCK)
        self.kube.patch(path_of("MutatingWebhookConfiguration", name=NAME), {
            "webhooks": configuration(self.url, self.authority,
                                      [])["webhooks"]})
        self.await_service()

    def test_an_authority_that_has_not_signed_does_not_count(self):
        self.configure((self.keys / "clients-ca.crt").read_bytes())
        self.start(self.program)
        sentence = (f"the webhook {NAME} has a caBundle that has not signed "
                    "this scheduler's certificate")
        self.await_readyz(self.program, sentence)
        self.program.wait_log("W.*" + sentence)
        self.assertEqual(
            self.metric(self.program, 'state{state="webhook_untrusted"}'), 1)
        self.assertEqual(self.name_of(self.vm("refused")), STOCK)


if __name__ == "__main__":
    unittest.main()
