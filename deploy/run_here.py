#!/usr/bin/env python3
"""Runs plimsoll on this machine and shows its load live: `make run`.

usage: run_here.py [DIR]

Starts an aggregator with its database below DIR (./run) and an agent for this
machine. If KUBECONFIG is set, it also starts a scheduler for that cluster.
Ctrl-C stops all programs; RUN_SECONDS=N stops them N seconds after the first
table. The database is kept."""
import ctypes
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
RUN = (pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1
       else ROOT / "run")
BARS = "▁▂▃▄▅▆▇█"
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1  # linux/prctl.h
BIN = ROOT / os.environ.get("PLIMSOLL_BIN", "bin")
PATIENCE_S = 120  # for what takes 5 s on a quiet machine


class Ended(Exception):
    """SIGTERM was received."""


def say(text=""):
    print(text, flush=True)


def end_with_parent():
    """Runs in the child: ends it with this script, even a killed one."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def start(name, arguments):
    """Starts a program with its log in run/NAME.log."""
    log = open(RUN / f"{name}.log", "wb")
    process = subprocess.Popen(
        [str(BIN / f"plimsoll-{name}"), *arguments],
        stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        preexec_fn=end_with_parent)
    log.close()
    process.name = name
    return process


def log_of(name):
    return (RUN / f"{name}.log").read_text(errors="replace")


def check(processes):
    for process in processes:
        if process.poll() is not None:
            last = log_of(process.name).strip().splitlines()[-3:]
            raise SystemExit(f"plimsoll-{process.name} ended with "
                             f"{process.returncode}:\n  " + "\n  ".join(last))


def wait_for(what, probe, processes):
    deadline = time.monotonic() + PATIENCE_S
    while True:
        check(processes)
        value = probe()
        if value:
            return value
        if time.monotonic() > deadline:
            raise SystemExit(f"no {what} within {PATIENCE_S} s; "
                             f"see {RUN}/*.log")
        time.sleep(0.2)


def fetch(url):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=5) as answer:
        return json.load(answer)


def start_aggregator():
    """Uses the default ports if they are free, else other ports."""
    for listen, http, health in ((7473, 7474, 7476), (0, 0, 0)):
        process = start("aggregator", [
            "--listen", f"tcp://127.0.0.1:{listen}",
            "--http", f"127.0.0.1:{http}", "--health", f"127.0.0.1:{health}",
            "--db", str(RUN / "plimsoll.db")])

        def listening():
            taken = "Address already in use" in log_of("aggregator") \
                or "Address in use" in log_of("aggregator")
            if taken and listen != 0:
                process.wait()
                return "taken"
            return re.search(r'listen="([^"]+)" http="([^"]+)" '
                             r'health="([^"]+)"', log_of("aggregator"))
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            found = listening()
            if found == "taken":
                break
            if found:
                return process, found.groups()
            check([process])
            time.sleep(0.05)
    raise SystemExit(f"the aggregator did not start; see {RUN}/aggregator.log")


def percent(value):
    return "    -" if value is None else f"{100 * value:4.0f}%"


def gib(value):
    return "     -" if value is None else f"{value / 2**30:6.1f}"


def node_table(nodes):
    yield (f"{'NODE':24} {'STATE':6} {'AGE':>5} {'CPU':>5} {'CORES':>6} "
           f"{'WAIT':>5} {'MEM FREE':>8} {'OF GiB':>6} {'IO':>5}  KVM")
    for node in nodes:
        cpu, memory, io = node["cpu"], node["memory"], node["io"]
        used, cores = cpu.get("used_cores"), cpu.get("cores")
        share = used / cores if used is not None and cores else None
        kvm = node["kvm"]
        detail = f" ({kvm['detail']})" if kvm.get("detail") else ""
        yield (f"{node['name'][:24]:24} {node['state']:6} "
               f"{node['age_s']:4.1f}s {percent(share)} "
               f"{cores or 0:6.0f} {percent(cpu.get('pressure_some'))} "
               f"{gib(memory.get('available_bytes')):>8} "
               f"{gib(memory.get('total_bytes'))} "
               f"{percent(io.get('pressure_some'))}  {kvm['state']}{detail}")


def sparkline(values, top):
    def bar(value):
        if value is None or not top:
            return " "
        level = int(value / top * (len(BARS) - 1) + 0.5)
        return BARS[max(0, min(level, len(BARS) - 1))]
    return "".join(bar(v) for v in values)


def last_minute(http, node):
    """The cores used in steps of two seconds; None where they are unknown."""
    answer = fetch(f"http://{http}/v1/nodes/{node}/history?step=2"
                   f"&from={time.time() - 60:.3f}&fields=cpu.used_cores")
    return [row[1] for row in answer["rows"]]


def is_known(values):
    return any(value is not None for value in values)


def history_line(http, node, cores):
    values = last_minute(http, node)
    most = max((v for v in values if v is not None), default=None)
    return (f"CPU, last minute  |{sparkline(values, cores)}|  "
            + ("not known" if most is None
               else f"maximum {most:.2f} of {cores:.0f} cores"))


def example_vm():
    """A launcher pod of a VM with 2 vCPUs and 1 GiB, as KubeVirt creates it."""
    return {
        "metadata": {"name": "virt-launcher-example", "namespace": "default",
                     "uid": "00000000-0000-4000-8000-000000000000",
                     "labels": {"kubevirt.io": "virt-launcher"}},
        "spec": {"schedulerName": "plimsoll-scheduler", "containers": [{
            "name": "compute", "resources": {
                "requests": {"cpu": "200m", "memory": "1314Mi",
                             "devices.kubevirt.io/kvm": "1"}}}]},
        "status": {"phase": "Pending"}}


def this_node(load):
    """This machine as a Node object of a kubelet."""
    size = {"cpu": str(int(load["cpu"]["cores"])),
            "memory": str(int(load["memory"]["total_bytes"])),
            "pods": "110", "ephemeral-storage": "100Gi",
            "devices.kubevirt.io/kvm": "1k"}
    return {"metadata": {"name": load["name"], "labels": {}}, "spec": {},
            "status": {"allocatable": size}}


def scored_decision(load):
    question = {"policy": "real-load", "pod": example_vm(),
                "nodes": [this_node(n) for n in load["nodes"]
                          if n["cpu"].get("cores")],
                "load": load, "now": load["now"]}
    done = subprocess.run(
        [str(BIN / "plimsoll-scheduler"), "score", "--in", "-"],
        input=json.dumps(question), capture_output=True, text=True,
        timeout=10, check=False)
    if done.returncode != 0:
        raise SystemExit(f"score: {done.stderr.strip()}")
    answer = json.loads(done.stdout)
    say("A VM with 2 vCPUs and 1 GiB would go to: "
        + (answer["chosen"] or "no node"))
    for node in answer["nodes"]:
        terms = ", ".join(f"{k} {v:.1f}" for k, v in node["terms"].items()
                          if v is not None) if node["feasible"] else ""
        say(f"  {node['name']}: score {node['score']:.1f} ({terms})"
            if node["feasible"]
            else f"  {node['name']}: not feasible: "
                 f"{'; '.join(node['reasons'])}")


def show_urls(http, health, node):
    say("Open:")
    say(f"  http://{http}/                 the page, in a browser")
    say(f"  http://{http}/#/nodes/{node}")
    say(f"  http://{http}/v1/nodes")
    say(f"  http://{http}/v1/nodes/{node}/history?fields=cpu.used_cores")
    say(f"  http://{health}/readyz")


def watch(http, processes, seconds):
    """Prints the live table: in place on a terminal, else every 10 s. Ends
    after these seconds, or never, but not before the first table."""
    terminal = sys.stdout.isatty()
    drawn = 0
    until = time.monotonic() + (math.inf if seconds is None else seconds)
    while not drawn or time.monotonic() < until:
        check(processes)
        load = fetch(f"http://{http}/v1/nodes")
        lines = list(node_table(load["nodes"]))
        first = load["nodes"][0]
        lines.append(history_line(http, first["name"], first["cpu"]["cores"]))
        if terminal and drawn:
            sys.stdout.write(f"\x1b[{drawn}A\x1b[J")
        say("\n".join(lines))
        drawn = len(lines)
        pause = 2 if terminal else 10
        time.sleep(min(pause, max(0.0, until - time.monotonic())))


def start_rest(listen, processes):
    processes.append(start("agent", ["--aggregator", listen]))
    if os.environ.get("KUBECONFIG"):
        processes.append(start("scheduler", [
            "--aggregator", listen, "--http", "127.0.0.1:0"]))
        say(f"A scheduler runs for the cluster in {os.environ['KUBECONFIG']}.")


def seconds_to_run():
    """RUN_SECONDS as a number, or None."""
    seconds = os.environ.get("RUN_SECONDS")
    try:
        return float(seconds) if seconds else None
    except ValueError:
        raise SystemExit(
            f"RUN_SECONDS is '{seconds}', not a number") from None


def run(processes):
    seconds = seconds_to_run()
    RUN.mkdir(parents=True, exist_ok=True)
    aggregator, (listen, http, health) = start_aggregator()
    processes.append(aggregator)
    say(f"The page: http://{http}/")
    start_rest(listen, processes)
    say("Waiting for this machine's reports ...")

    def reported():
        load = fetch(f"http://{http}/v1/nodes")
        known = [n for n in load["nodes"] if n["state"] == "fresh"
                 and n["cpu"].get("used_cores") is not None
                 and is_known(last_minute(http, n["name"]))]
        return load if known else None
    load = wait_for("report", reported, processes)
    say()
    scored_decision(load)
    say()
    show_urls(http, health, load["nodes"][0]["name"])
    say("Press Ctrl-C to stop.\n")
    watch(http, processes, seconds)


def stop(processes):
    for process in reversed(processes):
        if process.poll() is None:
            process.terminate()
    for process in processes:
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def main():
    def end(_number, _frame):
        raise Ended
    signal.signal(signal.SIGTERM, end)
    processes = []
    try:
        run(processes)
    except (Ended, KeyboardInterrupt):
        say("\nStopping.")
    except BrokenPipeError:
        raise SystemExit("standard output is closed") from None
    except OSError as error:
        # One of the programs may just have ended.
        time.sleep(0.2)
        check(processes)
        raise SystemExit(f"the aggregator does not answer: {error}") from None
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        stop(processes)
    say(f"The history is kept in {RUN}/plimsoll.db.")


if __name__ == "__main__":
    main()
