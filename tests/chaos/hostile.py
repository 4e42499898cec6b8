"""What hostile users and peers do in faults: floods of requests, pods that
imitate VMs, connections that say nothing."""
import contextlib
import http.client
import itertools
import resource
import select
import socket
import urllib.parse

from fleet import Clockwork
from fleet_api import GROUP, NAMESPACE
from harness import eventually, launcher
from kube_api import Refused, path_of

PAUSE_S = 0.02
# So many connections are opened again in half a second.
REFILL = 100
# The rest of the run needs most of the files that it may open.
FILES_SHARE = 4


class Crowd:
    """Threads that send requests of the hostile user in turn, until close().
    requests: (method, path, body)."""

    def __init__(self, fleet, kind, threads, requests):
        self.fleet, self.kind = fleet, kind
        self.requests = itertools.cycle(requests)
        self.clocks = [Clockwork(self.ask, PAUSE_S) for _ in range(threads)]
        for clock in self.clocks:
            clock.start()

    def ask(self):
        try:
            self.fleet.service.user.request(*next(self.requests))
            status = 200
        except Refused as refused:
            status = refused.status
        except (OSError, http.client.HTTPException):
            status = 0  # the API server is away
        self.fleet.hostile[self.kind, status] += 1

    def close(self):
        for clock in self.clocks:
            clock.stopping.set()
        for clock in self.clocks:
            clock.stop()


# ---- selectors ----

def short_words(count):
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    words = itertools.chain(digits, map("".join, itertools.product(
        digits, repeat=2)))
    return list(itertools.islice(words, count))


def long_selector(terms, values):
    """All objects meet it, after a look at each term."""
    return ",".join([f"zz notin ({','.join(short_words(values))})"] * terms)


def lists(selector):
    """kube-apiserver passes the query on with each comma as three
    characters."""
    query = urllib.parse.urlencode({"labelSelector": selector})
    return [("GET", f"{GROUP}/{plural}?{query}")
            for plural in ("vmloads", "nodeloads")]


# ---- questions ----

def repeated_constraints(count):
    """A pod that no API server admits."""
    pod = launcher("refused")
    pod["spec"]["topologySpreadConstraints"] = [
        {"topologyKey": "zone", "maxSkew": 1,
         "whenUnsatisfiable": "DoNotSchedule"}] * count
    return pod


def many_preferences(count):
    """Half of them look at all nodes, and half at all pods."""
    pod = launcher("particular")
    of_nodes = {"weight": 1, "preference": {"matchExpressions": [
        {"key": "zz", "operator": "NotIn", "values": ["a"]}]}}
    of_pods = {"weight": 1, "podAffinityTerm": {
        "topologyKey": "kubernetes.io/hostname", "labelSelector": {
            "matchLabels": {"kubevirt.io": "virt-launcher"}}}}
    kind = "preferredDuringSchedulingIgnoredDuringExecution"
    pod["spec"]["affinity"] = {
        "nodeAffinity": {kind: [of_nodes] * (count // 2)},
        "podAffinity": {kind: [of_pods] * (count // 2)}}
    return pod


def questions(pods, nodes):
    """Placements of these pods, and plans for these nodes and for others."""
    invented = [f"node-{n}" for n in range(10000)]
    asked = [("placements", {"object": {"kind": "Pod", **pod}})
             for pod in pods]
    asked += [("plans", {"goal": goal, "nodeNames": names})
              for goal, names in (("Evacuate", nodes[:1]),
                                  ("NodesGone", nodes[:len(nodes) // 2]),
                                  ("NodesGone", nodes + invented))]
    return [("POST", f"{GROUP}/namespaces/{NAMESPACE}/{plural}",
             {"spec": spec}) for plural, spec in asked]


# ---- imitations ----

def imitation(name, is_announced, node):
    """node: None for a pod of plimsoll's scheduler, else where another
    scheduler has put it."""
    meta = {"name": name, "namespace": NAMESPACE,
            "labels": {"kubevirt.io": "virt-launcher"}}
    if is_announced:
        meta["annotations"] = {"plimsoll.io/expected-cores": "4096"}
    place = {"nodeName": node} if node else {
        "schedulerName": "plimsoll-scheduler"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {
        **place, "containers": [{
            "name": "compute", "image": "registry.example/app:1",
            "resources": {"limits": {"cpu": "4096"},
                          "requests": {"cpu": "1m"}}}]}}


def remove_imitations(kube):
    """Returns when none is left."""
    def probe():
        with contextlib.suppress(OSError, http.client.HTTPException, Refused):
            listed = kube.get(path_of("Pod", NAMESPACE))["items"]
            for one in listed:
                kube.remove({**one, "kind": "Pod"})
            return not listed
        return False  # the API server is away
    eventually("no imitation is left", probe)


# ---- silent connections ----

class SilentPlugs:
    """Connections that say nothing, from these addresses of the machine in
    turn. Some of those that the other side closes are opened again. opens(count)
    is called before so many are opened."""

    def __init__(self, address, sources, count, opens):
        self.address, self.sources = address, itertools.cycle(sources)
        self.opens = opens
        self.plugs, self.poll = {}, select.poll()
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.open(min(count, files // FILES_SHARE))
        self.clock = Clockwork(self.refill, 0.5)
        self.clock.start()

    def open(self, count):
        self.opens(count)
        for _ in range(count):
            plug = socket.socket()
            plug.setblocking(False)
            plug.bind((next(self.sources), 0))
            plug.connect_ex(self.address)
            self.plugs[plug.fileno()] = plug
            self.poll.register(plug, select.POLLIN)

    def drop(self, number):
        self.poll.unregister(number)
        self.plugs.pop(number).close()

    def refill(self):
        gone = [number for number, event in self.poll.poll(0)
                if event & (select.POLLHUP | select.POLLERR)
                or not self.says(number)][:REFILL]
        for number in gone:
            self.drop(number)
        if gone:
            self.open(len(gone))

    def says(self, number):
        """Whether the other side has sent something, as nng does, and not
        closed."""
        try:
            return self.plugs[number].recv(4096) != b""
        except OSError:
            return False

    def close(self):
        self.clock.stop()
        for number in list(self.plugs):
            self.drop(number)
