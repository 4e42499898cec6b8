"""A release, as `make release` writes it: that of RELEASE, or the one that
`make e2e-deploy` makes for this machine."""
import os
import pathlib
import re
import subprocess
import sys

from harness import ROOT
from kube_api import KUBECLUSTER

sys.path.insert(0, str(ROOT / "deploy"))

import yaml  # noqa: E402

# The newest section of CHANGELOG.md.
VERSION = re.search(r"^## \[(\d[^]]*)\]", (ROOT / "CHANGELOG.md").read_text(),
                    re.M).group(1)
RELEASE = pathlib.Path(os.environ.get(
    "RELEASE", ROOT / "build/release-test" / VERSION)).resolve()
REGISTRY = "registry.example.com/plimsoll"
CHART = RELEASE / f"plimsoll-{VERSION}.tgz"
HELM = ROOT / "build/helm"
# kustomize as kubectl has it, not the program that made the release.
os.environ["KUSTOMIZE"] = f"{KUBECLUSTER} kubectl kustomize"


def helm(*arguments):
    done = subprocess.run([HELM, *arguments], check=False, text=True,
                          capture_output=True)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


def objects(text):
    """(kind, namespace, name) -> object of a text of several."""
    return {(t["kind"], t["metadata"].get("namespace", ""),
             t["metadata"]["name"]): t for t in yaml.safe_load_all(text) if t}
