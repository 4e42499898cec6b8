#!/usr/bin/env python3
"""Measures the aggregator with 1,000 agents, and with 300, in turn with Debian's
prometheus and victoria-metrics on the same values. Prints a table and compares
it with the budgets.

One program plays all agents, with a connection for each
(tests/bench/fleet_main.c). The peers scrape the same synthetic fleet, one
target per node. CPU time is that of the whole process, all threads, per value
that was stored in the measured time. Memory is VmHWM. Bytes are those of the
files after the end. PLIMSOLL_BIN=DIR measures another build's aggregator."""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE)]

from agent_bench import cpu_us, peak_rss_mb, verdict  # noqa: E402
from harness import (ROOT, Aggregator, Folder, Program,  # noqa: E402
                     eventually, http_get)
from ports import free_port  # noqa: E402

FLEET = ROOT / "build/release/tests/bench/fleet"
DEBIAN = ROOT / "build/ci/debian"
PROMETHEUS = DEBIAN / "prometheus/usr/bin/prometheus"
TRANSPORT = ROOT / "build/release/tests/bench/bench_transport"
VICTORIA = DEBIAN / "victoria-metrics/usr/bin/victoria-metrics"
NODES_A_SHOW = 150  # each scraper keeps a connection for each target
# Nodes, VMs each, seconds between reports; and the budget of CPU a value, as a
# share of prometheus'. Few reports share a commit in a small cluster.
FLEETS = {(1000, 0, 2): 0.2, (1000, 30, 10): 0.25, (300, 30, 10): 0.4}
SETTLE_S = 25  # as in fleet_main.c: connections and first samples are over


def size_of(path):
    return sum(f.stat().st_size for f in pathlib.Path(path).rglob("*")
               if f.is_file())


class Measured:
    """CPU and values of a process between two moments, without the CPU that it
    takes to ask for the values."""

    def __init__(self, pid, values, seconds):
        time.sleep(SETTLE_S)
        before, cpu = values(), cpu_us(pid)
        time.sleep(seconds)
        used = cpu_us(pid) - cpu
        self.values = values() - before
        self.us_per_value = used / max(self.values, 1)
        self.rss_mb = peak_rss_mb(pid)


def ours(nodes, vms, interval_s, seconds):
    folder = Folder()
    try:
        aggregator = folder.add(Aggregator(folder.path)).start()
        pid = aggregator.process.pid
        player = subprocess.Popen(
            [FLEET, "send", aggregator.url, str(nodes), str(vms),
             str(int(interval_s * 1000)), str(SETTLE_S + seconds + 5)],
            stdout=subprocess.PIPE, text=True)
        found = Measured(pid, lambda: revision(aggregator), seconds)
        told = json.loads(player.communicate(timeout=120)[0])
        found.rss_mb = peak_rss_mb(pid)
        # The aggregator counts reports, not values.
        found.us_per_value /= told["values"]
        found.values *= told["values"]
        aggregator.stop()
        found.bytes_per_30 = (size_of_db(aggregator.db) * 30
                              / (told["stored"] * told["values"]))
        found.told = told
        return found
    finally:
        folder.close()


def revision(aggregator):
    """Each report raises the revision by one."""
    text = aggregator.get("/v1/nodes")[2]
    return int(re.search(r'"rev":(\d+)', text).group(1))


def size_of_db(db):
    return sum(f.stat().st_size for f in db.parent.glob(db.name + "*"))


def show(folder, nodes, vms):
    """Starts the programs that serve the fleet; the port of each node."""
    ports = []
    for i in range(0, nodes, NODES_A_SHOW):
        program = folder.add(Program(folder.path, f"fleet-{i}", [
            FLEET, "serve", "127.0.0.1:0", str(vms)])).start()
        ports += [program.wait_log(r"port (\d+)").group(1)] * NODES_A_SHOW
    return ports[:nodes]


def scrape_config(folder, ports, interval_s):
    """A target for each node. JSON is YAML."""
    targets = [{"targets": [f"127.0.0.1:{port}"],
                "labels": {"__metrics_path__": f"/metrics/{i}"}}
               for i, port in enumerate(ports)]
    path = folder.path / "scrape.yml"
    path.write_text(json.dumps({
        "global": {"scrape_interval": f"{interval_s}s",
                   "scrape_timeout": f"{interval_s}s"},
        "scrape_configs": [{"job_name": "fleet", "static_configs": targets}]}))
    return path


