"""A hundred of the random cases on a real API server with the real
kube-scheduler: it binds the pod only where plimsoll's filters allow it, and its
reasons for a pod that fits nowhere are those of plimsoll's filters.

plimsoll judges the objects that the API server returns. Some cases are left
out: those that need more of a cluster (overhead needs a RuntimeClass,
nominations other schedulers, an ephemeral claim its controller, user namespaces
on the host's network a feature gate), those with claims that a controller would
have to bind first, and pods that name their node, which no scheduler sees."""
import collections
import http.client
import json
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from cluster import Cluster  # noqa: E402
from harness import PATIENCE_S, eventually  # noqa: E402
from kube_api import (Kube, Refused, path_of,  # noqa: E402
                      path_of_object)
from parity import SEED, Driver, ours, reasons, theirs  # noqa: E402
from parity_cases import case, refused  # noqa: E402
from parity_words import BOUND, NAMESPACES  # noqa: E402

WANTED = 100
AT_MOST = 800  # cases, to find as many that fit this cluster
GATE = "plimsoll.io/wait"
PLACED = ("Node", "Pod", "PersistentVolume", "PersistentVolumeClaim",
          "StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity",
          "VolumeAttachment")


class KeptKube(Kube):
    """Requests over one connection: there are thousands."""

    connection = None

    def request(self, method, path, body=None, kind="application/json"):
        if self.connection is None:
            self.connection = http.client.HTTPSConnection(
                self.server.hostname, self.server.port, context=self.tls,
                timeout=PATIENCE_S)
        self.connection.request(
            method, path, body=None if body is None else json.dumps(body),
            headers=dict(self.headers, **{"Content-Type": kind}))
        answer = self.connection.getresponse()
        parsed = json.loads(answer.read() or b"{}")
        if answer.status >= 300:
            raise Refused(answer.status, parsed)
        return parsed


def needs_a_controller(one):
    """Whether the pod needs a controller, which this cluster lacks."""
    spec = one["pod"]["spec"]
    claims = {(c["metadata"]["namespace"], c["metadata"]["name"]): c
              for c in one["objects"] if c["kind"] == "PersistentVolumeClaim"}
    for volume in spec.get("volumes", []):
        if "ephemeral" in volume:
            return True
        name = volume.get("persistentVolumeClaim", {}).get("claimName")
        claim = claims.get((one["pod"]["metadata"]["namespace"], name))
        if claim and BOUND not in claim["metadata"]["annotations"]:
            return True
    return False


def fitted(one, answer):
    """The case as this cluster can hold it; None if it cannot."""
    if refused(one) or "invalid" in answer:
        return None
    if not all(reasons(theirs(answer)).values()) and needs_a_controller(one):
        return None
    pods = [one["pod"], *one["pods"]]
    if any("overhead" in p["spec"] or "priority" in p["spec"] for p in pods):
        return None
    if {"nodeName", "hostUsers"} & one["pod"]["spec"].keys():
        return None
    if any(v.get("ephemeral") for v in one["pod"]["spec"].get("volumes", [])):
        return None
    # The driver has applied the edges.
    return {**one, "nodes": answer["case"]["nodes"]}


