"""The launcher pods that KubeVirt renders are those that plimsoll derives, in
random cases that show mistakes. `make e2e-launcher` runs more cases, and `make
nightly` also those of KubeVirt 1.7."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from launcher import SEED, judge_all  # noqa: E402

CASES = 300


class Launcher(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tally = judge_all(SEED, 0, CASES)
        print("\n".join(cls.tally.table()))

    def test_no_pod_differs_from_KubeVirts(self):
        self.assertEqual([], self.tally.differing())

    def test_every_kind_occurs_and_every_mistake_is_seen(self):
        self.assertEqual([], list(self.tally.complaints(share=0)))


if __name__ == "__main__":
    unittest.main()
