"""Runs the default installation in a network of this process, whose addresses
are of IPv4, IPv6 or both, and asks its listeners as kubelet and the API server
do. The programs have the arguments of deploy/. Use:

    unshare --user --map-root-user --net --mount python3 family_world.py v4|v6|both
"""
import ctypes
import fcntl
import pathlib
import re
import socket
import ssl
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from api_stand_in import ApiStandIn  # noqa: E402
from harness import (BIN, ROOT, Folder, Machine, Program,  # noqa: E402
                     http_get)
from secure import certs  # noqa: E402

V4, V6 = "10.77.0.1", "fd77::1"
ADDRESSES = {"v4": [V4], "v6": [V6], "both": [V4, V6]}
SIOCSIFFLAGS, SIOCSIFADDR = 0x8914, 0x8916
IFF_UP = 1
MS_BIND = 4096  # linux/mount.h
V6_SWITCH = pathlib.Path("/proc/sys/net/ipv6/conf/all/disable_ipv6")
# Names of files below /etc/plimsoll in a pod -> in the folder of certs.sh.
FILES = {
    "aggregator": {"tls/ca": "clients-ca", "tls/tls": "aggregator"},
    "scheduler": {"tls/ca": "servers-ca", "tls/tls": "scheduler",
                  "server-tls/tls": "scheduler-server"},
    "agent": {"tls/ca": "servers-ca", "tls/tls": "agent"}}
# No pod has a token here, a machine of files is the node, and the Job has one
# of the flags.
LEFT_OUT = re.compile(r"--(wire-auth|token-file|db|max-db-size|.*-root|"
                      r"kvm-probe|api-service)=")
MANIFESTS = {"aggregator": ["base/aggregator/statefulset.yaml",
                            "components/kubectl/kustomization.yaml"],
             "scheduler": ["base/scheduler/deployment.yaml"],
             "agent": ["base/agent/daemonset.yaml"]}


def add_addresses(addresses):
    """To the loopback device. getaddrinfo(3) leaves out the family of which
    the machine has no address but that of loopback itself."""
    V6_SWITCH.write_text(str(int(V6 not in addresses)))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plug:
        fcntl.ioctl(plug, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
        if V4 in addresses:
            fcntl.ioctl(plug, SIOCSIFADDR, struct.pack(
                "16sHH4s8x", b"lo:pod", socket.AF_INET, 0,
                socket.inet_aton(V4)))
    if V6 in addresses:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as plug:
            fcntl.ioctl(plug, SIOCSIFADDR, struct.pack(
                "16sIi", socket.inet_pton(socket.AF_INET6, V6), 128,
                socket.if_nametoindex("lo")))


def mount(source, target, kind, flags):
    """In this namespace of mounts alone."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source, target, kind, flags, None) != 0:
        raise OSError(ctypes.get_errno(), f"cannot mount over {target}")


def name_addresses(addresses, folder):
    hosts = folder / "hosts"
    hosts.write_text("".join(f"{one} localhost\n" for one in addresses))
    mount(bytes(hosts), b"/etc/hosts", None, MS_BIND)


def own_spool():
    """The folder of the node in which the agent keeps reports."""
    mount(b"tmpfs", b"/var/spool", b"tmpfs", 0)


def arguments(program, keys):
    """Of the manifests, with the files and the name that there are here."""
    text = "\n".join((ROOT / "deploy" / name).read_text()
                     for name in MANIFESTS[program])
    found = re.findall(r"^ *(?:-|value:) (--[a-z-]+=\S*)$", text, re.M)

    def change(argument):
        for where, name in FILES[program].items():
            argument = argument.replace(f"/etc/plimsoll/{where}.",
                                        f"{keys / name}.")
        return re.sub(r"plimsoll-aggregator\.plimsoll\.svc", "localhost",
                      argument)
    return [change(a) for a in found if not LEFT_OUT.match(a)]


class World:
    def __init__(self, folder):
        self.folder, path = folder, folder.path
        self.keys = path / "keys"
        certs("new", self.keys)
        self.api = ApiStandIn(path)
        self.machine = Machine(path / "node")
        self.aggregator = self.start(
            "aggregator", "--db", path / "plimsoll.db",
            "--kubeconfig", self.api.kubeconfig)
        self.aggregator.wait_log('"listening"')
        self.scheduler = self.start(
            "scheduler", "--kubeconfig", self.api.kubeconfig,
            "--leader-elect=false")
        self.scheduler.wait_log("scheduler started")
        self.agent = self.start(
            "agent", "--node-name", "n1", "--interval", "500ms",
            *self.machine.agent_flags())

    def start(self, program, *more):
        return self.folder.add(Program(self.folder.path, program, [
            BIN / f"plimsoll-{program}", *arguments(program, self.keys),
            *more])).start()

    def close(self):
        self.api.close()
        self.machine.close()

    def check_probes(self, address):
        """As kubelet does, which verifies no certificate."""
        host = f"[{address}]" if ":" in address else address
        trust = ssl._create_unverified_context()
        for url in (f"http://{host}:7476/healthz",
                    f"https://{host}:7475/healthz",
                    f"https://{host}:7474/", f"https://{host}:7477/"):
            status = http_get(url, trust=trust)[0]
            assert status in (200, 401), f"{url}: {status}"
        # The API asks for a client's certificate before it says more.
        socket.create_connection((address, 7478)).close()

    def check_connections(self):
        """The agent and the scheduler have found the aggregator by its
        name."""
        self.agent.wait_log(r"\] \"connected\"")
        self.scheduler.wait_log("receiving load")


def main(family):
    add_addresses(ADDRESSES[family])
    folder = Folder()
    try:
        name_addresses(ADDRESSES[family], folder.path)
        own_spool()
        world = World(folder)
        for address in ADDRESSES[family]:
            world.check_probes(address)
        world.check_connections()
        world.close()
    except BaseException:
        print(folder.logs())
        raise
    finally:
        folder.close()


if __name__ == "__main__":
    main(sys.argv[1])