class KubeScheduler(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster("--with", "scheduler")
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.await_ready()
        cls.kube = KeptKube(cls.cluster.kubeconfig())
        cls.version = cls.kube.get("/version")["gitVersion"]
        for name in (*NAMESPACES, "k"):
            cls.kube.create({"kind": "Namespace", "metadata": {"name": name}})
            cls.kube.request(
                "POST", f"/api/v1/namespaces/{name}/serviceaccounts",
                {"metadata": {"name": "default"}})
        cls.driver = Driver()
        cls.addClassCleanup(cls.driver.close)

    # ---- building a case ----

    def make(self, kind, thing):
        meta = thing["metadata"]
        leaving = meta.get("deletionTimestamp")
        meta = {k: v for k, v in meta.items()
                if k not in ("uid", "deletionTimestamp")}
        path = path_of(kind, meta.get("namespace"))
        made = self.kube.request("POST", path, {**thing, "metadata": meta})
        at = f"{path}/{meta['name']}"
        if thing.get("status") and kind != "Node":
            self.kube.patch(at + "/status", {"status": thing["status"]})
        if kind == "Node":  # admission taints each as not ready
            self.kube.patch(at, {"spec": {
                "taints": thing["spec"].get("taints")}})
        if leaving:
            self.kube.request("DELETE", at)
        return made

    def fill(self, one):
        for name in NAMESPACES:
            labels = next((o["metadata"].get("labels", {})
                           for o in one["objects"] if o["kind"] == "Namespace"
                           and o["metadata"]["name"] == name), {})
            self.kube.patch(f"/api/v1/namespaces/{name}", {"metadata": {
                "labels": {k: labels.get(k) for k in ("app", "v", "t")}}})
        for thing in one["objects"]:
            if thing["kind"] != "Namespace":
                self.make(thing["kind"], thing)
        for node in one["nodes"]:
            self.make("Node", node)
        for pod in one["pods"]:
            self.make("Pod", pod)

    def clear(self):
        for kind in PLACED:
            for thing in self.kube.get(path_of(kind))["items"]:
                thing["kind"] = kind
                if thing["metadata"].get("finalizers"):
                    self.kube.patch(path_of_object(thing), {
                        "metadata": {"finalizers": None}})
                self.kube.remove(thing)

    def state(self):
        """All objects, as `score --in` takes them."""
        made = {"kubernetes_version": self.version, "objects": [
            {**n, "kind": "Namespace"}
            for n in self.kube.get("/api/v1/namespaces")["items"]]}
        for kind in PLACED:
            listed = [{**t, "kind": kind}
                      for t in self.kube.get(path_of(kind))["items"]]
            if kind == "Pod":
                made["pods"] = listed
            elif kind == "Node":
                made["nodes"] = listed
            else:
                made["objects"] += listed
        return made

    # ---- the decision of kube-scheduler ----

    def verdict(self, pod):
        """(node, message) of the decision, or None before it."""
        now = self.kube.get(path_of_object(pod))
        if now["spec"].get("nodeName"):
            return now["spec"]["nodeName"], None
        for condition in now["status"].get("conditions", []):
            if (condition["type"] == "PodScheduled"
                    and condition.get("reason") == "Unschedulable"):
                return None, condition["message"]
        return None

    def agrees(self, pod, mine):
        found = self.verdict(pod)
        if found is None:
            return False
        node, message = found
        if node is not None:
            return mine[node] == []
        return (not any(r == [] for r in mine.values())
                and has_reasons(message, mine))

    def try_case(self, one):
        """The outcome, or None if the API server rejects an object."""
        try:
            self.fill(one)
            pod = json.loads(json.dumps(one["pod"]))
            pod["spec"]["schedulingGates"] = [{"name": GATE}]
            made = self.make("Pod", pod)
        except Refused as no:
            if no.status not in (403, 409, 422):
                raise
            return None
        state = self.state()
        made["spec"].pop("schedulingGates")
        mine = reasons(ours({**state, "pod": made}))
        self.kube.patch(path_of_object(made),
                        {"spec": {"schedulingGates": None}})
        try:
            # Its informers may lag behind; then it tries again.
            eventually("both agree", lambda: self.agrees(made, mine))
        except AssertionError:
            return f"{self.verdict(made)} but {mine}: {json.dumps(one)}"
        return "fits" if self.verdict(made)[0] else "fits nowhere"

    def test_kube_scheduler_decides_as_plimsolls_filters_do(self):
        outcomes = collections.Counter()
        for number in range(AT_MOST):
            if sum(outcomes.values()) == WANTED:
                break
            one = case(SEED, number)
            one = fitted(one, self.driver.ask(one))
            if one is None:
                continue
            with self.subTest(number):
                outcome = self.try_case(one)
                self.clear()
                if outcome is not None:
                    outcomes[outcome] += 1
                    self.assertIn(outcome, ("fits", "fits nowhere"))
        print(dict(outcomes))
        self.assertEqual(WANTED, sum(outcomes.values()))
        self.assertGreater(outcomes["fits nowhere"], WANTED / 10)
        self.assertGreater(outcomes["fits"], WANTED / 10)


def has_reasons(message, mine):
    """Whether the message counts exactly these reasons; a reason of PreFilter
    for all nodes stands in it once."""
    counts = collections.Counter(r for rs in mine.values() for r in rs)
    lines = sorted(f"{n} {r}" for r, n in counts.items())
    head = f"0/{len(mine)} nodes are available: "
    # The result of its preemption follows.
    body = re.sub(r"\. (preemption: .*|no new claims .*|not found)$|\.$", "",
                  message[len(head):])
    return message.startswith(head) and (
        body == ", ".join(lines)
        or (len(counts) == 1 and body == next(iter(counts))))


if __name__ == "__main__":
    unittest.main()
