"""docs/configuration.md names every option, with its variables and default,
and no other; docs/metrics.md every field of a report; docs/http.md every route
and every Prometheus series."""
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import BIN, ROOT  # noqa: E402

PROGRAMS = {
    "plimsoll-agent": [], "plimsoll-aggregator": [], "plimsoll-scheduler": [],
    "plimsoll-aggregator backup": ["backup"],
    "plimsoll-aggregator export": ["export"],
    "plimsoll-scheduler score": ["score"],
    "plimsoll-scheduler simulate": ["simulate"],
}


def options_of(program, arguments):
    """flag -> (variables, default), as --help prints the option table."""
    text = subprocess.run(
        [BIN / program.split()[0], *arguments, "--help"], check=True,
        capture_output=True, text=True, timeout=20).stdout
    found = {}
    for flag, body in re.findall(r"^  --([\w-]+)[^\n]*\n((?:        .*\n)+)",
                                 text, re.M):
        variables = re.search(r"\[(PLIMSOLL_[^]]*)\]", body)
        if variables:
            default = re.search(r"\(default ([^)]*)\)", body)
            found[flag] = (variables.group(1).split(", "),
                           default.group(1) if default else "")
    return found


def documented(program):
    text = (ROOT / "docs/configuration.md").read_text()
    section = re.search(rf"^## {program}\n(.*?)(?=^## |\Z)", text,
                        re.M | re.S).group(1)
    found = {}
    for row in re.findall(r"^\| `--.*\|$", section, re.M):
        flag, variables, default, _ = [
            c.strip() for c in row.strip("|").split("|")]
        found[flag.strip("`-")] = (re.findall(r"`([^`]+)`", variables),
                                   default.strip("`"))
    return found


def messages():
    """Name -> its fields as (type, name), as proto/plimsoll.proto has them."""
    text = re.sub(r"//[^\n]*", "",
                  (ROOT / "proto/plimsoll.proto").read_text())
    return {name: re.findall(
        r"(?:optional|repeated) (\w+) (\w+) = \d+;", body)
        for name, body in re.findall(r"message (\w+) \{(.*?)\n\}", text,
                                     re.S)}


def leaves(known, message, prefix=""):
    for kind, name in known[message]:
        if kind in known:
            yield from leaves(known, kind, f"{prefix}{name}.")
        else:
            yield prefix + name


class Metrics(unittest.TestCase):
    def test_each_field_of_a_report_is_explained_once(self):
        rows = re.findall(r"^\| (`[^|]*) \|([^|]*)\|([^|]*)\|([^|]*)\|$",
                          (ROOT / "docs/metrics.md").read_text(), re.M)
        explained = [name for row in rows
                     for name in re.findall(r"`([^`]+)`", row[0])]
        self.assertEqual(sorted(explained),
                         sorted(leaves(messages(), "Report")))


    def test_each_series_of_the_scheduler_is_named_once(self):
        source = "".join((ROOT / name).read_text() for name in (
            "scheduler/metrics.c", "lib/exposition.c"))
        pattern = r"(?:scheduler|plimsoll|process|leader_election)_\w+"
        names = set(re.findall(f'"({pattern})"', source))
        rows = re.findall(rf"^\| `({pattern})` \|",
                          (ROOT / "docs/metrics.md").read_text(), re.M)
        self.assertEqual(sorted(rows), sorted(names))


class Http(unittest.TestCase):
    maxDiff = None

    def test_each_series_is_named_once(self):
        source = "".join((ROOT / name).read_text() for name in (
            "aggregator/series/metric_names.c", "aggregator/http/metrics.c",
            "lib/exposition.c"))
        names = set(re.findall(
            r'"((?:node|container|plimsoll|process)_\w+)"', source))
        rows = re.findall(r"^\| `((?:node|container|plimsoll|process)_\w+)` \|",
                          (ROOT / "docs/http.md").read_text(), re.M)
        self.assertEqual(sorted(rows), sorted(names))

    def test_each_route_is_there(self):
        source = (ROOT / "aggregator/http/api.c").read_text()
        text = (ROOT / "docs/http.md").read_text()
        routes = re.findall(r'^\t\{ "/(/?[^"]+)", serve_', source, re.M)
        self.assertGreater(len(routes), 5)
        for route in routes:
            self.assertIn("`/" + route.strip("/"), text)


class Configuration(unittest.TestCase):
    maxDiff = None

    def test_the_document_and_the_option_tables_agree(self):
        for program, arguments in PROGRAMS.items():
            with self.subTest(program):
                options = options_of(program, arguments)
                self.assertTrue(options)
                self.assertEqual(documented(program), options)

    def test_a_wrong_flag_is_one_sentence_and_status_2(self):
        for program, arguments in PROGRAMS.items():
            for wrong in (["--no-such-flag"], ["stray"],
                          ["--log-level=loud"] if not arguments
                          else ["--in"]):
                with self.subTest(f"{program} {wrong}"):
                    done = subprocess.run(
                        [BIN / program.split()[0], *arguments, *wrong],
                        capture_output=True, text=True, timeout=20,
                        check=False)
                    self.assertEqual(done.returncode, 2)
                    self.assertEqual(done.stdout, "")
                    self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                    self.assertIn(program, done.stderr)


if __name__ == "__main__":
    unittest.main()
