"""The questions of kubectl-plimsoll about VMs: why, where, whatif, rebalance;
and preflight. kubectl is a stand-in (tests/support/fake_kubectl.py)."""
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import ROOT, mark  # noqa: E402
from plugin_case import API, PluginCase, listed  # noqa: E402

SHOP = "/namespaces/shop/"


def missing(resource, name):
    return {"err": f'Error from server (NotFound): {resource} "{name}" not '
                   "found\n", "status": 1}


def forbidden(what):
    return {"err": f'Error from server (Forbidden): {what} is forbidden: User '
                   '"jane" cannot do that\n', "status": 1}


def decision(pod, time, chosen="node2", **status):
    return {"kind": "Decision", "apiVersion": "load.plimsoll.io/v1alpha1",
            "metadata": {"name": f"{pod}.{time[-6:-1]}", "namespace": "shop"},
            "spec": {"podName": pod, "vmName": "web"},
            "status": {"time": time, "chosen": chosen,
                       "sentence": f"{chosen}: 35 % CPU used",
                       "best": [{"node": chosen, "score": 61.5,
                                 "cpuExpected": 0.43}],
                       "rejections": [{"reason": "node(s) were unschedulable",
                                       "nodes": 3, "names": ["a", "b"]}]}
            | status}


class Why(PluginCase):
    def setUp(self):
        super().setUp()
        self.answer("config view", "shop")
        self.answer("/decisions", listed())
        self.answer("/pods", listed())
        self.answer("/events", listed())
        self.answer("virtualmachineinstances/web", {
            "metadata": {"name": "web"},
            "status": {"phase": "Running", "nodeName": "node2"}})

    def test_a_vms_last_decisions_come_in_words_newest_first(self):
        self.answer("/decisions", listed(
            decision("web-1", "2026-01-01T10:00:00Z"),
            decision("web-3", "2026-01-01T12:00:00Z", chosen=None,
                     sentence="0/3 nodes are available"),
            decision("web-2", "2026-01-01T11:00:00Z")))
        text = self.says("why", "web", "--limit=2")
        self.assertIn("VM shop/web is Running on node2.\n", text)
        self.assertRegex(text, r"d ago, no node was feasible for pod web-3.\n"
                         r"  0/3 nodes are available\n"
                         r"  not feasible: 3 nodes: node\(s\) were "
                         r"unschedulable \(a, b, \.\.\.\)\n"
                         r".*, node2 was chosen for pod web-2\.\n"
                         r"  node2: 35 % CPU used\n")
        self.assertNotIn("web-1", text)
        [call] = self.lines_of_calls("/decisions")
        self.assertIn(API + SHOP + "decisions?fieldSelector=spec.vmName%3Dweb",
                      call)

    def test_a_vm_that_runs_says_how_many_nodes_it_can_reach(self):
        for nodes, words in (
                (0, "The VM can reach no other node."),
                (1, "The VM can reach 1 other node."),
                (7, "The VM can reach 7 other nodes.")):
            self.answer("/vmloads/web", {"status": {"reachableNodes": nodes}})
            self.assertIn("VM shop/web is Running on node2.\n" + words,
                          self.says("why", "web"))
        unknown = "It is not known how many other nodes the VM can reach.\n"
        self.answer("/vmloads/web", {"status": {}})
        self.assertIn(unknown, self.says("why", "web"))
        self.answer("/vmloads/web", **forbidden("vmloads.load.plimsoll.io"))
        self.assertIn(unknown, self.says("why", "web"))

    def test_a_pending_vm_has_its_pods_condition_and_last_event(self):
        self.answer("virtualmachineinstances/web", {
            "status": {"phase": "Scheduling"}})
        self.answer("/pods\\?labelSelector=vm.kubevirt.io", {"items": [
            {"metadata": {"name": "virt-launcher-web-x"},
             "status": {"phase": "Pending", "conditions": [
                 {"type": "PodScheduled", "status": "False",
                  "reason": "Unschedulable",
                  "message": "0/3 nodes are available"}]}}]})
        self.answer("/events", {"items": [
            {"reason": "FailedScheduling", "message": "new",
             "lastTimestamp": "2026-01-01T11:00:00Z"},
            {"reason": "FailedScheduling", "message": "old",
             "lastTimestamp": "2026-01-01T10:00:00Z"}]})
        self.assertEqual(
            self.says("why", "vm/web"),
            "VM shop/web is Scheduling.\n"
            "Pod virt-launcher-web-x is Pending and has no node.\n"
            "  Unschedulable: 0/3 nodes are available\n"
            "  last event: FailedScheduling: new\n\n"
            "plimsoll has recorded no decision about this VM.\n")

    def test_a_stopped_vm_says_so(self):
        self.answer("instances/web", **missing("virtualmachineinstances",
                                               "web"))
        self.answer("virtualmachines/web", {
            "status": {"printableStatus": "ErrorUnschedulable"}})
        self.assertIn("VM shop/web is ErrorUnschedulable.",
                      self.says("why", "web"))

    def test_a_name_that_is_no_vms_is_a_pods(self):
        self.answer("virtualmachine.*/db", **missing("virtualmachines", "db"))
        self.answer("/pods/db", {"metadata": {"name": "db"},
                                 "spec": {"nodeName": "node1"},
                                 "status": {"phase": "Running"}})
        self.answer("podName%3Ddb", listed(
            decision("db", "2026-01-01T10:00:00Z")))
        text = self.says("why", "db")
        self.assertIn("Pod db is Running on node1.", text)
        self.assertIn("chosen for pod db", text)

    def test_decisions_outlive_their_vm(self):
        self.answer("virtualmachine.*/web|/pods/web",
                    **missing("virtualmachines", "web"))
        self.answer("vmName", listed(decision("p", "2026-01-01T10:00:00Z")))
        self.assertIn("VM shop/web is gone.", self.says("why", "web"))

    def test_a_name_of_nothing_is_an_error(self):
        self.answer("virtualmachine.*/no|/pods/no", **missing("pods", "no"))
        self.assertEqual(
            self.fails("why", "no"), 'error: there is no VM or pod "no" in '
            'namespace "shop", and no decision about one\n')

    def test_rights_that_are_missing_are_kubectls_words(self):
        self.answer("/decisions", **forbidden("decisions.load.plimsoll.io"))
        self.assertIn("decisions.load.plimsoll.io is forbidden",
                      self.fails("why", "web"))

    def test_without_the_right_to_list_pods_the_rest_is_said(self):
        self.answer("/pods", **forbidden("pods"))
        done = self.plugin("why", "web")
        self.assertEqual(done.returncode, 0)
        self.assertIn("VM shop/web is Running", done.stdout)
        self.assertIn("note: you may not list the pods", done.stderr)

    def test_wide_adds_scores_and_json_has_the_objects(self):
        one = decision("web-1", "2026-01-01T10:00:00Z")
        self.answer("/decisions", listed(one))
        self.assertRegex(self.says("why", "web", "-o", "wide"),
                         r"  NODE +SCORE.*\n  node2 +61.50 +43% +- +-\n")
        self.assertEqual(json.loads(self.says("why", "web", "-ojson"))[
            "items"], [one])

    def test_a_name_cannot_be_a_path(self):
        for name in ("a/b", "../x", "a?b", "a%2f", "A", ""):
            with self.subTest(name):
                self.assertIn("error: ", self.fails("why", name))
        self.assertEqual(self.calls(), [])
        self.assertIn("it is no name", self.fails("why", "x", "-n", "a/b"))


