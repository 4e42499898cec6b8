"""GET /v1/decisions of an aggregator without decisions. tests/e2e tests the
answers with decisions."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import Aggregator, Folder  # noqa: E402

WRONG = {
    "pod=": "NAMESPACE/NAME", "pod=a": "NAMESPACE/NAME",
    "pod=/a": "NAMESPACE/NAME", "pod=a/": "NAMESPACE/NAME",
    "pod=a/b/c": "NAMESPACE/NAME", f"pod={'x' * 300}/b": "NAMESPACE/NAME",
    f"pod=a/{'x' * 300}": "NAMESPACE/NAME",
    "limit=0": "from 1 to 1000", "limit=1001": "from 1 to 1000",
    "limit=-1": "from 1 to 1000", "limit=x": "from 1 to 1000",
    "limit=": "from 1 to 1000", f"limit={'9' * 400}": "from 1 to 1000",
    "from=yesterday": "from:", "to=x": "to:",
    "from=20&to=10": "not before",
}


class Decisions(unittest.TestCase):
    def setUp(self):
        folder = Folder()
        self.addCleanup(folder.close)
        self.aggregator = folder.add(Aggregator(folder.path)).start()

    def test_a_wrong_parameter_is_400_with_a_sentence(self):
        for query, sentence in WRONG.items():
            with self.subTest(query[:40]):
                status, _, text = self.aggregator.get(f"/v1/decisions?{query}")
                self.assertEqual(status, 400)
                self.assertIn(sentence, json.loads(text)["error"])
        self.assertEqual(self.aggregator.get("/v1/decisions/x")[0], 404)

    def test_without_decisions_the_list_is_empty(self):
        for query in ("", "?pod=a/b", "?limit=1000&from=2026-01-01T00:00:00Z"):
            self.assertEqual(self.aggregator.json(f"/v1/decisions{query}"),
                             {"decisions": []})


if __name__ == "__main__":
    unittest.main()
