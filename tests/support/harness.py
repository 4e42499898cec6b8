"""Helpers of system and end-to-end tests: programs that end with the test,
waits with a deadline, machines made of files, pods as KubeVirt creates them."""
import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
import uuid

from ports import free_port
from thread_errors import thread_errors

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = ROOT / os.environ.get("PLIMSOLL_BIN", "bin")
FIXTURES = ROOT / "tests" / "fixtures" / "kubevirt"

# The one limit of every wait. A wait ends as soon as its condition holds, so a
# slow machine makes a test slow and nothing else. The runner allows more.
PATIENCE_S = 300

# Sanitizers need memory of their own, and must be loaded first.
IS_SANITIZED = BIN.parent.name in ("asan", "tsan")

STAMP = re.compile(r"[IWE](\d{4} [\d:.]+) ")  # of klog, which has no year
YEAR = 2024  # any leap year
# Programs repeat a line after a minute of the monotonic clock. The log has the
# wall clock, which may be adjusted a little meanwhile.
MINUTE_S = 59

# No program listens there, and only root could.
NOBODY = "https://127.0.0.1:1"


thread_errors.install()


# ---- marks ----

def mark(**marks):
    """Marks a test class or one test for run_tests.py, with a reason as the
    value. slow: the test takes more than about ten seconds; `make check`
    leaves it out. steady: the test guards data, so it gets no second chance
    if it fails."""
    if not marks.keys() <= {"slow", "steady"}:
        raise ValueError(f"no such marks: {marks}")

    def apply(test):
        test.marks = {**getattr(test, "marks", {}), **marks}
        return test
    return apply


def marks_of(case, method):
    """The marks of a test: those of its class and its own."""
    return {**getattr(case, "marks", {}),
            **getattr(getattr(case, method), "marks", {})}


# ---- waiting, programs ----

def eventually(claim, probe, *, every=0.1):
    """The first true value of probe(). AssertionError if there is none in
    time."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        value = probe()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {PATIENCE_S} s: {claim}")
        time.sleep(every)


class Program:
    """A child process. Its output goes to a file."""

    def __init__(self, folder, name, arguments, env=None):
        self.name = name
        self.log_path = pathlib.Path(folder, f"{name}.log")
        self.arguments = [str(a) for a in arguments]
        self.env = dict(os.environ, **(env or {}))
        self.process = None

    def start(self):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                self.arguments, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, env=self.env)
        return self

    begin = start

    def log(self):
        return self.log_path.read_text(errors="replace")

    def wait_log(self, pattern):
        """Waits until pattern matches in the log; the last match."""
        def probe():
            found = list(re.finditer(pattern, self.log()))
            if not found and self.process.poll() is not None:
                raise AssertionError(
                    f"{self.name} ended with {self.process.returncode}: "
                    f"{self.log()[-2000:]}")
            return found[-1] if found else None
        return eventually(f"{self.name} logs {pattern}", probe)

    def log_times(self, text):
        """The log's own times, in seconds, of the lines that contain text."""
        found = []
        for line in self.log().splitlines():
            stamp = STAMP.match(line)
            if stamp and text in line:
                at = datetime.datetime.strptime(
                    f"{YEAR}{stamp[1]}", "%Y%m%d %H:%M:%S.%f")
                found.append(at.timestamp())
        return found

    def most_a_minute(self, text):
        """The most lines that contain text in a minute of the log's own
        clock."""
        times = self.log_times(text)
        return max((sum(at <= other < at + MINUTE_S for other in times)
                    for at in times), default=0)

    def running(self):
        return self.process is not None and self.process.poll() is None

    def stop(self):
        """Sends SIGTERM; the exit status."""
        if self.running():
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self.name} did not stop: "
                                 f"{self.log()[-2000:]}") from None

    def kill(self):
        if self.running():
            self.process.kill()
        if self.process is not None:
            self.process.wait()


