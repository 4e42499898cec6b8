"""README: its order, its number, its requirements and its picture are those of
the project. Its commands that query running programs are run as they are written
there.

CI runs the `make` targets, or they have a test of their own
(tests/deploy/docs_test.py has their names). `make e2e-deploy` runs the commands
for a cluster."""
import json
import pathlib
import re
import shlex
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import (BIN, PATIENCE_S, ROOT, Aggregator, Folder,  # noqa: E402
                     Program, eventually)


README = (ROOT / "README.md").read_text()
HEADINGS = ["Do you need it", "How it works", "A number", "Try it",
            "Install it", "Documentation"]
# Read in about a minute: all before "Try it", with the picture's text.
WORDS_MAX = 330


def commands():
    return [shlex.split(line) for line in re.findall(
        r"^ {4}((?:curl|bin/plimsoll-).+)$", README, re.M)]


def section(heading, level="##"):
    """The text below a heading, up to the next one of its level."""
    found = re.search(rf"^{level} {heading}\n(.*?)(?=^{level} |\Z)", README,
                      re.M | re.S)
    return found.group(1)


# (words, file) of each.
PICTURES = re.findall(r"!\[([^]]+)\]\(([^)]+)\)", README)


class Text(unittest.TestCase):
    def test_the_sections_are_in_the_order_of_a_readers_questions(self):
        self.assertEqual(re.findall("^## (.*)$", README, re.M), HEADINGS)

    def test_a_reader_decides_within_a_minute(self):
        self.assertLess(len(README.partition("## Try it")[0].split()),
                        WORDS_MAX)

    def test_the_number_is_that_of_the_benchmarks(self):
        text = (ROOT / "docs/benchmarks.md").read_text()
        rows = [[cell.strip(" *") for cell in row.split("|")]
                for row in re.findall(r"^(\|.*, 0\.62 \| \d+ \|.*)$", text, re.M)]
        self.assertEqual(len(rows), 5)

        def column(n):
            return [float(row[n].split()[0].strip("*")) for row in rows]
        left, placed, moved = column(3), column(5), column(8)
        enterprises = placed[[row[1] for row in rows].index(
            "Bitbrains, real sizes, 0.62")]
        number = " ".join(section("A number").split())
        self.assertIn(f"left {min(left):.1f} to {max(left):.1f} % of", number)
        self.assertEqual(re.findall(r"(\d+) % (?:of that|with)|left at most "
                                    r"(\d+) %, for", number), [
            (f"{100 * max(placed):.0f}", ""), (f"{100 * enterprises:.0f}", ""),
            ("", f"{100 * max(moved):.0f}")])
        moves = max(float(row[9].split(", ")[1]) for row in rows)
        self.assertIn(f"at most {moves:.3f} moves per VM and day", number)
        [command] = re.findall(r"make bench-\w+", number)
        self.assertIn(command, text)

    def test_each_way_to_install_names_a_file_of_the_tree_or_a_release(self):
        ways = re.findall(r"^ {4}(.+)$", section("Install it"), re.M)
        self.assertEqual(ways, [
            "kubectl apply -f install.yaml",
            "helm install plimsoll plimsoll-VERSION.tgz --namespace default",
            "kubectl apply -k deploy/"])
        self.assertTrue((ROOT / "deploy/kustomization.yaml").exists())

    def test_the_picture_is_described_and_fits_light_and_dark_pages(self):
        [(words, path)] = [p for p in PICTURES if p[1].endswith(".svg")]
        self.assertIn("Agents report", words.replace("\n", " "))
        picture = (ROOT / path).read_text()
        root = ElementTree.fromstring(picture)
        name = "{http://www.w3.org/2000/svg}"
        self.assertTrue(root.find(f"{name}title").text)
        self.assertTrue(root.find(f"{name}desc").text)
        self.assertIn("prefers-color-scheme: dark", picture)
        for who in ("agent", "aggregator", "scheduler", "placement"):
            self.assertIn(f">{who}", picture)
        self.assertLessEqual(float(root.get("width")), 800)
        self.assertLess(len(picture), 8192)


    def test_the_picture_of_the_page_is_described_and_small(self):
        [(words, path)] = [p for p in PICTURES if p[1].endswith(".png")]
        self.assertGreater(len(words.split()), 8)
        self.assertLess((ROOT / path).stat().st_size, 100 << 10)


