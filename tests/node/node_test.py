"""The agent on a real kernel with a full cgroup v2 tree: the figures at the
aggregator are right even where the node's own pressure misleads.

One guest with four CPUs runs an aggregator and an agent. arm64_test.py runs the
same tests on arm64. Each test makes
cgroups as a kubelet would, runs a load in them, and reads the stream
(/v1/nodes) or one raw report (--once). The figures are printed beside those of
the kernel's files for the same time."""
import json
import pathlib
import re
import statistics
import sys
import unittest
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import yaml

from guest import X86, Guest  # noqa: E402
from harness import ROOT, eventually  # noqa: E402

CPUS = 4
MIB = 1 << 20
PAGE = 2 * MIB
POOL_PAGES = 32
SWAP_MIB = 256
START_AGENT = "start_agent --interval 1s"
# Reports that a figure is the median of; the agent sends one a second.
REPORTS = 6
# A VM with one vCPU, and how many of them share the agent's CPU.
VM_MILLI, STARVING_VMS = 100, 8
HEALTH = "127.0.0.1:7479"


class Pod:
    """A pod's cgroup in the guest."""

    def __init__(self, guest, uid=None, **limits):
        self.guest = guest
        self.uid = uid or str(uuid.uuid4())
        self.group = guest.run(f"pod {self.uid}").strip()
        guest.run(f"mkdir {self.group}")
        for file, value in limits.items():
            name = file.replace("_", ".", 1)
            guest.run(f"echo '{value}' > {self.group}/{name}")

    def start(self, command):
        self.guest.run(f"into {self.group} {command}")

    def keep_busy(self):
        self.start('sh -c "$busy"')

    def end(self):
        self.guest.run(f"end {self.group}")


class Measured:
    """Medians of the stream's figures for the node and some pods, and the
    figures of the kernel's own totals for about the same time, as shares of
    it."""

    def __init__(self, nodes, uids, before, after):
        def median(figures):
            return statistics.median(figures)
        seconds = after["uptime"] - before["uptime"]
        self.raw_some = (after["some"] - before["some"]) / seconds
        self.raw_idle = (after["idle"] - before["idle"]) / seconds / CPUS
        self.some = median(n["cpu"]["pressure_some"] for n in nodes)
        self.contention = median(n["cpu"]["contention"] for n in nodes)
        self.used = median(n["cpu"]["used_cores"] for n in nodes)
        self.pods = [median(vm_of(n, uid)["contention"] for n in nodes)
                     for uid in uids]
        self.pods_used = [median(vm_of(n, uid)["used_cores"] for n in nodes)
                          for uid in uids]


