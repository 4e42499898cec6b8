"""The descheduler beside plimsoll, with KubeVirt's own controllers: the policy
of deploy/examples asks Prometheus for plimsoll's figures, KubeVirt turns the
eviction into a migration, and plimsoll chooses the target."""
import os
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from engines import Prometheus  # noqa: E402
from harness import ROOT, Program, reserving  # noqa: E402
from kube_api import token_kubeconfig  # noqa: E402
from kubevirt import path_of  # noqa: E402
from scene_case import SceneCase  # noqa: E402

PROGRAMS = pathlib.Path(os.environ.get(
    "DESCHEDULER", str(ROOT / "build/ci/descheduler")))
POLICY = ROOT / "deploy/examples/descheduler-policy.yaml"
ACCOUNT = "/api/v1/namespaces/kube-system/serviceaccounts/descheduler-sa"
NO_EVICTION = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
EVICT_ONLY = "descheduler.alpha.kubernetes.io/request-evict-only"
IN_PROGRESS = "descheduler.alpha.kubernetes.io/eviction-in-progress"
ORIGIN = "kubevirt.io/evacuationMigration"
CORES = 6
CYCLE_S = 5
# Cycles of the descheduler that a VM with the annotation outlives.
CYCLES = 4
# Longer than plimsoll watches a VM before it may move it.
COPY_TAKES_S = 90


class Beside(SceneCase):
    """Three nodes that differ in requests and in load:

    vm-0  really full, by its VMs; nearly nothing is requested there
    vm-1  really half full; nothing is requested there
    vm-2  really idle; two thirds of it are requested"""

    @classmethod
    def setUpClass(cls):
        cls.begin_scenes(vm=3)
        # Before the first report of a VM, so that the mean is high soon.
        cls.loads.set_node("vm-0", 5.8)
        cls.loads.set_node("vm-1", 0.65 * CORES)
        cls.kube.create(reserving("reserves", "vm-2", cpu="4"))
        cls.prometheus = cls.folder.add(Prometheus(
            cls.folder.path,
            scrapes=f"127.0.0.1:{cls.aggregator.ports[1]}")).start()
        cls.start_scheduler("--rebalance", "automatic")

    @classmethod
    def start_descheduler(cls):
        """With the policy of deploy/examples and the rights of the
        descheduler's own manifest."""
        cls.cluster.kubectl("apply", "-n", "kube-system", "-f",
                            PROGRAMS / "rbac.yaml")
        cls.cluster.kubectl(
            "create", "secret", "generic", "-n", "kube-system",
            "descheduler-prometheus", "--from-literal=prometheusAuthToken=x")
        token = cls.kube.request("POST", f"{ACCOUNT}/token", {
            "spec": {"expirationSeconds": 3600}})["status"]["token"]
        kubeconfig = cls.folder.path / "descheduler.kubeconfig"
        kubeconfig.write_text(token_kubeconfig(
            cls.cluster.kubeconfig(), token))
        policy = cls.folder.path / "policy.yaml"
        text, count = re.subn(r"(?m)^    url: .*$",
                              f"    url: {cls.prometheus.url}",
                              POLICY.read_text())
        assert count == 1, POLICY
        policy.write_text(text)
        program = cls.folder.add(Program(cls.folder.path, "descheduler", [
            PROGRAMS / "descheduler", "--kubeconfig", kubeconfig,
            "--policy-config-file", policy,
            "--descheduling-interval", f"{CYCLE_S}s",
            "--feature-gates", "EvictionsInBackground=true",
            "--secure-port", "0", "--v", "3"]))
        program.env["DESCHEDULER_CA"] = str(cls.cluster.dir / "pki/ca.crt")
        return program.start()

    def test_what_the_descheduler_evicts_goes_to_the_node_with_the_least_load(
            self):
        for name in ("kept", "moves"):
            self.make_scene_vm("vm", name, 4, 2.9)
        self.await_running("kept", "moves")
        self.loads.set_node("vm-0", 0)
        self.set_copy("moves", COPY_TAKES_S)
        self.forbid_at_once("kept")
        self.open_scene("vm")
        descheduler = self.start_descheduler()
        self.evicted(descheduler)
        self.placed()
        self.stays(descheduler)

    def forbid_at_once(self, name):
        """KubeVirt copies the annotation from the template of a VM that runs
        to its VMI and its launcher pod."""
        self.kube.patch(path_of("VirtualMachine", "default", name), {
            "spec": {"template": {"metadata": {"annotations": {
                NO_EVICTION: "true"}}}}})
        self.wait(f"the pod of {name} has the annotation", lambda: (
            NO_EVICTION in self.vm_pod(name)["metadata"]["annotations"]))
        self.assertIn(EVICT_ONLY,
                      self.vm_pod(name)["metadata"]["annotations"])

    def classified(self, program, node):
        """How the descheduler found the node before it evicted a VM."""
        log = program.log().partition("Eviction in background assumed")[0]
        found = re.findall(
            r'"Node (?:has been classified|is (appropriately) utilized)"'
            rf'[^\n]*? (?:category="(\w+)" )?node="{node}"', log)
        return "".join(found[-1]) if found else None

    def evicted(self, program):
        """Once, although the node stays full until the VM is away and both
        movers look at it again and again."""
        source = path_of_pod(self.vm_pod("moves"))
        job = self.wait("KubeVirt migrates the VM", lambda: next(
            iter(self.migrations("moves")), None))
        self.assertEqual(job["metadata"]["annotations"][ORIGIN], "vm-0")
        self.assertIn("Eviction in background assumed", program.log())
        self.assertEqual(self.classified(program, "vm-1"), "appropriately")
        self.assertEqual(self.classified(program, "vm-2"), "underutilized")
        self.wait("KubeVirt marks the pod", lambda: (
            IN_PROGRESS in self.kube.get(source)["metadata"]["annotations"]))
        self.assertEqual(self.outcome(job),
                         "Succeeded")
        self.assertEqual(len(self.migrations("moves")), 1)
        self.assertEqual(self.moves("moves"), [])

    def placed(self):
        self.assertEqual(self.vm_node("moves"), "vm-2")
        self.assertEqual(self.vm_pod("moves")["spec"]["schedulerName"],
                         "plimsoll-scheduler")

    def stays(self, program):
        """The node is still full, and only the VM with the annotation is left
        there."""
        self.loads.set_node("vm-0", 3.0)
        seen = program.log().count('category="overutilized"')
        self.wait("the descheduler has looked again and again", lambda: (
            program.log().count('category="overutilized"') >= seen + CYCLES))
        self.assertEqual(self.migrations("kept"), [])
        self.assertEqual(self.vm_node("kept"), "vm-0")
        self.wait("plimsoll holds the VM back as well", lambda: {
            "namespace": "default", "vm": "kept", "node": "vm-0",
            "why": "an annotation of the VMI forbids it"} in (
                self.rebalance()["held_back"]))


def path_of_pod(pod):
    return f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}"


if __name__ == "__main__":
    unittest.main()
