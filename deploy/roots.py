"""The roots of images: programs compiled in a chroot of Debian, with the
libraries that they need. Needs mmdebstrap and root.

A chroot is of this machine's architecture. Programs for another one are
compiled there by a cross compiler; their libraries are in a sysroot inside the
chroot, in which nothing is run."""
import hashlib
import os
import pathlib
import re
import shutil

from commands import (PROGRAMS, ROOT, TOOLS, BuildError, git, run, say,
                      title)

# The build does not see this process's environment.
CLEAN = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
TREE = "usr/src/plimsoll"  # in the chroot; fixed, as programs contain paths
SYSROOT = "sysroot"
# Maximum size of a compressed image in MiB. Every node pulls the agent.
LIMITS = {"agent": 4, "aggregator": 14, "scheduler": 14}
# Debian's and OCI's name of each supported architecture, to GNU's.
TRIPLETS = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}
# Packages of which a program carries files inside itself.
EMBEDDED = {"aggregator": ["libjs-dygraphs"]}


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


class Builder:
    """Builds programs for one architecture."""

    def __init__(self, suite, mirror, cache, architecture=None):
        if os.geteuid() != 0:
            raise BuildError("a chroot needs root: use sudo, or "
                             "deploy/Containerfile")
        own = run("dpkg", "--print-architecture").strip()
        self.architecture = architecture or own
        if self.architecture not in TRIPLETS:
            raise BuildError(f"unsupported architecture "
                             f"'{self.architecture}'")
        self.triplet = TRIPLETS[self.architecture]
        self.is_cross = self.architecture != own
        self.suite, self.mirror = suite, mirror or host_mirror()
        self.chroot = self.make_chroot(cache)

    def make_chroot(self, cache):
        """The folder of a build chroot, created once per list of packages."""
        packages, libraries = build_packages(), []
        if self.is_cross:
            libraries = [p for p in packages if p.endswith("-dev")]
            packages = [p for p in packages if p not in libraries]
            packages.append(f"gcc-{self.triplet}")
        words = " ".join(packages + libraries)
        name = hashlib.sha256(words.encode()).hexdigest()[:12]
        folder = cache / f"{self.suite}-{self.architecture}-{name}"
        if not folder.is_dir():
            new = folder.with_suffix(".new")
            shutil.rmtree(new, ignore_errors=True)
            cache.mkdir(parents=True, exist_ok=True)
            say(f"creating a chroot of {self.suite} for {self.architecture}"
                f" in {folder}")
            self.debootstrap(new, packages, "--variant=apt")
            if self.is_cross:
                self.debootstrap(
                    new / SYSROOT, libraries, "--variant=extract",
                    f"--architectures={self.architecture}",
                    f"--extract-hook={ROOT}/deploy/sysroot_database.sh")
            new.rename(folder)
        return folder

    def debootstrap(self, folder, packages, *options):
        run("mmdebstrap", *options, f"--include={','.join(packages)}",
            self.suite, folder, *([self.mirror] if self.mirror else []))

    def query(self, *arguments):
        """dpkg-query about the packages that the libraries come from."""
        database = f"/{SYSROOT}" if self.is_cross else ""
        return run("chroot", self.chroot, "dpkg-query",
                   f"--admindir={database}/var/lib/dpkg", *arguments,
                   env=CLEAN)

    def packages(self):
        """All packages of the chroot, and of the sysroot."""
        lines = "${Package}:${Architecture} ${Version}\n"
        have = run("chroot", self.chroot, "dpkg-query", "-W", "-f", lines,
                   env=CLEAN)
        return have + self.query("-W", "-f", lines) * self.is_cross

    def copy_sources(self):
        """Copies the tracked files as they are in this checkout."""
        tree = self.chroot / TREE
        shutil.rmtree(tree, ignore_errors=True)
        for name in git("ls-files", "-z", "Makefile", "deploy", "lib", "proto",
                        "kube", "auth", "page", *TOOLS,
                        *PROGRAMS).split("\0"):
            if name and (ROOT / name).is_file():
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, tree / name)

    def compile(self, names, facts):
        self.copy_sources()
        env = dict(CLEAN, SOURCE_DATE_EPOCH=str(facts["mtime"]))
        tools = []
        if self.is_cross:
            share = f"/{SYSROOT}/usr/share/pkgconfig"
            env |= {"PKG_CONFIG_SYSROOT_DIR": f"/{SYSROOT}",
                    "PKG_CONFIG_LIBDIR":
                        f"/{SYSROOT}/usr/lib/{self.triplet}/pkgconfig:{share}"}
            tools = [f"CC={self.triplet}-gcc --sysroot=/{SYSROOT}",
                     f"AR={self.triplet}-ar"]
        run("chroot", self.chroot, "make", "-s", f"-j{os.cpu_count() or 1}",
            "-C", f"/{TREE}", f"VERSION={facts['version']}",
            f"COMMIT={facts['revision']}", *tools,
            *(f"bin/{title(n)}" for n in names), env=env)

    def lay_out(self, name):
        """Creates the root of an image or archive; its folder and its
        packages."""
        sysroot = [f"/{SYSROOT}"] if self.is_cross else []
        run("chroot", self.chroot, f"/{TREE}/deploy/closure.sh",
            f"/{TREE}/bin/{title(name)}", f"/{TREE}/build/root-{name}",
            *sysroot, env=CLEAN)
        root = self.chroot / TREE / "build" / f"root-{name}"
        packages = root.with_name(f"root-{name}.packages").read_text()
        return root, packages + "".join(
            self.add_embedded(root, package)
            for package in EMBEDDED.get(name, ()))

    def add_embedded(self, root, package):
        """Adds the copyright file of a package whose files are in a program;
        the package's line as closure.sh writes it."""
        document = f"usr/share/doc/{package}/copyright"
        (root / document).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.chroot / document, root / document)
        (root / document).chmod(0o644)
        return run("chroot", self.chroot, "dpkg-query", "-W", "-f",
                   "${Package} ${Version}\n", package, env=CLEAN)

    def sources(self):
        """Package -> the source package that it was built from, and its
        version."""
        words = ("-W", "-f", "${Package} ${source:Package} "
                 "${source:Version}\n")
        listed = run("chroot", self.chroot, "dpkg-query", *words, env=CLEAN)
        if self.is_cross:
            listed += self.query(*words)
        return {line.split(" ")[0]: line.split(" ")[1:]
                for line in listed.splitlines()}


def check_size(name, size):
    if size > LIMITS[name] << 20:
        raise BuildError(f"the image of {name} is larger than "
                         f"{LIMITS[name]} MiB")
