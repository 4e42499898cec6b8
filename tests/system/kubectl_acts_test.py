"""What kubectl-plimsoll changes with --yes: migrate, evacuate. kubectl is a
stand-in (tests/support/fake_kubectl.py)."""
import json
import os
import pathlib
import pty
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import PATIENCE_S, eventually  # noqa: E402
from plugin_case import (KUBEVIRT, PLUGIN, PluginCase,  # noqa: E402
                         listed, node_load, vm_load)

FORBIDDEN = ("Error from server (Forbidden): "
             "virtualmachineinstancemigrations.kubevirt.io is forbidden\n")
SHOP = f"{KUBEVIRT}/namespaces/shop"


def vmi(name, node="node1", reason=None, **status):
    condition = {"type": "LiveMigratable", "status": "True"}
    if reason:
        condition |= {"status": "False", "reason": reason, "message": "PVC x"}
    return {"metadata": {"name": name, "namespace": "shop"},
            "status": {"phase": "Running", "nodeName": node,
                       "conditions": [condition]} | status}


def migration(phase, vm="web", name="m", target="node2", **state):
    return {"metadata": {"name": name, "namespace": "shop"},
            "spec": {"vmiName": vm,
                     "addedNodeSelector": {"kubernetes.io/hostname": "host2"}},
            "status": {"phase": phase,
                       "migrationState": {"targetNode": target} | state}}


class ActCase(PluginCase):
    def setUp(self):
        super().setUp()
        self.answer("config view", "shop")
        self.answer("/api/v1/nodes/node2", {"metadata": {"labels": {
            "kubernetes.io/hostname": "host2"}}})
        self.answer("nodeloads/node1", node_load("node1", usedCores5m=8))
        self.answer("nodeloads/node2", node_load("node2", usedCores5m=4))
        self.answer("vmloads/web", vm_load("web", "shop", usedCores5m=2))
        self.answer("virtualmachineinstances/web", vmi("web"))
        self.answer("placements", {"status": {"nodes": [
            {"name": "node2", "feasible": True}]}})
        self.answer("/plans", {"status": {
            "sentence": "web can move to node2", "steps": [], "nodes": [
                {"name": "node2", "cpuBefore": 0.25, "cpuAfter": 0.38}]}})
        self.answer("create .*migrations -f", migration("Pending"))
        self.answer("get --raw .*migrations/", migration("Succeeded"))

    def created(self):
        """The migrations that were created."""
        return [json.loads(body) for arguments, body in self.calls()
                if arguments[0] == "create" and "migrations" in arguments[2]]


