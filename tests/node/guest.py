"""A virtual machine in QEMU with Debian's kernel, a full cgroup v2 tree, PSI.

TCG executes it, for x86-64 and arm64: no KVM is needed, and everything takes
eight to ten times longer than outside. The programs under test and their libraries are in the
initramfs; the commands of a test run in the guest's shell (tests/node/init)."""
import dataclasses
import os
import pathlib
import re
import selectors
import stat
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import BIN, PATIENCE_S, ROOT  # noqa: E402

FETCHED = ROOT / "build" / "ci" / "debian"


@dataclasses.dataclass(frozen=True)
class Architecture:
    """How QEMU emulates it, and where the files of its guest are."""
    qemu: tuple  # the program and its machine
    triplet: str
    kernel: str  # the package
    fetched: pathlib.Path  # by tests/support/fetch.sh
    root: pathlib.Path  # of the libraries
    programs: pathlib.Path
    console: str
    commands: str  # the serial line on which a test gives commands
    commands_device: tuple


X86 = Architecture(
    qemu=("qemu-system-x86_64",), triplet="x86_64-linux-gnu",
    kernel="linux-image-cloud-amd64", fetched=FETCHED,
    root=pathlib.Path("/"), programs=BIN, console="ttyS0", commands="ttyS1",
    commands_device=("-serial", "chardev:told"))
# A CPU without pointer authentication, which TCG executes slowly.
ARM64 = Architecture(
    qemu=("qemu-system-aarch64", "-cpu", "neoverse-n1", "-machine",
          "virt,gic-version=3"), triplet="aarch64-linux-gnu",
    kernel="linux-image-cloud-arm64", fetched=ROOT / "build/ci/debian-arm64",
    root=ROOT / "build/ci/sysroot-arm64",
    programs=ROOT / "build/release-arm64/bin", console="ttyAMA0",
    commands="ttyS0",
    commands_device=("-device", "pci-serial,chardev=told"))
# The CPUs begin in EL2, so Linux offers KVM.
ARM64_KVM = dataclasses.replace(ARM64, qemu=(
    *ARM64.qemu[:-1], f"{ARM64.qemu[-1]},virtualization=on"))


def newc(files):
    """An initramfs in cpio's newc format. files: path -> (mode, content)."""
    out = bytearray()
    for number, (name, (mode, data)) in enumerate(
            [*files.items(), ("TRAILER!!!", (0, b""))], 1):
        path = name.encode() + b"\0"
        fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path),
                  0]
        out += b"070701" + b"".join(b"%08X" % f for f in fields) + path
        out += bytes(-len(out) % 4) + data
        out += bytes(-len(out) % 4)
    return bytes(out)


