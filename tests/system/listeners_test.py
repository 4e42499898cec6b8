"""What all HTTP listeners have in common: the list of their paths, and what
probes ask."""
import json
import pathlib
import ssl
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import (BIN, Aggregator, Folder, Program,  # noqa: E402
                     http_get, kubeconfig)
from secure import certs  # noqa: E402

PROBES = ["/healthz", "/livez", "/readyz"]
PATHS = {
    "aggregator --http": [
        "/apis/load.plimsoll.io/v1alpha1/RESOURCE", "/metrics", "/ui/FILE", "/v1/decisions", "/v1/moves", "/v1/nodes",
        "/v1/nodes/NAME", "/v1/nodes/NAME/history", "/v1/vms",
        "/v1/vms/NAMESPACE/NAME", "/v1/vms/NAMESPACE/NAME/history",
        "/watcher", "/watcher/health"],
    "aggregator --health": PROBES,
    "scheduler --http": sorted(PROBES + [
        "/extender/filter", "/extender/prioritize", "/metrics",
        "/v1/rebalance", "/v1/room"]),
    "scheduler --webhook": ["/mutate-pods"],
}


class Listeners(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.close)
        keys = cls.folder.path / "keys"
        certs("new", keys)
        cls.trust = ssl.create_default_context(cafile=keys / "servers-ca.crt")
        aggregator = cls.folder.add(Aggregator(cls.folder.path)).start()
        scheduler = cls.folder.add(Program(cls.folder.path, "scheduler", [
            BIN / "plimsoll-scheduler", "--kubeconfig",
            kubeconfig(cls.folder.path), "--http", "127.0.0.1:0",
            "--webhook", "127.0.0.1:0",
            "--webhook-tls-cert", keys / "scheduler-server.crt",
            "--webhook-tls-key", keys / "scheduler-server.key"])).start()
        port = scheduler.wait_log(r"http=(\d+)")[1]
        webhook = scheduler.wait_log(r"webhook=(\d+)")[1]
        cls.urls = {
            "aggregator --http": f"http://127.0.0.1:{aggregator.ports[1]}",
            "aggregator --health": f"http://127.0.0.1:{aggregator.ports[2]}",
            "scheduler --http": f"http://127.0.0.1:{port}",
            "scheduler --webhook": f"https://localhost:{webhook}",
        }

    def get(self, listener, path):
        return http_get(self.urls[listener] + path, trust=self.trust
                        if self.urls[listener].startswith("https") else None)

    def test_the_root_lists_the_paths(self):
        for listener, paths in PATHS.items():
            with self.subTest(listener):
                status, headers, text = self.get(listener, "/")
                self.assertEqual((status, headers["Content-Type"]),
                                 (200, "application/json"))
                self.assertEqual(json.loads(text), {"paths": paths})

    def test_a_path_that_does_not_exist_is_answered_with_those_that_do(self):
        for listener, paths in PATHS.items():
            with self.subTest(listener):
                status, _, text = self.get(listener, "/nothing")
                self.assertEqual(status, 404)
                self.assertEqual(
                    json.loads(text)["error"], "no such path: /nothing; "
                    f"known paths: {', '.join(paths)}")

    def test_each_listed_path_is_served(self):
        for listener, paths in PATHS.items():
            for path in paths:
                with self.subTest(listener=listener, path=path):
                    status, _, text = self.get(listener, path)
                    self.assertNotIn("no such path", text)
                    self.assertIn(status, (200, 400, 404, 405, 503))

    def test_livez_is_healthz(self):
        for listener, paths in PATHS.items():
            for path in {"/livez", "/healthz"}.intersection(paths):
                with self.subTest(listener=listener, path=path):
                    status, _, text = self.get(listener, path)
                    self.assertEqual((status, text), (200, "ok\n"))


if __name__ == "__main__":
    unittest.main()
