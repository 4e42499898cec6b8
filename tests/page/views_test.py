"""Each view of the page shows the figures of the API, is accessible, and can
be worked with by mouse, by keyboard and by its address."""
import csv
import io
import pathlib
import re
import sys
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from page_case import (NASTY, NASTY_NODE, NASTY_TEXT, VIEWS,  # noqa: E402
                       PageCase)

GIB = 1 << 30
TITLE = "run"  # what a sentence would make of the title if it were markup


def percent(share):
    return f"{share * 100:.0f} %"


def fine_percent(share):
    return f"{share * 100:.1f} %"


def cores(number):
    return f"{number:.{2 if number < 10 else 1}f}"


def gib(number):
    number /= GIB
    return f"{number:.{1 if number < 10 else 0}f} GiB"


def time_text(rfc3339):
    return rfc3339[:19].replace("T", " ")


class Figures(PageCase):
    """All views, on one aggregator and in one browser."""

    @classmethod
    def setUpClass(cls):
        cls.begin()

    # ---- what is shown ----

    def test_nodes_are_those_of_the_api(self):
        self.show("#/nodes", "nodes")
        nodes = {n["metadata"]["name"]: n["status"]
                 for n in self.items("nodeloads")}
        rows = self.await_rows("all nodes are shown", "nodes",
                               lambda rows: len(rows) == len(nodes))
        for row in rows:
            node = nodes[row["Node"]]
            with self.subTest(row["Node"]):
                self.assertEqual(row["State"], node["state"])
                self.assertEqual(row["Hottest"], node["hottest"])
                self.assertEqual(row["Heat"], percent(node["heat"]))
                cpu, memory = node["cpu"], node["memory"]
                self.assertEqual(row["CPU"], percent(
                    cpu["usedCores10s"] / cpu["cores"]))
                self.assertEqual(row["Memory"], percent(
                    1 - memory["availableBytes"] / memory["totalBytes"]))
                self.assertEqual(row["KVM"], node["kvm"]["state"])
                self.assertEqual(row["VMs"], str(node["vmCount"]))

    def test_a_node_is_that_of_the_api(self):
        self.show("#/nodes/node-03", "node")
        status = self.api("nodeloads/node-03")["status"]
        cpu, memory = status["cpu"], status["memory"]
        self.assert_facts("cpu", {
            "Used of all": f"{cores(cpu['usedCores10s'])} of "
                           f"{cores(cpu['cores'])} cores",
            "Mean of 5 min": f"{cores(cpu['usedCores5m'])} cores",
            "Mean of 1 h": f"{cores(cpu['usedCores1h'])} cores",
            "p95 of 1 h": f"{cores(cpu['p95Cores1h'])} cores",
            "Contention": fine_percent(cpu["contention"])})
        self.assert_facts("memory", {
            "Used of all":
                f"{gib(memory['totalBytes'] - memory['availableBytes'])} of "
                f"{gib(memory['totalBytes'])}",
            "VMs' working set": gib(memory["workingSetBytes"])})
        self.assert_facts("other", {
            "All tasks wait for I/O": fine_percent(
                status["io"]["pressureFull60s"]),
            "KVM": status["kvm"]["state"], "VMs": str(status["vmCount"])})
        vms = [vm for vm in self.items("vmloads")
               if vm["spec"]["nodeName"] == "node-03"]
        rows = self.await_rows("its VMs are shown", "node-vms",
                               lambda rows: len(rows) == len(vms))
        self.assert_vms(rows, vms)

    def test_a_history_is_that_of_the_api(self):
        to = self.items("nodeloads")[0]["timestamp"][:19] + "Z"
        since = to[:14] + "00:00Z"
        times = f"from={since}&to={to}"
        self.show(f"#/nodes/node-03?{times}", "node")
        [table] = self.browser.run(
            "return [...document.querySelectorAll('table[data-table]')].map("
            "(t) => t.dataset.table).filter((n) => n.includes('history'))")
        rows = self.await_rows("the figures of the plots are shown", table,
                               lambda rows: len(rows) > 5)
        history = self.api("nodeloads/node-03/history?fields=cpu.used_cores,"
                           f"cpu.contention&{times}")
        texts = {(cores(used), fine_percent(contention))
                 for _, used, contention in history["rows"]
                 if used is not None}
        for row in rows[2:10]:
            self.assertIn((row["used cores"], row["contention"]), texts)
        self.assertGreater(self.browser.count("#view canvas"), 2)

    def assert_vms(self, rows, vms):
        """Rows of a table of VMs are these of the API."""
        by_name = {vm["metadata"]["name"]: vm for vm in vms}
        for row in rows:
            vm = by_name[row["VM"]]
            status = vm["status"]
            with self.subTest(row["VM"]):
                self.assertEqual(row["Namespace"],
                                 vm["metadata"]["namespace"])
                self.assertEqual(row["Cores"], cores(status["usedCores"]))
                self.assertEqual(row["5 min"], cores(status["usedCores5m"]))
                self.assertEqual(row["Memory"], gib(status["memoryBytes"]))
                self.assertEqual(row["Contention"],
                                 fine_percent(status["contention"]))
                self.assertEqual(row["State"], status["state"])
                self.assertEqual(row.get("Node", vm["spec"]["nodeName"]),
                                 vm["spec"]["nodeName"])

    def test_vms_are_those_of_the_api(self):
        self.show("#/vms", "vms")
        vms = self.items("vmloads")
        rows = self.await_rows("VMs are shown", "vms",
                               lambda rows: len(rows) > 20)
        self.assert_vms(rows, vms)
        # The one that waits most comes first.
        worst = max(vms, key=lambda vm: vm["status"]["contention"])
        self.assertEqual(rows[0]["VM"], worst["metadata"]["name"])
        self.assertIn(f"of {len(vms)} VMs wait",
                      self.browser.text("#view .summary"))

    def test_a_vm_is_that_of_the_api(self):
        self.show("#/vms/shop/web-03-1", "vm")
        vm = self.api("namespaces/shop/vmloads/web-03-1")
        decision = self.items("namespaces/shop/decisions?fieldSelector="
                              "spec.vmName=web-03-1")[0]["status"]
        self.browser.await_text("#view", "Decided by")
        self.assert_facts("load", {
            "Node": vm["spec"]["nodeName"],
            "Used cores": cores(vm["status"]["usedCores"]),
            "Memory": gib(vm["status"]["memoryBytes"]),
            "Contention": fine_percent(vm["status"]["contention"])})
        self.assert_facts("why", {
            "Chosen": decision["chosen"],
            "When": f"{time_text(decision['time'])} UTC"})
        self.browser.await_text("#view .sentence",
                                re.escape(decision["sentence"]))

    def test_decisions_are_those_of_the_api(self):
        self.show("#/decisions", "decisions")
        decisions = {time_text(d["status"]["time"]): d
                     for d in self.items("decisions")}
        rows = self.await_rows("all decisions are shown", "decisions",
                               lambda rows: len(rows) == len(decisions))
        self.assertEqual([row["Time (UTC)"] for row in rows],
                         sorted(decisions, reverse=True))
        for row in rows:
            decision = decisions[row["Time (UTC)"]]
            self.assertEqual(
                [row["VM"], row["Namespace"], row["Chosen"],
                 row["Feasible"], row["Nodes"], row["In words"]],
                [decision["spec"]["vmName"],
                 decision["metadata"]["namespace"],
                 decision["status"]["chosen"],
                 str(decision["status"]["feasible"]),
                 str(decision["status"]["nodes"]),
                 decision["status"]["sentence"]])

    def test_a_decision_is_that_of_the_api(self):
        decision = self.items("decisions")[1]
        self.show(f"#/decisions/shop/{decision['metadata']['name']}")
        self.browser.await_text("#view",
                                re.escape(decision["status"]["sentence"]))
        self.browser.await_text("#view", decision["status"]["chosen"])
        self.assertEqual(self.violations(), [])

    def test_moves_are_those_of_the_api(self):
        self.show("#/moves", "moves")
        moves = {m["spec"]["vmName"]: m for m in self.items("moves")}
        rows = [row for group in ("recommended", "running", "done")
                for row in self.rows(f"moves-{group}")]
        self.assertEqual({row["VM"] for row in rows}, set(moves))
        for row in rows:
            move = moves[row["VM"]]
            self.assertEqual(
                [row["From"], row["To"], row["Short of"], row["Why"],
                 row.get("State", "Recommended")],
                [move["spec"]["sourceNode"], move["spec"]["targetNode"],
                 move["spec"]["reason"], move["status"]["sentence"],
                 move["status"]["state"]])

    def test_health_is_the_status_of_the_api(self):
        self.show("#/health", "health")
        status = self.api("status/plimsoll")["status"]
        self.assert_facts("store", {"State": status["store"]["state"]})
        self.assert_facts("agents", {
            "Fresh": str(status["agents"]["fresh"]),
            "Lost": str(status["agents"]["lost"]),
            "Known VM pods": str(status["vmIdentities"])})
        self.assert_facts("versions", {
            "Aggregator": status["version"], "Commit": status["commit"]})
        self.assert_facts("scheduler", {
            "Connected": "yes"})

    def test_names_and_sentences_are_shown_as_text(self):
        for fragment, text in (
                ("#/nodes", NASTY_NODE), ("#/vms?filter=script", NASTY),
                ("#/vms?filter=img", NASTY_NODE),
                ("#/decisions", NASTY_TEXT), ("#/moves", NASTY_TEXT),
                (f"#/nodes/{urllib.parse.quote(NASTY_NODE, '')}",
                 NASTY_NODE),
                (f"#/vms/bank/{urllib.parse.quote(NASTY, '')}", NASTY)):
            with self.subTest(fragment):
                self.show(fragment)
                self.browser.await_text("#view", re.escape(text))
                self.assertNotEqual(self.browser.run(
                    "return document.title"), TITLE)
                self.assertEqual(self.browser.count(
                    "#view script, #view img"), 0)

    def test_characters_that_hide_themselves_are_escaped(self):
        self.show("#/nodes")
        self.assertEqual(self.browser.run(
            "return import('/ui/text.js').then((text) => text.shown("
            "'a\\x1b\\u202e\\u034f\\u115f\\u3164\\ufe0f\\uffa0\\u{1d173}"
            "\\u{e0100}\u00e9'))"),
            "a\\x1b\\u202e\\u034f\\u115f\\u3164\\ufe0f\\uffa0\\U0001d173"
            "\\U000e0100\u00e9")

    def test_each_view_is_accessible_in_light_and_dark(self):
        for view, (fragment, _) in VIEWS.items():
            for scheme in ("light", "dark"):
                with self.subTest(view, scheme=scheme):
                    self.browser.prefer(scheme)
                    self.show(fragment)
                    self.assertEqual(self.violations(), [])

    def test_an_unknown_view_says_so(self):
        self.show("#/nowhere")
        self.assertIn("no such view", self.browser.text("p[role=alert]"))

    # ---- work with tables ----

    def test_a_click_on_a_head_sorts_and_the_address_has_it(self):
        self.show("#/nodes")
        self.browser.click("th:nth-child(1) button")
        self.await_rows("the names rise", "nodes", lambda rows: [
            row["Node"] for row in rows] == sorted(
                row["Node"] for row in rows))
        self.assertIn("sort=metadata.name", self.fragment())
        self.assertEqual(self.browser.attribute("th:nth-child(1)",
                                                "aria-sort"), "ascending")
        self.browser.click("th:nth-child(1) button")
        self.await_rows("the names fall", "nodes", lambda rows: [
            row["Node"] for row in rows] == sorted(
                (row["Node"] for row in rows), reverse=True))

    def test_a_filter_leaves_the_rows_that_match(self):
        self.show("#/vms")
        self.browser.type("#filter-vms", "shop node-03")
        rows = self.await_rows("two VMs are left", "vms",
                               lambda rows: len(rows) == 2)
        self.assertEqual({row["Node"] for row in rows}, {"node-03"})
        self.assertIn("filter=shop", self.fragment())

    def test_a_shared_address_shows_the_same(self):
        self.show("#/vms")
        self.browser.type("#filter-vms", "shop")
        self.browser.click("table[data-table=vms] th:nth-child(2) button")
        here = self.await_half_by_name()
        address = self.browser.location()
        self.browser.open("about:blank")
        self.browser.open(address)
        self.await_view("vms")
        self.assertEqual(self.await_half_by_name(), here)
        self.assertEqual(self.browser.run(
            "return document.getElementById('filter-vms').value"), "shop")

    def await_half_by_name(self):
        def is_half_by_name(rows):
            names = [row["VM"] for row in rows]
            return len(names) == 16 and names == sorted(names)
        return [row["VM"] for row in self.await_rows(
            "half of the VMs are left, by name", "vms", is_half_by_name)]

    def test_a_csv_file_has_the_rows_and_their_exact_figures(self):
        self.show("#/nodes?filter=node-0&sort=metadata.name")
        self.await_rows("seven nodes are left", "nodes",
                        lambda rows: len(rows) == 7)
        self.browser.click(".csv")
        rows = list(csv.DictReader(io.StringIO(
            self.browser.downloaded("*.csv"))))
        nodes = {n["metadata"]["name"]: n["status"]
                 for n in self.items("nodeloads")}
        self.assertEqual([row["metadata.name"] for row in rows],
                         sorted(name for name in nodes
                                if name.startswith("node-0")))
        for row in rows:
            status = nodes[row["metadata.name"]]
            self.assertEqual(float(row["status.cpu.cores"]),
                             status["cpu"]["cores"])
            self.assertAlmostEqual(
                float(row["status.cpu.usedCores10s"]),
                status["cpu"]["usedCores10s"], 3)
            self.assertEqual(row["status.state"], "Fresh")

    # ---- the keyboard ----

    def test_the_keyboard_alone_reaches_a_node(self):
        self.show("#/nodes?sort=metadata.name")
        first = self.column("nodes", "Node")[0]
        for _ in range(60):
            self.browser.press("Tab")
            if self.browser.focused("e.classList.contains('frame')"):
                break
        self.browser.press("Down", "Enter")
        self.await_view("node")
        self.assertEqual(urllib.parse.unquote(self.fragment()),
                         f"/nodes/{first}")

    def test_keys_show_the_views(self):
        self.show("#/nodes")
        self.browser.press("2")
        self.await_view("vms")
        self.browser.press("/")
        self.assertEqual(self.browser.focused("e.id"), "filter-vms")
        self.browser.press("Escape", "?")
        self.browser.await_element("#help[open]")
        self.assertEqual(self.violations(), [])
        self.browser.press("Escape")
        self.assertEqual(self.browser.count("#help[open]"), 0)

    def test_the_first_tab_skips_to_the_view(self):
        self.show("#/nodes")
        self.browser.press("Tab")
        self.assertEqual(self.browser.focused("e.id"), "skip")
        self.browser.press("Enter")
        self.assertEqual(self.browser.focused("e.id"), "view")
        self.assertEqual(self.browser.count("table[data-table=nodes]"), 1)


if __name__ == "__main__":
    unittest.main()
