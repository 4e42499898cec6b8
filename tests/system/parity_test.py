"""Recorded cases with the verdicts and scores of kube-scheduler 1.36 itself.

`tests/e2e/parity.py --keep` wrote the cases. Each fails if one rule of
parity_rules.py is wrong."""
import json
import pathlib
import subprocess
import sys
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "e2e")]

from harness import BIN, ROOT  # noqa: E402
from parity_rules import RULES, SCORE_RULES  # noqa: E402

FOLDER = ROOT / "tests/fixtures/parity"


class Parity(unittest.TestCase):
    def test_score_gives_the_recorded_verdicts_of_kube_scheduler(self):
        all_kept = [json.loads(path.read_text())
                    for path in sorted(FOLDER.glob("*.json"))]
        self.assertEqual(sorted([*RULES, *SCORE_RULES]),
                         sorted(k["notices"] for k in all_kept))
        for kept in all_kept:
            with self.subTest(kept["notices"]):
                answer = json.loads(subprocess.run(
                    [BIN / "plimsoll-scheduler", "score", "--in", "-"],
                    input=json.dumps({
                        **kept["case"], "policy": "kube-scheduler"}),
                    capture_output=True, text=True, check=True).stdout)
                self.assertEqual(kept["reasons"], {
                    n["name"]: sorted(n["reasons"])
                    for n in answer["nodes"]})
                for node in answer["nodes"]:
                    self.check_scores(node, kept["scores"][node["name"]])

    def check_scores(self, node, expected):
        for name in ("LeastAllocated", "BalancedAllocation"):
            self.assertEqual(expected.get(name), node["terms"].get(name))


if __name__ == "__main__":
    unittest.main()
