"""The images of `make images`: small, for an ordinary user, with no file that
their labels do not name, and reproducible from the same packages. In
installed_test.py the programs run with these files alone."""
import hashlib
import io
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import ROOT  # noqa: E402

sys.path.insert(0, str(ROOT / "deploy"))

from roots import build_packages  # noqa: E402
from kubelet import Image  # noqa: E402

IMAGES = ROOT / "build/images"
PROGRAMS = ("agent", "aggregator", "scheduler")
LIMITS_MIB = {"agent": 4, "aggregator": 14, "scheduler": 14}


class Images(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.images = {name: Image(IMAGES / f"plimsoll-{name}.tar")
                       for name in PROGRAMS}

    def test_the_images_are_small(self):
        for name, image in self.images.items():
            size = sum(layer["size"] for layer in image.manifest["layers"])
            self.assertLess(size, LIMITS_MIB[name] << 20, name)

    def test_an_ordinary_user_runs_the_program(self):
        for name, image in self.images.items():
            self.assertEqual(image.config["config"]["User"], "65532:65532")
            self.assertEqual(image.config["config"]["Entrypoint"],
                             [f"/plimsoll-{name}"])

    def test_labels_name_each_file_and_each_package(self):
        for name, image in self.images.items():
            with self.subTest(name):
                found, documents = {}, set()
                with tarfile.open(fileobj=io.BytesIO(image.layers[0])) as tar:
                    for entry in tar:
                        self.assertEqual((entry.uid, entry.gid), (0, 0))
                        self.assertFalse(entry.mode & 0o6022 and
                                         not entry.issym(), entry.name)
                        if entry.name.endswith("/copyright"):
                            documents.add(entry.name.split("/")[-2])
                        elif entry.isfile():
                            found["/" + entry.name] = hashlib.sha256(
                                tar.extractfile(entry).read()).hexdigest()
                labels = image.labels
                self.assertEqual(json.loads(labels["io.plimsoll.sha256"]),
                                 found)
                self.assertTrue(all(
                    path == f"/plimsoll-{name}" or "/lib" in path
                    for path in found), found)
                packages = {p.split("=")[0]
                            for p in labels["io.plimsoll.packages"].split(", ")}
                self.assertEqual(packages, documents)
                self.assertIn("libc6", packages)

    def test_the_agents_image_has_no_kubernetes_client_and_no_database(self):
        for path in json.loads(self.images["agent"].labels[
                "io.plimsoll.sha256"]):
            for word in ("curl", "sqlite", "cjson", "microhttpd", "crypto"):
                self.assertNotIn(f"lib{word}", path)

    def test_the_same_packages_give_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            self.build(folder, IMAGES / "packages.txt", *PROGRAMS)
            for name in (*(f"plimsoll-{p}.tar" for p in PROGRAMS),
                         "packages.txt"):
                self.assertEqual(
                    pathlib.Path(folder, name).read_bytes(),
                    (IMAGES / name).read_bytes(), name)

    def test_other_packages_are_refused_by_name(self):
        with tempfile.TemporaryDirectory() as folder:
            other = pathlib.Path(folder, "packages.txt")
            other.write_text((IMAGES / "packages.txt").read_text()
                             + "libelse:amd64 1.0\n")
            with self.assertRaises(subprocess.CalledProcessError) as no:
                self.build(folder, other)
            self.assertIn("libelse:amd64 1.0", no.exception.stderr)

    def test_the_containerfile_installs_what_the_chroot_does(self):
        """It is not built: its first image comes from a registry."""
        text = (ROOT / "deploy/Containerfile").read_text()
        listed = re.search(r"--no-install-recommends ((?:.*\\\n)*.*)", text)
        self.assertEqual(sorted(listed.group(1).replace("\\", "").split()),
                         build_packages())
        for name in PROGRAMS:
            self.assertIn(f'USER 65532:65532\nENTRYPOINT ["/plimsoll-{name}"]',
                          text)

    @staticmethod
    def build(folder, packages, *programs):
        only = [w for p in programs or ("agent",) for w in ("--only", p)]
        subprocess.run(
            [ROOT / "deploy/images.py", *only, "--out", folder,
             "--packages", packages], check=True, capture_output=True,
            text=True)


if __name__ == "__main__":
    unittest.main()
