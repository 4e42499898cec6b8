"""The files of a release: pinned, complete, and the chart the same as what
kustomize renders."""
import hashlib
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from harness import PATIENCE_S, ROOT  # noqa: E402
from kubelet import ARCHITECTURE, Image  # noqa: E402
from released import (CHART, HELM, REGISTRY, RELEASE,  # noqa: E402
                      VERSION, helm, objects)

import sbom  # noqa: E402
from kustomize import FEATURES, pin, render_features  # noqa: E402

PROGRAMS = ("agent", "aggregator", "scheduler")
REFERENCE = re.compile(rf"{re.escape(REGISTRY)}/plimsoll-(\w+):"
                       rf"{re.escape(VERSION)}@(sha256:[0-9a-f]{{64}})")


def texts():
    """Name -> text of each file, and of each file in the chart."""
    for path in sorted(RELEASE.iterdir()):
        if path.suffix == ".tgz":
            with tarfile.open(path) as tar:
                for entry in tar:
                    yield entry.name, tar.extractfile(entry).read().decode()
        elif path.suffix not in (".tar", ".gz"):
            yield path.name, path.read_text()


class Files(unittest.TestCase):
    maxDiff = None

    def test_checksums_name_each_file(self):
        sums = dict(reversed(line.split("  ")) for line in (
            RELEASE / "SHA256SUMS").read_text().splitlines())
        self.assertEqual(sums, {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in RELEASE.iterdir() if path.name != "SHA256SUMS"})

    def test_nothing_names_an_image_of_a_checkout(self):
        for name, text in texts():
            # The documents and the preflight speak of a checkout.
            if name.endswith((".md", ".sh")):
                continue
            for line in text.splitlines():
                self.assertNotRegex(line, r":dev\b|version: dev\b|"
                                    r"localhost/|certificates-dev", name)

    def test_each_image_is_pinned_to_the_index_in_its_archive(self):
        digests = {p: Image(RELEASE / f"plimsoll-{p}.tar").digest
                   for p in PROGRAMS}
        files = sorted(RELEASE.glob("install*.yaml"))
        self.assertGreater(len(files), 3)
        for path in files:
            text = path.read_text()
            found = dict(REFERENCE.findall(text))
            self.assertEqual(found, digests, path.name)
            self.assertEqual(len(REFERENCE.findall(text)),
                             text.count(f"{REGISTRY}/"), path.name)

    def test_an_index_has_the_image_of_each_architecture(self):
        for program in PROGRAMS:
            image = Image(RELEASE / f"plimsoll-{program}.tar")
            self.assertEqual(image.config["architecture"], ARCHITECTURE)
            self.assertEqual(
                image.labels["org.opencontainers.image.version"], VERSION)

    def test_the_programs_know_their_version(self):
        for program in PROGRAMS:
            image = Image(RELEASE / f"plimsoll-{program}.tar")
            with tempfile.TemporaryDirectory() as folder:
                root = pathlib.Path(folder, "root")
                image.unpack(root)
                done = subprocess.run(
                    ["chroot", root, f"/plimsoll-{program}", "--version"],
                    check=True, capture_output=True, text=True)
            first, commit, *_ = done.stdout.splitlines()
            self.assertEqual(first, f"plimsoll-{program} {VERSION}")
            self.assertEqual(
                commit, "commit "
                + image.labels["org.opencontainers.image.revision"])

    def test_an_sbom_names_the_packages_of_its_image(self):
        for program in PROGRAMS:
            image = Image(RELEASE / f"plimsoll-{program}.tar")
            sbom = json.loads((RELEASE / f"plimsoll-{program}-{ARCHITECTURE}"
                               ".spdx.json").read_text())
            ours, *others = sbom["packages"]
            self.assertEqual(ours["versionInfo"], VERSION)
            self.assertEqual(", ".join(
                f"{p['name']}={p['versionInfo']}" for p in others),
                image.labels["io.plimsoll.packages"])
            known = {p["name"]: p["licenseDeclared"] for p in others}
            self.assertEqual(known["libprotobuf-c1"], "BSD-2-Clause")
            self.assertIn("libc6", known)
            self.assertEqual(known.get("libjs-dygraphs"),
                             "MIT" if program == "aggregator" else None)
            ids = [p["SPDXID"] for p in sbom["packages"]]
            self.assertEqual(len(set(ids)), len(ids))
            self.assertEqual({r["relatedSpdxElement"]
                              for r in sbom["relationships"]}, set(ids))

    def test_simulate_has_an_archive_and_an_sbom(self):
        self.check_archive("plimsoll-simulate", "--version")

    def test_the_plugin_has_an_archive_an_sbom_and_a_manifest_for_krew(self):
        path = self.check_archive("kubectl-plimsoll", "version")
        self.assertIn("sha256: \"" + hashlib.sha256(
            path.read_bytes()).hexdigest(), (
                RELEASE / "krew.yaml").read_text())

    def check_archive(self, program, version):
        """The archive's path. version: the argument that prints it."""
        path = RELEASE / f"{program}-{VERSION}-linux-{ARCHITECTURE}.tar.gz"
        with tarfile.open(path) as tar, tempfile.TemporaryDirectory() as store:
            licences = {name.partition("/")[2] for name in tar.getnames()
                        if name.startswith("licenses/")}
            tar.extractall(store, filter="fully_trusted")
            said = subprocess.run(
                [f"{store}/{program}", version], check=True,
                capture_output=True, text=True).stdout
        self.assertTrue(said.startswith(f"{program} {VERSION}\n"))
        sbom = json.loads((RELEASE / f"{program}-{ARCHITECTURE}"
                           ".spdx.json").read_text())
        self.assertEqual({p["name"] for p in sbom["packages"][1:]}, licences)
        return path

    def test_a_licence_is_named_only_in_words_of_spdx(self):
        for said, spdx in (("BSD-2-clause", "BSD-2-Clause"),
                           ("GPL-2+ and Expat", "GPL-2.0-or-later AND MIT"),
                           ("GPL-2, MIT", "NOASSERTION"),
                           ("GPL-2 MIT", "NOASSERTION"),
                           ("MIT or", "NOASSERTION"),
                           ("of our own", "NOASSERTION")):
            self.assertEqual(sbom.licence(
                f"Files: *\nCopyright: some\nLicense: {said}\n"), spdx)
        self.assertEqual(sbom.licence("Do what you like."), "NOASSERTION")

    def test_the_notes_are_the_section_of_the_changelog(self):
        notes = (RELEASE / "RELEASE_NOTES.md").read_text()
        changelog = (ROOT / "CHANGELOG.md").read_text()
        self.assertIn(f"## [{VERSION}]", changelog)
        self.assertIn(notes, changelog)
        self.assertNotIn("\n## ", notes)