VM_YAML = """
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web}
spec:
  template:
    spec:
      domain: {memory: {guest: 1Gi}, cpu: {cores: 2}}
"""

PLACEMENT = {
    "kind": "Placement", "apiVersion": "load.plimsoll.io/v1alpha1",
    "status": {"chosen": "node2", "sentence": "node2: 35 % CPU used",
               "nodes": [
                   {"name": "node2", "feasible": True, "score": 61.5,
                    "terms": {"cpu": 40, "memory": 21.5}, "cpuRoom": 2.5,
                    "loadAgeSeconds": 1, "cpuExpected": 0.43,
                    "memoryExpected": 0.5, "reasons": []},
                   {"name": "node1", "feasible": False,
                    "reasons": ["Insufficient memory",
                                "node(s) had a taint\x1b[m"]}]}}


class Where(PluginCase):
    def setUp(self):
        super().setUp()
        self.answer("config view", "shop")
        self.answer("placements", PLACEMENT)

    def body(self):
        """The spec of the one placement that was asked for."""
        [(arguments, body)] = [call for call in self.calls()
                               if "create" in call[0]]
        body = json.loads(body)
        self.assertEqual(arguments[1:5], [
            "--raw", f"{API}/namespaces/{body['metadata']['namespace']}"
            "/placements", "-f", "-"])
        self.assertEqual(body["kind"], "Placement")
        return body["spec"]

    def test_a_vm_of_the_cluster_is_judged_node_by_node(self):
        text = self.says("where", "web")
        self.assertEqual(self.body(), {"vmName": "web"})
        self.assertIn("It would go to node2.\nnode2: 35 % CPU used\n\n",
                      text)
        self.assertRegex(text, r"node2 +61.50 +43% +50% +1s +-\n"
                         r"node1 +- +- +- +<unknown> +Insufficient memory; "
                         r"node\(s\) had a taint\\x1b\[m\n")

    def test_nodes_that_the_answer_leaves_out_are_counted(self):
        self.answer("placements", {"status": PLACEMENT["status"] | {
            "nodesLeftOut": 12}})
        self.assertTrue(self.says("where", "web").endswith(
            "\n12 more nodes are not in the answer.\n"))

    def test_a_pod_and_formats(self):
        self.assertIn("cpu=40 memory=22", self.says("where", "pod/x", "-o",
                                                    "wide"))
        self.assertEqual(self.body(), {"podName": "x"})
        self.assertEqual(self.says("where", "x", "-o", "name"),
                         "node/node2\n")
        self.assertEqual(json.loads(self.says("where", "x", "-o", "json")),
                         PLACEMENT)

    def test_no_feasible_node_is_said(self):
        self.answer("placements", {"status": {"chosen": None, "nodes": []}})
        self.assertIn("No node is feasible.", self.says("where", "web"))
        self.assertEqual(self.says("where", "web", "-o", "name"), "")

    def test_a_manifest_in_yaml_from_a_file_or_standard_input(self):
        path = self.folder / "vm.yaml"
        path.write_text(VM_YAML)
        self.says("where", "-f", str(path))
        spec = self.body()
        self.assertEqual(spec["object"]["metadata"], {"name": "web"})
        self.assertEqual(spec["object"]["spec"]["template"]["spec"],
                         {"domain": {"memory": {"guest": "1Gi"},
                                     "cpu": {"cores": 2}}})
        (self.folder / "calls").unlink()
        self.says("where", "-f", "-", stdin=VM_YAML)
        self.assertEqual(self.body(), spec)

    def test_the_namespace_of_a_manifest_counts(self):
        text = VM_YAML.replace("name: web", "name: web, namespace: db")
        self.says("where", "-f", "-", stdin=text)
        self.assertIn("/namespaces/db/", self.lines_of_calls("create")[0])
        self.assertIn("does not match the namespace",
                      self.fails("where", "-f", "-", "-n", "shop",
                                 stdin=text))

    def test_manifests_that_cannot_be_placed(self):
        for text, sentence in (
                ("kind: Service", 'and not a "Service"'),
                ("- a", "there is no object"),
                ("a: [", "line"),
                (VM_YAML + "---" + VM_YAML, "document"),
                ("x" * (300 << 10), "/dev/stdin")):
            with self.subTest(text[:20]):
                self.assertIn(sentence, self.fails("where", "-f", "-",
                                                   stdin=text))
        self.assertIn("no such file", self.fails("where", "-f", "/no").lower())

    def test_without_a_leader_the_apis_sentence_is_shown(self):
        self.answer("placements", err="Error from server (ServiceUnavailable):"
                    " no scheduler leads now\n", status=1)
        self.assertEqual(self.fails("where", "web"),
                         "Error from server (ServiceUnavailable): no "
                         "scheduler leads now\n")