class Requirements(unittest.TestCase):
    """The table has what the tests run and the programs ask for."""

    def setUp(self):
        self.rows = dict(re.findall(r"^\| ([^|]+) \| (.+) \|$", section(
            "Requirements", "###"), re.M))

    def minors(self, folder, module):
        """The minor versions of a module in the go.mod files of a folder."""
        return {re.search(rf"{module} v(1\.\d+)", path.read_text()).group(1)
                for path in (ROOT / folder).glob("go*.mod")}

    def test_each_requirement_has_its_row(self):
        self.assertEqual(list(self.rows), [
            "Kubernetes", "KubeVirt", "nodes", "pressure (PSI)", "storage",
            "rights", "privileged pods", "architecture"])

    def test_the_versions_are_those_that_tests_run(self):
        tested = self.minors("tests/cluster", "k8s.io/kubernetes")
        self.assertEqual(tested, set(re.findall(
            r"1\.\d+", self.rows["Kubernetes"])))
        tested = self.minors("tests/kubevirt", "kubevirt.io/kubevirt")
        row, _, moves = self.rows["KubeVirt"].partition("Automatic moves")
        self.assertEqual(tested, set(re.findall(r"1\.\d+", row)))
        minor = re.search(r"KUBEVIRT_MINOR_MIN = (\d+)", (
            ROOT / "scheduler/kubevirt/kubevirt_version.h").read_text())
        self.assertIn(f"1.{minor.group(1)} or newer", moves)

    def test_the_volume_has_the_size_of_the_manifest(self):
        [size] = {size for path in (ROOT / "deploy/base").rglob("*.yaml")
                  for size in re.findall(r"storage: (\d+)Gi",
                                         path.read_text())}
        self.assertIn(f"{size} GiB", self.rows["storage"])


class Ask(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)
        self.aggregator = self.folder.add(
            Aggregator(self.folder.path)).start()
        self.folder.add(Program(self.folder.path, "agent", [
            BIN / "plimsoll-agent", "--node-name=n1", "--interval=500ms",
            "--kvm-probe=off", f"--aggregator={self.aggregator.url}"])).start()
        eventually("n1 has reported", lambda: self.aggregator.get(
            "/v1/nodes/n1")[0] == 200)
        eventually("n1 has a history", lambda: len(self.aggregator.json(
            "/v1/nodes/n1/history?step=1")["rows"]) > 1)

    def ask(self, words):
        """The output of a command. curl need not be installed."""
        if words[0] == "curl":
            path = words[-1].removeprefix("http://127.0.0.1:7474")
            self.assertNotEqual(path, words[-1])
            status, _, text = self.aggregator.get(path.replace("NAME", "n1"))
            self.assertEqual(status, 200, text)
            return text
        program = BIN / pathlib.Path(words[0]).name
        return subprocess.run([program, *words[1:]], cwd=ROOT, check=True,
                              capture_output=True, text=True,
                              timeout=PATIENCE_S).stdout

    def test_each_command_prints_an_answer(self):
        found = commands()
        self.assertGreater(len(found), 4)
        for words in found:
            with self.subTest(words):
                text = self.ask(words)
                if "metrics" in words[-1]:
                    self.assertIn("plimsoll_node_cpu_seconds_total", text)
                else:
                    self.assertTrue(json.loads(text))

    def test_the_example_chooses_the_idle_node(self):
        [words] = [w for w in commands() if "score" in w]
        self.assertEqual(json.loads(self.ask(words))["chosen"], "idle")


if __name__ == "__main__":
    unittest.main()
