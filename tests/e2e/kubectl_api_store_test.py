"""The Kubernetes API of an aggregator whose database opens slowly or takes no
writes, and questions whose asker hangs up: through a real API server."""
import contextlib
import json
import pathlib
import sqlite3
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from api_service import ApiServiceCase  # noqa: E402
from harness import PATIENCE_S, ROOT, Aggregator, eventually  # noqa: E402
from kube_api import KUBECLUSTER, Refused  # noqa: E402
from protobuf import fields  # noqa: E402
from question_peer import ANSWER, ANSWER_ACK, PARK, QUESTION  # noqa: E402
from shared_number import SharedNumber  # noqa: E402
from wire_peer import WirePeer, pack, report  # noqa: E402

GROUP = "/apis/load.plimsoll.io/v1alpha1"
PLACEMENTS = f"{GROUP}/namespaces/default/placements"
SLOW_DISK = ROOT / "build/release/tests/chaos/slow_disk.so"
# kube-apiserver asks for these, for whoever asks it.
DOCUMENTS = ("/apis", GROUP, "/openapi/v2", "/openapi/v3",
             f"/openapi/v3{GROUP}", "/version")
USER_MAX = 4  # open questions of a user
HELD_MAX = 4  # and of those that a scheduler says that it holds, the newest


class Leader:
    """A scheduler that leads: it takes each question, and answers when it is
    told to."""

    TERM = 7

    def __init__(self, url):
        self.parking, self.answering = (
            WirePeer(url, name) for name in ("parking", "answering"))
        self.ids = {}  # by the name of the VM
        threading.Thread(target=self.park, daemon=True).start()

    def park(self):
        with contextlib.suppress(OSError, AssertionError):
            while True:
                reply = self.parking.request((PARK, pack(
                    (1, self.TERM), *((2, one) for one in list(
                        self.ids.values())[-HELD_MAX:]))))
                question = fields(reply[QUESTION][0])
                if 1 in question:
                    spec = json.loads(question[5][0])
                    self.ids[spec["vmName"]] = question[1][0]

    def answer(self, vm_name, status):
        """Whether somebody waits for it."""
        reply = self.answering.request((ANSWER, pack(
            (1, self.ids[vm_name]), (2, self.TERM), (3, 200),
            (5, json.dumps(status)))))
        del self.ids[vm_name]
        return bool(fields(reply[ANSWER_ACK][0]).get(1, [0])[0])

    def close(self):
        self.parking.close()
        self.answering.close()


def placement(vm_name):
    return {"apiVersion": "load.plimsoll.io/v1alpha1", "kind": "Placement",
            "metadata": {"namespace": "default"}, "spec": {"vmName": vm_name}}


class Outages(ApiServiceCase):
    @classmethod
    def setUpClass(cls):
        # Alone: an APIService concerns every namespace of the cluster.
        cls.begin_alone("--with", "controller-manager", "--local-services")
        cls.begin_api()

    def aggregator(self):
        """Of this test alone, on the port of the APIService."""
        program = Aggregator(self.folder.path, self.own_name()[:30],
                             *self.api_flags())
        self.addCleanup(program.kill)
        return program

    def kubectl(self, *arguments):
        done = self.run_kubectl("admin", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, *arguments):
        done = self.run_kubectl("admin", *arguments)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return done.stderr

    def store(self):
        return self.kube.get(f"{GROUP}/status/plimsoll")["status"]["store"]

    def assert_described(self):
        self.await_available()
        for path in DOCUMENTS:
            status, body = self.ask(path, self.proxy_cert(),
                                    {"X-Remote-User": "somebody"})
            self.assertEqual(status, 200, (path, body))
        self.assertIn("nodeloads", self.kubectl(
            "api-resources", "--api-group=load.plimsoll.io"))

    # ---- the database ----

    def test_the_api_is_described_before_the_database_is_open(self):
        self.assertTrue(SLOW_DISK.exists(), "`make e2e` builds it")
        # Of each write: more than a hundred make the database.
        delay = SharedNumber(self.folder.path / "slow-disk", 1)
        aggregator = self.aggregator()
        aggregator.env.update(LD_PRELOAD=str(SLOW_DISK),
                              SLOW_DISK=str(delay.path))
        aggregator.begin()
        aggregator.wait_log("front proxy settings read")
        self.assert_described()
        for resource in ("nodeloads", "vmloads", "decisions", "moves"):
            self.assertIn("the aggregator's database is not open yet",
                          self.refused("get", resource, "-A"))
        self.assertEqual(self.store()["state"], "Opening")
        self.assertNotIn("database opened", aggregator.log())
        delay.set(0)
        aggregator.wait_log("database opened")
        self.assertEqual(self.kubectl("get", "nodeloads"), "")
        self.assertEqual(self.store()["state"], "Storing")

    def test_live_load_is_served_while_the_database_takes_no_writes(self):
        aggregator = self.aggregator()
        aggregator.start()
        aggregator.wait_log("front proxy settings read")
        self.await_available()
        with contextlib.closing(sqlite3.connect(
                aggregator.db, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            peer = WirePeer(aggregator.url, "late")
            self.addCleanup(peer.close)
            self.assertTrue(peer.send(1000000, [report(1, 1000000, {})]))
            aggregator.wait_log("cannot write to the database.*locked")
            self.assert_described()
            store = self.store()
            self.assertEqual(store["state"], "Degraded")
            self.assertIn("locked", store["reason"])
            self.assertIn("late", self.kubectl("get", "nodeloads"))
            self.kubectl("get", "decisions,moves", "-A")
            other.execute("ROLLBACK")

        def stored():
            peer.send(1000000, [report(1, 1000000, {})])  # as an agent does
            return self.store()["state"] == "Storing"
        eventually("the report is stored", stored)

    # ---- a question whose asker hangs up ----

    def asker(self, vm_name):
        """kubectl, which waits for the answer."""
        path = self.folder.path / f"{vm_name}.json"
        path.write_text(json.dumps(placement(vm_name)))
        process = subprocess.Popen(
            [KUBECLUSTER, "kubectl", "create", "--validate=false", "-f", path,
             "-o", "json"], env=self.user_environment("admin"), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def test_a_question_ends_when_its_asker_hangs_up(self):
        aggregator = self.aggregator()
        aggregator.start()
        aggregator.wait_log("front proxy settings read")
        self.await_available()
        leader = Leader(aggregator.url)
        self.addCleanup(leader.close)
        eventually("a scheduler leads", lambda: self.kube.get(
            f"{GROUP}/status/plimsoll")["status"]["scheduler"]["isConnected"])
        askers = []
        for n in range(USER_MAX):
            askers.append(self.asker(f"vm-{n}"))
            eventually("the scheduler has the question", lambda n=n: (
                f"vm-{n}" in leader.ids))
        with self.assertRaisesRegex(Refused, "429"):
            self.kube.request("POST", PLACEMENTS, placement("more"))
        askers[0].kill()

        def next_question():
            asker = self.asker("next")
            eventually("it is refused or asked", lambda: (
                "next" in leader.ids or asker.poll() is not None))
            return asker if "next" in leader.ids else None
        asker = eventually("the next question has a slot", next_question)
        self.assertFalse(leader.answer("vm-0", {"chosen": "node-a"}))
        self.assertTrue(leader.answer("next", {"chosen": "node-b"}))
        out, err = asker.communicate(timeout=PATIENCE_S)
        self.assertEqual(json.loads(out)["status"], {"chosen": "node-b"}, err)
        self.assertTrue(leader.answer("vm-1", {"chosen": "node-c"}))


if __name__ == "__main__":
    unittest.main()
