"""A stand-in for kubelet and a container runtime, with what plimsoll's pods
need: a root that holds the image's files alone, the volumes of the manifest,
tokens of the pod's account, the user and the read-only root that the manifest
asks for, probes, and status.

Every container is a process in a mount namespace of its own. All share one
network, where each pod has an address of POD_NETWORK: a program that listens
on all addresses by its manifest listens on the pod's address here, and
/etc/hosts of the container holds the names of services. Needs root."""
import ctypes
import fcntl
import io
import json
import os
import re
import shlex
import shutil
import socket
import ssl
import struct
import subprocess
import tarfile
import threading
import time
import urllib.error
import urllib.request

from harness import PATIENCE_S, Program, eventually
from kube_api import Refused
from pod_volumes import NotYet, Volumes, field

# --http=:7474, --listen=tcp://:7473, and 0.0.0.0 in those of kube-scheduler.
ANY_ADDRESS = re.compile(r"(=(?:[a-z+]+://)?)(?=:\d+$)|(?<==)0\.0\.0\.0")
CLONE_NEWNET = 0x40000000
# Not of 127.0.0.0/8, which the API server refuses in an EndpointSlice.
POD_NETWORK, POD_NETMASK = "10.77.0.1", "255.255.0.0"
SERVICES = {"plimsoll-aggregator": "10.77.1.1",
            "plimsoll-scheduler": "10.77.1.2"}
ADDRESSES = [f"10.77.2.{i}" for i in range(1, 250)]
SIOCSIFFLAGS, SIOCSIFADDR, SIOCSIFNETMASK = 0x8914, 0x8916, 0x891C
IFF_UP = 1
STRATEGIC = "application/strategic-merge-patch+json"
TURN_S = 0.2
SECRETS_PERIOD_S = 1
RESTART_AFTER_S = 1
PROBE_S = 5  # until a probe fails


