"""A stand-in for the kubelets and virt-handlers of all nodes. It starts and
ends launcher pods, runs VMIs and migrates them, with the objects that
virt-controller, virt-api and a scheduler write. No VM runs.

It looks at what is there, not at what has changed (a change only makes it look
at once), so it goes on after any program was killed. It writes as the
ServiceAccount of virt-handler on the node that has to write, with its rights.

An annotation of a VMI (spec.template.metadata of its VM; it may be changed at
any time) makes things go wrong:

  test.plimsoll.io/fault: FAULT, or FAULT@NODE for this node alone

  start-fails           the VM's launcher ends Failed, without a reason
  target-never-starts   a migration's target pod stays Pending
  target-start-fails    a migration's target pod ends Failed at its start
  migration-fails       the source reports a failure after half of the copy
  migration-hangs       the copy has no end; the source answers an abort
  migration-deaf        the copy has no end, and nobody answers an abort
  target-crashes        the target pod ends Failed after half of the copy

  test.plimsoll.io/copy-seconds: "5"   how long a copy takes; default 1

@NODE is the node of the launcher, or the target of the migration."""
import concurrent.futures
import copy
import datetime
import http.client
import json
import threading
import time

from harness import PATIENCE_S
from kube_api import Refused
from kubevirt import NAMESPACE, path_of

RESYNC_S = 1
RETRY_S = 0.2
COPY_S = 1.0
FAULT = "test.plimsoll.io/fault"
COPY = "test.plimsoll.io/copy-seconds"
JOB = "kubevirt.io/migrationJobUID"
TARGET_LABEL = "kubevirt.io/migrationTargetNodeName"
NODE_LABEL = "kubevirt.io/nodeName"
CREATED_BY = "kubevirt.io/created-by"
FINAL = ("Succeeded", "Failed")
STRATEGIC = "application/strategic-merge-patch+json"
LAUNCHERS = "/api/v1/pods?labelSelector=kubevirt.io%3Dvirt-launcher"
# A request fails so while virt-api or the API server is gone.
TROUBLE = (OSError, http.client.HTTPException)


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime(
        "%Y-%m-%dT%H:%M:%SZ")


def is_transient(why):
    return (why.status >= 500 or why.status == 429 if isinstance(why, Refused)
            else isinstance(why, TROUBLE))


def name_of(thing):
    return thing["metadata"]["name"]


def phase_of(thing):
    return thing.get("status", {}).get("phase")


def is_over(pod):
    return phase_of(pod) in FINAL or "deletionTimestamp" in pod["metadata"]


def state_of(vmi):
    return vmi.get("status", {}).get("migrationState") or {}


class Watch:
    """A copy of one list, kept up to date by a thread. changed() is called
    after each change."""

    def __init__(self, kube, path, changed):
        self.kube, self.path, self.changed = kube, path, changed
        self.things = {}  # uid -> object; replaced, never changed
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.stopping.is_set():
            try:
                self.follow(self.list())
            except (*TROUBLE, ValueError, Refused) as why:
                # ValueError: half a line of a server that was killed.
                if not is_transient(why) and not isinstance(why, ValueError):
                    raise
            self.stopping.wait(RETRY_S)

    def list(self):
        listed = self.kube.get(self.path)
        self.things = {item["metadata"]["uid"]: item
                       for item in listed["items"]}
        self.changed()
        return listed["metadata"]["resourceVersion"]

    def follow(self, version):
        """Until the watch ends, which it does every minute."""
        link = http.client.HTTPSConnection(
            self.kube.server.hostname, self.kube.server.port,
            context=self.kube.tls, timeout=PATIENCE_S)
        mark = "&" if "?" in self.path else "?"
        try:
            link.request("GET", f"{self.path}{mark}watch=1&timeoutSeconds=60"
                         f"&resourceVersion={version}",
                         headers=self.kube.headers)
            answer = link.getresponse()
            if answer.status != 200:
                return
            while not self.stopping.is_set() and (line := answer.readline()):
                if not self.take(json.loads(line)):
                    return
        finally:
            link.close()

    def take(self, event):
        if event["type"] == "ERROR":
            return False  # such as an old version: list again
        things = dict(self.things)
        uid = event["object"]["metadata"]["uid"]
        things.pop(uid, None)
        if event["type"] != "DELETED":
            things[uid] = event["object"]
        self.things = things
        self.changed()
        return True

    def values(self):
        return list(self.things.values())