def dynamic(program):
    """The names of the libraries and of the loader in a program's header."""
    text = subprocess.run(["readelf", "-dl", program], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return re.findall(r"(?:NEEDED.*\[|interpreter: )([^\]]+)\]", text)


def libraries(program, machine):
    """The shared objects of a program, with its loader: path in the guest ->
    file."""
    folders = [f"{base}/{machine.triplet}" for base in ("lib", "usr/lib")]
    found, rest = {}, dynamic(program)
    while rest:
        name = rest.pop()
        paths = [name.lstrip("/")] if "/" in name else [
            f"{folder}/{name}" for folder in folders]
        path = next(p for p in paths if (machine.root / p).exists())
        if path not in found:
            found[path] = machine.root / path
            rest += dynamic(found[path])
    return found


def initramfs(machine):
    """Busybox, the agent and the aggregator with their libraries."""
    here = pathlib.Path(__file__).parent
    contents = {"init": here / "init", "bin/busybox":
                machine.fetched / "busybox-static/bin/busybox"}
    for name in ("plimsoll-agent", "plimsoll-aggregator"):
        program = machine.programs / name
        contents[f"bin/{name}"] = program
        contents |= libraries(program, machine)
    files = {}
    for name in ("proc", "sys", "dev"):
        files[name] = (stat.S_IFDIR | 0o755, b"")
    for path, source in contents.items():
        for parent in reversed(pathlib.PurePath(path).parents[:-1]):
            files[str(parent)] = (stat.S_IFDIR | 0o755, b"")
        files[path] = (stat.S_IFREG | 0o755, source.read_bytes())
    files["bin/sh"] = (stat.S_IFLNK | 0o777, b"busybox")
    return newc(files)


class Guest:
    """A running guest. It ends with close() and with this process, even if
    that is killed."""

    def __init__(self, cpus, possible=None, disk_mib=0, machine=X86):
        self.temporary = tempfile.TemporaryDirectory(prefix="plimsoll-")
        self.folder = pathlib.Path(self.temporary.name)
        self.process = None
        self.unread = b""
        try:
            self.boot(cpus, possible or cpus, disk_mib, machine)
        except BaseException:
            self.close()
            raise

    def disk(self, mib):
        """Options for an empty disk, /dev/nvme0n1: the driver is in Debian's
        kernel, while others are modules."""
        if not mib:
            return []
        image = self.folder / "disk"
        with open(image, "wb") as file:
            file.truncate(mib << 20)
        return ["-drive", f"file={image},format=raw,if=none,id=disk,"
                          "cache=unsafe",
                "-device", "nvme,drive=disk,serial=disk"]

    def boot(self, cpus, possible, disk_mib, machine):
        image = self.folder / "initramfs"
        image.write_bytes(initramfs(machine))
        vmlinuz = next(machine.fetched.glob(f"{machine.kernel}/boot/vmlinuz-*"))
        errors = open(self.folder / "qemu", "wb")
        # The kernel passes the words in capitals on to /init.
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *machine.qemu,
             "-accel", "tcg", "-smp", f"{cpus},maxcpus={possible}",
             "-m", "512M", "-kernel", vmlinuz, "-initrd", image,
             "-append", f"console={machine.console} quiet panic=-1"
             f" CONSOLE={machine.console} COMMANDS={machine.commands}",
             "-nodefaults", "-no-user-config", "-no-reboot",
             "-display", "none", "-serial", f"file:{self.folder}/console",
             "-chardev", "stdio,id=told,signal=off",
             *machine.commands_device, *self.disk(disk_mib)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
            bufsize=0)
        errors.close()
        os.set_blocking(self.process.stdout.fileno(), False)
        self.read_until(rb"ready\r?\n", "boot")

    def why(self):
        said = [(self.folder / n).read_text(errors="replace")[-3000:]
                for n in ("qemu", "console") if (self.folder / n).exists()]
        return "\n".join(said + [self.unread.decode(errors="replace")[-500:]])

    def read_until(self, pattern, what):
        """The output before the pattern, and the match."""
        deadline = time.monotonic() + PATIENCE_S
        with selectors.DefaultSelector() as ready:
            ready.register(self.process.stdout, selectors.EVENT_READ)
            while True:
                found = re.search(pattern, self.unread)
                if found:
                    before = self.unread[:found.start()]
                    self.unread = self.unread[found.end():]
                    return before, found
                if not ready.select(max(0, deadline - time.monotonic())):
                    raise AssertionError(f"not within {PATIENCE_S} s: {what}\n"
                                         f"{self.why()}")
                more = self.process.stdout.read(65536)
                if not more:
                    raise AssertionError(f"the guest ended: {what}\n"
                                         f"{self.why()}")
                self.unread += more

    def run(self, command):
        """The output of the command; AssertionError if it fails."""
        self.process.stdin.write(f"{command}\n.\n".encode())
        before, found = self.read_until(rb"\nstatus (\d+)\r?\n", command)
        text = before.decode(errors="replace")
        if found.group(1) != b"0":
            raise AssertionError(f"{command}\n{text}\n{self.why()}")
        return text

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
        self.temporary.cleanup()
