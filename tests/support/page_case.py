"""A test case for the page of an aggregator: a small fleet whose figures stay
as they are, records, a scheduler's answers, and one browser for all tests of a
class. A test fails if the page says anything to the console, throws, violates
its policy or asks another host for anything."""
import time
import unittest
import urllib.parse

from api_stand_in import ApiStandIn, pod_of_vm
from browser import Browser
from harness import ROOT, Aggregator, Folder, eventually
from page_fleet import (GIB, REACH, Fleet, FleetNode, FleetVm, SchedulerPeer,
                        send_decisions, send_moves)

API = "/apis/load.plimsoll.io/v1alpha1"
AXE = ROOT / "build/ci/page/node_modules/axe-core/axe.min.js"
READY = "#view[data-ready=true]"
# No object of Kubernetes has such a name, but the wire and the API server's
# annotations accept it.
NASTY = "<script>run()<b>"
NASTY_NODE = "<img>node"
NASTY_TEXT = "hot <img src=x onerror=\"document.title='run'\"> & cold"
# All views: the fragment, and the table that shows most of it. The objects are
# those of small_fleet().
VIEWS = {
    "nodes": ("#/nodes", "nodes"),
    "node": ("#/nodes/node-03", "vms"),
    "vms": ("#/vms", "vms"),
    "vm": ("#/vms/shop/web-03-1", ""),
    "decisions": ("#/decisions", "decisions"),
    "moves": ("#/moves", "moves"),
    "room": ("#/room", ""),
    "health": ("#/health", ""),
}


def small_fleet(nodes=8, vms=4):
    """Nodes with a load of 15 % to 85 %. The last one has a name of a kind
    that Kubernetes refuses, and so has a VM of the first."""
    fleet = []
    for i in range(nodes):
        name = f"node-{i:02}" if i < nodes - 1 else NASTY_NODE
        fleet.append(FleetNode(name, [
            FleetVm(f"{i:08x}-0000-4000-8000-{j:012x}",
                    "shop" if j % 2 else "bank",
                    f"web-{i:02}-{j}" if i + j else NASTY,
                    0.25 + 0.5 * j + 0.01 * i, (1 + j) * GIB,
                    0.013 * (i + j)) for j in range(vms)],
            busy=0.153 + 0.1 * i, waits=0.012 * i))
    return fleet


def node_outlook(node):
    return {"name": node.name, "isUnschedulable": False,
            "cpu": {"cores": 16, "requestedCores": 4.5, "usedCores": 3.2,
                    "expectedCores": 5.1},
            "memory": {"totalBytes": 64 * GIB, "requestedBytes": 20 * GIB,
                       "usedBytes": 18 * GIB, "expectedBytes": 22 * GIB}}


def shape(vcpus, moves, copies, message):
    return {"vcpus": vcpus, "memoryGib": 4 * vcpus, "fitsNow": moves == 0,
            "nodes": copies // 3, "copies": copies, "fitsAfterMoves": True,
            "moves": moves, "cutOff": False, "message": message}


def kind(name, shapes, now, later):
    """now, later: the vCPUs of the largest VM, now and after two moves."""
    return {"kind": name, "offered": True, "message": "", "shapes": shapes,
            "largestNow": {"vcpus": now, "memoryGib": 4 * now,
                           "node": "node-00", "moves": 0},
            "largestAfterMoves": {"vcpus": later, "memoryGib": 4 * later,
                                  "node": "node-01", "moves": 2},
            "cutOff": False}


def room():
    """The members of the scheduler's GET /v1/room, as the API names them."""
    plain = [shape(4, 0, 22, "a plain VM of 4 vCPUs and 16 GiB fits now"),
             shape(8, 0, 10, "a plain VM of 8 vCPUs and 32 GiB fits now"),
             shape(16, 2, 0, "a plain VM of 16 vCPUs and 64 GiB fits on "
                             "node-01 after 2 moves: bank/web-01-0 to "
                             "node-00, shop/web-01-3 to node-02")]
    return {"time": "2026-01-02T03:04:05Z", "timeoutSeconds": 600,
            "mode": "Recommend", "effectiveMode": "Recommend", "why": "",
            "making": [], "fits": {
                "ageSeconds": 1.5, "nodes": 8, "vms": 32, "maxMoves": 3,
                "cpuAllocationRatio": 10, "memoryOvercommit": 100,
                "kinds": [kind("plain", plain, 14, 18)]}}


