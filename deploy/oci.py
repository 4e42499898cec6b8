"""OCI images and archives as bytes that depend on nothing but their content."""
import gzip
import hashlib
import io
import json
import tarfile
import time

USER = "65532:65532"
IMAGE = "application/vnd.oci.image"
VARIANTS = {"arm64": {"variant": "v8"}}


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
    """Path -> SHA-256 of each file but the copyright files."""
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
        return {"mediaType": f"{IMAGE}.{kind}",
                "digest": f"sha256:{digest}", "size": len(data)}

    def add_json(self, thing, kind):
        return self.add(json.dumps(thing, sort_keys=True).encode(), kind)

    def add_image(self, title, root, packages, facts):
        """Adds the image of a root; its manifest's descriptor and the size of
        its layer. packages: the lines of closure.sh."""
        made = time.strftime("%Y-%m-%dT%H:%M:%SZ",
                             time.gmtime(facts["mtime"]))
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
        platform = {"architecture": facts["architecture"], "os": "linux",
                    **VARIANTS.get(facts["architecture"], {})}
        config = self.add_json({
            "created": made, **platform,
            "config": {"User": USER, "Entrypoint": [f"/{title}"],
                       "WorkingDir": "/", "Labels": labels},
            "rootfs": {"type": "layers", "diff_ids": [
                f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
            "history": [{"created": made, "created_by": "deploy/images.py"}],
        }, "config.v1+json")
        manifest = self.add_json({
            "schemaVersion": 2, "mediaType": f"{IMAGE}.manifest.v1+json",
            "config": config,
            "layers": [self.add(packed, "layer.v1.tar+gzip")],
        }, "manifest.v1+json")
        return {**manifest, "platform": platform}, len(packed)

    def add_index(self, manifests):
        """Adds an index of images of several architectures."""
        return self.add_json({
            "schemaVersion": 2, "mediaType": f"{IMAGE}.index.v1+json",
            "manifests": manifests}, "index.v1+json")

    def write(self, path, entry, reference, mtime):
        """Writes the archive. entry: the descriptor that the reference
        names, of an image or an index."""
        named = {**entry, "annotations": {
            "org.opencontainers.image.ref.name": reference,
            "io.containerd.image.name": reference}}
        index = {"schemaVersion": 2, "manifests": [named]}
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
