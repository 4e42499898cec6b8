"""The plugin as a release has it: the archive runs as a plugin on PATH, two of
them are equal, and krew accepts the manifest."""
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import unittest

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import IS_SANITIZED, ROOT  # noqa: E402
from plugin_case import PLUGIN, PluginCase, listed, node_load  # noqa: E402

sys.path.insert(0, str(ROOT / "deploy"))

from archives import (archive_name, krew_manifest,  # noqa: E402
                      write_archive)
from commands import BuildError  # noqa: E402

MTIME = 1_700_000_000


@unittest.skipIf(IS_SANITIZED, "a sanitizer wants to be loaded first")
class Archive(PluginCase):
    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        subprocess.run([ROOT / "deploy/closure.sh", PLUGIN, self.root],
                       check=True, capture_output=True)
        self.path = self.folder / archive_name("kubectl", "1.2.3", "amd64")
        write_archive("kubectl-plimsoll", self.root, self.path, MTIME)

    def test_it_runs_as_a_plugin_on_path(self):
        store, path = self.folder / "store", self.folder / "bin"
        path.mkdir()
        with tarfile.open(self.path) as tar:
            tar.extractall(store, filter="fully_trusted")
        # As krew installs it: a link on PATH.
        (path / "kubectl-plimsoll").symlink_to(store / "kubectl-plimsoll")
        self.answer("nodeloads", listed(node_load("node1")))
        env = self.environment() | {
            "PATH": f"{path}:{self.on_path()}:{os.environ['PATH']}",
            "KUBECTL": ""}
        done = subprocess.run(
            ["kubectl-plimsoll", "top", "nodes"], env=env, text=True,
            capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("node1", done.stdout)

    def test_it_brings_libraries_and_licences(self):
        with tarfile.open(self.path) as tar:
            entries = {entry.name: entry for entry in tar}
        self.assertLessEqual({"LICENSE", "kubectl-plimsoll", "lib/libc.so.6",
                              "lib/libuv.so.1", "licenses/libuv1"},
                             entries.keys())
        for entry in entries.values():
            self.assertEqual((entry.mtime, entry.uid, entry.uname),
                             (MTIME, 0, ""), entry.name)
            self.assertTrue(entry.isfile())

    def test_two_archives_are_equal(self):
        again = self.folder / "again"
        write_archive("kubectl-plimsoll", self.root, again, MTIME)
        self.assertEqual(again.read_bytes(), self.path.read_bytes())

    def test_the_manifest_is_one_that_krew_accepts(self):
        text = krew_manifest("1.2.3", "https://x.example.com/1.2.3",
                             self.folder)
        self.assertNotIn("@", text)
        manifest = yaml.safe_load(text)
        # The rules of krew's internal/index/validation.
        self.assertEqual(manifest.keys(),
                         {"apiVersion", "kind", "metadata", "spec"})
        self.assertEqual((manifest["apiVersion"], manifest["kind"]), (
            "krew.googlecontainertools.github.com/v1alpha2", "Plugin"))
        self.assertRegex(manifest["metadata"]["name"], r"^[\w-]+$")
        spec = manifest["spec"]
        self.assertRegex(spec["version"], r"^v\d+\.\d+\.\d+")
        self.assertLessEqual(len(spec["shortDescription"]), 50)
        self.assertRegex(spec["shortDescription"], r"^[^\n]+$")
        self.assertTrue(spec["description"] and spec["homepage"])
        [platform] = spec["platforms"]
        self.assertEqual(platform["selector"]["matchLabels"],
                         {"os": "linux", "arch": "amd64"})
        self.assertEqual(platform["uri"], "https://x.example.com/1.2.3/"
                         "kubectl-plimsoll-1.2.3-linux-amd64.tar.gz")
        self.assertEqual(platform["sha256"], hashlib.sha256(
            self.path.read_bytes()).hexdigest())
        with tarfile.open(self.path) as tar:
            self.assertTrue(tar.getmember(platform["bin"]).mode & 0o100)

    def test_the_template_has_both_architectures(self):
        text = (ROOT / "deploy/krew/plimsoll.yaml").read_text()
        self.assertEqual(re.findall(r"arch: (\w+)", text), ["amd64", "arm64"])
        self.path.unlink()
        with self.assertRaises(BuildError):
            krew_manifest("1.2.3", "https://x", self.folder)


if __name__ == "__main__":
    unittest.main()
