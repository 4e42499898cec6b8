#!/usr/bin/env python3
"""Writes a release to dist/VERSION: images for several architectures, archives
of the plugin for kubectl and of plimsoll-simulate, SBOMs, manifests with pinned
digests, a Helm chart, notes and checksums. It publishes and signs nothing:
RELEASE.md explains how.

The same commit and the same packages give the same bytes. Needs mmdebstrap and
root, as images.py, and kustomize (KUSTOMIZE, or build/kustomize)."""
import argparse
import hashlib
import pathlib
import re
import shutil
import sys

from archives import archive_name, krew_manifest, write_archive
from chart import make_chart, pack
from commands import PROGRAMS, ROOT, TOOLS, BuildError, git, say, title
from images import add_options
from kustomize import copy_extras, pin, render, variants
from oci import Archive
from roots import Builder, check_size
from sbom import make_sbom

# https://semver.org, without build metadata: a tag of an image has no plus.
SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[a-zA-Z-][\da-zA-Z-]*)"
    r"(\.(0|[1-9]\d*|\d*[a-zA-Z-][\da-zA-Z-]*))*)?")
REGISTRY = re.compile(r"[a-z0-9.-]+(:\d+)?(/[a-z0-9._-]+)*")


def notes_of(version):
    """The section of CHANGELOG.md about this version."""
    text = (ROOT / "CHANGELOG.md").read_text()
    found = re.search(
        rf"^## \[{re.escape(version)}\][^\n]*\n(.*?)(?=^## \[|\Z)", text,
        re.M | re.S)
    if not found or not found.group(1).strip():
        raise BuildError(f"CHANGELOG.md has no section [{version}]")
    return found.group(1).strip() + "\n"


def check(options):
    """Refuses what cannot become a release; its notes."""
    if not SEMVER.fullmatch(options.version):
        raise BuildError(f"'{options.version}' is not a semantic version "
                         "such as 0.2.0 or 1.0.0-rc.1")
    if (not REGISTRY.fullmatch(options.registry)
            or options.registry.startswith("localhost")):
        raise BuildError(f"'{options.registry}' is not a registry such as "
                         "registry.example.com/plimsoll")
    changed = git("status", "--porcelain").strip()
    if changed and not options.dirty:
        raise BuildError("the checkout has changes that are not committed: "
                         + changed.splitlines()[0])
    return notes_of(options.version)


def write_sbom(builder, name, root, packages, facts, out):
    path = out / f"{title(name)}-{facts['architecture']}.spdx.json"
    path.write_bytes(make_sbom(builder, name, root, packages, facts))


def build_images(options, facts, out):
    """Writes images, archives and SBOMs; program -> reference with its digest."""
    archives = {name: Archive() for name in PROGRAMS}
    manifests = {name: [] for name in PROGRAMS}
    for architecture in options.architecture or ("amd64", "arm64"):
        builder = Builder(options.suite, options.mirror,
                          pathlib.Path(options.cache).resolve(), architecture)
        of_this = dict(facts, architecture=architecture)
        say(f"compiling for {architecture}")
        builder.compile((*PROGRAMS, *TOOLS), of_this)
        for name in PROGRAMS:
            root, packages = builder.lay_out(name)
            image, size = archives[name].add_image(
                f"plimsoll-{name}", root, packages, of_this)
            check_size(name, size)
            manifests[name].append(image)
            write_sbom(builder, name, root, packages, of_this, out)
        for name in TOOLS:
            root, packages = builder.lay_out(name)
            write_archive(
                title(name), root,
                out / archive_name(name, facts["version"], architecture),
                facts["mtime"])
            write_sbom(builder, name, root, packages, of_this, out)
        (out / f"packages-{architecture}.txt").write_text(builder.packages())
    references = {}
    for name, archive in archives.items():
        tag = f"{options.registry}/plimsoll-{name}:{facts['version']}"
        index = archive.add_index(manifests[name])
        archive.write(out / f"plimsoll-{name}.tar", index, tag,
                      facts["mtime"])
        references[name] = f"{tag}@{index['digest']}"
        say(references[name])
    return references


def write_manifests(version, images, out):
    say("rendering the manifests")
    overlays = {"install": ROOT / "deploy"}
    overlays |= {f"install-{name}": folder
                 for name, folder in variants().items()}
    for name, folder in overlays.items():
        (out / f"{name}.yaml").write_text(pin(render(folder), version,
                                              images))


def write_sums(out):
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
             for path in sorted(out.iterdir())]
    (out / "SHA256SUMS").write_text("".join(lines))


def release(options):
    notes = check(options)
    version = options.version
    facts = {"version": version,
             "revision": git("rev-parse", "HEAD").strip(),
             "mtime": int(git("log", "-1", "--format=%ct"))}
    out = pathlib.Path(options.out).resolve() / version
    new = out.with_name(out.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    say(f"plimsoll {version} of commit {facts['revision']}")
    images = build_images(options, facts, new)
    write_manifests(version, images, new)
    (new / "krew.yaml").write_text(krew_manifest(
        version, options.downloads.replace("VERSION", version), new))
    say("generating the chart")
    pack(make_chart(version, options.registry, images),
         new / f"plimsoll-{version}.tgz", facts["mtime"])
    (new / "RELEASE_NOTES.md").write_text(notes)
    copy_extras(new)
    write_sums(new)
    shutil.rmtree(out, ignore_errors=True)
    new.rename(out)
    say(f"{out} has {len(list(out.iterdir()))} files")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", help="a semantic version such as 0.2.0")
    add_options(parser)
    parser.add_argument("--registry", required=True,
                        help="where the images will be, such as "
                        "registry.example.com/plimsoll")
    parser.add_argument("--downloads", default="https://downloads.example.com/"
                        "plimsoll/VERSION",
                        help="where the files will be, for krew; VERSION in it "
                        "becomes the version")
    parser.add_argument("--architecture", action="append",
                        choices=("amd64", "arm64"),
                        help="build only for this one; may be repeated")
    parser.add_argument("--out", default=ROOT / "dist",
                        help="directory for the folder VERSION")
    parser.add_argument("--dirty", action="store_true",
                        help="accept changes that are not committed; for "
                        "tests")
    try:
        release(parser.parse_args())
    except BuildError as error:
        print(f"release.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
