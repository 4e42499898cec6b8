"""The default installation on a real API server with its own controllers and
scheduler. The tests run what `kubectl apply -k deploy/` makes, from the images,
with the accounts, tokens, certificates, users and mounts of the manifests. They
use the installation and try what is forbidden."""
import json
import os
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from harness import (ROOT, eventually, launcher,  # noqa: E402
                     reserving)
from installation import NODES, PROGRAMS  # noqa: E402
from installation_case import (new_world,  # noqa: E402
                               second_apply_changes_nothing)
from kubelet import own_network  # noqa: E402
import rights_case  # noqa: E402

WEBHOOK = ("/apis/admissionregistration.k8s.io/v1/"
           "mutatingwebhookconfigurations/plimsoll-scheduler-name")
OBJECTS = "/apis/load.plimsoll.io/v1alpha1/nodeloads"
world = None  # the cluster of all tests here


def setUpModule():
    global world
    own_network()
    world = new_world()


class Installed(rights_case.RightsCase):
    @classmethod
    def setUpClass(cls):
        cls.begin(world)
        cls.said = cls.install_as_documented()
        cls.reader = cls.let_read()
        cls.addClassCleanup(cls.shell.run, "kubectl -n vms delete vm/example")
        cls.shell.follow("install.md", heading="VMs")
        cls.await_loads()
        cls.await_idlest()

    def test_the_installation_gives_no_warning_and_becomes_ready(self):
        self.assertNotRegex(self.said, "(?i)warn|error|violat")
        for container in [c for n in PROGRAMS for c in self.kubelet.of(n)]:
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                self.assertTrue(container.probe(probe), container.spec["name"])

    def test_a_second_apply_changes_nothing(self):
        second_apply_changes_nothing(self.shell, "-k deploy/")

    def test_every_node_is_measured_and_readers_alone_may_read(self):
        eventually("all nodes are fresh", lambda: self.fresh_nodes(
            self.reader) == set(NODES))
        stranger = self.world.token("default", "default")
        self.assertEqual(self.get("/v1/nodes", stranger)[0], 403)
        at = f"{self.kubelet.of('scheduler')[0].address}:7475"
        for token, status in ((None, 401), (stranger, 403),
                              (self.reader, 200)):
            self.assertEqual(self.get(OBJECTS, token)[0], status)
            for path in ("/", "/metrics", "/v1/room"):
                self.assertEqual(self.get(path, token, at=at)[0], status)
        # The page asks for the token.
        self.assertEqual(self.get("/ui/page.js", None)[0], 200)

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

    def assert_scheduler(self, expected, pod):
        self.assertEqual(self.make(pod)["spec"]["schedulerName"], expected)

    def test_the_webhook_changes_no_other_pod(self):
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

    def test_without_kubevirt_the_log_stays_quiet(self):
        """The scheduler asks for its objects in vain."""
        said = r'I\d.*"not watching KubeVirt.s objects" resource="?(\w+)'
        wanted = ["kubevirts", "migrationpolicies", "virtualmachineinstances"]
        for scheduler in self.kubelet.of("scheduler"):
            log = scheduler.program.log
            eventually("each kind is named once", lambda log=log: sorted(
                re.findall(said, log())) == wanted)
            self.assertEqual(re.findall(r"(?im)^[WE]\d.*kubevirt.*", log()),
                             [])

    def test_the_scheduler_says_why_it_moves_nothing(self):
        leader, = [a for a in map(json.loads, self.ask_schedulers(
            "/v1/rebalance", self.reader)) if a["leads"]]
        self.assertEqual(leader["effective_mode"], "recommend")
        self.assertIn("virtualmachineinstances are not watched", leader["why"])

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
        self.assertRegex(said, r"plimsoll-scheduler-name +1 ")
        self.assertRegex(said, r"plimsoll-scheduler +\S+_[0-9a-f]+ ")

    def test_the_backup_of_the_document_is_made(self):
        text = (ROOT / "docs/upgrade.md").read_text()
        line = re.search(r"^```exec\nkubectl -n plimsoll exec "
                         r"sts/plimsoll-aggregator -- (.*)\n```", text,
                         re.M).group(1)
        aggregator = self.kubelet.of("aggregator")[0]
        code, said = aggregator.run(*line.split())
        self.assertEqual(code, 0, said)
        copy = self.world.path / "claims/data-plimsoll-aggregator-0"
        self.assertTrue((copy / "before-upgrade.db").stat().st_size)

    def test_an_engine_with_https_needs_an_authority(self):
        """The image has no CA bundle."""
        aggregator = self.kubelet.of("aggregator")[0]
        code, said = aggregator.run(
            *aggregator.entrypoint, "--db=/data/other.db",
            "--listen=tcp://127.0.0.1:0", "--http=127.0.0.1:0",
            "--remote-write=https://engine.example/api/v1/write")
        self.assertEqual(code, 1)
        self.assertIn("--remote-write-ca is missing, and this system has no "
                      "CA bundle to verify https://engine.example", said)

    def test_a_webhook_without_its_authority_is_never_silent(self):
        """Each scheduler looks every 30 s."""
        found = self.kube.get(WEBHOOK)["webhooks"][0]["clientConfig"]

        def set_authority(text):
            self.kube.request("PATCH", WEBHOOK, [{
                "op": "replace" if text else "remove", "value": text,
                "path": "/webhooks/0/clientConfig/caBundle"}],
                "application/json-patch+json")
        set_authority(None)
        self.addCleanup(set_authority, found["caBundle"])
        eventually("the API server cannot call it", lambda:
                   self.name_given() == "default-scheduler")
        leader = self.kubelet.of("scheduler")[0]
        said = eventually("/readyz says so", lambda: (
            lambda text: text if "caBundle" in text else None)(
                self.ready_answer(leader)))
        self.assertIn("vms", said)


if __name__ == "__main__":
    unittest.main()
