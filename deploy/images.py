#!/usr/bin/env python3
"""Builds one OCI archive per program, without a container engine and without a
registry. An image contains the program and the libraries that it needs, built
from Debian packages in a chroot.

The same sources and the same packages give the same bytes. OUT/packages.txt
lists every package of the chroot, and --packages FILE refuses to build from
other packages. Needs mmdebstrap and root. release.py builds the images of a
release with the same modules."""
import argparse
import pathlib
import sys

from commands import PROGRAMS, ROOT, BuildError, git
from oci import Archive
from roots import Builder, check_size


def check_packages(have, path):
    want = pathlib.Path(path).read_text()
    if want != have:
        other = set(want.splitlines()) ^ set(have.splitlines())
        raise BuildError(f"the packages of the chroot differ from '{path}': "
                         f"{', '.join(sorted(other)[:6])}")


def build(options):
    builder = Builder(options.suite, options.mirror,
                      pathlib.Path(options.cache).resolve())
    have = builder.packages()
    if options.packages:
        check_packages(have, options.packages)
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    facts = {"version": git("describe", "--always", "--dirty").strip(),
             "revision": git("rev-parse", "HEAD").strip(),
             "mtime": int(git("log", "-1", "--format=%ct")),
             "architecture": builder.architecture}
    names = options.only or PROGRAMS
    builder.compile(names, facts)
    for name in names:
        title, archive = f"plimsoll-{name}", Archive()
        root, packages = builder.lay_out(name)
        image, size = archive.add_image(title, root, packages, facts)
        archive.write(out / f"{title}.tar", image,
                      f"localhost/{title}:{options.tag}", facts["mtime"])
        print(f"{out}/{title}.tar: {size / (1 << 20):.2f} MiB compressed, "
              f"{len(packages.splitlines())} packages", flush=True)
        check_size(name, size)
    (out / "packages.txt").write_text(have)


def add_options(parser):
    """The options that images.py and release.py share."""
    parser.add_argument("--suite", default="trixie",
                        help="Debian release to build from (default trixie)")
    parser.add_argument("--mirror", help="Debian mirror (default: the mirror "
                        "of this machine)")
    parser.add_argument("--cache", default=ROOT / "build/ci/images",
                        help="directory for chroots")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--packages", metavar="FILE",
                        help="build only from exactly these packages")
    parser.add_argument("--only", action="append", choices=PROGRAMS,
                        help="build only this image; may be repeated")
    parser.add_argument("--tag", default="dev",
                        help="tag of localhost/plimsoll-NAME (default dev)")
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