class VirtHandlers:
    """The kubelets and virt-handlers of all nodes, until stop()."""

    def __init__(self, kube):
        self.kube = kube
        self.wake = threading.Event()
        self.is_stopping = False
        self.copies = {}  # uid of a migration -> when its copy began
        self.pods, self.vmis, self.migrations = (
            Watch(kube, path, self.wake.set) for path in (
                LAUNCHERS, path_of("VirtualMachineInstance"),
                path_of("VirtualMachineInstanceMigration")))
        self.watches = (self.pods, self.vmis, self.migrations)
        self.thread = threading.Thread(target=self.run, daemon=True)

    def start(self):
        self.thread.start()
        return self

    def check(self):
        """Fails if an exception, which is printed, has ended the thread."""
        if not self.thread.is_alive():
            raise AssertionError("the stand-in for virt-handler has ended")

    def stop(self):
        self.is_stopping = True
        for watch in self.watches:
            watch.stopping.set()
        self.wake.set()
        self.thread.join()

    def run(self):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            while not self.is_stopping:
                # A copy that is under way needs the clock.
                self.wake.wait(RETRY_S if self.copies else RESYNC_S)
                self.wake.clear()
                self.turn(pool)

    def turn(self, pool):
        """Looks at everything once. An exception ends the thread, and fails
        the test."""
        pods, vmis = self.pods.values(), self.vmis.values()
        uids = {vmi["metadata"]["uid"]: vmi for vmi in vmis}
        by_vmi = {uid: [] for uid in uids}
        for pod in pods:
            owner = pod["metadata"]["labels"].get(CREATED_BY)
            by_vmi.setdefault(owner, []).append(pod)
        copying = {state["migrationUid"] for state in map(state_of, vmis)
                   if "migrationUid" in state and not state.get("completed")}
        self.copies = {uid: began for uid, began in self.copies.items()
                       if uid in copying}
        list(pool.map(lambda uid: self.attempt(
            uids.get(uid), by_vmi[uid]), by_vmi))

    def attempt(self, vmi, pods):
        try:
            # A pod leaves once its VMI says that the VM has ended.
            if vmi:
                Handler(self, vmi, pods).act()
            for pod in pods:
                Kubelet(self, vmi, pod).act()
        except (*TROUBLE, Refused) as why:
            if not is_transient(why):
                raise
            # Tried again RESYNC_S later.


def has_fault(vmi, fault, node):
    wanted = (vmi or {}).get("metadata", {}).get("annotations", {}).get(
        FAULT, "")
    return wanted in (fault, f"{fault}@{node}")


class Kubelet:
    """A look at one pod."""

    def __init__(self, all_nodes, vmi, pod):
        self.kube, self.vmi, self.pod = all_nodes.kube, vmi, pod
        self.meta = pod["metadata"]
        self.node = pod["spec"].get("nodeName")
        self.path = (f"/api/v1/namespaces/{self.meta['namespace']}/pods/"
                     f"{self.meta['name']}")

    def act(self):
        if not self.node:
            return
        if "deletionTimestamp" in self.meta:
            self.end("Succeeded")
            self.remove()
        elif phase_of(self.pod) == "Pending":
            self.begin()

    def has_fault(self, fault):
        return has_fault(self.vmi, fault, self.node)

    def begin(self):
        is_target = JOB in self.meta["labels"]
        if is_target and self.has_fault("target-never-starts"):
            return
        if self.has_fault("target-start-fails" if is_target
                          else "start-fails"):
            self.end("Failed")
            return
        self.write("Running", {"running": {"startedAt": now()}}, True)

    def end(self, phase):
        """Ends the pod, once."""
        if phase_of(self.pod) not in FINAL:
            code = 0 if phase == "Succeeded" else 1
            self.write(phase, {"terminated": {"exitCode": code}}, False)

    def write(self, phase, state, is_ready):
        def status(container, state):
            return {"name": container["name"], "state": state,
                    "ready": is_ready, "started": is_ready,
                    "restartCount": 0, "image": container["image"],
                    # A target pod gets the very image of the source.
                    "imageID": container["image"].partition("@")[0]
                    + "@sha256:" + 64 * "0"}
        spec, word = self.pod["spec"], "True" if is_ready else "False"
        done = {"terminated": {"exitCode": 0}}
        self.patch({"status": {
            "phase": phase, "startTime": now(), "hostIP": "10.0.0.1",
            "podIP": "10.1.0.1", "podIPs": [{"ip": "10.1.0.1"}],
            "conditions": [{"type": kind, "status": word} for kind in (
                "PodReadyToStartContainers", "Initialized", "Ready",
                "ContainersReady")],
            "containerStatuses": [status(c, state)
                                  for c in spec["containers"]],
            "initContainerStatuses": [
                status(c, state if c.get("restartPolicy") == "Always"
                       else done) for c in spec.get("initContainers", [])]}})

    def patch(self, change):
        """For this very pod, unless it is gone."""
        change["metadata"] = {"uid": self.meta["uid"]}
        try:
            self.kube.request("PATCH", f"{self.path}/status", change,
                              STRATEGIC)
        except Refused as no:
            if no.status not in (404, 409):
                raise

    def remove(self):
        try:
            self.kube.request("DELETE", self.path, {
                "apiVersion": "v1", "kind": "DeleteOptions",
                "gracePeriodSeconds": 0,
                "preconditions": {"uid": self.meta["uid"]}})
        except Refused as no:
            if no.status not in (404, 409):
                raise


