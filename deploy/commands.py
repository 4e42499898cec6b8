"""What scripts that build images and releases share: commands and errors."""
import pathlib
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAMS = ("agent", "aggregator", "scheduler")  # those with images
PLUGIN = "kubectl"
TOOLS = (PLUGIN, "simulate")  # those with archives
START = time.monotonic()


def title(name):
    """The file name of a program, by its room."""
    return "kubectl-plimsoll" if name == PLUGIN else f"plimsoll-{name}"


class BuildError(Exception):
    """An error that the user can understand and fix."""


def say(text):
    """Prints what is done now, with the seconds since the start."""
    print(f"{time.monotonic() - START:5.0f} s  {text}", flush=True)


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], text=True,
                          check=False, capture_output=True, **options)
    if done.returncode != 0:
        raise BuildError(f"{command[0]} failed: "
                         f"{(done.stderr or done.stdout)[-2000:]}")
    return done.stdout


def git(*arguments):
    return run("git", "-C", ROOT, *arguments)
