"""Recorded cases with the verdicts and scores of kube-scheduler 1.37 itself.

`tests/e2e/parity.py --keep` wrote the cases. Each fails if one rule of
parity_rules.py is wrong. tests/unit/scheduler/offline/test_parity.c compares
their verdicts and scores with ours."""
import json
import pathlib
import sys
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "e2e")]

from harness import ROOT  # noqa: E402
from parity_rules import RULES, SCORE_RULES  # noqa: E402

USES_PROGRAMS = False
FOLDER = ROOT / "tests/fixtures/parity"


class Parity(unittest.TestCase):
    def test_each_rule_has_a_recorded_case(self):
        self.assertEqual(
            sorted([*RULES, *SCORE_RULES]),
            sorted(json.loads(path.read_text())["notices"]
                   for path in FOLDER.glob("*.json")))


if __name__ == "__main__":
    unittest.main()
