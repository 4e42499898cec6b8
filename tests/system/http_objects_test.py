"""The objects of load.plimsoll.io on the aggregator's HTTP listener, as a page
reads them without kube-apiserver."""
import gzip
import json
import pathlib
import sys
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import (PATIENCE_S, Aggregator, Driver, Folder,  # noqa: E402
                     Machine, agent, eventually, http_get, kubeconfig)

BASE = "/apis/load.plimsoll.io/v1alpha1"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


class Objects(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.close)
        cls.aggregator = cls.folder.add(
            Aggregator(cls.folder.path, "aggregator")).start()
        cls.machine = Machine(cls.folder.path / "m", cores=4)
        cls.machine.busy = 0.5
        driver = Driver([cls.machine]).start()
        cls.addClassCleanup(driver.stop)
        for name in ("node-a", "node-b"):
            cls.folder.add(agent(
                cls.folder.path, name, [cls.aggregator.url],
                *cls.machine.agent_flags())).start()
        eventually("the nodes have rates", lambda: all(
            (cls.aggregator.node(name) or {"cpu": {}})["cpu"].get(
                "used_cores_10s") for name in ("node-a", "node-b")))

    def setUp(self):
        eventually("both nodes are fresh", lambda: {
            self.aggregator.node(name)["state"]
            for name in ("node-a", "node-b")} == {"fresh"})

    def ask(self, path, accept=None):
        """The status and what the JSON says."""
        status, headers, text = http_get(
            f"http://127.0.0.1:{self.aggregator.ports[1]}{BASE}{path}", accept)
        self.assertEqual(headers["Content-Type"], "application/json")
        return status, json.loads(text)

    def test_a_list_of_nodes(self):
        status, said = self.ask("/nodeloads")
        self.assertEqual((status, said["kind"]), (200, "NodeLoadList"))
        self.assertEqual([n["metadata"]["name"] for n in said["items"]],
                         ["node-a", "node-b"])
        self.assertEqual(said["items"][0]["status"]["cpu"]["cores"], 4)

    def test_a_node_a_page_of_nodes_and_a_table(self):
        self.assertEqual(self.ask("/nodeloads/node-b")[1]["metadata"]["name"],
                         "node-b")
        page = self.ask("/nodeloads?limit=1")[1]
        self.assertEqual(len(page["items"]), 1)
        rest = self.ask("/nodeloads?limit=1&continue="
                        + page["metadata"]["continue"])[1]
        self.assertEqual(rest["items"][0]["metadata"]["name"], "node-b")
        table = self.ask("/nodeloads", TABLE)[1]
        self.assertEqual(table["kind"], "Table")
        self.assertEqual(table["rows"][0]["cells"][0], "node-a")

    def test_a_table_of_chosen_fields(self):
        path = ("/nodeloads?fields=metadata.name,status.cpu.cores,"
                "status.hottest,status.memory.swapInBytes60s&limit=1")
        status, said = self.ask(path, TABLE)
        self.assertEqual((status, said["kind"]), (200, "Table"))
        self.assertEqual([c["name"] for c in said["columnDefinitions"]], [
            "metadata.name", "status.cpu.cores", "status.hottest",
            "status.memory.swapInBytes60s"])
        self.assertEqual([c["type"] for c in said["columnDefinitions"]], [
            "string", "number", "string", "number"])
        row, = said["rows"]
        self.assertEqual(list(row), ["cells"])
        self.assertEqual(row["cells"][:3], ["node-a", 4, "cpu"])
        self.assertIsNone(row["cells"][3])
        self.assertIn("continue", said["metadata"])

    def test_the_other_kinds(self):
        for path, kind in (("/vmloads", "VmLoadList"),
                           ("/decisions", "DecisionList"),
                           ("/moves", "MoveList"),
                           ("/status", "PlimsollStatusList"),
                           ("/status/plimsoll", "PlimsollStatus"),
                           ("/nodeloads/node-a/history", "LoadHistory")):
            with self.subTest(path):
                status, said = self.ask(path)
                self.assertEqual((status, said["kind"]), (200, kind))
        status = self.ask("/status/plimsoll")[1]["status"]
        self.assertEqual(status["agents"]["fresh"], 2)

    def test_errors_are_as_kubernetes_words_them(self):
        for path, code, words in (
                ("/nodeloads/node-x", 404, "not found"),
                ("/nodeloads?limit=x", 400, "limit: 'x' is not a number"),
                ("/nodeloads?fields=metadata.name", 400,
                 "fields: only a Table"),
                ("/nodeloads?after=x", 400, "after: 'x' is not a resource"),
                ("/status?after=-1", 400, "after: '-1' is not a resource"),
                ("/nodeloads?after=1&timeoutSeconds=31", 400,
                 "timeoutSeconds: '31' is not a number from 1 to 30"),
                ("/nodeloads?after=1&timeoutSeconds=0", 400, "'0' is not"),
                ("/nodeloads?watch=1", 405, "watch is not supported"),
                ("/plans", 404, "through kube-apiserver alone"),
                ("/nothing", 404, "could not find the requested resource"),
                ("/", 404, "could not find the requested resource")):
            with self.subTest(path):
                status, said = self.ask(path)
                self.assertEqual((status, said["kind"], said["code"]),
                                 (code, "Status", code))
                self.assertIn(words, said["message"])

    def test_a_field_that_does_not_exist_is_named(self):
        status, said = self.ask("/vmloads?fields=status.cpu", TABLE)
        self.assertEqual((status, said["message"]), (
            400, "fields: 'status.cpu' is not a field of vmloads"))

    def test_a_long_poll_waits_for_another_revision(self):
        for path in ("/nodeloads?limit=1&", "/vmloads?", "/status?",
                     "/status/plimsoll?"):
            with self.subTest(path):
                rev = self.ask(path)[1]["metadata"]["resourceVersion"]
                again = self.ask(f"{path}after={rev}&timeoutSeconds=30")[1]
                self.assertGreater(int(again["metadata"]["resourceVersion"]),
                                   int(rev))

    def test_a_long_poll_of_another_processs_revision_does_not_wait(self):
        status, said = self.ask("/nodeloads?after=999999999&timeoutSeconds=30")
        self.assertEqual((status, len(said["items"])), (200, 2))

    def test_who_takes_gzip_gets_lists_and_metrics_compressed(self):
        for path in ("/metrics", "/v1/nodes", f"{BASE}/nodeloads"):
            with self.subTest(path):
                asked = urllib.request.Request(
                    f"http://127.0.0.1:{self.aggregator.ports[1]}{path}",
                    headers={"Accept-Encoding": "gzip"})
                with urllib.request.urlopen(asked,
                                            timeout=PATIENCE_S) as answer:
                    self.assertEqual(answer.headers["Content-Encoding"],
                                     "gzip")
                    self.assertEqual(answer.headers["Vary"],
                                     "Accept-Encoding")
                    text = gzip.decompress(answer.read()).decode()
                self.assertIn("node-a", text)

    def test_the_other_paths_keep_their_errors(self):
        status, _, text = self.aggregator.get("/v1/nodes/node-x")
        self.assertEqual((status, list(json.loads(text))), (404, ["error"]))


class Protected(unittest.TestCase):
    def test_the_objects_need_a_token(self):
        folder = Folder()
        self.addCleanup(folder.close)
        aggregator = folder.add(Aggregator(
            folder.path, "aggregator", "--http-auth", "kubernetes",
            "--kubeconfig", kubeconfig(folder.path))).start()
        status, _, text = aggregator.get(f"{BASE}/nodeloads")
        self.assertEqual((status, json.loads(text)["reason"]),
                         (401, "Unauthorized"))


if __name__ == "__main__":
    unittest.main()
