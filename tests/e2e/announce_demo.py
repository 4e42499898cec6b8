#!/usr/bin/env python3
"""Says at the start of `make demo` what has to be built and how long that takes
on this machine.

usage: tests/e2e/announce_demo.py"""
import math
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# CPU seconds, measured on one core of a server of 2023.
FILE_S, PACKAGE_S = 0.13, 0.2
PACKAGES = 2700  # of kubecluster


def minutes(cpu_seconds, cpus, load):
    """How long a build takes that keeps all CPUs busy, beside other work."""
    share = 1 + load / cpus
    return max(1, math.ceil(cpu_seconds / cpus * share / 60))


def in_words(number):
    return f"about {number} minute" + ("" if number == 1 else "s")


def announcement(files, packages, cpus, load, is_fetched=True):
    """The lines to print. files, packages: those that have to be compiled;
    None: nothing is built with Go; load: how many processes run beside."""
    on = f"on {cpus} CPU" + ("" if cpus == 1 else "s")
    if load >= cpus:
        on += f" that have other work (load {load:.0f})"
    yield "The demo itself takes 2 minutes."
    if files:
        yield (f"First {files:,} C files are compiled: "
               f"{in_words(minutes(files * FILE_S, cpus, load))} {on}.")
    if packages is None:
        yield "Nothing is built with Go: KUBECLUSTER is the test control plane."
    elif packages:
        yield (f"{packages:,} Go packages of Kubernetes are compiled: "
               f"{in_words(minutes(packages * PACKAGE_S, cpus, load))} {on}"
               + ("" if is_fetched else
                  ", and the time to fetch 100 MB of modules")
               + ". KUBECLUSTER=FILE uses a control plane that was built"
                 " elsewhere.")


def run(*command, **options):
    """What a command prints, or None if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True,
                              check=False, **options)
    except FileNotFoundError:
        return None
    return done.stdout + done.stderr if done.returncode == 0 else None


def files_left():
    said = run("make", "-n", "all", "PROGRESS=1", cwd=ROOT) or ""
    return len(re.findall(r"^echo .* >&2$", said, re.M))


def packages_left():
    """How many packages go would compile, and whether all modules are here."""
    env = dict(os.environ, GOFLAGS="-mod=readonly", GOPROXY="off",
               CGO_ENABLED="0", GOTOOLCHAIN="local")
    said = run("go", "build", "-n", "-trimpath", "-buildvcs=false",
               "-gcflags=all=-dwarf=false", "-o", os.devnull, ".",
               cwd=ROOT / "tests/cluster", env=env)
    if said is None:
        return PACKAGES, False
    return len(re.findall(r"/compile -o ", said)), True


def main():
    kubecluster = os.environ.get("KUBECLUSTER")
    if kubecluster and not (os.path.isfile(kubecluster)
                            and os.access(kubecluster, os.X_OK)):
        print(f"make demo: KUBECLUSTER is '{kubecluster}', which is no program",
              file=sys.stderr)
        return 2
    packages, is_fetched = None, True
    if not kubecluster:
        built = ROOT / "build/kubecluster"
        packages, is_fetched = (0, True) if built.exists() else packages_left()
    for line in announcement(files_left(), packages, os.cpu_count() or 1,
                             os.getloadavg()[0], is_fetched):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