class Migrate(ActCase):
    def test_without_yes_it_shows_both_ends_and_changes_nothing(self):
        for extra in ([], ["--yes", "--dry-run"]):
            text = self.says("migrate", "web", "--to", "node2", *extra)
            self.assertIn("web can move from node1 to node2.\n", text)
            self.assertRegex(text, r"node1 +50% +38% +75% +72% +1s\n"
                             r"node2 +25% +38% +75% +78% +1s\n")
            self.assertIn("Nothing was changed. --yes moves 1 VM.", text)
        self.assertEqual(self.created(), [])

    def test_without_a_target_the_schedulers_plan_is_shown(self):
        text = self.says("migrate", "vm/web")
        self.assertIn("web can move to node2", text)
        self.assertRegex(text, r"node2 +25% +38%")

    def test_yes_orders_the_move_and_follows_it(self):
        self.answer("get --raw .*migrations/", migration("Scheduling"),
                    times=2)
        text = self.says("migrate", "web", "--to=node2", "--yes")
        [body] = self.created()
        self.assertEqual(body["spec"], {
            "vmiName": "web",
            "addedNodeSelector": {"kubernetes.io/hostname": "host2"}})
        self.assertRegex(text, r"shop/web: ordered\n"
                         r"shop/web: Scheduling, to node2\n"
                         r"shop/web: moved to node2 after \d+s\n$")

    def test_a_node_selector_is_passed_on(self):
        self.says("migrate", "web", "--node-selector", "zone=b,a/b=", "--yes")
        [body] = self.created()
        self.assertEqual(body["spec"]["addedNodeSelector"],
                         {"zone": "b", "a/b": ""})
        for text in ("zone", "=x", "a=b,a=c", "a=b,", "a=b c"):
            self.assertIn("are not labels KEY=VALUE", self.fails(
                "migrate", "web", "--node-selector", text))

    def test_a_vm_that_cannot_move_says_why(self):
        for state, words in (
                (vmi("web", reason="DisksNotLiveMigratable"),
                 "a disk cannot be reached from another node (PVC x)"),
                (vmi("web", reason="NewReason"), "PVC x"),
                (vmi("web", phase="Scheduling"),
                 "it is not running (Scheduling)"),
                (vmi("web", migrationState={"migrationUid": "1"}),
                 "it is moving already"),
                (vmi("web", node="node2"), "it is on this node")):
            self.answer("virtualmachineinstances/web", state)
            done = self.plugin("migrate", "web", "--to=node2", "--yes")
            with self.subTest(words):
                self.assertEqual(done.returncode, 1)
                self.assertIn(f" cannot move: {words}.\n", done.stdout)
        self.assertEqual(self.created(), [])

    def test_a_node_that_is_not_feasible_gets_no_vm(self):
        self.answer("placements", {"status": {"nodes": [
            {"name": "node2", "feasible": False,
             "reasons": ["Insufficient memory"]}]}})
        done = self.plugin("migrate", "web", "--to=node2", "--yes")
        self.assertEqual(done.returncode, 1)
        self.assertIn("node2 is not feasible: Insufficient memory",
                      done.stdout)
        self.assertEqual(self.created(), [])

    def test_a_node_that_a_large_answer_leaves_out_may_be_tried(self):
        self.answer("placements", {"status": {"nodes": [],
                                              "nodesLeftOut": 500}})
        self.assertIn("Whether node2 is feasible is not known",
                      self.says("migrate", "web", "--to=node2", "--yes"))
        self.assertEqual(len(self.created()), 1)
        self.answer("placements", {"status": {"nodes": []}})
        self.assertIn("the scheduler does not know it", self.plugin(
            "migrate", "web", "--to=node2").stdout)

    def test_selected_vms_move_some_at_once(self):
        names = ["a", "b", "c"]
        self.answer("virtualmachineinstances\\?labelSelector=tier%3Ddb",
                    listed(*[vmi(name) for name in names]))
        for name in names:
            self.answer(f"virtualmachineinstances/{name}", vmi(name))
        text = self.says("migrate", "-l", "tier=db", "--yes", "--parallel=2")
        self.assertEqual([body["spec"]["vmiName"] for body in self.created()],
                         names)
        self.assertLess(text.index("shop/a: moved"),
                        text.index("shop/c: ordered"))
        self.assertGreater(text.index("shop/a: moved"),
                           text.index("shop/b: ordered"))

    def test_a_refusal_names_the_role_that_is_missing(self):
        self.answer("create .*migrations", err=FORBIDDEN, status=1)
        done = self.plugin("migrate", "web", "--yes")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn(
            f"shop/web: refused: {FORBIDDEN}"
            "The ClusterRole kubevirt.io:migrate has this right: ask for a "
            "RoleBinding to it in namespace shop.\n", done.stdout)

    def test_a_vm_that_is_refused_holds_up_no_other(self):
        self.answer("virtualmachineinstances/db", vmi("db"))
        self.answer("create .*migrations", err="Error from server: no\n",
                    status=1, times=1)
        done = self.plugin("migrate", "web", "db", "--yes")
        self.assertEqual(done.returncode, 1)
        self.assertIn("shop/web: refused: Error from server: no\n",
                      done.stdout)
        self.assertIn("shop/db: moved to node2", done.stdout)

    def test_an_old_kubevirt_does_not_move_it_anywhere(self):
        answer = migration("Pending")
        del answer["spec"]["addedNodeSelector"]
        self.answer("create .*migrations", answer)
        self.answer("delete --raw", "{}")
        self.assertIn("version 1.6 or newer", self.fails(
            "migrate", "web", "--to=node2", "--yes"))
        [name] = [body["metadata"]["name"] for body in self.created()]
        self.assertEqual(self.lines_of_calls("delete"), [
            f"delete --raw {SHOP}/virtualmachineinstancemigrations/{name}"])

    def test_a_failed_or_deleted_migration_fails(self):
        self.answer("get --raw .*migrations/",
                    migration("Failed", failureReason="no\x1b[mroom"))
        done = self.plugin("migrate", "web", "--yes")
        self.assertEqual(done.returncode, 1)
        self.assertIn("shop/web: failed: no\\x1b[mroom after", done.stdout)
        self.answer("get --raw .*migrations/", err="Error from server "
                    "(NotFound): gone\n", status=1)
        done = self.plugin("migrate", "web", "--yes")
        self.assertEqual(done.returncode, 1)
        self.assertIn("somebody deleted the migration", done.stdout)

    def test_a_server_that_does_not_answer_is_asked_again(self):
        self.answer("get --raw .*migrations/", err="Unable to connect\n",
                    status=1, times=2)
        self.assertIn("shop/web: moved to node2",
                      self.says("migrate", "web", "--yes"))

    def test_names_and_targets_are_checked(self):
        for arguments, sentence in (
                ([], "You must name VMs"),
                (["a", "-l", "x=y"], "You must name VMs"),
                (["a/b"], "'a/b' is not the name of a VM"),
                (["a", "--to=b", "--node-selector=c=d"],
                 "exclude each other"),
                (["a", "--to=B"], "'B' is not the name of a node")):
            with self.subTest(arguments):
                self.assertIn(sentence, self.fails("migrate", *arguments))

    def begin(self, stdin):
        self.answer("delete --raw", "{}")
        self.answer("get --raw .*migrations/", migration("Running"))
        log = self.folder / "out"
        with open(log, "wb") as out:
            child = subprocess.Popen(
                [PLUGIN, "migrate", "web", "--yes"], stdin=stdin, stdout=out,
                stderr=subprocess.STDOUT, env=self.environment())
        self.addCleanup(child.kill)
        eventually("the VM moves", lambda: "Running" in log.read_text())
        child.send_signal(signal.SIGINT)
        return child, log

    def test_ctrl_c_asks_and_cancels(self):
        terminal, of_plugin = pty.openpty()
        child, log = self.begin(of_plugin)
        eventually("it asks", lambda: "[y/N]" in log.read_text())
        os.write(terminal, b"y\n")
        self.assertEqual(child.wait(PATIENCE_S), 130)
        self.assertIn("Cancel 1 migration that moves now? [y/N]",
                      log.read_text())
        self.assertIn("shop/web: cancelled after", log.read_text())
        [name] = [body["metadata"]["name"] for body in self.created()]
        self.assertTrue(self.lines_of_calls("delete")[0].endswith(name))
        os.close(terminal)
        os.close(of_plugin)

    def test_ctrl_c_without_a_terminal_lets_the_move_go_on(self):
        child, log = self.begin(subprocess.DEVNULL)
        self.assertEqual(child.wait(PATIENCE_S), 130)
        self.assertIn("interrupted; 1 migration goes on", log.read_text())
        self.assertEqual(self.lines_of_calls("delete"), [])


