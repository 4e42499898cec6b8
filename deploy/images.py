#!/usr/bin/env python3
"""Builds one OCI archive per program, without a container engine and without a
registry. An image contains the program and the libraries that it needs, built
from Debian packages in a chroot.

The same sources and the same packages give the same bytes. OUT/packages.txt
lists every package of the chroot, and --packages FILE refuses to build from
other packages. Needs mmdebstrap and root."""
import argparse
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAMS = ("agent", "aggregator", "scheduler")
USER = "65532:65532"
# Maximum size of a compressed image in MiB. Every node pulls the agent.
LIMITS = {"agent": 4, "aggregator": 14, "scheduler": 14}
# The build does not see this process's environment.
CLEAN = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
TREE = "usr/src/plimsoll"  # in the chroot; fixed, as programs contain paths
# Debian's name of each supported architecture, to OCI's name.
ARCHITECTURES = {"amd64": "amd64", "arm64": "arm64"}


class BuildError(Exception):
    """An error that the user can understand and fix."""


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], text=True,
                          check=False, capture_output=True, **options)
    if done.returncode != 0:
        raise BuildError(f"{command[0]} failed: "
                         f"{(done.stderr or done.stdout)[-2000:]}")
    return done.stdout


def git(*arguments):
    return run("git", "-C", ROOT, *arguments)


def build_packages():
    """The packages that the Makefile needs for a build, except those that only
    a checkout needs."""
    text = (ROOT / "Makefile").read_text()
    listed = re.search(r"^PACKAGES_BUILD = ((?:.*\\\n)*.*)", text, re.M)
    return sorted(set(listed.group(1).replace("\\", "").split())
                  - {"git", "ca-certificates"})


def host_mirror():
    """The Debian mirror of this machine; None: mmdebstrap's default."""
    for path in sorted(pathlib.Path("/etc/apt").glob("sources.list.d/*")):
        text = path.read_text()
        found = re.search(r"^URIs: (\S+/debian/?)$", text, re.M)
        if found:
            return found.group(1)
    path = pathlib.Path("/etc/apt/sources.list")
    found = path.exists() and re.search(
        r"^deb (?:\[.*?\] )?(\S+/debian/?) ", path.read_text(), re.M)
    return found.group(1) if found else None


def make_chroot(cache, suite, mirror):
    """The folder of a build chroot, created once per list of packages."""
    packages = build_packages()
    name = hashlib.sha256(" ".join(packages).encode()).hexdigest()[:12]
    folder = cache / f"{suite}-{name}"
    if not folder.is_dir():
        new = folder.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)
        cache.mkdir(parents=True, exist_ok=True)
        print(f"creating a chroot of {suite} in {folder}", flush=True)
        run("mmdebstrap", "--variant=apt",
            f"--include={','.join(packages)}", suite, new,
            *([mirror] if mirror else []))
        new.rename(folder)
    return folder


def packages_of(chroot):
    return run("chroot", chroot, "dpkg-query", "-W", "-f",
               "${Package}:${Architecture} ${Version}\n", env=CLEAN)


def check_packages(have, path):
    want = pathlib.Path(path).read_text()
    if want != have:
        other = set(want.splitlines()) ^ set(have.splitlines())
        raise BuildError(f"the packages of the chroot differ from '{path}': "
                         f"{', '.join(sorted(other)[:6])}")


def copy_sources(chroot):
    """Copies the tracked files as they are in this checkout."""
    tree = chroot / TREE
    shutil.rmtree(tree, ignore_errors=True)
    for name in git("ls-files", "-z", "Makefile", "deploy", "lib", "proto",
                    "kube", *PROGRAMS).split("\0"):
        if name and (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)


def compile_programs(chroot, names, version):
    copy_sources(chroot)
    jobs = os.cpu_count() or 1
    run("chroot", chroot, "make", "-s", f"-j{jobs}", "-C", f"/{TREE}",
        f"VERSION={version}", *(f"bin/plimsoll-{n}" for n in names), env=CLEAN)


def lay_out(chroot, name):
    """Creates the root of an image; its folder and its packages."""
    run("chroot", chroot, f"/{TREE}/deploy/closure.sh",
        f"/{TREE}/bin/plimsoll-{name}", f"/{TREE}/build/root-{name}",
        env=CLEAN)
    root = chroot / TREE / "build" / f"root-{name}"
    return root, root.with_name(f"root-{name}.packages").read_text()


def add_bytes(archive, name, data, mtime):
    entry = tarfile.TarInfo(name)
    entry.size, entry.mtime, entry.mode = len(data), mtime, 0o644
    archive.addfile(entry, io.BytesIO(data))