PLAN = {
    "kind": "Plan", "apiVersion": "load.plimsoll.io/v1alpha1",
    "status": {"found": False, "cutOff": True,
               "sentence": "1 of 2 VMs would find no place",
               "steps": [{"wave": 1, "namespace": "shop", "vmName": "web",
                          "sourceNode": "node1", "targetNode": "node2"}],
               "stuck": [], "lost": [{"namespace": "shop", "vmName": "db"}],
               "nodes": [{"name": "node2", "cpuBefore": 0.4, "cpuAfter": 0.55,
                          "memoryBefore": 0.5, "memoryAfter": 0.7,
                          "isTarget": True}],
               "hidden": {"vms": 3, "steps": 2, "stuck": 0, "lost": 1}}}


class WhatIf(PluginCase):
    def setUp(self):
        super().setUp()
        self.answer("/plans", PLAN)

    def test_lost_vms_places_and_nodes_are_shown(self):
        text = self.says("whatif", "--without", "node1,node9")
        [call] = [call for call in self.calls() if "create" in call[0]]
        self.assertIn(f"{API}/namespaces/default/plans", call[0])
        self.assertEqual(json.loads(call[1])["spec"], {
            "goal": "NodesGone", "nodeNames": ["node1", "node9"]})
        self.assertRegex(text, r"1 of 2 VMs would find no place\n"
                         r"The search ended at its limit")
        self.assertRegex(text, r"find no place:\nNAMESPACE .*\nshop +db ")
        self.assertRegex(text, r"WAVE .*\n1 +shop +web +node1 +node2\n")
        self.assertRegex(text, r"node2 +40% +55% +50% +70%\n")
        self.assertIn("3 more VMs of namespaces that you may not list: 2 "
                      "would move, 1 cannot.", text)

    def test_formats(self):
        self.assertEqual(self.says("whatif", "--without=a", "-o", "name"),
                         "virtualmachineinstance.kubevirt.io/db\n")
        self.assertEqual(json.loads(self.says(
            "whatif", "--without=a", "-o", "json")), PLAN)

    def test_nodes_are_named(self):
        self.assertIn("--without NODE", self.fails("whatif"))
        self.assertIn("'' is not the name of a node",
                      self.fails("whatif", "--without=a,"))


