"""The page shows what the leading scheduler believes: expected figures, room,
and what it moves."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import eventually  # noqa: E402
from page_case import PageCase  # noqa: E402


class Outlook(PageCase):
    @classmethod
    def setUpClass(cls):
        cls.begin(history_s=60)

    def test_nodes_show_what_the_scheduler_believes(self):
        self.show("#/nodes", "nodes")
        self.browser.await_element(
            ".bar[data-requested='0.281'][data-expected='0.319']")

    def test_room_is_what_the_scheduler_says(self):
        self.show("#/room", "room")
        room = self.api("status/plimsoll/outlook")["status"]["room"]
        [kind] = room["fits"]["kinds"]
        largest = kind["largestNow"]
        self.assert_facts("kind-0", {
            "Largest now": f"{largest['vcpus']} vCPUs, "
                           f"{largest['memoryGib']} GiB on "
                           f"{largest['node']}"})
        rows = self.rows("room-plain")
        self.assertEqual([row["In words"] for row in rows],
                         [shape["message"] for shape in kind["shapes"]])
        self.assertEqual([row["Copies"] for row in rows],
                         [str(shape["copies"]) for shape in kind["shapes"]])

    def test_moves_have_the_reason_why_nothing_is_moved(self):
        self.show("#/moves", "moves")
        self.browser.await_text("#why-not", "Recommend.*nothing is short")

    def test_health_has_the_mode_of_rebalancing(self):
        # The status has what the scheduler said last.
        self.api("status/plimsoll/outlook")
        self.show("#/health", "health")
        status = self.api("status/plimsoll")["status"]
        self.assert_facts("scheduler", {
            "Rebalancing": status["rebalance"]["mode"],
            "Why nothing moves": status["rebalance"]["why"]})

    def test_vms_show_how_many_nodes_they_can_reach(self):
        eventually("the aggregator knows the reach", lambda: "reachableNodes"
                   in self.api("namespaces/shop/vmloads/web-03-1")["status"])
        self.show("#/vms?sort=status.reachableNodes", "vms")
        reach = {row["VM"]: row["Reach"] for row in self.rows("vms")}
        self.assertEqual(reach["web-03-1"], "0")
        self.assertEqual(reach["web-03-3"], "1")
        self.assertEqual(reach["web-01-1"], "5")
        self.assertEqual(reach["web-00-1"], "\u2013")
        self.browser.await_element("td.warn")
        for vm, text in (("web-03-1", "no other node"),
                         ("web-03-3", "1 other node"),
                         ("web-01-1", "5 other nodes"),
                         ("web-00-1", "\u2013")):
            self.show(f"#/vms/shop/{vm}", "vm")
            self.assert_facts("load", {"Can reach": text})

    def test_a_vm_says_why_it_cannot_move(self):
        self.show("#/vms/shop/web-03-1", "vm")
        self.browser.await_text("#view", "No: web-03-1 cannot be migrated: "
                                "it has a host device")


if __name__ == "__main__":
    unittest.main()
