"""The dashboards for Grafana: their JSON follows a schema, and their queries
use documented series. tests/e2e/monitoring_test.py runs each query."""
import itertools
import json
import pathlib
import re
import sys
import unittest

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import ROOT  # noqa: E402

USES_PROGRAMS = False
FOLDER = ROOT / "deploy/components/monitoring/dashboards"
SCHEMA = json.loads(pathlib.Path(__file__).with_name(
    "dashboard.schema.json").read_text())
SERIES = re.compile(r"\b(?:plimsoll|scheduler|leader|node|container|process)"
                    r"_[a-zA-Z_0-9]+")


def dashboards():
    return {path.name: json.loads(path.read_text())
            for path in sorted(FOLDER.glob("*.json"))}


def targets(board):
    return [target["expr"] for panel in board["panels"]
            for target in panel["targets"]]


def cells(place):
    return set(itertools.product(
        range(place["x"], place["x"] + place["w"]),
        range(place["y"], place["y"] + place["h"])))


class Dashboards(unittest.TestCase):
    def test_each_follows_the_schema(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        self.assertEqual(len(dashboards()), 4)
        for name, board in dashboards().items():
            with self.subTest(name):
                jsonschema.validate(board, SCHEMA)

    def test_the_schema_refuses_what_grafana_would_not_find(self):
        for spoil in (lambda b: b.pop("uid"), lambda b: b.update(id=7),
                      lambda b: b["panels"][0].update(id=1),
                      lambda b: b["panels"][0]["targets"][0].pop("expr"),
                      lambda b: b["panels"][0].update(datasource="mine"),
                      lambda b: b["templating"]["list"].pop(0)):
            board = dashboards()["plimsoll-node.json"]
            spoil(board)
            with self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate(board, SCHEMA)

    def test_a_file_has_the_name_of_its_uid_and_titles_differ(self):
        boards = dashboards()
        for name, board in boards.items():
            self.assertEqual(name, f"{board['uid']}.json")
            titles = [panel["title"] for panel in board["panels"]]
            self.assertEqual(len(set(titles)), len(titles), name)
        self.assertEqual(len({b["title"] for b in boards.values()}), 4)

    def test_panels_fit_the_grid_and_do_not_overlap(self):
        for name, board in dashboards().items():
            places = [cells(p["gridPos"]) for p in board["panels"]]
            self.assertLess(max(x for x, _ in set().union(*places)), 24, name)
            self.assertEqual(len(set().union(*places)),
                             sum(map(len, places)), name)

    def test_queries_use_documented_series(self):
        ours = {name for document in ("http.md", "metrics.md")
                for name in re.findall(r"^\| `(\w+)` \|", (
                    ROOT / "docs" / document).read_text(), re.M)}
        for name, board in dashboards().items():
            for query in targets(board):
                used = {re.sub("_bucket$", "", series) for series in
                        SERIES.findall(re.sub(r'"[^"]*"', "", query))}
                self.assertTrue(used, query)
                self.assertEqual(used - ours, set(), f"{name}: {query}")

    def test_each_variable_is_used_and_each_used_one_exists(self):
        for name, board in dashboards().items():
            text = json.dumps([board["panels"], board["templating"]])
            used = set(re.findall(r"\$\{?([a-z_]+)", text))
            self.assertEqual(
                used - {"__rate_interval"},
                {v["name"] for v in board["templating"]["list"]}, name)


if __name__ == "__main__":
    unittest.main()
