"""The reference documents agree with the programs: docs/configuration.md lists
every option with its variables and default, docs/metrics.md every field of a
report, docs/http.md every route and every Prometheus series, and
docs/descheduler.md the query of the example."""
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import BIN, PATIENCE_S, ROOT  # noqa: E402

PROGRAMS = {
    "plimsoll-agent": [], "plimsoll-aggregator": [], "plimsoll-scheduler": [],
    "plimsoll-simulate": [],
    "plimsoll-aggregator backup": ["backup"],
    "plimsoll-aggregator export": ["export"],
    "plimsoll-scheduler plan": ["plan"],
    "plimsoll-scheduler score": ["score"],
    "plimsoll-scheduler certificates": ["certificates"],
}


def options_of(program, arguments):
    """{flag: (variables, default)} from the output of --help."""
    text = subprocess.run(
        [BIN / program.split()[0], *arguments, "--help"], check=True,
        capture_output=True, text=True, timeout=PATIENCE_S).stdout
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
    """{message: its fields as (type, name)} from proto/plimsoll.proto."""
    text = re.sub(r"//[^\n]*", "",
                  (ROOT / "proto/plimsoll.proto").read_text())
    return {name: re.findall(
        r"(?:optional|repeated) (\w+) (\w+) = \d+;", body)
        for name, body in re.findall(r"message (\w+) \{(.*?)\n\}", text,
                                     re.S)}


def sources(*rooms):
    """The text of all C files of these rooms."""
    return "".join(path.read_text() for room in rooms
                   for path in sorted((ROOT / room).rglob("*.[ch]")))


def preprocessed(paths):
    """The text of C files after the preprocessor, with string literals that
    stand beside each other as one: macros make names of several parts."""
    build = BIN.parent if BIN.name == "bin" and BIN.parent != ROOT else (
        ROOT / "build/release")
    flags = shlex.split((build / "flags").read_text())
    include = [flag for i, flag in enumerate(flags)
               if re.match("-(D|I|isystem)", flag)
               or flags[i - 1] == "-isystem"]
    text = subprocess.run(["gcc", "-E", "-P", *include, *paths], cwd=ROOT,
                          check=True, capture_output=True, text=True).stdout
    return re.sub(r'"\s+"', "", text)


def leaves(known, message, prefix=""):
    for kind, name in known[message]:
        if kind in known:
            yield from leaves(known, kind, f"{prefix}{name}.")
        else:
            yield prefix + name


class Metrics(unittest.TestCase):
    def test_each_field_of_a_report_is_documented_once(self):
        rows = re.findall(r"^\| (`[^|]*) \|([^|]*)\|([^|]*)\|([^|]*)\|$",
                          (ROOT / "docs/metrics.md").read_text(), re.M)
        explained = [name for row in rows
                     for name in re.findall(r"`([^`]+)`", row[0])]
        self.assertEqual(sorted(explained),
                         sorted(leaves(messages(), "Report")))

    def test_each_series_of_the_scheduler_is_documented_once(self):
        pattern = r"(?:scheduler|plimsoll|process|leader_election)_\w+"
        names = set(re.findall(f'"({pattern})"', sources("scheduler", "lib")))
        rows = re.findall(rf"^\| `({pattern})` \|",
                          (ROOT / "docs/metrics.md").read_text(), re.M)
        self.assertEqual(sorted(rows), sorted(names))


class Http(unittest.TestCase):
    maxDiff = None

    def test_each_series_is_documented_once(self):
        pattern = r"(?:node|container|plimsoll|process)_\w+"
        names = set(re.findall(f'"({pattern})"', sources("lib") + preprocessed(
            ROOT.glob("aggregator/*/*metric*.c"))))
        rows = re.findall(rf"^\| `({pattern})` \|",
                          (ROOT / "docs/http.md").read_text(), re.M)
        self.assertEqual(sorted(rows), sorted(names))

    def test_each_route_is_documented(self):
        text = "".join((ROOT / "docs" / name).read_text()
                       for name in ("http.md", "extender.md", "metrics.md"))
        routes = re.findall(r'^\t\{ "/(/?[^"]+)",\s+\.(?:get|post)',
                            sources("aggregator", "scheduler"), re.M)
        self.assertGreater(len(routes), 15)
        for route in routes:
            self.assertTrue(re.search(
                rf"`(?:GET |POST )?/{re.escape(route.strip('/'))}", text),
                route)