class PageBrowserCase(unittest.TestCase):
    """A folder and a browser for all tests of a class, before
    cls.aggregator."""

    expected = []  # complaints that match one of these are none

    @classmethod
    def begin_folder(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.close)

    @classmethod
    def begin_browser(cls):
        cls.browser = Browser(cls.folder.path)
        cls.addClassCleanup(cls.browser.close)
        cls.origin = f"http://127.0.0.1:{cls.aggregator.ports[1]}"

    def setUp(self):
        self.browser.expected[:] = self.expected

    def tearDown(self):
        """What a page that is still open says later counts, too."""
        self.assertEqual(self.browser.complaints(), [])
        self.assertEqual({url for url in self.browser.requested()
                          if not url.startswith((f"{self.origin}/",
                                                 f"blob:{self.origin}/",
                                                 "about:blank"))}, set())
        self.browser.open("about:blank")
        self.browser.collect()

    # ---- the API ----

    def api(self, path):
        """The JSON of an answer of the API."""
        return self.aggregator.json(f"{API}/{path}")

    def items(self, path):
        return self.api(path)["items"]

    # ---- the page ----

    def show(self, fragment="#/nodes", view=None):
        """Loads the page at this fragment, and waits for the view."""
        self.browser.open("about:blank")
        self.browser.open(f"{self.origin}/{fragment}")
        self.await_view(view)

    def await_view(self, view=None):
        try:
            self.browser.await_element(
                READY + (f"[data-view='{view}']" if view else ""))
        except AssertionError as no:
            raise AssertionError(f"{no}: {self.browser.complaints()}; "
                                 f"{self.browser.text('body')[:500]!r}"
                                 ) from None

    def rows(self, table):
        """The rows of a table that are in the document, each as a dict by
        the texts of the head."""
        return self.browser.run("""
            const table = document.querySelector(
                `table[data-table="${arguments[0]}"]`);
            if (!table) return [];
            const keys = [...table.querySelectorAll("thead th")].map(
                (th) => th.innerText.trim());
            return [...table.querySelectorAll("tbody tr")].map((tr) =>
                Object.fromEntries([...tr.children].map(
                    (td, i) => [keys[i], td.innerText.trim()])));
            """, table)

    def column(self, table, key):
        return [row.get(key) for row in self.rows(table)]

    def await_rows(self, claim, table, holds):
        """Waits until holds(rows of the table); the rows."""
        def probe():
            rows = self.rows(table)
            return rows if rows and holds(rows) else None
        try:
            return eventually(claim, probe)
        except AssertionError as no:
            raise AssertionError(f"{no}: {self.rows(table)[:3]}") from None

    def assert_facts(self, panel, facts):
        """The terms of a panel, by the id of its heading, and what they
        say."""
        shown = self.browser.run(
            "return Object.fromEntries([...document.querySelectorAll("
            "`[aria-labelledby='${arguments[0]}'] dl > div`)].map("
            "(d) => [d.children[0].innerText,"
            " d.children[1].innerText.trim()]))", panel)
        self.assertEqual({term: shown.get(term) for term in facts}, facts)

    def fragment(self):
        return urllib.parse.urlsplit(self.browser.location()).fragment

    def violations(self):
        """What axe-core finds, each as "rule: element"."""
        self.browser.cdp("Runtime.evaluate", expression=AXE.read_text())
        found = self.browser.do("execute/async", args=[], script="""
            const done = arguments[arguments.length - 1];
            axe.run(document).then((r) => done(r.violations.flatMap(
                (v) => v.nodes.map((n) => `${v.id}: ${n.html.slice(0, 150)}`
                    + ` (${(n.any[0] || n.all[0] || n.none[0] || {}).message
                    || v.help})`))), (e) => done([String(e)]));""")
        return found


class PageCase(PageBrowserCase):
    # The nodes that a VM can reach; of the others that is not known.
    reach = {"shop/web-03-1": 0, "shop/web-03-3": 1, "shop/web-01-1": 5}

    @classmethod
    def begin(cls, *flags, fleet=None, tokens=None, history_s=1800):
        """Everything, with these flags of the aggregator."""
        cls.begin_folder()
        nodes = small_fleet() if fleet is None else fleet
        cls.api_server = ApiStandIn(cls.folder.path, [
            pod_of_vm(vm.uid, vm.namespace, vm.name, node.name)
            for node in nodes for vm in node.vms], tokens)
        cls.addClassCleanup(cls.api_server.close)
        cls.aggregator = cls.folder.add(Aggregator(
            cls.folder.path, "aggregator", "--kubeconfig",
            cls.api_server.kubeconfig, *flags)).start()
        cls.aggregator.wait_log("VM pod cache synced")
        cls.fleet = Fleet(cls.aggregator, nodes, history_s)
        cls.addClassCleanup(cls.fleet.close)
        cls.make_records()
        cls.scheduler = SchedulerPeer(cls.aggregator.url, cls.answer)
        cls.addClassCleanup(cls.scheduler.close)
        if not tokens:
            eventually("the scheduler answers", lambda: cls.aggregator.get(
                f"{API}/status/plimsoll/outlook")[0] == 200)
        cls.begin_browser()

    @classmethod
    def make_records(cls):
        now = time.time()
        send_decisions(cls.aggregator.url, [
            {"namespace": "shop", "pod": f"virt-launcher-{vm}", "vm": vm,
             "chosen": "node-03", "at_s": now - 60 * i,
             "sentence": NASTY_TEXT if i == 0 else
             f"node-03: CPU {50 + i} % expected"}
            for i, vm in enumerate(("web-03-1", "web-03-3", "web-01-1"))])
        send_moves(cls.aggregator.url, [
            {"id": f"move-{i}", "namespace": "shop", "vm": vm,
             "source": "node-06", "target": "node-00", "state": state,
             "at_s": now - 60 * i, "sentence": NASTY_TEXT if i == 0 else
             "node-06 lacks CPU"}
            for i, (vm, state) in enumerate((
                ("web-03-1", 4), ("web-03-3", 0), ("web-01-1", 5)))])

    @classmethod
    def answer(cls, kind, question):
        """What the scheduler answers: the reach of VMs, or an outlook on one
        VM or the cluster."""
        if kind == REACH:
            return {"reach": cls.reach}
        status = {"scheduler": "peer-1", "time": "2026-01-02T03:04:05Z"}
        if question.get(3):
            return status | {"nodeName": "node-03", "isMovable": False,
                             "reason": "cannot be migrated: it has a "
                                       "host device"}
        return status | {
            "nodes": [node_outlook(node) for node in cls.fleet.nodes],
            "room": room(),
            "rebalance": {"mode": "Recommend", "why": "nothing is short"}}
