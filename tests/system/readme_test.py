"""Runs README's commands that query running programs, as they are written
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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import (BIN, ROOT, Aggregator, Folder, Program,  # noqa: E402
                     eventually)


def commands():
    return [shlex.split(line) for line in re.findall(
        r"^ {4}((?:curl|bin/plimsoll-).+)$", (ROOT / "README.md").read_text(),
        re.M)]


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
                              timeout=60).stdout

    def test_each_command_prints_an_answer(self):
        found = commands()
        self.assertGreater(len(found), 4)
        for words in found:
            with self.subTest(words):
                text = self.ask(words)
                if "metrics" in words[-1]:
                    self.assertIn("node_cpu_seconds_total", text)
                else:
                    self.assertTrue(json.loads(text))

    def test_the_example_chooses_the_idle_node(self):
        [words] = [w for w in commands() if "score" in w]
        self.assertEqual(json.loads(self.ask(words))["chosen"], "idle")


if __name__ == "__main__":
    unittest.main()
