"""The two ways in which docs/install.md brings images to nodes, with its own
commands: skopeo into a registry (Debian's), and containerd's import."""
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from engines import DEBIAN, Engine  # noqa: E402
from harness import (PATIENCE_S, ROOT, Folder, Program,  # noqa: E402
                     eventually, http_get)
from kubelet import Image  # noqa: E402

IMAGES = ROOT / "build/images"
PROGRAMS = ("agent", "aggregator", "scheduler")
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def documented(start):
    """The command of docs/install.md that begins with this text."""
    text = (ROOT / "docs/install.md").read_text()
    return re.search(rf"^{re.escape(start)}.*", text, re.M).group(0)


def digest_of(program):
    """The digest of the image in the archive."""
    return Image(IMAGES / f"plimsoll-{program}.tar").digest


class Registry(Engine):
    """Without TLS."""
    package = binary = "docker-registry"
    ready_path = "/v2/"

    @property
    def host(self):
        return f"127.0.0.1:{self.port}"

    def flags(self, folder):
        config = folder / "registry.yml"
        config.write_text(json.dumps({
            "version": 0.1, "http": {"addr": self.host},
            "storage": {"filesystem": {"rootdirectory": str(self.data)}}}))
        return ["serve", config]


class ImageLoad(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)

    def run_words(self, command, **env):
        done = subprocess.run(
            command.split(), env=dict(os.environ, **env), cwd=ROOT,
            capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def write(self, name, text):
        path = self.folder.path / name
        path.write_text(text)
        return path

    def start_containerd(self):
        socket = self.folder.path / "containerd.sock"
        config = self.write("containerd.toml", "\n".join((
            "version = 2",
            f'root = "{self.folder.path}/containerd"',
            f'state = "{self.folder.path}/containerd-state"',
            'disabled_plugins = ["io.containerd.grpc.v1.cri"]',
            "[grpc]", f'address = "{socket}"', "")))
        self.folder.add(Program(self.folder.path, "containerd", [
            DEBIAN / "containerd/usr/bin/containerd", "-c", config])).start()
        eventually("containerd listens", socket.exists)
        return socket

    def test_skopeo_copies_them_unchanged_into_a_registry(self):
        registry = self.folder.add(Registry(self.folder.path)).start()
        (self.folder.path / ".config/containers").mkdir(parents=True)
        self.write(".config/containers/registries.conf", (
            f'[[registry]]\nlocation = "{registry.host}"\ninsecure = true\n'))
        command = documented("skopeo copy oci-archive:").replace(
            "REGISTRY", registry.host).replace("TAG", "test")
        for program in PROGRAMS:
            self.run_words(command.replace("agent", program),
                           HOME=str(self.folder.path))
            status, _, manifest = http_get(
                f"{registry.url}/v2/plimsoll-{program}/manifests/test",
                accept=MANIFEST)
            self.assertEqual(status, 200)
            self.assertEqual(
                "sha256:" + hashlib.sha256(manifest.encode()).hexdigest(),
                digest_of(program))

    def test_containerd_imports_and_unpacks_them(self):
        socket = self.start_containerd()
        ctr = str(DEBIAN / "containerd/usr/bin/ctr")
        command = documented("ctr -n k8s.io images import")
        for program in PROGRAMS:
            self.run_words(
                command.replace("ctr", ctr, 1).replace("agent", program),
                CONTAINERD_ADDRESS=str(socket))
        listed = self.run_words(f"{ctr} -n k8s.io images ls",
                                CONTAINERD_ADDRESS=str(socket))
        for program in PROGRAMS:
            self.assertRegex(listed, rf"localhost/plimsoll-{program}:\S+ +"
                             rf"{re.escape(MANIFEST)} {digest_of(program)}")


if __name__ == "__main__":
    unittest.main()
