"""1,000 nodes with 30 VMs each, as tests/bench/fleet_main.c plays them, and an
aggregator that knows the VMs' names."""
import re

from api_stand_in import ApiStandIn, pod_of_vm
from harness import ROOT, Aggregator, Program, eventually

PLAYER = ROOT / "build/release/tests/bench/fleet"
NODES, VMS, INTERVAL_S = 1000, 30, 10
MASK = (1 << 64) - 1


def mix(x):
    """As in tests/bench/fleet.c: the pods' uids are made with it."""
    x = (x + 0x9e3779b97f4a7c15) & MASK
    x = ((x ^ (x >> 30)) * 0xbf58476d1ce4e5b9) & MASK
    x = ((x ^ (x >> 27)) * 0x94d049bb133111eb) & MASK
    return x ^ (x >> 31)


def uid_of(node, vm):
    number = mix((node + 1) * 1000003 + 100 * (vm + 1))
    return f"{number >> 32:08x}-0000-4000-8000-{number & 0xffffffffffff:012x}"


def pods(nodes, vms):
    for node in range(nodes):
        for vm in range(vms):
            yield pod_of_vm(uid_of(node, vm), f"team-{vm % 10}",
                            f"vm-{node:04}-{vm:02}", f"node-{node:04}")


class LargeFleet:
    """Ready when all nodes and VMs have figures. close() ends the programs
    that are not the folder's."""

    def __init__(self, folder, nodes=NODES, vms=VMS, *flags):
        self.api_server = ApiStandIn(folder.path, pods(nodes, vms))
        self.aggregator = folder.add(Aggregator(
            folder.path, "aggregator", "--kubeconfig",
            self.api_server.kubeconfig, *flags)).start()
        self.aggregator.wait_log(
            rf'"VM pod cache synced" pods={nodes * vms}')
        self.player = folder.add(Program(folder.path, "fleet", [
            PLAYER, "send", self.aggregator.url, nodes, vms,
            INTERVAL_S * 1000, 3600])).start()
        # A rate needs two reports.
        eventually("all VMs have figures",
                   lambda: self.known() == nodes * vms, every=1)

    def known(self):
        return len(re.findall(r'"used_cores":', self.aggregator.get(
            "/v1/vms")[2]))

    def close(self):
        self.api_server.close()