def make_layer(root, mtime):
    """A tar of the folder that does not depend on time and user."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(root.rglob("*")):
            entry = tar.gettarinfo(path, str(path.relative_to(root)))
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime = mtime
            if entry.isfile():
                with open(path, "rb") as data:
                    tar.addfile(entry, data)
            else:
                tar.addfile(entry)
    return raw.getvalue()


def digests(root):
    return {f"/{path.relative_to(root)}":
            hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(root.rglob("*"))
            if path.is_file() and not path.is_symlink()
            and path.name != "copyright"}


class Archive:
    """An OCI image layout, as one tar."""

    def __init__(self):
        self.blobs = {}

    def add(self, data, kind):
        digest = hashlib.sha256(data).hexdigest()
        self.blobs[digest] = data
        return {"mediaType": f"application/vnd.oci.image.{kind}",
                "digest": f"sha256:{digest}", "size": len(data)}

    def add_json(self, thing, kind):
        return self.add(json.dumps(thing, sort_keys=True).encode(), kind)

    def write(self, path, index, mtime):
        new = path.with_suffix(".new")
        with tarfile.open(new, "w", format=tarfile.PAX_FORMAT) as tar:
            add_bytes(tar, "oci-layout",
                      b'{"imageLayoutVersion": "1.0.0"}', mtime)
            add_bytes(tar, "index.json",
                      json.dumps(index, sort_keys=True).encode(), mtime)
            for digest in sorted(self.blobs):
                add_bytes(tar, f"blobs/sha256/{digest}", self.blobs[digest],
                          mtime)
        new.replace(path)


def make_image(name, root, packages, facts, out):
    """Writes OUT/plimsoll-NAME.tar and returns the size of its layer."""
    title = f"plimsoll-{name}"
    made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(facts["mtime"]))
    layer = make_layer(root, facts["mtime"])
    packed = gzip.compress(layer, compresslevel=9, mtime=0)
    labels = {
        "org.opencontainers.image.title": title,
        "org.opencontainers.image.version": facts["version"],
        "org.opencontainers.image.revision": facts["revision"],
        "org.opencontainers.image.licenses": "Apache-2.0",
        "io.plimsoll.packages": ", ".join(
            line.replace(" ", "=") for line in packages.splitlines()),
        "io.plimsoll.sha256": json.dumps(digests(root), sort_keys=True),
    }
    archive = Archive()
    config = archive.add_json({
        "created": made, "architecture": facts["architecture"], "os": "linux",
        "config": {"User": USER, "Entrypoint": [f"/{title}"],
                   "WorkingDir": "/", "Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": [
            f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        "history": [{"created": made, "created_by": "deploy/images.py"}],
    }, "config.v1+json")
    manifest = archive.add_json({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config,
        "layers": [archive.add(packed, "layer.v1.tar+gzip")],
    }, "manifest.v1+json")
    reference = f"localhost/{title}:{facts['tag']}"
    manifest["annotations"] = {
        "org.opencontainers.image.ref.name": reference,
        "io.containerd.image.name": reference}
    archive.write(out / f"{title}.tar", {
        "schemaVersion": 2, "manifests": [manifest]}, facts["mtime"])
    return len(packed)


def facts_of(chroot, tag):
    debian = run("chroot", chroot, "dpkg", "--print-architecture",
                 env=CLEAN).strip()
    if debian not in ARCHITECTURES:
        raise BuildError(f"unsupported architecture '{debian}'")
    return {"version": git("describe", "--always", "--dirty").strip(),
            "revision": git("rev-parse", "HEAD").strip(),
            "mtime": int(git("log", "-1", "--format=%ct")),
            "architecture": ARCHITECTURES[debian], "tag": tag}


def build(options):
    if os.geteuid() != 0:
        raise BuildError("a chroot needs root: use sudo, or "
                         "deploy/Containerfile")
    chroot = make_chroot(pathlib.Path(options.cache).resolve(), options.suite,
                         options.mirror or host_mirror())
    have = packages_of(chroot)
    if options.packages:
        check_packages(have, options.packages)
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    facts = facts_of(chroot, options.tag)
    names = options.only or PROGRAMS
    compile_programs(chroot, names, facts["version"])
    for name in names:
        root, packages = lay_out(chroot, name)
        size = make_image(name, root, packages, facts, out)
        print(f"{out}/plimsoll-{name}.tar: {size / (1 << 20):.2f} MiB "
              f"compressed, {len(packages.splitlines())} packages",
              flush=True)
        if size > LIMITS[name] << 20:
            raise BuildError(f"the image of {name} is larger than "
                             f"{LIMITS[name]} MiB")
    (out / "packages.txt").write_text(have)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="trixie",
                        help="Debian release to build from (default trixie)")
    parser.add_argument("--mirror", help="Debian mirror (default: the mirror "
                        "of this machine)")
    parser.add_argument("--packages", metavar="FILE",
                        help="build only from exactly these packages")
    parser.add_argument("--only", action="append", choices=PROGRAMS,
                        help="build only this image; may be repeated")
    parser.add_argument("--tag", default="dev",
                        help="tag of localhost/plimsoll-NAME (default dev)")
    parser.add_argument("--cache", default=ROOT / "build/ci/images",
                        help="directory for chroots")
    parser.add_argument("--out", default=ROOT / "build/images",
                        help="directory for the archives")
    try:
        build(parser.parse_args())
    except BuildError as error:
        print(f"images.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