def step(vm, wave=1, source="node1"):
    return {"wave": wave, "namespace": "shop", "vmName": vm,
            "sourceNode": source, "targetNode": "node2"}


def plan(*steps, stuck=(), sentence="a plan"):
    return {"kind": "Plan", "status": {
        "sentence": sentence, "steps": list(steps), "stuck": [
            {"namespace": "shop", "vmName": vm, "nodeName": "node1",
             "reason": "a disk is local"} for vm in stuck],
        "nodes": [{"name": "node2", "cpuBefore": 0.4, "cpuAfter": 0.6}]}}


class Evacuate(ActCase):
    def setUp(self):
        super().setUp()
        self.answer("^cordon node1", "node/node1 cordoned\n")
        for name in ("a", "b", "c"):
            self.answer(f"virtualmachineinstances/{name}", vmi(name))
        self.answer("virtualmachineinstances\\?labelSelector", listed())
        self.answer("virtualmachineinstancemigrations\\?", listed())
        self.answer("/plans", plan())

    def plans(self, *plans):
        """The scheduler's plans, one behind the other. The first is asked for
        twice: before and after the cordon."""
        for one in reversed(plans[1:]):
            self.answer("/plans", one, times=1)
        self.answer("/plans", plans[0], times=2)

    def test_the_plan_comes_first_and_nothing_is_changed(self):
        self.answer("/plans", plan(step("a"), step("b", 2), stuck=["c"]))
        for extra in ([], ["--yes", "--dry-run"]):
            text = self.says("evacuate", "node1", *extra)
            self.assertRegex(text, r"a plan\n\nThese VMs would move, in this "
                             r"order:\nWAVE .*\n1 +shop +a +node1 +node2\n"
                             r"2 +shop +b ")
            self.assertRegex(text, r"cannot move:\n.*\nshop +c +node1 +a disk "
                             r"is local\n")
            self.assertRegex(text, r"node2 +40% +60%")
            self.assertIn("Nothing was changed.", text)
        self.assertEqual(self.lines_of_calls("cordon"), [])
        self.assertEqual(self.created(), [])
        [_, body] = [c for c in self.calls() if "create" in c[0]][0]
        self.assertEqual(json.loads(body)["spec"], {
            "goal": "Evacuate", "nodeNames": ["node1"]})

    def test_yes_cordons_and_goes_wave_by_wave_with_new_plans(self):
        self.plans(plan(step("a"), step("b", 2),
                        step("b") | {"action": "Start"}),
                   plan(step("c") | {"action": "Migrate"}), plan())
        text = self.says("evacuate", "node1", "--yes")
        self.assertEqual([body["spec"] for body in self.created()], [
            {"vmiName": name, "addedNodeSelector": {
                "kubernetes.io/hostname": "host2"}} for name in "ac"])
        calls = self.lines_of_calls()
        self.assertLess(calls.index("cordon node1"), next(
            i for i, call in enumerate(calls) if "migrations -f" in call))
        self.assertIn("node/node1 cordoned\n", text)
        self.assertIn("The new plan has 1 moves.", text)
        self.assertTrue(text.endswith(
            "No VM is on node1 any more. The node is cordoned: kubectl "
            "uncordon node1 ends that.\n"), text)

    def test_run_again_it_follows_what_moves_already(self):
        self.answer("virtualmachineinstances\\?labelSelector=kubevirt.io%2F"
                    "nodeName%3Dnode1", listed(vmi("a")), times=1)
        self.answer("virtualmachineinstancemigrations\\?", listed(
            migration("Running", "a", "old"),
            migration("Succeeded", "a", "ended"),
            migration("Running", "elsewhere", "other")))
        text = self.says("evacuate", "node1", "--yes")
        self.assertIn("1 VM of node1 moves already.\n", text)
        self.assertIn("shop/a: moved to node2", text)
        self.assertTrue(any("migrations/old" in call
                            for call in self.lines_of_calls()))
        self.assertEqual(self.created(), [])

    def test_a_vm_that_fails_twice_stays_and_the_status_is_1(self):
        self.answer("/plans", plan(step("a"), stuck=["b"]))
        self.answer("virtualmachineinstances\\?labelSelector", listed(
            vmi("a"), vmi("b")))
        self.answer("get --raw .*migrations/",
                    migration("Failed", failureReason="no room"))
        done = self.plugin("evacuate", "node1", "--yes")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(len(self.created()), 2)
        self.assertIn("2 VMs are still on node1, which is cordoned",
                      done.stdout)
        self.assertIn("a disk is local", done.stdout.split("new plan")[-1])

    def test_a_vm_of_a_wave_that_is_refused_holds_up_no_other(self):
        self.plans(plan(step("a"), step("b")), plan())
        self.answer("create .*migrations", err="Error from server: no\n",
                    status=1, times=1)
        self.answer("virtualmachineinstances\\?labelSelector",
                    listed(vmi("a")))
        done = self.plugin("evacuate", "node1", "--yes", "--parallel=1")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("shop/a: refused: Error from server: no\n"
                      "shop/b: ordered\n", done.stdout)
        self.assertIn("1 VM is still on node1, which is cordoned",
                      done.stdout)

    def test_a_plan_that_is_older_than_the_cluster_orders_nothing(self):
        self.answer("virtualmachineinstances/a", vmi("a", node="node2"))
        self.plans(plan(step("a")), plan())
        self.says("evacuate", "node1", "--yes")
        self.assertEqual(self.created(), [])

    def test_without_the_right_to_cordon_nothing_moves(self):
        self.answer("/plans", plan(step("a")))
        self.answer("^cordon", err="error: forbidden\n", status=1)
        self.assertEqual(self.fails("evacuate", "node1", "--yes"),
                         "error: forbidden\n")
        self.assertEqual(self.created(), [])

    def test_a_new_leader_is_waited_for(self):
        self.plans(plan(step("a")), plan())
        self.rules.insert(1, {
            "match": "/plans", "times": 1, "status": 1,
            "err": "Error from server (ServiceUnavailable): no scheduler "
                   "leads now\n"})
        self.assertIn("No VM is on node1", self.says("evacuate", "node1",
                                                     "--yes"))

    def test_one_node_is_named(self):
        for arguments in ([], ["a", "b"], ["a/b"]):
            self.assertIn("You must name one node",
                          self.fails("evacuate", *arguments))
        self.assertIn("without --yes", self.fails(
            "evacuate", "a", "--yes", "-o", "json"))
        self.assertEqual(json.loads(self.says(
            "evacuate", "node1", "-o", "json")), plan())


if __name__ == "__main__":
    unittest.main()