# A linked library -> its name in --version. libc and libsnappy
# are not named: no function of libsnappy tells its version.
LIBRARIES = {"uv": "libuv", "nng": "nng", "protobuf-c": "protobuf-c",
             "mbedtls": "mbedTLS", "mbedx509": "mbedTLS",
             "mbedcrypto": "mbedTLS",
             "microhttpd": "libmicrohttpd", "gnutls": "GnuTLS",
             "curl": "libcurl",
             "cjson": "cJSON", "yaml": "libyaml", "yaml-0": "libyaml",
             "sqlite3": "SQLite", "z": "zlib"}
UNNAMED = {"c", "m", "snappy", "pthread", "asan", "ubsan", "tsan"}


class Version(unittest.TestCase):
    def test_version_names_the_commit_and_each_library(self):
        for name in ("agent", "aggregator", "scheduler"):
            program = BIN / f"plimsoll-{name}"
            first, commit, *rest = subprocess.run(
                [program, "--version"], check=True, capture_output=True,
                text=True, timeout=PATIENCE_S).stdout.splitlines()
            self.assertRegex(first, rf"^plimsoll-{name} \S+$")
            self.assertRegex(commit, "^commit (unknown|[0-9a-f]{40})$")
            for line in rest:
                self.assertRegex(line, r"^[\w-]+ \d+(\.\d+)+$")
            needed = set(re.findall(
                r"\(NEEDED\).*\[lib([\w+-]+)\.", subprocess.run(
                    ["readelf", "-d", program], check=True, timeout=PATIENCE_S,
                    capture_output=True, text=True).stdout)) - UNNAMED
            self.assertEqual({line.split()[0] for line in rest},
                             {LIBRARIES[library] for library in needed})


class DeschedulerPolicy(unittest.TestCase):
    """tests/descheduler runs the descheduler with this policy."""

    def setUp(self):
        text = (ROOT / "deploy/examples/descheduler-policy.yaml").read_text()
        self.query = re.search(r"query: >-\n((?: {12}.*\n)+)", text).group(1)

    def test_the_document_has_the_query(self):
        text = (ROOT / "docs/descheduler.md").read_text()
        self.assertIn("".join(self.query.split()), "".join(text.split()))

    def test_each_series_of_the_query_is_documented(self):
        text = (ROOT / "docs/http.md").read_text()
        series = set(re.findall(r"plimsoll_\w+", self.query))
        self.assertGreater(len(series), 1)
        for name in series:
            self.assertIn(f"| `{name}` |", text)


class Configuration(unittest.TestCase):
    maxDiff = None

    def test_the_document_and_help_list_the_same_options(self):
        for program, arguments in PROGRAMS.items():
            with self.subTest(program):
                options = options_of(program, arguments)
                self.assertTrue(options)
                self.assertEqual(documented(program), options)

    def test_a_wrong_flag_prints_one_sentence_and_exits_with_2(self):
        for program, arguments in PROGRAMS.items():
            for wrong in (["--no-such-flag"], ["stray"],
                          ["--log-level=loud"] if not arguments
                          else ["--in"]):
                with self.subTest(f"{program} {wrong}"):
                    done = subprocess.run(
                        [BIN / program.split()[0], *arguments, *wrong],
                        capture_output=True, text=True, timeout=PATIENCE_S,
                        check=False)
                    self.assertEqual(done.returncode, 2)
                    self.assertEqual(done.stdout, "")
                    self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                    self.assertIn(program, done.stderr)


if __name__ == "__main__":
    unittest.main()