def weight(milli):
    """The cpu.weight that runc makes of a request."""
    shares = max(2, milli * 1024 // 1000)
    return 1 + (shares - 2) * 9999 // 262142


def agent_request():
    """The CPU request of the agent's manifest, in thousandths."""
    text = (ROOT / "deploy/base/agent/daemonset.yaml").read_text()
    container, = yaml.safe_load(text)["spec"]["template"]["spec"]["containers"]
    return int(container["resources"]["requests"]["cpu"].removesuffix("m"))


def vm_of(node, uid):
    return next((v for v in node["vms"] if v["pod_uid"] == uid), None)


def cpu_of(text):
    """The modes of the line `cpu` of /proc/stat, in us."""
    modes = ("user", "nice", "system", "idle", "iowait", "irq", "softirq",
             "steal")
    ticks = next(line for line in text.splitlines()
                 if line.startswith("cpu ")).split()[1:]
    return {f"{mode}_us": int(t) * 10000 for mode, t in zip(modes, ticks)}


def totals_of(text):
    """The totals of a file with pressure."""
    return {f"{line.split()[0]}_us": int(line.split("total=")[1])
            for line in text.splitlines() if "total=" in line}


class OnARealKernel(unittest.TestCase):
    machine = X86
    # The share of the CPUs that is idle beside a VM that is throttled.
    idle = 0.75

    @classmethod
    def setUpClass(cls):
        cls.rows = []
        cls.guest = Guest(CPUS, disk_mib=SWAP_MIB, machine=cls.machine)
        cls.addClassCleanup(cls.guest.close)
        cls.guest.run(START_AGENT)

    @classmethod
    def tearDownClass(cls):
        print(f"\n{'':34} {'node some':>9} {'idle':>6} {'stream: some':>13}"
              f" {'contention':>10}  pods' contention")
        for name, m in cls.rows:
            pods = ", ".join(f"{p:.3f}" for p in m.pods)
            print(f"{name:34} {m.raw_some:9.3f} {m.raw_idle:6.3f}"
                  f" {m.some:13.3f} {m.contention:10.3f}  {pods}")

    def pod(self, uid=None, **limits):
        pod = Pod(self.guest, uid, **limits)
        self.addCleanup(pod.end)
        return pod

    def nodes(self):
        return json.loads(self.guest.run(
            "wget -qO- http://127.0.0.1:7474/v1/nodes"))

    def node(self):
        """The guest's node in the stream, if it is fresh."""
        nodes = self.nodes()["nodes"]
        return nodes[0] if nodes and nodes[0]["state"] == "fresh" else None

    def vm(self, uid, claim, holds):
        """The pod of the stream once holds(vm)."""
        def probe():
            node = self.node()
            vm = vm_of(node, uid) if node else None
            return vm if vm and holds(vm) else None
        return eventually(claim, probe, every=0.3)

    def once(self, uid):
        """One raw report of the agent, and the pod in it."""
        report = json.loads(self.guest.run(
            "plimsoll-agent --once --node-name guest --kvm-probe off"))
        return report, vm_of(report, uid)

    def kernel(self):
        """Totals of the kernel's own files, in seconds."""
        uptime, stat, pressure = self.guest.run(
            "cat /proc/uptime; head -n 1 /proc/stat;"
            "head -n 1 /proc/pressure/cpu").strip().splitlines()
        return {"uptime": float(uptime.split()[0]),
                "idle": float(stat.split()[4]) / 100,
                "some": int(pressure.split("total=")[1]) / 1e6}

    def next_reports(self):
        """The node by each of the next reports."""
        seen = {}

        def enough():
            answer = self.nodes()
            seen[answer["rev"]] = answer["nodes"][0]
            return len(seen) > REPORTS
        eventually(f"{REPORTS} reports arrive", enough, every=0.6)
        return list(seen.values())[1:]  # the first one was there before

    def measure(self, name, *pods):
        """Measures REPORTS reports in a row that contain the pods."""
        uids = [p.uid for p in pods]
        for uid in uids:
            self.vm(uid, "the stream has the pod's contention",
                    lambda vm: "contention" in vm)
        before = self.kernel()
        nodes = self.next_reports()
        measured = Measured(nodes, uids, before, self.kernel())
        self.rows.append((name, measured))
        return measured

    def test_a_vm_that_is_throttled_alone_shows_no_contention(self):
        vm = self.pod(cpu_max="20000 100000")
        vm.keep_busy()
        m = self.measure("one task held to 20 % of a CPU", vm)
        # The node is idle, but its pressure suggests contention.
        self.assertGreater(m.raw_some, 0.3)
        self.assertGreater(m.some, 0.3)
        self.assertGreater(m.raw_idle, self.idle)
        self.assertAlmostEqual(m.pods_used[0], 0.2, delta=0.1)
        self.assertLess(m.pods[0], 0.1)
        self.assertLess(m.contention, 0.1)

    def test_vms_that_compete_for_a_cpu_show_contention(self):
        vms = [self.pod(cpuset_cpus="3") for _ in range(2)]
        for vm in vms:
            vm.keep_busy()
        m = self.measure("two tasks on one CPU", *vms)
        for contention, used in zip(m.pods, m.pods_used):
            self.assertGreater(contention, 0.3)
            self.assertAlmostEqual(used, 0.5, delta=0.2)
        self.assertGreater(m.contention, 0.3)

    @staticmethod
    def pool(node):
        return next(p for p in node["hugepages"] if p["size_bytes"] == PAGE)

    def test_huge_pages_of_a_vm_are_reported(self):
        self.guest.run(f"echo {POOL_PAGES} > /proc/sys/vm/nr_hugepages")
        self.addCleanup(self.guest.run, "echo 0 > /proc/sys/vm/nr_hugepages")
        vm = self.pod()
        # A file of huge pages, which can back the memory of a VM.
        self.addCleanup(self.guest.run, "rm /huge/memory")
        vm.start("sh -c 'fallocate -l 24M /huge/memory; sleep 600'")
        seen = self.vm(vm.uid, "the stream has the VM's huge pages",
                       lambda v: v.get("memory_bytes", 0) >= 24 * MIB)
        self.assertLess(seen["memory_bytes"], 25 * MIB)
        pool = self.pool(self.node())
        self.assertEqual((pool["total"], pool["free"]),
                         (POOL_PAGES, POOL_PAGES - 12))
        report, raw = self.once(vm.uid)
        self.assertEqual(self.pool(report)["free"], POOL_PAGES - 12)
        self.assertEqual(raw["hugetlb"],
                         [{"size_bytes": PAGE, "used_bytes": 24 * MIB}])
        # No memory.* file counts them.
        self.assertLess(raw["memory_current_bytes"], 4 * MIB)

    def test_an_out_of_memory_kill_is_counted(self):
        vm = self.pod(memory_max="16M")
        self.assertEqual(self.once(vm.uid)[1]["oom_kills"], 0)
        vm.start("tail /dev/zero")  # looks for a line's end in memory
        eventually("the kernel kills the task",
                   lambda: "oom_kill 1" in self.guest.run(
                       f"cat {vm.group}/memory.events"))
        self.assertEqual(self.once(vm.uid)[1]["oom_kills"], 1)

    def files(self, group):
        """What the kernel's files say: of the node, and of a pod."""
        def read(path):
            return self.guest.run(f"cat {path}")
        return {
            "cpu": cpu_of(read("/proc/stat")),
            "pressure": {name: totals_of(read(f"/proc/pressure/{name}"))
                         for name in ("cpu", "memory", "io")},
            "pod cpu": {"cpu_usage_us": int(
                read(f"{group}/cpu.stat").split("usage_usec ")[1].split()[0])},
            "pod pressure": totals_of(read(f"{group}/cpu.pressure"))}

    def test_once_says_what_the_kernel_says(self):
        vm = self.pod(cpuset_cpus="1")
        vm.keep_busy()
        vm.start("sleep 600")
        before = self.files(vm.group)
        report, raw = self.once(vm.uid)
        after = self.files(vm.group)
        seen = {"cpu": report["cpu"], "pod cpu": raw,
                "pod pressure": raw["pressure"]["cpu"]}
        for part, figures in seen.items():
            for name, low in before[part].items():
                with self.subTest(part=part, figure=name):
                    self.assert_between(figures[name], low, after[part][name])
        for name, low in before["pressure"].items():
            for kind, total in low.items():
                with self.subTest(pressure=name, kind=kind):
                    self.assert_between(report["pressure"][name][kind], total,
                                        after["pressure"][name][kind])
        total, boot, sizes = self.guest.run(
            "grep MemTotal /proc/meminfo; cat /proc/sys/kernel/random/boot_id;"
            "echo /sys/kernel/mm/hugepages/*").strip().splitlines()
        self.assertEqual(report["memory"]["total_bytes"],
                         int(total.split()[1]) << 10)
        self.assertEqual(report["boot_id"], boot)
        self.assertEqual((report["cpu"]["online"], report["cpu"]["possible"]),
                         (CPUS, CPUS))
        self.assertEqual(
            [pool["size_bytes"] for pool in report["hugepages"]],
            sorted(int(size.rpartition("-")[2].removesuffix("kB")) << 10
                   for size in sizes.split()))

    def kernel_memory(self):
        """What the kernel's own files say of memory, now."""
        text = self.guest.run(
            "cat /proc/uptime; grep pswpin /proc/vmstat;"
            "grep full /proc/pressure/memory;"
            "grep MemAvailable /proc/meminfo").splitlines()
        return {"uptime": float(text[0].split()[0]),
                "swap_in": int(text[1].split()[1]) * 4096,
                "full_us": int(text[2].split("total=")[1]),
                "available": int(text[3].split()[1]) << 10}

    def swapping_node(self, uid):
        """The node once it swaps and the VM waits for memory. The node waits
        more than the VM: kswapd's own work counts as waiting."""
        def probe():
            node = self.node()
            vm = vm_of(node, uid) if node else None
            memory = node["memory"] if node else {}
            return node if (
                memory.get("pressure_full_60s", 0) > 0.02
                and memory.get("swap_in_bytes_60s", 0) > MIB / 4 and vm
                and "memory_pressure" in vm
                and vm.get("swap_bytes", 0) > 8 * MIB) else None
        return eventually("the node swaps", probe, every=0.5)

    def assert_between(self, value, before, after):
        self.assertLessEqual(before, value)
        self.assertLessEqual(value, after)

    def test_memory_that_runs_out_shows_on_the_node_and_in_the_vm(self):
        self.guest.run("mkswap /dev/nvme0n1 && swapon /dev/nvme0n1")
        # Until then the node had no swap, and the agent read no vmstat.
        self.addCleanup(self.guest.run, "swapoff /dev/nvme0n1")
        quiet, greedy = self.pod(), self.pod()
        quiet.start("sleep 600")
        room = self.kernel_memory()["available"]
        # Uses all of its memory again and again, as a guest may.
        greedy.start(f"dd if=/dev/zero of=/dev/null bs={room + 40 * MIB}"
                     " count=100000")
        node = self.swapping_node(greedy.uid)
        before = self.kernel_memory()
        report, raw = self.once(greedy.uid)
        after = self.kernel_memory()
        self.assert_between(report["memory"]["swap_in_bytes"],
                            before["swap_in"], after["swap_in"])
        self.assert_between(report["pressure"]["memory"]["full_us"],
                            before["full_us"], after["full_us"])
        self.assertLess(report["memory"]["available_bytes"], 64 * MIB)
        # The VM that causes it is told apart from the one that does not.
        self.assertGreater(raw["swap_bytes"], 4 * MIB)
        self.assertGreater(raw["pressure"]["memory"]["full_us"], 0)
        self.assertNotIn("memory_pressure", vm_of(node, quiet.uid))
        self.assertLess(vm_of(node, quiet.uid).get("swap_bytes", 0), MIB)
        print(f"\nmemory runs out: {node['memory']}"
              f"\n  {vm_of(node, greedy.uid)}\n  kernel {before}")
        self.assert_rates_of_a_minute()

    def assert_rates_of_a_minute(self):
        """The stream's figures are those of the kernel, over the same time."""
        before = self.kernel_memory()
        nodes, after = self.next_reports(), self.kernel_memory()
        seconds = after["uptime"] - before["uptime"]
        full = (after["full_us"] - before["full_us"]) / 1e6 / seconds
        shares = [n["memory"]["pressure_full"] for n in nodes
                  if n["state"] == "fresh"]
        print(f"  kernel: full {full:.3f}, swap-in"
              f" {(after['swap_in'] - before['swap_in']) / seconds / MIB:.1f}"
              f" MiB/s; stream: full {statistics.mean(shares):.3f}")
        self.assertAlmostEqual(statistics.mean(shares), full, delta=0.25)

    def busy_pod(self):
        """A pod that the stream shows with a busy CPU, and its raw report."""
        vm = self.pod()
        vm.keep_busy()
        self.vm(vm.uid, "the stream has a busy VM",
                lambda v: v.get("used_cores_5m", 0) > 0.5)
        return vm, self.once(vm.uid)[1]

    def assert_new_series(self, uid, old):
        """The idle cgroup with the same uid begins a new series."""
        new = self.once(uid)[1]
        self.assertNotEqual(new["cgroup_inode"], old["cgroup_inode"])
        self.assertLess(new["cpu_usage_us"], old["cpu_usage_us"])
        vm = self.vm(uid, "the stream has the idle cgroup",
                     lambda v: v.get("used_cores", 1) < 0.05)
        self.assertLess(vm["used_cores_5m"], 0.05)

    def test_a_cgroup_that_is_recreated_begins_a_new_series(self):
        vm, old = self.busy_pod()
        vm.end()
        self.guest.run(f"mkdir {vm.group}")
        self.assert_new_series(vm.uid, old)

    def starved_agent(self):
        """The agent in a pod of its own, with the weight of its manifest, on a
        CPU whose VMs take all that they get."""
        self.guest.run("end_agent")
        self.addCleanup(self.guest.run, START_AGENT)
        agent = self.pod(cpuset_cpus="3", cpu_weight=weight(agent_request()))
        for _ in range(STARVING_VMS):
            self.pod(cpuset_cpus="3", cpu_weight=weight(VM_MILLI)).keep_busy()
        agent.start("sh -c 'exec plimsoll-agent --node-name guest"
                    " --kvm-probe off --interval 1s --aggregator"
                    f" tcp://127.0.0.1:7473 --health {HEALTH}"
                    " > /dev/$CONSOLE 2>&1'")
        return agent

    def reports_made(self):
        """By the agent's answer to a probe; -1: it does not answer."""
        said = self.guest.run(f"wget -qO- http://{HEALTH}/livez || true")
        found = re.match(r"(\d+) reports made", said)
        return int(found.group(1)) if found else -1

    def cost(self, agent, probe):
        """CPU time of the agent's pod in ms for each report, while probe() runs
        again and again; and how often it ran."""
        def used():
            return int(self.guest.run(f"cat {agent.group}/cpu.stat").split(
                "usage_usec ")[1].split()[0])
        first, before, runs = self.reports_made(), used(), []

        def enough():
            runs.append(probe())
            node = self.node()
            self.assertIsNotNone(node, "the node is not fresh")
            made = self.reports_made()
            self.assertGreaterEqual(made, first, "the probe had no answer")
            return made - first if made >= first + 2 * REPORTS else None
        made = eventually("reports are made", enough, every=0.6)
        return (used() - before) / 1000 / made, len(runs)

    def test_an_agent_without_spare_cpu_time_reports_and_answers_probes(self):
        agent = self.starved_agent()
        eventually("the agent reports", lambda: self.reports_made() > 0
                   and self.node())
        plain, _ = self.cost(agent, lambda: None)
        asked, asks = self.cost(agent, self.reports_made)
        print(f"\na starved agent: {plain:.1f} ms of CPU a report, {asked:.1f}"
              f" ms with {asks} more probes by HTTP")
        checked, checks = self.cost(agent, lambda: self.guest.run(
            f"sh -c 'echo $$ > {agent.group}/cgroup.procs; exec plimsoll-agent"
            " --check --node-name guest' || true"))
        print(f"  {checked:.1f} ms with {checks} probes by a process")
        # It ends by itself.
        self.guest.run(f"kill -TERM $(cat {agent.group}/cgroup.procs)")
        eventually("the agent ends", lambda: not self.guest.run(
            f"cat {agent.group}/cgroup.procs").strip())

    def test_a_cgroup_recreated_without_the_agent_begins_a_new_series(self):
        vm, old = self.busy_pod()
        self.guest.run("end_agent")
        vm.end()
        self.guest.run(f"mkdir {vm.group}; {START_AGENT}")
        self.assert_new_series(vm.uid, old)


if __name__ == "__main__":
    unittest.main()
