"""The documents about running plimsoll: their commands are run by a test, and
what they name exists."""
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import ROOT  # noqa: E402

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Tests of tests/deploy run all blocks marked `sh` of these.
FOLLOWED = {"install.md", "upgrade.md", "uninstall.md", "troubleshooting.md"}
TESTS = "".join(path.read_text() for path in sorted(
    (ROOT / "tests/deploy").glob("*.py")) if path.name != "docs_test.py")


class Commands(unittest.TestCase):
    def test_each_block_marked_sh_is_run(self):
        for path in DOCUMENTS:
            if re.search(r"^```sh$", path.read_text(), re.M):
                self.assertIn(path.name, FOLLOWED)
                self.assertIn(f'follow("{path.name}"', TESTS)

    def test_each_section_is_run(self):
        for name in ("install.md", "upgrade.md"):
            text = (ROOT / "docs" / name).read_text()
            for part in text.split("\n## ")[1:]:
                # switching_test.py runs the command for each overlay.
                if "```sh" in part and "--prune" not in part.split("```")[1]:
                    self.assertIn(f'"{name}", heading="{part.splitlines()[0]}"',
                                  re.sub(r"\s+", " ", TESTS))

    def test_no_command_for_certificates_applies_an_overlay(self):
        """A reader may have another one."""
        commands = 0
        for path in [ROOT / "deploy/preflight.sh", *DOCUMENTS]:
            for part in re.split("^##+ ", path.read_text(), flags=re.M):
                if "create job" in part and "cronjob/" in part:
                    commands += part.count("create job")
                    self.assertNotIn("kubectl apply -", part, path.name)
        self.assertEqual(commands, 3)

    def test_the_new_certificates_are_run_with_an_overlay_too(self):
        """The default has no APIService that a wrong command breaks."""
        overlays = (ROOT / "tests/deploy/overlays_test.py").read_text()
        self.assertIn('follow("upgrade.md", heading="New certificates", **ours',
                      overlays)

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
                # A kind of kubectl, and what older versions had.
                if not re.match("deploy/(plimsoll-scheduler|certs$|certs/)",
                                name):
                    self.assertTrue((ROOT / name).exists(),
                                    f"{path.name}: {name}")


if __name__ == "__main__":
    unittest.main()