class Rebalance(PluginCase):
    def move(self, vm, state, gain, namespace="shop"):
        return {"kind": "Move", "apiVersion": "load.plimsoll.io/v1alpha1",
                "metadata": {"name": vm, "namespace": namespace},
                "spec": {"vmName": vm, "sourceNode": "node1",
                         "targetNode": "node2", "reason": "cpu"},
                "status": {"state": state, "gain": gain, "sentence": "why"}}

    def setUp(self):
        super().setUp()
        self.answer("status/plimsoll", {"status": {"rebalance": {
            "mode": "Recommend", "why": "--rebalance is recommend"}}})
        self.answer("/moves", listed(
            self.move("small", "Recommended", 3),
            self.move("large", "Recommended", 30),
            self.move("old", "Succeeded", 50),
            self.move("now", "Running", 1)))

    def test_moves_that_have_not_ended_come_with_mode_and_reason(self):
        text = self.says("rebalance")
        self.assertTrue(text.startswith(
            "Mode: Recommend.\n"
            "Nothing is moved now: --rebalance is recommend.\n"
        ), text)
        self.assertEqual([line.split()[0] for line in text.splitlines()[3:]],
                         ["now", "large", "small"])
        self.assertRegex(text, "large +node1 +node2 +Recommended +cpu +30.00")

    def test_a_tenant_sees_moves_without_the_mode(self):
        self.answer("status/plimsoll", **forbidden("status"))
        done = self.plugin("rebalance")
        self.assertEqual(done.returncode, 0)
        self.assertIn("large", done.stdout)
        self.assertIn("so its mode is not shown", done.stderr)

    def test_while_moves_are_ordered_there_is_no_reason(self):
        self.answer("status/plimsoll", {"status": {"rebalance": {
            "mode": "Automatic"}}})
        self.assertEqual(self.says("rebalance").splitlines()[0],
                         "Mode: Automatic.")
        self.assertNotIn("Nothing is moved", self.says("rebalance"))

    def test_no_moves_and_an_unknown_mode_are_said(self):
        self.answer("status/plimsoll", {"status": {"rebalance": {}}})
        self.answer("/moves", listed())
        self.assertEqual(self.says("rebalance", "-A"),
                         "The mode is not known: no scheduler told it to the "
                         "aggregator.\nNo move is recommended or under way."
                         "\n")

    def test_json_has_the_moves_alone(self):
        self.assertEqual([move["metadata"]["name"] for move in json.loads(
            self.says("rebalance", "-A", "-ojson"))["items"]],
            ["now", "large", "small"])
        self.assertEqual(self.lines_of_calls("status"), [])


