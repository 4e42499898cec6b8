"""A stand-in for kubelet and a container runtime, with what plimsoll's pods
need: a root that holds the image's files alone, the volumes of the manifest,
tokens of the pod's account, the user and the read-only root that the manifest
asks for, probes, and status.

Every container is a process in a mount namespace of its own. All share one
network, where each pod has an address of 127.0.0.0/8: a program that listens
on 0.0.0.0 by its manifest listens on the pod's address here, and /etc/hosts of
the container holds the names of services. Needs root."""
import base64
import ctypes
import fcntl
import io
import json
import os
import shlex
import shutil
import socket
import ssl
import struct
import subprocess
import tarfile
import threading
import urllib.error
import urllib.request

from harness import Program, eventually
from kube_api import Refused

CLONE_NEWNET = 0x40000000
SERVICES = {"plimsoll-aggregator": "127.0.1.1",
            "plimsoll-scheduler": "127.0.1.2"}
ADDRESSES = [f"127.0.2.{i}" for i in range(1, 250)]
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
STRATEGIC = "application/strategic-merge-patch+json"


def own_network():
    """Gives this process and its children a loopback device of their own, so
    that the ports of the manifests are free."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare: is this root?")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS,
                    struct.pack("16sh14x", b"lo", IFF_UP))


class Image:
    """An OCI archive as `make images` writes it."""

    def __init__(self, path):
        with tarfile.open(path) as archive:
            def read(name):
                return archive.extractfile(name).read()

            def blob(thing):
                return read("blobs/" + thing["digest"].replace(":", "/"))
            manifest = json.loads(read("index.json"))["manifests"][0]
            self.name = manifest["annotations"]["io.containerd.image.name"]
            self.digest = manifest["digest"]
            self.manifest = json.loads(blob(manifest))
            self.config = json.loads(blob(self.manifest["config"]))
            self.layers = [blob(layer) for layer in self.manifest["layers"]]

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

    def unpack(self, folder):
        folder.mkdir(parents=True)


def field(pod, path):
    value = pod
    for part in path.split("."):
        value = value[part]
    return value


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
        self.mount_volumes()
        self.ready = False
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
            where = self.kubelet.folder_of(self, volumes[mount["name"]])
            self.add_mount(where, mount["mountPath"],
                           mount.get("readOnly", False))
        for path, where in self.kubelet.mounts(self).items():
            self.add_mount(where, path, True)

    def add_mount(self, what, where, is_read_only):
        (self.root / where.lstrip("/")).mkdir(parents=True, exist_ok=True)
        self.mounts.append((what, where, is_read_only))

    def put(self, folder, name, data, mode):
        """Writes a file as kubelet does, owned by root and the pod's
        group."""
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(path.name + ".new")
        new.write_bytes(data)
        os.chown(new, 0, self.group or 0)
        new.chmod(mode)
        new.rename(path)

    def open_folder(self, name):
        folder = self.home / "volumes" / name
        folder.mkdir(parents=True)
        folder.chmod(0o755)
        return folder

    def project_secret(self, volume):
        folder = self.open_folder(volume["name"])
        namespace = self.pod["metadata"]["namespace"]
        secret = self.kubelet.kube.get(
            f"/api/v1/namespaces/{namespace}/secrets/"
            f"{volume['secret']['secretName']}")
        for name, data in self.chosen(secret["data"],
                                      volume["secret"]).items():
            self.put(folder, name, base64.b64decode(data),
                     volume["secret"]["defaultMode"])
        return folder

    def project(self, volume):
        folder = self.open_folder(volume["name"])
        projected = volume["projected"]
        for source in projected["sources"]:
            for name, text in self.source(source).items():
                self.put(folder, name, text.encode(),
                         projected.get("defaultMode", 0o644))
        return folder

    def source(self, source):
        """The files of one source of a projected volume: name -> text."""
        namespace = self.pod["metadata"]["namespace"]
        if "serviceAccountToken" in source:
            ask = source["serviceAccountToken"]
            return {ask["path"]: self.token(ask)}
        if "configMap" in source:
            data = self.kubelet.kube.get(
                f"/api/v1/namespaces/{namespace}/configmaps/"
                f"{source['configMap']['name']}")["data"]
            return self.chosen(data, source["configMap"])
        return {i["path"]: field(self.pod, i["fieldRef"]["fieldPath"])
                for i in source["downwardAPI"]["items"]}

    @staticmethod
    def chosen(data, volume):
        """The keys that the volume selects, by the file names it gives
        them."""
        if "items" not in volume:
            return data
        return {i["path"]: data[i["key"]] for i in volume["items"]}

    def token(self, ask):
        meta = self.pod["metadata"]
        spec = {"expirationSeconds": ask.get("expirationSeconds", 3600),
                "boundObjectRef": {"kind": "Pod", "apiVersion": "v1",
                                   "name": meta["name"], "uid": meta["uid"]}}
        if "audience" in ask:
            spec["audiences"] = [ask["audience"]]
        return self.kubelet.kube.request(
            "POST", f"/api/v1/namespaces/{meta['namespace']}/serviceaccounts/"
            f"{self.pod['spec']['serviceAccountName']}/token",
            {"spec": spec})["status"]["token"]

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
            a.replace("0.0.0.0", self.address) for a in self.spec["args"]]
        meta = self.pod["metadata"]
        self.program = Program(self.kubelet.folder, meta["name"],
                               self.command(arguments))
        self.program.env = {"PATH": os.environ["PATH"], **self.environment()}
        self.program.start()
        return self

    def run(self, *arguments):
        """Exit status and output of another process in the container."""
        done = subprocess.run(
            self.command(arguments), check=False, text=True, timeout=30,
            capture_output=True,
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
            with self.kubelet.opener.open(url, timeout=5) as answer:
                return answer.status < 400
        except (urllib.error.URLError, OSError):
            return False

    def report(self):
        """Writes the status of the pod when it has changed."""
        ready = self.program.running() and self.probe("readinessProbe")
        if ready == self.ready:
            return
        self.ready = ready
        word = "True" if ready else "False"
        meta = self.pod["metadata"]
        self.kubelet.kube.request(
            "PATCH", f"/api/v1/namespaces/{meta['namespace']}/pods/"
            f"{meta['name']}/status", {"status": {
                "phase": "Running", "podIP": self.address,
                "podIPs": [{"ip": self.address}],
                "conditions": [{"type": kind, "status": word} for kind in (
                    "Initialized", "Ready", "ContainersReady")],
                "containerStatuses": [{
                    "name": self.spec["name"], "ready": ready,
                    "started": True, "restartCount": 0,
                    "image": self.spec["image"], "imageID": "",
                    "state": {"running": {}}}]}}, STRATEGIC)


class Kubelet:
    """Runs all pods of these namespaces until close(). hosts(node) maps the
    path of a hostPath volume to a folder; has(node, container) maps paths to
    folders that the runtime mounts besides."""

    def __init__(self, kube, folder, images, namespaces, hosts, has):
        self.kube, self.folder, self.namespaces = kube, folder, namespaces
        self.images = {image.name: image for image in images}
        self.hosts, self.has = hosts, has
        self.containers = {}
        self.last_error = None
        self.services = SERVICES
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
        return {f"{name}.plimsoll.svc": address
                for name, address in self.services.items()}

    def mounts(self, container):
        return self.has(container.node, container.spec["name"])

    def folder_of(self, container, volume):
        """The folder with the files of a volume."""
        if "secret" in volume:
            return container.project_secret(volume)
        if "projected" in volume:
            return container.project(volume)
        if "configMap" in volume:
            folder = container.open_folder(volume["name"])
            for name, text in container.source(volume).items():
                container.put(folder, name, text.encode(), 0o644)
            return folder
        if "emptyDir" in volume:
            folder = container.open_folder(volume["name"])
            folder.chmod(0o1777)
            return folder
        if "hostPath" in volume:
            return self.hosts(container.node)[volume["hostPath"]["path"]]
        claim = volume["persistentVolumeClaim"]["claimName"]
        folder = self.folder / "claims" / claim
        folder.mkdir(parents=True, exist_ok=True)
        os.chown(folder, 0, container.group)
        folder.chmod(0o2770)
        return folder

    def start(self):
        self.thread.start()
        return self

    def play(self):
        while not self.stopping.wait(0.2):
            self.turn()

    def turn(self):
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
            self.containers[uid].report()
        else:
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
            eventually(f"{count} of {name} are ready", ready, 60)
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