class Aggregator(Program):
    """An aggregator on free ports, which stay the same over restarts."""

    origin = "tcp://127.0.0.1"  # --listen without the port
    wrapper = ()  # a program, with its arguments, that executes this one

    def __init__(self, folder, name="aggregator", *more, db=None):
        self.db = db or pathlib.Path(folder, f"{name}.db")
        self.ports = tuple(free_port() for _ in range(3))
        self.more = more
        super().__init__(folder, name, [])

    def begin(self):
        """Starts it and does not wait until it listens."""
        listen, http, health = self.ports
        self.arguments = [
            *self.wrapper, str(BIN / "plimsoll-aggregator"),
            "--listen", f"{self.origin}:{listen}",
            "--http", f"127.0.0.1:{http}", "--health", f"127.0.0.1:{health}",
            "--db", str(self.db), *map(str, self.more)]
        return super().start()

    def start(self):
        seen = len(self.log()) if self.log_path.exists() else 0
        self.begin()

        def listening():
            if self.process.poll() is not None:
                raise AssertionError(f"{self.name} ended: {self.log()[seen:]}")
            return re.search(r'"listening" listen="[^"]*:(\d+)" '
                             r'http="[^"]*:(\d+)" health="[^"]*:(\d+)"',
                             self.log()[seen:])
        found = eventually(f"{self.name} listens", listening)
        self.ports = tuple(int(p) for p in found.groups())
        return self

    @property
    def url(self):
        return f"{self.origin}:{self.ports[0]}"

    def get(self, path, accept=None):
        """Status, headers and text of a GET on the --http listener."""
        return http_get(f"http://127.0.0.1:{self.ports[1]}{path}", accept)

    def metric(self, series):
        """The value of the first series of /metrics that begins so."""
        return float(next(line.rsplit(" ", 1)[1] for line in
                          self.get("/metrics")[2].splitlines()
                          if line.startswith(series)))

    def json(self, path):
        status, _, text = self.get(path)
        if status != 200:
            raise AssertionError(f"GET {path}: {status} {text}")
        return json.loads(text)

    def health(self, path):
        return http_get(f"http://127.0.0.1:{self.ports[2]}{path}")

    def node(self, name):
        nodes = self.json("/v1/nodes")["nodes"]
        return next((n for n in nodes if n["name"] == name), None)

    def shows(self, name, since):
        """Whether the node has a report that was measured after `since` of
        time.monotonic()."""
        asked = time.monotonic()
        node = self.node(name)
        return node is not None and asked - node["age_s"] > since


def http_get(url, accept=None, trust=None):
    request = urllib.request.Request(url)
    if accept:
        request.add_header("Accept", accept)
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}),
        urllib.request.HTTPSHandler(context=trust))
    try:
        with opener.open(request, timeout=PATIENCE_S) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as no:
        return no.code, no.headers, no.read().decode()