def counter(url, name):
    text = http_get(f"{url}/metrics")[2]
    return sum(float(v) for v in re.findall(
        rf"^{name}(?:{{[^}}]*}})? ([0-9.e+]+)$", text, re.M))


def peer(name, nodes, vms, interval_s, seconds):
    folder = Folder()
    try:
        config = scrape_config(folder, show(folder, nodes, vms), interval_s)
        data = folder.path / "data"
        listen = f"127.0.0.1:{free_port()}"
        if name == "prometheus":
            program = folder.add(Program(folder.path, name, [
                PROMETHEUS, f"--config.file={config}",
                f"--storage.tsdb.path={data}",
                f"--web.listen-address={listen}"])).start()
            metric = "prometheus_tsdb_head_samples_appended_total"
        else:
            program = folder.add(Program(folder.path, name, [
                VICTORIA, f"-promscrape.config={config}",
                f"-storageDataPath={data}",
                "-promscrape.maxScrapeSize=128MB",
                f"-httpListenAddr={listen}"])).start()
            metric = "vm_rows_inserted_total"
        url = f"http://{listen}"
        eventually(f"{name} scrapes", lambda: answers(url, metric))
        found = Measured(program.process.pid,
                         lambda: counter(url, metric), seconds)
        total = counter(url, metric)
        program.stop()
        found.bytes_per_30 = size_of(data) * 30 / total
        return found
    finally:
        folder.close()


def answers(url, metric):
    try:
        return counter(url, metric) > 0
    except OSError:
        return False


def tell(title, budget, ours_, prometheus, victoria):
    print(f"\n{title}\n{'':18}{'us CPU a value':>15}{'peak RSS':>12}"
          f"{'bytes/30 values':>17}{'values':>12}")
    for name, f in (("plimsoll", ours_), ("prometheus", prometheus),
                    ("victoria-metrics", victoria)):
        print(f"{name:18}{f.us_per_value:15.3f}{f.rss_mb:9.1f} MB"
              f"{f.bytes_per_30:17.1f}{f.values:12.0f}")
    told = ours_.told
    print(f"stored {told['stored']} of {told['reports']} reports, "
          f"{told['received']} acks came before the disk did, "
          f"lost {told['lost']}")
    print(f"ack p50 {told['ack_p50_ms']:.0f} ms, "
          f"p99 {told['ack_p99_ms']:.0f} ms ({told['acks']} acks); "
          f"load step to snapshot p50 {told['step_p50_ms']:.0f} ms, "
          f"p99 {told['step_p99_ms']:.0f} ms ({told['steps']} steps)")
    ratio = ours_.us_per_value / prometheus.us_per_value
    print(f"{verdict(ratio <= budget)}: CPU a value to prometheus: {ratio:.3f} "
          f"(budget {budget})")


def fleet(text):
    nodes, vms, interval_s = map(int, text.split(","))
    return nodes, vms, interval_s


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=int, default=60,
                        help="of each measurement")
    parser.add_argument("--fleet", type=fleet, action="append",
                        metavar="NODES,VMS,SECONDS",
                        help="instead of all: nodes, VMs each, and the interval")
    options = parser.parse_args()
    # The share of nng and the kernel in the cost of a report.
    subprocess.run([TRANSPORT, "1000"], check=True)
    for nodes, vms, interval_s in options.fleet or FLEETS:
        sizes = nodes, vms, interval_s, options.seconds
        found = (ours(*sizes), peer("prometheus", *sizes),
                 peer("victoria-metrics", *sizes))
        tell(f"{nodes} nodes, {vms} VMs each, every {interval_s} s",
             FLEETS.get((nodes, vms, interval_s), 0.25), *found)
        if vms == 0:
            print(f"{verdict(found[0].rss_mb <= 40)}: peak RSS "
                  f"{found[0].rss_mb:.1f} MB (budget 40 MB)")
            step = found[0].told["step_p99_ms"]
            print(f"{verdict(step <= 2500)}: load step to snapshot p99 "
                  f"{step:.0f} ms at 2 s (budget 2500 ms)")
        else:
            ratio = found[0].rss_mb / found[2].rss_mb
            print(f"{verdict(ratio <= 0.25)}: peak RSS to victoria-metrics: "
                  f"{ratio:.3f} (budget 0.25)")


if __name__ == "__main__":
    main()
