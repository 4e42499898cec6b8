"""`plimsoll-scheduler plan` as a program: each goal on a file, wrong goals and
files, --help."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import BIN, PATIENCE_S, ROOT  # noqa: E402

PROGRAM = BIN / "plimsoll-scheduler"
GOALS = "pod, empty:NODE, move:NAMESPACE/VM or gone:NODE[,NODE...]"


def node(name, memory):
    return {"kind": "Node", "metadata": {"name": name, "labels": {
        "kubevirt.io/schedulable": "true"}}, "status": {"allocatable": {
            "cpu": "16", "memory": memory, "pods": "110"}}}


def pod(name, memory, **spec):
    return {"kind": "Pod", "metadata": {
        "name": name, "namespace": "vms", "uid": f"pod-{name}"},
        "spec": {"schedulerName": "plimsoll-scheduler", "containers": [{
            "name": "compute", "resources": {"requests": {
                "cpu": "500m", "memory": memory}}}], **spec}}


def vm(name, on, memory):
    made = pod(f"virt-launcher-{name}", memory, nodeName=on)
    made["metadata"]["labels"] = {
        "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": name}
    made["metadata"]["annotations"] = {"kubevirt.io/domain": name}
    return {**made, "status": {"phase": "Running"}}


def vmi(name, on, **annotations):
    return {"kind": "VirtualMachineInstance", "metadata": {
        "name": name, "namespace": "vms", "uid": name,
        "annotations": annotations}, "status": {
            "phase": "Running", "nodeName": on, "conditions": [
                {"type": "LiveMigratable", "status": "True"}]}}


def listed(*items):
    """As kubectl prints it."""
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


def state(**more):
    """The urgent pod fits if the VM of a or that of b goes to c, and these two
    fit nowhere else."""
    return {
        "pod": pod("urgent", "24Gi", priority=1000),
        "nodes": listed(node("a", "32Gi"), node("b", "32Gi"),
                        node("c", "17Gi")),
        "pods": listed(vm("db", "a", "16Gi"), vm("web", "b", "17Gi")),
        **more}


def run(*arguments, given=None):
    text = given if isinstance(given, str) else json.dumps(given)
    return subprocess.run([PROGRAM, "plan", *arguments], input=text,
                          capture_output=True, text=True, timeout=PATIENCE_S,
                          check=False)


class Plan(unittest.TestCase):
    def answer(self, goal, given, *flags):
        done = run("--goal", goal, "--in", "-", *flags, given=given)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.count("\n"), 1)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["goal"], goal)
        self.assertEqual(answer["moves"], sum(
            s["kind"] == "move" for s in answer["steps"]))
        return answer

    def steps(self, goal, given, *flags):
        answer = self.answer(goal, given, *flags)
        self.assertTrue(answer["found"], answer["message"])
        return [(s["kind"], s["vm"], s["source"], s["target"])
                for s in answer["steps"]]

    def test_each_goal_has_its_plan(self):
        self.assertEqual([("move", "db", "a", "c")],
                         self.steps("pod", state()))
        self.assertEqual("a", self.answer("pod", state())["node"])
        given = state(nodes=[node("a", "32Gi"), node("b", "48Gi")])
        for goal, kind in (("empty:a", "move"), ("move:vms/db", "move"),
                           ("gone:a", "start")):
            with self.subTest(goal):
                self.assertEqual([(kind, "db", "a", "b")],
                                 self.steps(goal, given))
                self.assertNotIn("node", self.answer(goal, given))

    def test_a_goal_without_a_plan_is_an_answer_with_a_sentence(self):
        given = state(nodes=[node("a", "32Gi"), node("b", "32Gi")])
        answer = self.answer("pod", given)
        self.assertEqual((False, 0, []), (
            answer["found"], answer["moves"], answer["steps"]))
        self.assertGreater(len(answer["message"].split()), 3)
        self.assertFalse(answer["cut_off"])

    def test_a_vm_whose_vmi_forbids_it_stays(self):
        vmis = [vmi("db", "a", **{"plimsoll.io/move": "never"}),
                vmi("web", "b")]
        self.assertEqual([("move", "web", "b", "c")],
                         self.steps("pod", state(vmis=listed(*vmis))))

    def test_more_moves_than_the_limit_are_no_plan(self):
        given = state(nodes=[node("a", "32Gi"), node("b", "64Gi")],
                      pods=[vm(f"v{i}", "a", "4Gi") for i in range(4)])
        self.assertFalse(self.answer("empty:a", given)["found"])
        self.assertEqual(4, len(self.steps("empty:a", given, "--max-moves",
                                           "4")))

    def test_the_bound_of_the_load_is_the_users(self):
        load = {"now": 1000, "nodes": [
            {"name": name, "age_s": 1, "cpu": {
                "cores": 16, "used_cores": used, "used_cores_10s": used,
                "used_cores_5m": used}}
            for name, used in (("a", 4), ("b", 4), ("c", 9.6))]}
        given = state(load=load)
        self.assertTrue(self.answer("pod", given)["found"])
        self.assertFalse(self.answer("pod", given, "--max-load",
                                     "0.5")["found"])

    def test_a_wrong_command_line_is_one_sentence_and_exit_code_2(self):
        for flags, sentence in (
                (["--in", "-"], "--goal is required"),
                (["--goal", "pod"], "--in is required"),
                (["--goal", "drain:a", "--in", "-"],
                 f"--goal: 'drain:a' is not {GOALS}"),
                (["--goal", "move:db", "--in", "-"],
                 f"--goal: 'move:db' is not {GOALS}"),
                (["--goal", "pod", "--in", "-", "--max-load", "85"],
                 "--max-load: '85' is not a share above 0 and up to 10"),
                (["--goal", "pod", "--in", "-", "--max-load", "nan"],
                 "--max-load: 'nan' is not a share above 0 and up to 10")):
            with self.subTest(flags):
                done = run(*flags, given=state())
                self.assertEqual(
                    (2, "", f"plimsoll-scheduler plan: {sentence}\n"),
                    (done.returncode, done.stdout, done.stderr))
        for count in ("0", "51", "x"):
            done = run("--goal", "pod", "--in", "-", "--max-moves", count,
                       given=state())
            self.assertEqual(2, done.returncode)
            self.assertIn("--max-moves", done.stderr)

    def test_a_wrong_file_is_one_sentence_and_exit_code_1(self):
        for goal, given, sentence in (
                ("empty:x", state(), "there is no node 'x'"),
                ("gone:a,x", state(), "there is no node 'x'"),
                ("move:vms/x", state(),
                 "no VM 'vms/x' runs on any node"),
                ("pod", state(pod=None), "'pod' is not an object"),
                ("pod", state(vmis=1), "'vmis' is not a list"),
                ("pod", "{", "invalid JSON at byte 0")):
            with self.subTest(goal):
                done = run("--goal", goal, "--in", "-", given=given)
                self.assertEqual(
                    (1, "", f"plimsoll-scheduler plan: {sentence}\n"),
                    (done.returncode, done.stdout, done.stderr))

    def test_the_input_may_be_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "state.json"
            done = run("--goal", "pod", "--in", path)
            self.assertEqual(1, done.returncode)
            self.assertEqual(1, done.stderr.count("\n"))
            self.assertIn(str(path), done.stderr)
            path.write_text(json.dumps(state()))
            done = run("--goal", "pod", "--in", path)
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertTrue(json.loads(done.stdout)["found"])

    def test_the_example_of_the_manual_is_what_the_program_prints(self):
        text = (ROOT / "docs/plan.md").read_text()
        command, shown = re.search(
            r"^    \$ plimsoll-scheduler plan (.*)\n((?:    .*\n)+)", text,
            re.M).groups()
        done = subprocess.run([PROGRAM, "plan", *command.split()], cwd=ROOT,
                              capture_output=True, text=True,
                              timeout=PATIENCE_S,
                              check=True)
        self.assertEqual(done.stdout.strip(), "".join(
            line.removeprefix("    ") for line in shown.splitlines()))

    def test_help_names_the_goals(self):
        done = run("--help")
        self.assertEqual(0, done.returncode)
        for word in ("pod", "empty:NODE", "move:NAMESPACE/VM",
                     "gone:NODE[,NODE...]", "--max-moves", "--max-load"):
            self.assertIn(word, done.stdout)


if __name__ == "__main__":
    unittest.main()