class Machine:
    """A node made of files: /proc, /sys and a cgroup tree with the texts that a
    kernel would print. tick() advances the counters. A file keeps its inode and
    its length and is written by one pwrite, so that a reader which keeps the
    file open sees a whole text."""

    HZ = os.sysconf("SC_CLK_TCK")

    def __init__(self, folder, cores=6, memory_gib=16):
        self.root = pathlib.Path(folder)
        self.cores = cores
        self.memory = memory_gib << 20  # KiB, as in meminfo
        self.busy = 0.0        # share of the cores in use
        self.waiting = 0.0     # share of time some task waits for a CPU
        self.used_memory = 0.2
        self.pods = {}         # uid -> what run_pod() says, and its totals
        self.totals = {"user": 1000.0, "idle": 1000.0, "cpu_some": 0.0}
        self.files = {}
        (self.root / "dev").mkdir(parents=True)
        self.write("proc/sys/kernel/random/boot_id", f"{uuid.uuid4()}\n")
        self.write("sys/devices/system/cpu/possible", f"0-{cores - 1}\n")
        self.write("cgroup/cgroup.controllers", "cpu io memory hugetlb pids\n")
        (self.root / "cgroup/kubepods.slice/kubepods-burstable.slice").mkdir(
            parents=True)
        self.tick(0)

    def write(self, name, text):
        if name in self.files:
            os.pwrite(self.files[name], text.encode(), 0)
            return
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # The kernel's files are never empty, so this one gets its name last.
        made = path.with_name(f"{path.name}.new")
        self.files[name] = os.open(made, os.O_RDWR | os.O_CREAT
                                   | os.O_CLOEXEC, 0o644)
        os.pwrite(self.files[name], text.encode(), 0)
        made.rename(path)

    @staticmethod
    def pressure(some_us, full_us=0):
        line = "avg10=0.00 avg60=0.00 avg300=0.00 total="
        return (f"some {line}{int(some_us):016d}\n"
                f"full {line}{int(full_us):016d}\n")

    def tick(self, seconds):
        t = self.totals
        t["user"] += self.busy * self.cores * seconds
        t["idle"] += (1 - self.busy) * self.cores * seconds
        t["cpu_some"] += self.waiting * seconds * 1e6
        user, idle = int(t["user"] * self.HZ), int(t["idle"] * self.HZ)
        share = f"{user:016d} 0 0 {idle:016d} 0 0 0 0 0 0\n"
        cpus = "".join(f"cpu{i} {user // self.cores:016d} 0 0 "
                       f"{idle // self.cores:016d} 0 0 0 0 0 0\n"
                       for i in range(self.cores))
        self.write("proc/stat", f"cpu  {share}{cpus}")
        available = int(self.memory * (1 - self.used_memory))
        self.write("proc/meminfo",
                   f"MemTotal:       {self.memory:16d} kB\n"
                   f"MemFree:        {available:16d} kB\n"
                   f"MemAvailable:   {available:16d} kB\n"
                   f"SwapTotal:      {0:16d} kB\n"
                   f"SwapFree:       {0:16d} kB\n")
        self.write("proc/loadavg",
                   f"{self.busy * self.cores:09.2f} 0.00 0.00 1/100 100\n")
        self.write("proc/pressure/cpu", self.pressure(t["cpu_some"]))
        self.write("proc/pressure/memory", self.pressure(0))
        self.write("proc/pressure/io", self.pressure(0))
        for uid, pod in list(self.pods.items()):
            pod["usage"] += pod["cores"] * seconds * 1e6
            pod["some"] += pod["waiting"] * seconds * 1e6
            pod["memory_full"] += pod["memory_waiting"] * seconds * 1e6
            self.write_pod(uid, pod)

    def pod_dir(self, uid):
        return ("cgroup/kubepods.slice/kubepods-burstable.slice/"
                f"kubepods-burstable-pod{uid.replace('-', '_')}.slice")

    def write_pod(self, uid, pod):
        base = self.pod_dir(uid)
        self.write(f"{base}/cpu.stat",
                   f"usage_usec {int(pod['usage']):016d}\nuser_usec 0\n"
                   "system_usec 0\nnr_periods 0\nnr_throttled 0\n"
                   "throttled_usec 0\n")
        self.write(f"{base}/cpu.pressure", self.pressure(pod["some"]))
        self.write(f"{base}/memory.pressure", self.pressure(
            pod["memory_full"], pod["memory_full"]))
        self.write(f"{base}/io.pressure", self.pressure(0))
        self.write(f"{base}/memory.current", f"{pod['memory']:016d}\n")

    def run_pod(self, uid, cores=0.0, waiting=0.0, memory=1 << 30,
                memory_waiting=0.0):
        """Creates a pod's cgroup, or changes how much the pod uses."""
        self.pods.setdefault(uid, {"usage": 0.0, "some": 0.0,
                                   "memory_full": 0.0, "memory": memory})
        self.pods[uid].update(cores=cores, waiting=waiting,
                              memory_waiting=memory_waiting)
        self.write_pod(uid, self.pods[uid])

    def end_pod(self, uid):
        del self.pods[uid]
        base = self.pod_dir(uid)
        for name in [n for n in self.files if n.startswith(base)]:
            os.close(self.files.pop(name))
        shutil.rmtree(self.root / base)

    def close(self):
        for fd in self.files.values():
            os.close(fd)
        self.files.clear()

    def agent_flags(self):
        return ["--proc-root", self.root / "proc",
                "--sys-root", self.root / "sys",
                "--cgroup-root", self.root / "cgroup",
                "--dev-root", self.root / "dev", "--kvm-probe", "off"]


