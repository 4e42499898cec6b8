"""Makes a placement problem (docs/simulate.md) from a day of VM CPU use.

A day is a gzipped CSV, a row per VM, a column per five minutes, percent of the
VM's CPUs. A file NAME.vms.csv beside NAME.csv.gz has the vCPUs (second column)
and the memory in MiB (fourth column) of each row. The same arguments give the
same scenario.

With real sizes, a node has room for two of the largest VM, and requests are at
most 70 % of the cores, so that load decides and not requests.
"""
import gzip
import json
import math
import random

KINDS = ("plain", "mixed", "burst", "returning")
SIZES, SHARES = (1, 2, 4, 8, 16), (25, 30, 25, 15, 5)
VCPUS_PER_CORE = 10  # KubeVirt's default cpuAllocationRatio
GIB = 1 << 30


def lifetime(rnd, steps):
    """Most arrive in the first third of the day and stay."""
    third = steps // 3
    if rnd.random() < 0.8:
        arrive = int(rnd.uniform(0, third))
    else:
        arrive = int(rnd.uniform(third, steps * 5 // 6))
    if rnd.random() < 0.85:
        return arrive, steps
    return arrive, min(steps, arrive + int(rnd.expovariate(1 / 96)) + 6)


def spans_of(rnd, kind, bursts, steps):
    """When a VM is there: one span, or two where it stops and returns."""
    arrive, leave = lifetime(rnd, steps)
    if kind == "burst" and rnd.random() < 1 / 3:
        arrive, leave = rnd.choice(bursts), steps
    if kind == "returning" and rnd.random() < 1 / 3 and leave - arrive > 72:
        stop = int(rnd.uniform(arrive + 36, leave - 24))
        back = min(leave - 6, stop + int(rnd.uniform(3, 36)))
        return [(arrive, stop), (back, leave)]
    return [(arrive, leave)]


def sizes_of(day):
    """The file with the real sizes, if there is one."""
    path = day.with_name(day.name.replace(".csv.gz", ".vms.csv"))
    return path if path.exists() else None


def read_sizes(day):
    rows = sizes_of(day).read_text().split()[1:]
    return [(max(1, int(row.split(",")[1])),
             max(1, round(int(row.split(",")[3]) / 1024))) for row in rows]


def make_vms(rows, sizes, rnd, kind):
    steps = len(rows[0])
    bursts = [int(rnd.uniform(steps // 3 // 2, steps * 3 // 4))
              for _ in range(3)]
    vms = []
    for i, row in enumerate(rows):
        if sizes[i] is None:
            vcpus = rnd.choices(SIZES, SHARES)[0]
            memory = vcpus * rnd.choice([1, 2, 4]) * GIB
        else:
            vcpus, memory = sizes[i][0], sizes[i][1] * GIB
        for arrive, leave in spans_of(rnd, kind, bursts, steps):
            vms.append({
                "name": f"vm-{i:04d}", "namespace": "default", "vcpus": vcpus,
                "memory_bytes": memory,
                "cpu_request_millicores": 1000 * vcpus // VCPUS_PER_CORE,
                "arrive_step": arrive, "leave_step": leave,
                "cpu_percent": row})
    return sorted(vms, key=lambda v: (v["arrive_step"], v["name"]))


def limit_requests(vms, steps, cores):
    most = max(sum(v["vcpus"] for v in vms
                   if v["arrive_step"] <= t < v["leave_step"])
               for t in range(steps))
    for v in vms:
        v["cpu_request_millicores"] = min(
            v["cpu_request_millicores"], int(700 * cores * v["vcpus"] / most))


def make_nodes(vms, steps, kind, load, is_sized):
    """As many as carry the late peak at about this mean load."""
    peak = memory = 0
    for t in range(steps // 3, steps):
        here = [v for v in vms if v["arrive_step"] <= t < v["leave_step"]]
        peak = max(peak, sum(v["vcpus"] * v["cpu_percent"][t] / 100
                             for v in here))
        memory = max(memory, sum(v["memory_bytes"] for v in here))
    need = peak / (load + 0.13)
    cores, size, least = [], 32, 0
    if is_sized:
        size *= math.ceil(2 * max(v["vcpus"] for v in vms) / size)
        least = 2 * max(v["memory_bytes"] for v in vms)
    while sum(cores) < need:
        cores.append([size, size // 2, size * 2][len(cores) % 3]
                     if kind == "mixed" else size)
    per_core = max(memory / sum(cores) / 0.6, least / min(cores))
    if is_sized:
        limit_requests(vms, steps, sum(cores))
    return [{"name": f"node-{i:03d}", "cpu_cores": c, "pods": 250,
             "memory_bytes": math.ceil(per_core * c / GIB) * GIB}
            for i, c in enumerate(cores)]


def make_scenario(day, kind, seed, load, count=None, is_sized=False):
    """The scenario as JSON text, of all VMs of the day or of so many."""
    rnd = random.Random(seed)
    with gzip.open(day) as lines:
        rows = [[int(x) for x in line.split(b",")] for line in lines]
    both = list(zip(rows, read_sizes(day) if is_sized else [None] * len(rows)))
    rnd.shuffle(both)
    rows, sizes = zip(*both[:count])
    vms = make_vms(rows, sizes, rnd, kind)
    nodes = make_nodes(vms, len(rows[0]), kind, load, is_sized)
    return json.dumps({"step_s": 300, "steps": len(rows[0]), "nodes": nodes,
                       "vms": vms}, separators=(",", ":"))
