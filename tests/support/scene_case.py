"""A test case whose tests are scenes with nodes of their own, side by side."""
import json
import re

import kubevirt
from harness import http_get
from kubevirt import path_of
from kubevirt_case import KubeVirtCase

CORES = 6
# The rest of a node and its big VM fill it.
HOT_CORES, VM_CORES = 2.4, 3.5


class SceneCase(KubeVirtCase):
    """Each scene has nodes of its own: NAME-0 where its VMs start, and the
    others, which may take them."""

    @classmethod
    def begin_scenes(cls, **scenes):
        """scenes: name -> the number of nodes."""
        cls.scenes = {name: [f"{name}-{i}" for i in range(count)]
                      for name, count in scenes.items()}
        cls.begin_kubevirt(sum(cls.scenes.values(), []), CORES)
        cls.start_vm_load()
        for nodes in cls.scenes.values():
            cls.open_node(nodes[0])

    @classmethod
    def open_node(cls, node):
        """VMs of the scene may run on this node now."""
        cls.kube.patch(path_of_node(node), {"metadata": {"labels": {
            "scene": node.rsplit("-", 1)[0]}}})

    def make_scene_vm(self, scene, name, cores, wants, namespace="default",
                      **options):
        vm = kubevirt.virtual_machine(
            name, cores=cores, nodeSelector={"scene": scene}, **options)
        vm["metadata"]["namespace"] = namespace
        kubevirt.create(self.kube, vm)
        self.addCleanup(self.kube.delete, path_of(
            "VirtualMachine", namespace, name))
        self.loads.set_vm(name, wants)

    def open_scene(self, scene):
        """The VMs of a scene may go to all of its nodes now."""
        for node in self.scenes[scene][1:]:
            self.open_node(node)

    # ---- what the mover says ----

    def recommended_now(self):
        return [move["vm"] for move in self.rebalance()["recommendations"]]

    def rebalance(self):
        """GET /v1/rebalance of the scheduler."""
        program = self.programs[-1]
        port = re.search(r"http=(\d+)", program.log())[1]
        status, _, text = http_get(f"http://127.0.0.1:{port}/v1/rebalance")
        self.assertEqual(status, 200, text)
        return json.loads(text)

    def moves(self, name, namespace="default", **more):
        """The records of the VM's moves, newest first."""
        query = "".join(f"&{key}={value}" for key, value in more.items())
        return self.aggregator.json(
            f"/v1/moves?vm={namespace}/{name}{query}")["moves"]

    def await_move(self, name, state, namespace="default"):
        """The first record of the VM in this state."""
        return self.wait(f"the move of {name} is {state}", lambda: next(iter(
            self.moves(name, namespace, state=state)), None))

    def await_event(self, name, reason):
        return self.wait(f"{name} has the event {reason}", lambda: next(
            (e for e in self.kube.events(self.vmi(name))
             if e["reason"] == reason), None))

    def await_why(self, text):
        """Until the mover says in its sentence why it moves nothing."""
        return self.wait(f"the mover says {text!r}", lambda: (
            text in (why := self.rebalance()["why"]) and why))


def path_of_node(name):
    return f"/api/v1/nodes/{name}"