def own_network():
    """Gives this process and its children a loopback device of their own, so
    that the ports of the manifests and the addresses of pods are free."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare: is this root?")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        def call(number, packed):
            fcntl.ioctl(any_socket, number, packed)

        def address(text):
            return struct.pack("16sHH4s8x", b"lo:pods", socket.AF_INET, 0,
                               socket.inet_aton(text))
        call(SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
        # A loopback device takes every address of its network.
        call(SIOCSIFADDR, address(POD_NETWORK))
        call(SIOCSIFNETMASK, address(POD_NETMASK))


# This machine in an index of images for several architectures.
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]


class Image:
    """An OCI archive of an image, or of an index of images."""

    def __init__(self, path, architecture=ARCHITECTURE):
        with tarfile.open(path) as archive:
            def read(name):
                return archive.extractfile(name).read()

            def blob(thing):
                return read("blobs/" + thing["digest"].replace(":", "/"))
            manifest = json.loads(read("index.json"))["manifests"][0]
            self.name = manifest["annotations"]["io.containerd.image.name"]
            self.digest = manifest["digest"]
            if "index" in manifest["mediaType"]:
                manifest, = [
                    m for m in json.loads(blob(manifest))["manifests"]
                    if m["platform"]["architecture"] == architecture]
            self.manifest = json.loads(blob(manifest))
            self.config = json.loads(blob(self.manifest["config"]))
            self.layers = [blob(layer) for layer in self.manifest["layers"]]

    def references(self):
        """What a manifest may call it."""
        return self.name, f"{self.name}@{self.digest}"

    @property
    def labels(self):
        return self.config["config"]["Labels"]

    def unpack(self, folder):
        folder.mkdir(parents=True)
        for layer in self.layers:
            with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
                tar.extractall(folder)


class StandIn:
    """In place of an image of others: a program of this machine, which is
    mounted into the container."""

    def __init__(self, name, entrypoint):
        self.name = name
        self.config = {"config": {"User": "0:0", "Entrypoint": entrypoint}}

    def references(self):
        return [self.name]

    def unpack(self, folder):
        folder.mkdir(parents=True)


class Container:
    """The one container of a pod, as a process."""

    def __init__(self, kubelet, pod, address):
        self.kubelet, self.pod, self.address = kubelet, pod, address
        self.uid = pod["metadata"]["uid"]
        self.node = pod["spec"]["nodeName"]
        self.spec = pod["spec"]["containers"][0]
        self.home = kubelet.folder / self.uid
        self.root = self.home / "root"
        context = dict(pod["spec"].get("securityContext") or {})
        self.group = context.get("fsGroup")
        context.update(self.spec.get("securityContext") or {})
        self.context = context
        image = kubelet.images[self.spec["image"]]
        self.user, self.own_group = [
            int(part) for part in image.config["config"]["User"].split(":")]
        self.user = context.get("runAsUser", self.user)
        self.own_group = context.get("runAsGroup", 0 if self.user == 0
                                     else self.own_group)
        self.entrypoint = image.config["config"]["Entrypoint"]
        image.unpack(self.root)
        self.mounts = []  # (source, path in the container, read-only)
        self.write_hosts()
        self.volumes = Volumes(kubelet, pod, self.home / "volumes", self.group)
        self.mount_volumes()
        self.told = None  # the status that the API server has
        self.ready = False
        self.restarts = 0
        self.ended_at = None
        self.program = None

    def write_hosts(self):
        lines = ["127.0.0.1 localhost"]
        for name, address in self.kubelet.names().items():
            lines.append(f"{address} {name}")
        (self.root / "etc").mkdir(exist_ok=True)
        (self.root / "etc/hosts").write_text("\n".join(lines) + "\n")

    def environment(self):
        env = {"KUBERNETES_SERVICE_HOST": self.kubelet.kube.server.hostname,
               "KUBERNETES_SERVICE_PORT": str(self.kubelet.kube.server.port)}
        for item in self.spec.get("env", []):
            source = item.get("valueFrom", {}).get("fieldRef")
            env[item["name"]] = (field(self.pod, source["fieldPath"])
                                 if source else item["value"])
        return env

    # ---- volumes ----

    def mount_volumes(self):
        volumes = {v["name"]: v for v in self.pod["spec"]["volumes"]}
        for mount in self.spec["volumeMounts"]:
            where = self.volumes.folder_of(volumes[mount["name"]])
            self.add_mount(where, mount["mountPath"],
                           mount.get("readOnly", False))
        for path, where in self.kubelet.mounts(self).items():
            self.add_mount(where, path, True)

    def add_mount(self, what, where, is_read_only):
        (self.root / where.lstrip("/")).mkdir(parents=True, exist_ok=True)
        self.mounts.append((what, where, is_read_only))

    # ---- running ----

    def command(self, arguments):
        """The command that runs these arguments in the container."""
        q = shlex.quote
        root = str(self.root)
        lines = ["set -e", "mount --make-rprivate /",
                 f"mount --bind {q(root)} {q(root)}"]
        for what, where, is_read_only in self.mounts:
            to = q(root + where)
            lines.append(f"mount --bind {q(str(what))} {to}")
            # The device cgroup of a container that is not privileged.
            flags = ["remount", "bind"] + (["ro"] if is_read_only else []) + (
                [] if self.context.get("privileged") else ["nodev"])
            lines.append(f"mount -o {','.join(flags)} {to}")
        if self.context.get("readOnlyRootFilesystem"):
            lines.append(f"mount -o remount,bind,ro {q(root)}")
        groups = f"--groups={self.group}" if self.group else "--groups="
        lines.append(
            f"exec chroot --userspec={self.user}:{self.own_group} {groups} "
            f"{q(root)} " + " ".join(q(a) for a in arguments))
        return ["unshare", "--mount", "sh", "-c", "\n".join(lines)]

    def start(self):
        arguments = self.entrypoint + [
            ANY_ADDRESS.sub(rf"\g<1>{self.address}", a)
            for a in self.spec["args"]]
        meta = self.pod["metadata"]
        self.program = Program(self.kubelet.folder, meta["name"],
                               self.command(arguments))
        self.program.env = {"PATH": os.environ["PATH"], **self.environment()}
        self.program.start()
        return self

    def run(self, *arguments):
        """Exit status and output of another process in the container."""
        done = subprocess.run(
            self.command(arguments), check=False, text=True,
            timeout=PATIENCE_S, capture_output=True,
            env={"PATH": os.environ["PATH"], **self.environment()})
        return done.returncode, done.stdout + done.stderr

    def probe(self, name):
        """Whether the probe of this name succeeds."""
        probe = self.spec[name]
        if "exec" in probe:
            return self.run(*probe["exec"]["command"])[0] == 0
        ports = {p["name"]: p["containerPort"] for p in self.spec["ports"]}
        ask = probe["httpGet"]
        url = (f"{ask.get('scheme', 'HTTP').lower()}://{self.address}:"
               f"{ports[ask['port']]}{ask['path']}")
        try:
            with self.kubelet.opener.open(url, timeout=PROBE_S) as answer:
                return answer.status < 400
        except (urllib.error.URLError, OSError):
            return False

    # ---- status ----

    def tend(self):
        """Starts a program that has ended again, as its pod's restartPolicy
        asks, and writes the status of the pod when it has changed."""
        if self.program.running():
            self.tell("Running", {"running": {}},
                      self.probe("readinessProbe")
                      if "readinessProbe" in self.spec else True)
            return
        code = self.program.process.returncode
        policy = self.pod["spec"]["restartPolicy"]
        if policy == "Never" or (policy == "OnFailure" and code == 0):
            self.tell("Succeeded" if code == 0 else "Failed", {
                "terminated": {"exitCode": code & 255}}, False)
            return
        self.tell("Running", {"waiting": {"reason": "CrashLoopBackOff"}},
                  False)
        if self.ended_at is None:
            self.ended_at = time.monotonic()
        elif time.monotonic() > self.ended_at + RESTART_AFTER_S:
            self.restarts += 1
            self.ended_at = None
            self.program.start()

    def tell(self, phase, state, ready):
        self.ready = ready
        if self.told == (phase, *state, ready, self.restarts):
            return
        word = "True" if ready else "False"
        meta = self.pod["metadata"]
        self.kubelet.kube.request(
            "PATCH", f"/api/v1/namespaces/{meta['namespace']}/pods/"
            f"{meta['name']}/status", {"status": {
                "phase": phase, "podIP": self.address,
                "podIPs": [{"ip": self.address}],
                "conditions": [{"type": kind, "status": word} for kind in (
                    "Initialized", "Ready", "ContainersReady")],
                "containerStatuses": [{
                    "name": self.spec["name"], "ready": ready,
                    "started": True, "restartCount": self.restarts,
                    "image": self.spec["image"], "imageID": "",
                    "state": {**dict.fromkeys((
                        "running", "waiting", "terminated")), **state}}]}},
            STRATEGIC)
        self.told = (phase, *state, ready, self.restarts)


class Kubelet:
    """Runs all pods of these namespaces until close(). hosts(node) maps the
    path of a hostPath volume to a folder; has(node, container) maps paths to
    folders that the runtime mounts besides."""

    def __init__(self, kube, folder, images, namespaces, hosts, has):
        self.kube, self.folder, self.namespaces = kube, folder, namespaces
        self.images = {name: image for image in images
                       for name in image.references()}
        self.hosts, self.has = hosts, has
        self.containers = {}
        self.last_error = None
        self.services = SERVICES
        self.secrets = {}  # (namespace, name) -> data
        self.secrets_at = 0
        self.more_names = {}  # of others' services, to their addresses
        # kubelet checks no certificate when it probes.
        trusting = ssl.create_default_context()
        trusting.check_hostname = False
        trusting.verify_mode = ssl.CERT_NONE
        self.opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPSHandler(context=trusting))
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.play, daemon=True)

    def names(self):
        """Name of a service -> the address of its pod, which is known before
        there is a pod."""
        return {f"{name}.plimsoll.svc": address for name, address in
                self.services.items()} | self.more_names

    def mounts(self, container):
        return self.has(container.node, container.spec["name"])

    def start(self):
        self.thread.start()
        return self

    def play(self):
        while not self.stopping.wait(TURN_S):
            self.turn()

    def read_secrets(self):
        """What kubelet knows of Secrets: it looks now and then."""
        if time.monotonic() < self.secrets_at + SECRETS_PERIOD_S:
            return
        self.secrets_at = time.monotonic()
        self.secrets = {
            (namespace, item["metadata"]["name"]): item.get("data", {})
            for namespace in self.namespaces for item in self.kube.get(
                f"/api/v1/namespaces/{namespace}/secrets")["items"]}

    def turn(self):
        self.read_secrets()
        seen = set()
        for namespace in self.namespaces:
            for pod in self.kube.get(
                    f"/api/v1/namespaces/{namespace}/pods")["items"]:
                if "nodeName" in pod["spec"]:
                    seen.add(pod["metadata"]["uid"])
                    self.try_to_tend(pod)
        for uid in set(self.containers) - seen:
            self.containers.pop(uid).program.kill()

    def try_to_tend(self, pod):
        """Tries again at the next turn while a Secret is missing, or leaves a
        pod that is gone."""
        try:
            self.tend(pod)
        except NotYet as no:
            self.last_error = no
        except Refused as no:
            if no.status not in (404, 409) and (
                    "is being terminated" not in no.message):
                raise
            self.last_error = no

    def tend(self, pod):
        uid = pod["metadata"]["uid"]
        if "deletionTimestamp" in pod["metadata"]:
            if uid in self.containers:
                self.containers.pop(uid).program.stop()
            self.kube.remove({"kind": "Pod", **pod})
        elif uid in self.containers:
            self.containers[uid].volumes.refresh()
            self.containers[uid].tend()
        elif pod["status"].get("phase") not in ("Succeeded", "Failed"):
            self.containers[uid] = self.make(pod).start()

    def make(self, pod):
        """A container without what an earlier attempt has left."""
        shutil.rmtree(self.folder / pod["metadata"]["uid"],
                      ignore_errors=True)
        name = pod["metadata"]["labels"]["app.kubernetes.io/name"]
        taken = {c.address for c in self.containers.values()}
        # The first one of several pods gets the address of the service.
        free = [a for a in (self.services.get(name), *ADDRESSES)
                if a and a not in taken]
        return Container(self, pod, free[0])

    def of(self, name):
        """The containers of this name that were started."""
        return [c for c in list(self.containers.values())
                if c.spec["name"] == name and c.program]

    def await_ready(self, name, count):
        def ready():
            if not self.thread.is_alive():
                raise AssertionError("the kubelet has ended")
            return sum(c.ready for c in self.of(name)) == count
        try:
            eventually(f"{count} of {name} are ready", ready)
        except AssertionError:
            raise AssertionError(
                f"not {count} of {name} became ready; {self.last_error!r}\n"
                f"{self.logs()}") from None

    def logs(self):
        return "\n".join(f"--- {c.program.name}\n{c.program.log()[-3000:]}"
                         for c in list(self.containers.values()) if c.program)

    def close(self):
        self.stopping.set()
        if self.thread.is_alive():
            self.thread.join()
        for container in self.containers.values():
            if container.program:
                container.program.kill()