class Driver:
    """A thread that ticks machines until stop()."""

    def __init__(self, machines, every_s=0.1):
        self.machines, self.every_s = machines, every_s
        self.stopping = threading.Event()
        self.lock = threading.Lock()  # held while it writes files
        self.thread = threading.Thread(target=self.run, daemon=True)

    def start(self):
        self.thread.start()
        return self

    def run(self):
        last = time.monotonic()
        while not self.stopping.wait(self.every_s):
            now = time.monotonic()
            with self.lock:
                for machine in self.machines:
                    machine.tick(now - last)
            last = now

    def stop(self):
        self.stopping.set()
        self.thread.join()


def agent(folder, name, aggregators, *flags, interval="500ms"):
    """An agent for the node `name` that reports to these URLs; not started."""
    arguments = [BIN / "plimsoll-agent", "--node-name", name,
                 "--interval", interval, *flags]
    for url in aggregators:
        arguments += ["--aggregator", url]
    return Program(folder, f"agent-{name}", arguments)


def check_agent(node):
    """Exit status and output of `plimsoll-agent --check`."""
    done = subprocess.run(
        [BIN / "plimsoll-agent", "--check", "--node-name", node],
        timeout=PATIENCE_S, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def reports_made(node):
    """How many reports the running agent has made; 0 if it does not answer."""
    found = re.match(r"(\d+) reports", check_agent(node)[1])
    return int(found.group(1)) if found else 0


class Folder:
    """A temporary folder. close() ends all programs in it."""

    def __init__(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="plimsoll-")
        self.path = pathlib.Path(self.temporary.name)
        self.programs = []

    def add(self, program):
        self.programs.append(program)
        return program

    def close(self):
        for program in reversed(self.programs):
            program.kill()
        self.temporary.cleanup()

    def logs(self):
        return "\n".join(f"--- {p.name}\n{p.log()[-3000:]}"
                         for p in self.programs if p.log_path.exists())


# ---- Kubernetes objects ----

def worker(name, cores=6, memory="16Gi", labels=None, taints=None):
    """A Node as kubelet and virt-handler write it."""
    size = {"cpu": str(cores), "memory": memory, "pods": "110",
            "ephemeral-storage": "200Gi", "devices.kubevirt.io/kvm": "1k",
            "devices.kubevirt.io/tun": "1k",
            "devices.kubevirt.io/vhost-net": "1k"}
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {
            "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
            "kubernetes.io/hostname": name, "kubevirt.io/schedulable": "true",
            "machine-type.node.kubevirt.io/q35": "true", **(labels or {})}},
        "spec": {"taints": taints} if taints else {},
        "status": {"capacity": size, "allocatable": size}}


def launcher(name, namespace="default", scheduler="plimsoll-scheduler",
             cpu="200m", memory="1314Mi", **spec):
    """A virt-launcher pod as virt-controller creates it: the recorded pod of a
    plain VM with this name and size. Further members of the spec replace the
    recorded ones; nodeSelector and tolerations are added to them."""
    pod = json.loads((FIXTURES / "pod-plain.json").read_text())
    vmi = str(uuid.uuid4())
    meta = pod["metadata"]
    pod["metadata"] = {
        "name": f"virt-launcher-{name}", "namespace": namespace,
        "labels": {**meta["labels"], "kubevirt.io/created-by": vmi,
                   "vm.kubevirt.io/name": name, "vmi.kubevirt.io/id": name},
        "annotations": {**meta["annotations"], "kubevirt.io/domain": name}}
    pod.pop("status", None)
    pod["spec"]["schedulerName"] = scheduler
    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    requests.update(cpu=cpu, memory=memory)
    selector = spec.pop("nodeSelector", {})
    pod["spec"]["nodeSelector"].update(selector)
    pod["spec"]["tolerations"] = (pod["spec"].get("tolerations", [])
                                  + spec.pop("tolerations", []))
    pod["spec"].update(spec)
    return pod


def reserving(name, node, cpu="1", memory="2Gi"):
    """A pod that is bound to `node` and requests resources it does not use."""
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"nodeName": node, "containers": [{
            "name": "main", "image": "registry.example/app:1",
            "resources": {"requests": {"cpu": cpu, "memory": memory}}}]}}


def kubeconfig(folder, server=NOBODY):
    """A kubeconfig file for this API server."""
    path = folder / "kubeconfig"
    path.write_text(json.dumps({  # JSON is YAML
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "abc"}}]}))
    return path
