"""A hundred of the random cases on a real API server, placed by the real
kube-scheduler: it binds only where our filters let it, and what it says of a
pod that fits nowhere is what our filters say.

Ours is asked about what the API server gives back. Left out are cases that the
server cannot hold without more of a cluster (overhead needs a RuntimeClass,
nominations other schedulers, an ephemeral claim its controller) and claims that
a controller would have to bind before the pod is."""
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
from harness import eventually  # noqa: E402
from kube_api import Kube, Refused  # noqa: E402
from parity import SEED, Driver, ours, theirs  # noqa: E402
from parity_cases import case, refused  # noqa: E402
from parity_words import BOUND, NAMESPACES  # noqa: E402

WANTED = 100
AT_MOST = 800  # cases looked at to find as many
MERGE = "application/merge-patch+json"
GATE = "plimsoll.io/wait"
STORAGE = "/apis/storage.k8s.io/v1"
# Where objects are, and whether in a namespace.
PLACES = {
    "Node": ("/api/v1", "nodes", False),
    "Pod": ("/api/v1", "pods", True),
    "PersistentVolume": ("/api/v1", "persistentvolumes", False),
    "PersistentVolumeClaim": ("/api/v1", "persistentvolumeclaims", True),
    "StorageClass": (STORAGE, "storageclasses", False),
    "CSINode": (STORAGE, "csinodes", False),
    "CSIDriver": (STORAGE, "csidrivers", False),
    "CSIStorageCapacity": (STORAGE, "csistoragecapacities", True),
    "VolumeAttachment": (STORAGE, "volumeattachments", False),
}


class Kept(Kube):
    """Requests over one connection: there are thousands."""

    connection = None

    def request(self, method, path, body=None, kind="application/json"):
        if self.connection is None:
            self.connection = http.client.HTTPSConnection(
                self.server.hostname, self.server.port, context=self.tls,
                timeout=30)
        self.connection.request(
            method, path, body=None if body is None else json.dumps(body),
            headers=dict(self.headers, **{"Content-Type": kind}))
        answer = self.connection.getresponse()
        parsed = json.loads(answer.read() or b"{}")
        if answer.status >= 300:
            raise Refused(answer.status, parsed)
        return parsed


def place(kind, meta=None):
    base, plural, in_namespace = PLACES[kind]
    where = ("/namespaces/" + meta["namespace"]
             if in_namespace and meta else "")
    return f"{base}{where}/{plural}"


def waits(one):
    """Whether the pod needs something that no controller here does."""
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
    if any(theirs(answer)[n] == [] for n in theirs(answer)) and waits(one):
        return None
    pods = [one["pod"], *one["pods"]]
    if any("overhead" in p["spec"] or "priority" in p["spec"] for p in pods):
        return None
    if any(v.get("ephemeral") for v in one["pod"]["spec"].get("volumes", [])):
        return None
    # With the edges in.
    return {**one, "nodes": answer["case"]["nodes"]}


class Real(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster("--with", "scheduler")
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.await_ready()
        cls.kube = Kept(cls.cluster.kubeconfig())
        for name in (*NAMESPACES, "k"):
            cls.kube.create({"kind": "Namespace", "metadata": {"name": name}})
            cls.kube.request(
                "POST", f"/api/v1/namespaces/{name}/serviceaccounts",
                {"metadata": {"name": "default"}})
        cls.driver = Driver()
        cls.addClassCleanup(cls.driver.close)

    # ---- putting a case there ----

    def make(self, kind, thing):
        meta = thing["metadata"]
        leaving = meta.get("deletionTimestamp")
        meta = {k: v for k, v in meta.items()
                if k not in ("uid", "deletionTimestamp")}
        path = place(kind, meta)
        made = self.kube.request("POST", path, {**thing, "metadata": meta})
        at = f"{path}/{meta['name']}"
        if thing.get("status") and kind != "Node":
            self.kube.request("PATCH", at + "/status",
                              {"status": thing["status"]}, MERGE)
        if kind == "Node":  # admission taints each as not ready
            self.kube.request("PATCH", at, {"spec": {
                "taints": thing["spec"].get("taints")}}, MERGE)
        if leaving:
            self.kube.request("DELETE", at)
        return made

    def fill(self, one):
        for name in NAMESPACES:
            labels = next((o["metadata"].get("labels", {})
                           for o in one["objects"] if o["kind"] == "Namespace"
                           and o["metadata"]["name"] == name), {})
            self.kube.request(
                "PATCH", f"/api/v1/namespaces/{name}", {"metadata": {
                    "labels": {k: labels.get(k) for k in ("app", "v", "t")}}},
                MERGE)
        for thing in one["objects"]:
            if thing["kind"] != "Namespace":
                self.make(thing["kind"], thing)
        for node in one["nodes"]:
            self.make("Node", node)
        for pod in one["pods"]:
            self.make("Pod", pod)

    def clear(self):
        now = {"kind": "DeleteOptions", "apiVersion": "v1",
               "gracePeriodSeconds": 0}
        for kind in PLACES:
            for thing in self.kube.get(place(kind))["items"]:
                at = f"{place(kind, thing['metadata'])}/" \
                    f"{thing['metadata']['name']}"
                if thing["metadata"].get("finalizers"):
                    self.kube.request("PATCH", at, {
                        "metadata": {"finalizers": None}}, MERGE)
                try:
                    self.kube.request("DELETE", at, now)
                except Refused as no:
                    if no.status != 404:
                        raise

    def state(self):
        """What is there, as `score --in` wants it."""
        made = {"objects": [
            {**n, "kind": "Namespace"}
            for n in self.kube.get("/api/v1/namespaces")["items"]]}
        for kind in PLACES:
            listed = [{**t, "kind": kind}
                      for t in self.kube.get(place(kind))["items"]]
            if kind == "Pod":
                made["pods"] = listed
            elif kind == "Node":
                made["nodes"] = listed
            else:
                made["objects"] += listed
        return made

    # ---- what kube-scheduler does ----

    def verdict(self, pod):
        """The node, or why there is none."""
        now = self.kube.get(f"{place('Pod', pod['metadata'])}/p")
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
        return not any(r == [] for r in mine.values()) and said(message, mine)

    def try_case(self, one):
        """The outcome, or None if the API server would not have the case."""
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
        mine = ours({**state, "pod": made})
        self.kube.request("PATCH", f"{place('Pod', made['metadata'])}/p",
                          {"spec": {"schedulingGates": None}}, MERGE)
        try:
            # It may not have seen all of it yet; then it tries again.
            eventually("both agree", lambda: self.agrees(made, mine), 15)
        except AssertionError:
            return f"{self.verdict(made)} but {mine}: {json.dumps(one)}"
        return "fits" if self.verdict(made)[0] else "fits nowhere"

    def test_kube_scheduler_does_what_our_filters_say(self):
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


def said(message, mine):
    """Whether the message counts just our reasons; what PreFilter says of all
    nodes stands there once."""
    counts = collections.Counter(r for rs in mine.values() for r in rs)
    lines = sorted(f"{n} {r}" for r, n in counts.items())
    head = f"0/{len(mine)} nodes are available: "
    # What its preemption found is added.
    body = re.sub(r"\. (preemption: .*|no new claims .*|not found)$|\.$", "",
                  message[len(head):])
    return message.startswith(head) and (
        body == ", ".join(lines)
        or (len(counts) == 1 and body == next(iter(counts))))


if __name__ == "__main__":
    unittest.main()
