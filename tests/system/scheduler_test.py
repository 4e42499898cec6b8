"""The scheduler where it has no API server to talk to."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import (BIN, NOBODY, Folder, Program, http_get,  # noqa: E402
                     kubeconfig)


class NoApiServer(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)

    def test_the_log_says_why_the_cluster_cannot_be_followed(self):
        scheduler = self.folder.add(Program(self.folder.path, "scheduler", [
            BIN / "plimsoll-scheduler", "--kubeconfig",
            kubeconfig(self.folder.path), "--http", "127.0.0.1:0"])).start()
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