class Preflight(PluginCase):
    """The script itself is tested in tests/deploy/preflight_test.py."""

    def test_it_runs_the_script_of_the_installation_with_global_flags(self):
        self.answer("version", err="Unable to connect\x1b\n", status=1)
        done = self.plugin("preflight", "--context=it's $HOME", "-n", "x")
        script = subprocess.run(
            [ROOT / "deploy/preflight.sh", "--context=it's $HOME"],
            env=self.environment(), capture_output=True, text=True,
            check=False)
        self.assertEqual((done.returncode, done.stdout),
                         (2, script.stdout.replace("\x1b", "\\x1b")))
        self.assertIn("Unable to connect", done.stdout)
        self.assertEqual(self.calls()[0][0], [
            "--context=it's $HOME", "--namespace=x", "version"])

    def stranded(self, *vms):
        """What it says of VMs, if these can reach no other node."""
        self.answer("", "")
        self.answer("version", "Server Version: v1.36.0")
        self.answer("can-i", "yes")
        self.answer("get namespace plimsoll", "namespace/plimsoll")
        self.answer("api-group=load", "nodeloads.load.plimsoll.io\n"
                    "vmloads.load.plimsoll.io\n")
        self.answer("status.reachableNodes=0", "".join(
            f"{vm}\n" for vm in vms))
        return [line for line in self.plugin("preflight").stdout.splitlines()
                if "can reach" in line]

    @mark(slow="the script runs three times, with a hundred processes each")
    def test_it_lists_vms_that_can_reach_no_other_node(self):
        self.assertEqual(self.stranded(), [])
        self.assertEqual(self.stranded("shop/web", "bank/db"), [
            "note: 2 VMs can reach no other node, and stop when theirs is "
            "emptied: shop/web bank/db."])
        [line] = self.stranded(*(f"shop/vm-{i}" for i in range(1, 26)))
        self.assertTrue(line.startswith("note: 25 VMs"), line)
        self.assertTrue(line.endswith(" shop/vm-20 and 5 more."), line)

    def test_it_takes_no_arguments(self):
        self.assertIn("preflight takes no arguments",
                      self.fails("preflight", "x"))


if __name__ == "__main__":
    unittest.main()