class Handler:
    """A look at one VMI and its pods. Each edit_*(vmi) changes the newest
    VMI and returns whether there was something to change."""

    def __init__(self, all_nodes, vmi, pods):
        self.all, self.vmi, self.pods = all_nodes, vmi, pods
        self.status = vmi.get("status", {})
        self.path = path_of("VirtualMachineInstance",
                            vmi["metadata"]["namespace"], name_of(vmi))

    def act(self):
        if self.status.get("phase") in FINAL:
            return
        node = self.status.get("nodeName")
        if not node:
            return
        if "deletionTimestamp" in self.vmi["metadata"]:
            self.change(node, lambda vmi: set_phase(vmi, "Succeeded"))
            self.end_pods("Succeeded")
        elif self.status["phase"] == "Scheduled":
            self.change(node, run)
        elif self.status["phase"] == "Running":
            self.watch_pod(node)
            self.migrate()

    def end_pods(self, phase):
        for pod in self.pods:
            Kubelet(self.all, self.vmi, pod).end(phase)

    def watch_pod(self, node):
        """A VM ends with its launcher: the newest one on its node."""
        here = sorted((p for p in self.pods if
                       p["spec"].get("nodeName") == node),
                      key=lambda p: p["metadata"]["creationTimestamp"])
        if here and is_over(here[-1]):
            phase = "Failed" if phase_of(here[-1]) == "Failed" else "Succeeded"
            self.change(node, lambda vmi: vmi["status"].get(
                "nodeName") == node and set_phase(vmi, phase))

    def change(self, node, edit):
        """Writes the VMI as the virt-handler of a node."""
        writer = as_handler(self.all.kube, node)
        while True:
            # virt-handler reads from its watch alone: it may not get.
            vmi = self.all.kube.find(self.path)
            if (not vmi or vmi["metadata"]["uid"] != self.vmi["metadata"]["uid"]
                    or not edit(vmi)):
                return
            try:
                writer.request("PUT", self.path, vmi)
                return
            except Refused as no:
                if no.status != 409:
                    raise

    # ---- migrations ----

    def pod(self, name):
        return next((p for p in self.pods if name_of(p) == name), None)

    def migrate(self):
        state = state_of(self.vmi)
        if "migrationUid" not in state or "targetNode" not in state:
            return
        self.uid, self.state = state["migrationUid"], state
        if state.get("completed"):
            self.tidy_up()
        else:
            self.step()

    def edit(self, node, members, more=None):
        """Adds members to the state of this migration, unless it is over."""
        def apply(vmi):
            state = state_of(vmi)
            if state.get("migrationUid") != self.uid or state.get("completed"):
                return False
            before = copy.deepcopy(vmi)
            state.update(members)
            if more:
                more(vmi)
            return vmi != before
        self.change(node, apply)

    def tidy_up(self):
        """A migration has ended: one of the two launchers ends."""
        state = self.state
        is_failed = state.get("failed", False)
        pod = self.pod(state["targetPod" if is_failed else "sourcePod"])
        if pod and pod["spec"].get("nodeName"):
            Kubelet(self.all, self.vmi, pod).end(
                "Failed" if is_failed else "Succeeded")
        if TARGET_LABEL in self.vmi["metadata"].get("labels", {}):
            self.change(state["targetNode"], self.edit_label)

    def edit_label(self, vmi):
        state = state_of(vmi)
        return (state.get("migrationUid") == self.uid
                and vmi["metadata"].get("labels", {}).pop(
                    TARGET_LABEL, None) is not None)

    def step(self):
        """The next step of a migration that has begun."""
        state = self.state
        source, target = state["sourceNode"], state["targetNode"]
        if "targetNodeAddress" not in state:
            pod = self.pod(state["targetPod"])
            if pod and phase_of(pod) == "Running":
                self.edit(target, {"targetNodeAddress": "10.0.0.2",
                                   "targetDirectMigrationNodePorts":
                                       {"35421": 49152, "36421": 49153}})
        elif "startTimestamp" not in state:
            if self.job_phase() == "TargetReady":
                self.edit(source, {"startTimestamp": now(),
                                   "mode": "PreCopy"})
        elif state.get("abortRequested") and not self.has_fault("deaf"):
            self.fail("Live migration is aborted",
                      {"abortStatus": "Succeeded"})
        elif "targetNodeDomainDetected" not in state:
            self.copy()
        elif "endTimestamp" not in state:
            self.edit(target, {"endTimestamp": now()}, self.move)
        else:
            self.edit(target, {"completed": True})

    def job_phase(self):
        job = self.all.migrations.things.get(self.uid)
        return job and phase_of(job)

    def has_fault(self, fault):
        return has_fault(self.vmi, f"migration-{fault}",
                         self.state["targetNode"])

    def copy(self):
        began = self.all.copies.setdefault(self.uid, time.monotonic())
        whole = float(self.vmi["metadata"].get("annotations", {}).get(
            COPY, COPY_S))
        passed = time.monotonic() - began
        if passed >= whole / 2:
            if self.has_fault("fails"):
                self.fail("Live migration failed: the copy broke off", {})
                return
            pod = self.pod(self.state["targetPod"])
            if pod and has_fault(self.vmi, "target-crashes",
                                 self.state["targetNode"]):
                Kubelet(self.all, self.vmi, pod).end("Failed")
                return
        if self.has_fault("hangs") or self.has_fault("deaf"):
            return
        if passed >= whole:
            self.edit(self.state["targetNode"], {
                "targetNodeDomainDetected": True,
                "targetNodeDomainReadyTimestamp": now()})

    def fail(self, why, members):
        self.edit(self.state["sourceNode"], {
            "failed": True, "completed": True, "endTimestamp": now(),
            "failureReason": why, **members})

    def move(self, vmi):
        """From here on the VM is on the target."""
        target = self.state["targetNode"]
        vmi["status"]["nodeName"] = target
        vmi["status"].pop("evacuationNodeName", None)
        vmi["status"]["launcherContainerImageVersion"] = ""
        vmi["metadata"]["labels"][NODE_LABEL] = target


def as_handler(kube, node):
    """The API as virt-handler on this node."""
    writer = copy.copy(kube)
    writer.headers = {
        **kube.headers,
        "Impersonate-User":
            f"system:serviceaccount:{NAMESPACE}:kubevirt-handler",
        "Impersonate-Extra-authentication.kubernetes.io%2Fnode-name": node}
    return writer


def set_phase(vmi, phase):
    status = vmi["status"]
    if status.get("phase") in (*FINAL, phase):
        return False
    status["phase"] = phase
    status.setdefault("phaseTransitionTimestamps", []).append(
        {"phase": phase, "phaseTransitionTimestamp": now()})
    return True


def run(vmi):
    """The VM has started."""
    if vmi["status"].get("phase") != "Scheduled":
        return False
    status = vmi["status"]
    # virt-controller's patches expect the members that virt-handler writes.
    status.setdefault("conditions", []).extend(
        {"type": kind, "status": "True", "lastProbeTime": None,
         "lastTransitionTime": None}
        for kind in ("LiveMigratable", "StorageLiveMigratable"))
    status.update(migrationMethod="LiveMigration", selinuxContext="none",
                  machine={"type": "pc-q35-10.1"})
    return set_phase(vmi, "Running")
