"""What people need to join the project agrees with the tree: workflows,
templates, the devcontainer, and the links of all documents."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import PATIENCE_S, ROOT  # noqa: E402

USES_PROGRAMS = False
GITHUB = ROOT / ".github"
DOCUMENTS = sorted(path for folder in (".", "docs", ".github")
                   for path in (ROOT / folder).glob("*.md"))
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z][\w.-]*):", MAKEFILE, re.M))


def made(text):
    """The targets of the `make` commands in a script."""
    commands = re.sub("^ *#.*$", "", text, flags=re.M)
    return [word for line in re.findall(r"\bmake ([^&|;\n]+)", commands)
            for word in line.split() if re.fullmatch(r"[a-z][\w.-]*", word)]


def stages():
    """{name: command} of the stages of .ci/run, without the one that builds
    what the others share."""
    found = dict(re.findall(r'^ {4}"(\w+): (.+?)"',
                            (ROOT / ".ci/run").read_text(), re.M))
    del found["build"]
    return found


def go_minimum():
    """The newest Go that a go.mod asks for, as in "1.26"."""
    versions = [re.search(r"^go (\d+)\.(\d+)", path.read_text(), re.M)
                for path in (ROOT / "tests").glob("*/go*.mod")]
    return max((int(v.group(1)), int(v.group(2))) for v in versions)


class Workflow(unittest.TestCase):
    def load(self, name):
        workflow = yaml.safe_load((GITHUB / "workflows" / name).read_text())
        # YAML 1.1 reads the key `on` as true.
        return workflow, workflow[True]

    def job(self, name):
        workflow, _ = self.load(name)
        [job] = workflow["jobs"].values()
        return job

    def test_ci_runs_the_stages_of_ci_run(self):
        jobs = self.job("ci.yml")["strategy"]["matrix"]["include"]
        self.assertGreater(len(jobs), 5)
        self.assertEqual([(job["stage"], job["command"]) for job in jobs],
                         list(stages().items()))
        self.assertEqual(self.job("ci.yml")["steps"][-1]["run"],
                         "${{ matrix.command }}")

    def test_contributing_has_each_stage(self):
        rows = re.findall(r"^\| `(make [^`]+)`", (
            ROOT / "CONTRIBUTING.md").read_text().partition(
                "## The stages of CI")[2], re.M)
        commands = [re.sub(r" SEED=\d+", "", command)
                    for command in stages().values()]
        self.assertEqual(rows, commands)

    def test_the_nightly_workflow_runs_make_nightly(self):
        runs = [step.get("run") for step in self.job("nightly.yml")["steps"]]
        self.assertIn("make nightly", runs)
        _, events = self.load("nightly.yml")
        self.assertRegex(events["schedule"][0]["cron"], r"^\d+ \d+ \* \* \*$")

    def test_each_workflow_may_only_read_and_ends_in_time(self):
        for path in (GITHUB / "workflows").glob("*.yml"):
            with self.subTest(path.name):
                workflow, _ = self.load(path.name)
                self.assertEqual(workflow["permissions"],
                                 {"contents": "read"})
                for job in workflow["jobs"].values():
                    self.assertLessEqual(job["timeout-minutes"], 360)
                    for step in job["steps"]:
                        if "uses" in step:
                            self.assertRegex(step["uses"],
                                             r"^actions/[\w-]+@v\d+$")

    def test_the_targets_and_files_that_workflows_name_exist(self):
        for path in (GITHUB / "workflows").glob("*.yml"):
            text = path.read_text()
            for target in made(text):
                self.assertIn(target, TARGETS, path.name)
            for name in re.findall(r"go-version-file: (\S+)", text):
                self.assertTrue((ROOT / name).exists())


class Template(unittest.TestCase):
    KINDS = {"markdown", "textarea", "input", "dropdown", "checkboxes"}

    def test_each_form_has_what_github_requires(self):
        for name in ("bug", "feature"):
            with self.subTest(name):
                form = yaml.safe_load(
                    (GITHUB / f"ISSUE_TEMPLATE/{name}.yml").read_text())
                self.assertLessEqual({"name", "description", "body"},
                                     set(form))
                ids = [part["id"] for part in form["body"] if "id" in part]
                self.assertEqual(len(ids), len(set(ids)))
                self.assertTrue(ids)
                for part in form["body"]:
                    self.assertIn(part["type"], self.KINDS)
                    key = "value" if part["type"] == "markdown" else "label"
                    self.assertTrue(part["attributes"][key])

    def test_issues_begin_with_a_form(self):
        text = (GITHUB / "ISSUE_TEMPLATE/config.yml").read_text()
        self.assertIs(yaml.safe_load(text)["blank_issues_enabled"], False)

    def test_templates_name_files_and_targets_that_exist(self):
        forms = [*(GITHUB / "ISSUE_TEMPLATE").glob("*.yml"),
                 GITHUB / "PULL_REQUEST_TEMPLATE.md"]
        for path in forms:
            text = path.read_text()
            for name in re.findall(r"\bdocs/[\w-]+\.md", text):
                self.assertTrue((ROOT / name).exists(), name)
            for command in re.findall(r"`(make [^`]+)`", text):
                self.assertLessEqual(set(made(command)), TARGETS)


class Devcontainer(unittest.TestCase):
    FOLDER = ROOT / ".devcontainer"

    def setUp(self):
        self.settings = json.loads(
            (self.FOLDER / "devcontainer.json").read_text())
        build = self.settings["build"]
        self.context = (self.FOLDER / build["context"]).resolve()
        self.dockerfile = (self.FOLDER / build["dockerfile"]).read_text()

    def test_it_is_built_from_debian_and_a_go_that_is_new_enough(self):
        images = re.findall(r"^FROM (\S+)", self.dockerfile, re.M)
        self.assertEqual(images[-1], "debian:12")
        go = re.search(r"golang:(\d+)\.(\d+)", images[0])
        self.assertGreaterEqual((int(go.group(1)), int(go.group(2))),
                                go_minimum())

    def test_its_packages_are_those_of_the_makefile(self):
        targets = made(self.dockerfile.replace("\\\n", "")) + made(
            self.settings["postCreateCommand"])
        self.assertIn("packages-build", targets)
        self.assertIn("packages-test", targets)
        self.assertLessEqual(set(targets), TARGETS)

    def test_the_files_that_it_copies_are_enough_for_make(self):
        copied = re.findall(r"^COPY (?!--)(\S+) ", self.dockerfile, re.M)
        [command] = re.findall(r"&& (make .*?) &&",
                               self.dockerfile.replace("\\\n", ""))
        with tempfile.TemporaryDirectory(prefix="plimsoll-") as folder:
            for name in copied:
                shutil.copy(self.context / name, folder)
            done = subprocess.run(
                [*command.split(), "--dry-run"], cwd=folder, text=True,
                capture_output=True, check=False, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("libuv1-dev", done.stdout)
        self.assertIn("clang-tidy-14", done.stdout)


class Link(unittest.TestCase):
    @staticmethod
    def anchors(path):
        """The anchors of a document's headings, as GitHub makes them."""
        text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)
        for heading in re.findall(r"^#+ (.*)$", text, re.M):
            word = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
            word = re.sub(r"[^\w\- ]", "", word.lower())
            yield word.replace(" ", "-")

    def test_each_link_leads_to_a_file_and_a_heading(self):
        self.assertGreater(len(DOCUMENTS), 20)
        for path in DOCUMENTS:
            for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
                if re.match("https?:", link):
                    continue
                with self.subTest(f"{path.name}: {link}"):
                    name, _, anchor = link.partition("#")
                    target = path.parent / name if name else path
                    self.assertTrue(target.exists())
                    if anchor:
                        self.assertIn(anchor, self.anchors(target))

    def test_links_lead_from_readme_to_each_document(self):
        reached, waiting = set(), [ROOT / "README.md"]
        while waiting:
            path = waiting.pop()
            reached.add(path)
            for name in re.findall(r"\]\(([^)\s#]+\.md)", path.read_text()):
                target = (path.parent / name).resolve()
                if target.exists() and target not in reached:
                    waiting.append(target)
        self.assertEqual(set((ROOT / "docs").glob("*.md")) - reached, set())


class Community(unittest.TestCase):
    def test_no_document_invents_an_address(self):
        for path in [*DOCUMENTS, *GITHUB.rglob("*.yml")]:
            self.assertNotRegex(path.read_text(),
                                r"[\w.]+@[\w-]+\.(com|org|io|dev|net)\b",
                                path.name)

    def test_a_report_of_a_vulnerability_has_a_private_way(self):
        text = (ROOT / "SECURITY.md").read_text()
        self.assertIn("Report a vulnerability", text)
        self.assertIn("SECURITY.md",
                      (GITHUB / "ISSUE_TEMPLATE/bug.yml").read_text())


if __name__ == "__main__":
    unittest.main()
