"""The objects of deploy/ as kustomize renders them, for a release."""
import os
import pathlib
import re
import shutil
import tempfile

from commands import ROOT, BuildError, run

# A feature of the chart -> the component that a kustomization adds to base,
# and the component that it stands in for. Kustomize applies them in this order.
DEFAULTS = ("webhook", "certificates")
FEATURES = {
    "admissionPolicy": ("admission-policy", "webhook"),
    "certManager": ("cert-manager", "certificates"),
    "rebalance": ("rebalance", None),
    "monitoring": ("monitoring", None),
    "remoteWrite": ("remote-write", None),
    "unprivileged": ("unprivileged", None),
    "extender": ("extender", None),
    "kubectl": ("kubectl", None),
    "openshift": ("openshift", None),
}
# Two features -> the component that they need together, at the end.
PAIRS = {("certManager", "monitoring"): "monitoring-cert-manager"}


def components(features):
    """The components of these features, in the order of kustomize."""
    replaced = {FEATURES[f][1] for f in features}
    return ([c for c in DEFAULTS if c not in replaced]
            + [FEATURES[f][0] for f in FEATURES if f in features]
            + [c for pair, c in PAIRS.items() if set(pair) <= set(features)])


def kustomize_command():
    """kustomize build, as its own program or as kubectl's."""
    words = os.environ.get("KUSTOMIZE")
    if words:
        return words.split()
    built = ROOT / "build/kustomize"
    if built.exists():
        return [built, "build"]
    raise BuildError("kustomize is missing: 'make build/kustomize' builds it "
                     "(needs Go), or KUSTOMIZE='kubectl kustomize' names it")


def render(folder):
    """The objects of a kustomization as YAML."""
    return run(*kustomize_command(), folder)


def render_features(features):
    """The objects of base with these features, as YAML."""
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as scratch:
        lines = ["apiVersion: kustomize.config.k8s.io/v1beta1",
                 "kind: Kustomization", "resources:", "- ../../deploy/base",
                 "components:"]
        lines += [f"- ../../deploy/components/{c}"
                  for c in components(features)]
        pathlib.Path(scratch, "kustomization.yaml").write_text(
            "\n".join(lines) + "\n")
        return render(scratch)


def split(text):
    """(kind, namespace, name) -> the lines of each object."""
    found = {}
    for part in text.strip("\n").split("\n---\n"):
        lines = part.split("\n")
        meta = lines[lines.index("metadata:") + 1:]
        field = {}
        for line in meta:
            if not line.startswith(" "):
                break
            match = re.fullmatch(r"  (name|namespace): (\S+)", line)
            if match:
                field[match.group(1)] = match.group(2)
        kind = next(line[6:] for line in lines if line.startswith("kind: "))
        found[kind, field.get("namespace", ""), field["name"]] = lines
    return found


def pin(text, version, images):
    """The manifests of a release: pinned images (program -> reference) and
    the version in place of `dev`."""
    for name, reference in images.items():
        text = text.replace(f"localhost/plimsoll-{name}:dev", reference)
    text = text.replace("app.kubernetes.io/version: dev",
                        f"app.kubernetes.io/version: {version}")
    text = text.replace("plimsoll-certificates-dev",
                        f"plimsoll-certificates-{dashed(version)}")
    for line in text.splitlines():
        if re.search(r":dev\b|localhost/|version: dev\b|-dev$", line):
            raise BuildError(f"the release would contain '{line.strip()}'")
    return text


def dashed(version):
    """The version in the name of an object."""
    return re.sub(r"[^a-z0-9]+", "-", version.lower())


def variants():
    """The overlays that can be applied as they are: name -> folder. The
    others need a line of the cluster's own first."""
    return {folder.name: folder
            for folder in sorted((ROOT / "deploy/overlays").iterdir())
            if folder.name not in ("extender", "remote-write")}


def copy_extras(out):
    """Copies what stands beside the manifests."""
    shutil.copy(ROOT / "deploy/preflight.sh", out)
