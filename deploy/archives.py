"""The programs that users run themselves, as a release has them: an archive for
each architecture, and the plugin's manifest for krew. The archive brings the
libraries of the program and their licences, because a user's machine may be any
Linux."""
import gzip
import hashlib
import io
import re
import tarfile

from commands import PLUGIN, ROOT, BuildError, title

KREW = ROOT / "deploy/krew"


def archive_name(name, version, architecture):
    return f"{title(name)}-{version}-linux-{architecture}.tar.gz"


def contents(program, root):
    """Path in the archive -> (file, mode). root: the folder of closure.sh."""
    files = {program: (KREW / "start", 0o755),
             "LICENSE": (ROOT / "LICENSE", 0o644),
             f"lib/{program}": (root / program, 0o755)}
    for path in root.glob("usr/lib*/**/*"):
        if path.is_file():
            files[f"lib/{path.name}"] = (path, 0o755)
    for path in root.glob("usr/share/doc/*/copyright"):
        files[f"licenses/{path.parent.name}"] = (path, 0o644)
    return files


def write_archive(program, root, path, mtime):
    """The same root and time give the same bytes."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, (file, mode) in sorted(contents(program, root).items()):
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
        path = folder / archive_name(PLUGIN, version, architecture)
        if path.exists():
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            kept.append(platform.replace(f"@SHA256_{architecture}@", digest))
    if not kept:
        raise BuildError("there is no archive of the plugin")
    return "".join([head, *kept]).replace("@VERSION@", version).replace(
        "@DOWNLOADS@", downloads)
