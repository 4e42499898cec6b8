"""The documents about running plimsoll: their commands are run by a test, and
what they name exists."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import ROOT  # noqa: E402
from kube_api import KUBECLUSTER  # noqa: E402

PROMTOOL = ROOT / "build/ci/debian/prometheus/usr/bin/promtool"
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# deploy_test.py runs all blocks marked `sh` of these.
FOLLOWED = {"install.md", "upgrade.md", "uninstall.md", "troubleshooting.md"}


class Commands(unittest.TestCase):
    def test_each_block_marked_sh_is_run(self):
        source = (ROOT / "tests/deploy/deploy_test.py").read_text()
        for path in DOCUMENTS:
            if re.search(r"^```sh$", path.read_text(), re.M):
                self.assertIn(path.name, FOLLOWED)
                self.assertIn(f'follow("{path.name}"', source)

    def test_each_section_of_the_installation_is_run(self):
        source = (ROOT / "tests/deploy/deploy_test.py").read_text()
        text = (ROOT / "docs/install.md").read_text()
        for part in text.split("\n## ")[1:]:
            if "```sh" in part:
                self.assertIn(f'heading="{part.splitlines()[0]}"', source)

    def test_the_targets_of_make_exist(self):
        targets = set(re.findall(r"^([a-z][\w.-]*):",
                                 (ROOT / "Makefile").read_text(), re.M))
        for path in DOCUMENTS:
            for target in re.findall(r"(?:`| {4})make ([a-z][\w.-]*\w)",
                                     path.read_text()):
                self.assertIn(target, targets, path.name)

    def test_the_paths_below_deploy_exist(self):
        for path in DOCUMENTS:
            for name in re.findall(r"(?<![\w/])deploy/[\w./-]*\w",
                                   path.read_text()):
                # A kind of kubectl, and files that certs.sh makes.
                if not re.match("deploy/(plimsoll-scheduler|certs/)", name):
                    self.assertTrue((ROOT / name).exists(),
                                    f"{path.name}: {name}")


class Alerts(unittest.TestCase):
    def setUp(self):
        text = subprocess.run(
            [KUBECLUSTER, "kubectl", "annotate", "--local", "-o", "json", "-f",
             ROOT / "deploy/examples/alerts.yaml", "x=y"], check=True,
            capture_output=True,
            env=dict(os.environ, KUBECONFIG="/dev/null")).stdout
        self.groups = json.loads(text)["spec"]["groups"]

    def test_promtool_accepts_the_alerts(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as rules:
            json.dump({"groups": self.groups}, rules)  # which is YAML too
            rules.flush()
            done = subprocess.run([PROMTOOL, "check", "rules", rules.name],
                                  check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_alerts_use_documented_series(self):
        ours = {name for document in ("http.md", "metrics.md")
                for name in re.findall(r"^\| `(\w+)` \|", (
                    ROOT / "docs" / document).read_text(), re.M)}
        for rule in self.groups[0]["rules"]:
            names = set(re.findall(r"\bplimsoll_\w+", rule["expr"]))
            self.assertTrue(names)
            self.assertLessEqual(names, ours)

    def test_each_alert_has_its_line_in_the_document(self):
        text = (ROOT / "docs/operations.md").read_text()
        for rule in self.groups[0]["rules"]:
            self.assertIn(f"| {rule['alert']} |", text)


if __name__ == "__main__":
    unittest.main()
