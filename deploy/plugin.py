"""kubectl-plimsoll as a release has it: an archive for each architecture, and
the manifest for krew. The archive brings the libraries of the program and their
licences, because a user's machine may be any Linux."""
import gzip
import hashlib
import io
import re
import tarfile

from commands import ROOT, BuildError

KREW = ROOT / "deploy/krew"


def archive_name(version, architecture):
    return f"kubectl-plimsoll-{version}-linux-{architecture}.tar.gz"


def contents(root):
    """Path in the archive -> (file, mode). root: the folder of closure.sh."""
    files = {"kubectl-plimsoll": (KREW / "kubectl-plimsoll", 0o755),
             "LICENSE": (ROOT / "LICENSE", 0o644),
             "lib/kubectl-plimsoll": (root / "kubectl-plimsoll", 0o755)}
    for path in root.glob("usr/lib*/**/*"):
        if path.is_file():
            files[f"lib/{path.name}"] = (path, 0o755)
    for path in root.glob("usr/share/doc/*/copyright"):
        files[f"licenses/{path.parent.name}"] = (path, 0o644)
    return files


def write_archive(root, path, mtime):
    """The same root and time give the same bytes."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, (file, mode) in sorted(contents(root).items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = file.stat().st_size, mtime
            entry.mode = mode
            with open(file, "rb") as data:
                tar.addfile(entry, data)
    path.write_bytes(gzip.compress(raw.getvalue(), compresslevel=9, mtime=0))


def krew_manifest(version, downloads, folder):
    """The manifest for the archives in folder; a platform without an archive
    is left out."""
    text = (KREW / "plimsoll.yaml").read_text()
    head, *platforms = re.split(r"(?m)^(?=    - selector:)", text)
    kept = []
    for platform in platforms:
        architecture = re.search(r"arch: (\w+)", platform).group(1)
        path = folder / archive_name(version, architecture)
        if path.exists():
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            kept.append(platform.replace(f"@SHA256_{architecture}@", digest))
    if not kept:
        raise BuildError("there is no archive of the plugin")
    return "".join([head, *kept]).replace("@VERSION@", version).replace(
        "@DOWNLOADS@", downloads)
