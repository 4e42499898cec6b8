"""A pod that only looks like a VM: what its author writes costs no other VM the
score of a node."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import ClusterCase  # noqa: E402
from harness import eventually, launcher, worker  # noqa: E402
from kube_api import path_of_object  # noqa: E402
from kubevirt_objects import GROUP, serve_kubevirt_objects  # noqa: E402
from question_peer import Answer, QuestionPeer  # noqa: E402

NODES = ("node-a", "node-b")
TENANT = "tenant"
HUGE = "4096"


def claim(name, vmi=None, limit=HUGE):
    """A launcher's pod on node-a that requests nothing and claims much."""
    pod = launcher(name, TENANT, nodeName="node-a", cpu="1m", memory="1Mi")
    resources = pod["spec"]["containers"][0]["resources"]
    resources["limits"] = {"cpu": limit}
    for device in [key for key in resources["requests"] if "/" in key]:
        resources["limits"][device] = resources["requests"][device]
    pod["metadata"]["annotations"]["plimsoll.io/expected-cores"] = limit
    if vmi is not None:
        pod["metadata"]["labels"]["kubevirt.io/created-by"] = vmi
    return pod


class Claims(ClusterCase):
    """A cluster that serves KubeVirt's objects, without KubeVirt."""

    @classmethod
    def setUpClass(cls):
        cls.begin_alone("--with", "controller-manager")
        serve_kubevirt_objects(cls.kube)
        cls.kube.create({"apiVersion": "v1", "kind": "Namespace",
                         "metadata": {"name": TENANT}})
        for name in ("default", TENANT):
            cls.kube.await_account(name)
        for name in NODES:
            cls.kube.create(worker(name, 16, "32Gi"))
            cls.kube.await_node(name)
        cls.peer = QuestionPeer(nodes=NODES)
        cls.addClassCleanup(cls.peer.close)
        cls.program = cls.scheduler("--aggregator", cls.peer.url).start()
        cls.addClassCleanup(cls.program.kill)
        cls.program.wait_log('"became leader"')
        cls.program.wait_log("watching KubeVirt's objects.*"
                             r"virtualmachineinstances\b")

    def score(self):
        """Of node-a, for a VM of another tenant."""
        pod = launcher("asks", memory="1Gi")

        def probe():
            try:
                answer = self.peer.ask(
                    "placement", {"object": {"kind": "Pod", **pod}})
            except Answer as refused:
                if refused.status != 503:
                    raise
                return None
            return next((one["score"] for one in answer["nodes"]
                         if one["name"] == "node-a"), None)
        return eventually("there is a score", probe)

    def run_pod(self, pod):
        made = self.make(pod)
        self.kube.patch(path_of_object(made) + "/status",
                        {"status": {"phase": "Running"}})

        def is_there():
            try:
                self.peer.ask("placement", {
                    "podName": made["metadata"]["name"]}, namespace=TENANT)
            except Answer as refused:
                return refused.status != 503 and (
                    "no pod " not in refused.sentence)
            return True
        eventually("the scheduler knows the pod", is_there)

    def make_vmi(self, name, cores, namespace=TENANT):
        made = self.kube.request(
            "POST", f"{GROUP}/namespaces/{namespace}/virtualmachineinstances",
            {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
             "metadata": {"name": name},
             "spec": {"domain": {"cpu": {"cores": cores}}},
             "status": {"phase": "Running", "nodeName": "node-a"}})
        return made["metadata"]["uid"]

    def test_a_pod_without_a_vmi_costs_no_score(self):
        before = self.score()
        self.run_pod(claim("imitation"))
        self.run_pod(claim("borrower", self.make_vmi("theirs", 8, "default")))
        self.assertLess(before - self.score(), 1)

    def test_a_pod_costs_what_its_vmi_has(self):
        vmi = self.make_vmi("real", 8)
        before = self.score()
        self.run_pod(claim("real", vmi, "8"))
        eventually("the VM is charged", lambda: before - self.score() > 1)
        charged = self.score()
        # The second and the third pod of a VM of 1 vCPU.
        small = self.make_vmi("small", 1)
        for number in range(4):
            self.run_pod(claim(f"small-{number}", small))
        self.assertLess(charged - self.score(), before - charged)


if __name__ == "__main__":
    unittest.main(verbosity=2)
