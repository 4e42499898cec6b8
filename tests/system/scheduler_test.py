"""The scheduler where it has no API server to talk to."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import BIN, Folder, Program, http_get  # noqa: E402

# Nothing listens there, and nothing may without being root.
NOBODY = "https://127.0.0.1:1"


class NoApiServer(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)

    def kubeconfig(self):
        path = self.folder.path / "kubeconfig"
        path.write_text(json.dumps({  # which is YAML too
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{"name": "c",
                          "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": NOBODY}}],
            "users": [{"name": "u", "user": {"token": "abc"}}]}))
        return path

    def test_the_log_says_why_the_cluster_cannot_be_followed(self):
        scheduler = self.folder.add(Program(self.folder.path, "scheduler", [
            BIN / "plimsoll-scheduler", "--kubeconfig", self.kubeconfig(),
            "--http", "127.0.0.1:0"])).start()
        scheduler.wait_log(r'cannot be followed.*127\.0\.0\.1:1', 10)
        port = scheduler.wait_log(r"http=(\d+)").group(1)
        status, _, text = http_get(f"http://127.0.0.1:{port}/readyz")
        self.assertEqual(status, 503)
        self.assertIn(NOBODY, text)
        self.assertEqual(http_get(f"http://127.0.0.1:{port}/healthz")[0], 200)
        self.assertEqual(scheduler.stop(), 0)
        self.assertLess(len(scheduler.log().splitlines()), 8)


if __name__ == "__main__":
    unittest.main()
