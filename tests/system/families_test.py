"""The default installation where pods have addresses of IPv6, of IPv4, or of
both: each listener serves all of them."""
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import PATIENCE_S, ROOT  # noqa: E402

WORLD = ROOT / "tests/support/family_world.py"
# As another user, in a namespace of users, too.
UNSHARE = ["unshare", "--net", "--mount", *(
    [] if os.geteuid() == 0 else ["--user", "--map-root-user"])]


@unittest.skipUnless(pathlib.Path("/proc/net/if_inet6").exists(),
                     "the kernel has no IPv6")
class Families(unittest.TestCase):
    def run_with(self, family):
        done = subprocess.run(
            [*UNSHARE, sys.executable, str(WORLD), family], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=2 * PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_ipv6_only(self):
        self.run_with("v6")

    def test_ipv4_only(self):
        self.run_with("v4")

    def test_both(self):
        self.run_with("both")


if __name__ == "__main__":
    unittest.main()