class Refusals(unittest.TestCase):
    """Each before anything is built."""

    def refusal(self, version, *options):
        done = subprocess.run(
            [ROOT / "deploy/release.py", version, "--out=/nowhere", *options],
            check=False, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def test_a_version_that_is_not_semantic_is_refused(self):
        for version in ("1.0", "v0.2.0", "0.2.0+build", "01.2.3", "latest"):
            self.assertIn(f"'{version}' is not a semantic version",
                          self.refusal(version, f"--registry={REGISTRY}"))

    def test_a_version_without_a_section_is_refused(self):
        self.assertIn("CHANGELOG.md has no section [99.0.0]", self.refusal(
            "99.0.0", f"--registry={REGISTRY}", "--dirty"))

    def test_a_registry_on_this_machine_is_refused(self):
        self.assertIn("is not a registry", self.refusal(
            VERSION, "--registry=localhost/plimsoll"))


class Chart(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        text = (RELEASE / "install.yaml").read_text()
        cls.images = {program: f"{REGISTRY}/plimsoll-{program}:{VERSION}@"
                      f"{digest}" for program, digest
                      in REFERENCE.findall(text)}

    def templated(self, *options):
        return objects(helm("template", "plimsoll", CHART, "--kube-version",
                            "1.30.0", "--namespace", "default", *options))

    def assert_the_same(self, features):
        chart = self.templated(*(f"--set={f}.enabled=true" for f in features))
        ours = objects(pin(render_features(frozenset(features)), VERSION,
                           self.images).replace("managed-by: kustomize",
                                                "managed-by: Helm"))
        self.assertEqual(chart.keys(), ours.keys(), features)
        for key, thing in ours.items():
            self.assertEqual(chart[key], thing, (features, key))

    def test_the_chart_has_the_objects_of_kustomize(self):
        names = list(FEATURES)
        for features in ([], *([f] for f in names), names,
                         *([f for f in names if f != g] for g in names)):
            with self.subTest(features):
                self.assert_the_same(features)

    def test_the_defaults_are_install_yaml(self):
        ours = objects((RELEASE / "install.yaml").read_text().replace(
            "managed-by: kustomize", "managed-by: Helm"))
        self.assertEqual(self.templated(), ours)

    def test_values_change_what_they_name(self):
        things = self.templated(
            "--set=image.registry=other.example.com/vm",
            "--set=image.digests.agent=", "--set=image.pullSecrets[0].name=s",
            "--set=aggregator.storage.size=9Gi",
            "--set=aggregator.storage.className=fast",
            "--set=aggregator.storage.maxDatabaseSize=7GiB",
            "--set=rebalance.mode=automatic", "--set=rebalance.makeRoom=off",
            "--set=scheduler.resources.limits.memory=1Gi",
            "--set=certificates.schedule=7 1 * * 0",
            "--set=scheduler.extraArgs[0]=--log-level=debug")
        agent = things["DaemonSet", "plimsoll-agents", "plimsoll-agent"]
        pod = agent["spec"]["template"]["spec"]
        self.assertEqual(pod["containers"][0]["image"],
                         f"other.example.com/vm/plimsoll-agent:{VERSION}")
        self.assertEqual(pod["imagePullSecrets"], [{"name": "s"}])
        spec = things["StatefulSet", "plimsoll", "plimsoll-aggregator"]["spec"]
        claim, = spec["volumeClaimTemplates"]
        self.assertEqual(claim["spec"]["storageClassName"], "fast")
        self.assertEqual(claim["spec"]["resources"]["requests"]["storage"],
                         "9Gi")
        self.assertIn("--max-db-size=7GiB", spec["template"]["spec"][
            "containers"][0]["args"])
        container, = things["Deployment", "plimsoll", "plimsoll-scheduler"][
            "spec"]["template"]["spec"]["containers"]
        self.assertEqual(container["args"][-3:], [
            "--rebalance=automatic", "--make-room=off", "--log-level=debug"])
        self.assertEqual(container["resources"]["limits"]["memory"], "1Gi")
        self.assertEqual(things["CronJob", "plimsoll",
                                "plimsoll-certificates"]["spec"]["schedule"],
                         "7 1 * * 0")

    def test_a_job_of_the_same_name_is_the_same_job(self):
        """A Job cannot be changed, so `helm upgrade` and `kubectl apply` can
        switch a feature only if the Job stays or gets another name."""
        known = {}
        for features in itertools.chain.from_iterable(
                itertools.combinations(FEATURES, n)
                for n in (0, 1, 2, len(FEATURES) - 1)):
            for (kind, _, name), thing in self.templated(*(
                    f"--set={f}.enabled=true" for f in features)).items():
                if kind == "Job":
                    self.assertEqual(known.setdefault(name, thing), thing,
                                     (name, features))
        self.assertIn("plimsoll-certificates-" + VERSION.replace(".", "-")
                      + "-admission-policy-kubectl", known)

    def job_name(self, *options):
        return next(name for kind, _, name in self.templated(*options)
                    if kind == "Job")

    def test_a_job_of_another_image_has_another_name(self):
        """A Job cannot be changed, so `helm upgrade` makes another one."""
        dashed = VERSION.replace(".", "-")
        same = f"plimsoll-certificates-{dashed}"
        self.assertEqual(self.job_name(), same)
        self.assertEqual(self.job_name("--set=certificates.schedule=@daily"),
                         same)
        names = {self.job_name(option) for option in (
            "--set=agent.resources.limits.memory=1Gi",
            "--set=image.registry=a.example.com",
            "--set=image.pullPolicy=Always",
            "--set=certificates.resources.limits.memory=1Gi")}
        self.assertEqual(len(names), 4)

    def test_the_schema_refuses_what_no_template_reads(self):
        for option in ("--set=aggregator.storge.size=9Gi",
                       "--set=rebalance.mode=sometimes",
                       "--set-string=certManager.enabled=yes",
                       "--set=image.digests.agent=latest"):
            with self.assertRaises(AssertionError, msg=option) as no:
                self.templated(option)
            self.assertIn("schema", str(no.exception))

    def test_helm_finds_nothing_wrong(self):
        done = subprocess.run(
            [HELM, "lint", "--strict", "--kube-version=1.30.0", CHART],
            check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
