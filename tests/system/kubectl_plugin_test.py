"""kubectl-plimsoll as a program: its command line, its calls of kubectl, and
the lists of `top`. kubectl is a stand-in (tests/support/fake_kubectl.py)."""
import json
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import sys
import unittest

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import PATIENCE_S, eventually  # noqa: E402
from plugin_case import (API, NOT_SERVED, PLUGIN, PluginCase,  # noqa: E402
                         listed, node_load, vm_load)


class CommandLine(PluginCase):
    def test_without_a_command_it_shows_its_help(self):
        text = self.says()
        self.assertIn("Available Commands:", text)
        self.assertEqual(text, self.says("--help"))
        self.assertEqual(text, self.says("help"))

    def test_each_command_has_help_in_kubectls_layout(self):
        names = [line.split()[0] for line in self.says().partition(
            "Available Commands:\n")[2].partition("\n\n")[0].splitlines()]
        self.assertIn("top", names)
        for name in names:
            if name == "version":
                continue
            text = self.says(name, "--help")
            with self.subTest(name):
                self.assertEqual(text, self.says("help", name))
                self.assertIn("\nExamples:\n  # ", text)
                self.assertIn(f"\nUsage:\n  kubectl plimsoll {name}", text)
                self.assertLess(max(map(len, text.splitlines())), 140)

    def test_mistakes_are_named_as_kubectl_names_them(self):
        see = "\nSee 'kubectl plimsoll top --help' for usage.\n"
        for arguments, sentence in (
                (["top", "--x"], "unknown flag: --x"),
                (["top", "--yes"], "unknown flag: --yes"),
                (["top", "-q"], "unknown shorthand flag: 'q' in -q"),
                (["top", "nodes", "-o"], "flag needs an argument: 'o' in -o"),
                (["top", "nodes", "--context"],
                 "flag needs an argument: --context"),
                (["top", "nodes", "-o", "xml"],
                 'unable to match a printer suitable for the output format '
                 '"xml", allowed formats are: json,name,wide,yaml'),
                (["top"], "You must say what to list: nodes or vms")):
            with self.subTest(arguments):
                self.assertEqual(self.fails(*arguments),
                                 "error: " + sentence + see)
        self.assertEqual(
            self.fails("tpo"), 'error: unknown command "tpo" for "kubectl '
            'plimsoll"\n\nDid you mean this?\n\ttop\n')

    def test_global_flags_reach_each_kubectl(self):
        self.answer("nodeloads", listed())
        self.says("--context=east", "top", "nodes", "--as", "jane",
                  "--as-group=a", "--as-group=b", "--kubeconfig", "/k f",
                  "--request-timeout=5s", "-s", "https://x", "-n", "shop")
        [[arguments, _]] = self.calls()
        self.assertEqual(arguments, [
            "get", "--raw", API + "/nodeloads?limit=2000", "--context=east",
            "--as=jane", "--as-group=a", "--as-group=b", "--kubeconfig=/k f",
            "--request-timeout=5s", "--server=https://x", "--namespace=shop"])

    def test_kubectls_failure_keeps_its_words_and_status(self):
        self.answer("nodeloads", err="error: no \x1b[31mred\n", status=3)
        self.assertEqual(self.fails("top", "nodes", status=3),
                         "error: no \\x1b[31mred\n")

    def test_warnings_of_kubectl_are_passed_on(self):
        self.answer("nodeloads", listed(), err="Warning: old\x1b\n")
        self.assertTrue(self.plugin("top", "nodes").stderr.startswith(
            "Warning: old\\x1b\n"))

    def test_a_way_of_logging_in_may_ask_for_a_password(self):
        self.answer("nodeloads", listed(), err="Password: ", asks=True)
        child = subprocess.Popen(
            [PLUGIN, "top", "nodes"], env=self.environment(), text=True,
            stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(child.kill)
        asked = os.read(child.stderr.fileno(), 100).decode()
        self.assertEqual(asked, "Password: ")
        _, rest = child.communicate("secret\n", timeout=PATIENCE_S)
        self.assertIn("heard secret", rest)

    def test_a_kubectl_that_complains_without_end_is_stopped(self):
        endless = self.folder / "endless"
        endless.write_text("#!/bin/sh\nyes no >&2\n")
        endless.chmod(0o755)
        done = subprocess.run(
            [PLUGIN, "top", "nodes"], stderr=subprocess.DEVNULL, check=False,
            env=self.environment() | {"KUBECTL": str(endless)},
            timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 1)

    def test_a_cluster_without_the_api_is_told_what_to_apply(self):
        self.answer("nodeloads", err="Warning: old\n" + NOT_SERVED, status=1)
        self.assertEqual(
            self.fails("top", "nodes"),
            "error: this cluster does not serve load.plimsoll.io/v1alpha1: "
            "an administrator has to apply deploy/overlays/kubectl, or to set "
            "kubectl.enabled of the chart\n")

    def test_an_api_that_does_not_answer_has_a_hint(self):
        words = ("Error from server (ServiceUnavailable): the server is "
                 "currently unable to handle the request\n")
        self.answer("nodeloads", err=words, status=1)
        self.assertEqual(self.fails("top", "nodes"), words + "plimsoll's API "
                         "is registered but does not answer: see kubectl "
                         "describe apiservice v1alpha1.load.plimsoll.io\n")

    def test_without_kubectl_it_says_so(self):
        done = subprocess.run(
            [PLUGIN, "top", "nodes"], capture_output=True, text=True,
            env=os.environ | {"KUBECTL": "/nothing/kubectl"}, check=False)
        self.assertEqual((done.returncode, done.stderr), (
            1, "error: cannot run /nothing/kubectl: no such file or "
            "directory\n"))

    def test_kubectl_is_found_on_path(self):
        self.answer("nodeloads", listed(node_load("node1")))
        env = self.environment() | {
            "PATH": f"{self.on_path()}:{os.environ['PATH']}", "KUBECTL": ""}
        done = subprocess.run([PLUGIN, "top", "nodes"], capture_output=True,
                              text=True, env=env, check=True)
        self.assertIn("node1", done.stdout)


class Top(PluginCase):
    def test_the_hottest_node_comes_first_with_its_resource(self):
        self.answer("nodeloads", listed(
            node_load("cool", 0.1), node_load("hot", 0.93, "memory"),
            node_load("unknown", None), node_load("warm", 0.5)))
        lines = self.says("top", "nodes").splitlines()
        self.assertEqual([line.split()[0] for line in lines[1:]],
                         ["hot", "warm", "cool", "unknown"])
        self.assertEqual(lines[0].split(), [
            "NAME", "HOTTEST", "HEAT", "CPU(cores)", "CPU(%)", "MEMORY(%)",
            "CONTENTION", "VMS", "STATE", "AGE"])
        self.assertEqual(lines[1].split(), [
            "hot", "memory", "93%", "4.00", "25%", "75%", "2%", "12", "Fresh",
            "1s"])

    def test_wide_adds_pressure_and_kvm(self):
        self.answer("nodeloads", listed(node_load("node1")))
        row = self.table(self.says("top", "nodes", "-o", "wide"))["node1"]
        self.assertEqual((row["CORES"], row["MEMORY(bytes)"],
                          row["IO-PRESSURE"], row["KVM"]),
                         ("16", "48.0Gi", "3%", "ready"))

    def test_vms_are_those_of_the_contexts_namespace(self):
        self.answer("config view", "shop")
        self.answer("vmloads", listed(
            vm_load("calm", usedCores=0.1),
            vm_load("busy", contention=0.2, usedCores=3)))
        lines = self.says("top", "vms").splitlines()
        self.assertEqual(lines[1].split(), [
            "busy", "node1", "cpu", "3.00", "1.25", "2.0Gi", "20%", "Fresh",
            "2s"])
        self.assertEqual(lines[2].split()[0], "calm")
        self.assertEqual(self.lines_of_calls("vmloads"), [
            f"get --raw {API}/namespaces/shop/vmloads?limit=2000"])

    def test_wide_adds_the_reach_of_vms(self):
        self.answer("vmloads", listed(vm_load("free", reachableNodes=12),
                                      vm_load("pinned", reachableNodes=0),
                                      vm_load("unknown")))
        head, *rows = (line.split() for line in self.says(
            "top", "vms", "-o", "wide").splitlines())
        self.assertEqual(head[-1], "REACH")
        self.assertEqual({row[0]: row[-1] for row in rows},
                         {"free": "12", "pinned": "0", "unknown": "-"})

    def test_vms_of_all_namespaces_on_a_node(self):
        self.answer("vmloads", listed(vm_load("a", "shop")))
        text = self.says("top", "vms", "-A", "--node=node1", "-l", "x in (a)")
        self.assertRegex(text, r"NAMESPACE +NAME .*\nshop +a ")
        [call] = self.lines_of_calls()
        self.assertIn(API + "/vmloads?labelSelector=x%20in%20%28a%29&"
                      "fieldSelector=spec.nodeName%3Dnode1&limit=2000", call)

    def test_sort_by_and_no_headers(self):
        self.answer("vmloads", listed(vm_load("a", memoryBytes=1),
                                      vm_load("b", memoryBytes=3),
                                      vm_load("c", memoryBytes=2)))
        text = self.says("top", "vms", "--sort-by=memory", "--no-headers")
        self.assertEqual([line.split()[0] for line in text.splitlines()],
                         ["b", "c", "a"])
        self.assertIn("--sort-by accepts only heat",
                      self.fails("top", "vms", "--sort-by=age"))

    def test_all_pages_are_read(self):
        self.answer("limit=2000$", listed(node_load("a"), go_on="x/y"))
        self.answer("continue=x%2Fy", listed(node_load("b")))
        self.assertEqual(set(self.table(self.says("top", "nodes"))),
                         {"a", "b"})

    def test_a_list_whose_token_expired_begins_again(self):
        self.answer("limit=2000$", listed(node_load("old"), go_on="x"),
                    times=1)
        self.answer("continue=x", err="Error from server (Expired): too old\n",
                    status=1)
        self.rules.append({"match": "limit=2000$",
                           "out": json.dumps(listed(node_load("new")))})
        self.assertEqual(set(self.table(self.says("top", "nodes"))), {"new"})

    def test_json_yaml_and_name_have_the_objects_in_order(self):
        hot, cool = node_load("hot", 0.9), node_load("cool", 0.1)
        hot["metadata"]["labels"] = {
            "a": "yes", "b": "x: y", "c": "1e3", "d": "tr\u00e9s \u202egpj",
            "e": "", "f": "2026-11-25T16:00:00Z", "g": "a\nb\t\x7f\U000e0041"}
        hot["status"]["hugepages"] = [{"sizeBytes": 2097152, "total": 0.1}]
        hot["status"]["none"] = [[], {}, None, True, [1, [2]]]
        self.answer("nodeloads", listed(cool, hot))
        text = self.says("top", "nodes", "-o", "json")
        self.assertEqual(json.loads(text)["items"], [hot, cool])
        self.assertNotIn("\u202e", text)
        text = self.says("top", "nodes", "-o", "yaml")
        got = yaml.safe_load(text)["items"]
        # Two units of UTF-16 are one character of JSON and two of YAML.
        label = got[0]["metadata"]["labels"].pop("g")
        self.assertEqual(label.encode("utf-16", "surrogatepass").decode(
            "utf-16"), hot["metadata"]["labels"].pop("g"))
        self.assertEqual(got, [hot, cool])
        self.assertEqual(self.says("top", "nodes", "-o", "name"),
                         "nodeload.load.plimsoll.io/hot\n"
                         "nodeload.load.plimsoll.io/cool\n")

    def test_an_empty_list_is_kubectls_sentence(self):
        self.answer("loads", listed())
        done = self.plugin("top", "vms", "-n", "shop")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (
            0, "", "No resources found in shop namespace.\n"))
        self.assertEqual(json.loads(self.says(
            "top", "vms", "-o", "json"))["items"], [])

    def test_names_cannot_act_on_a_terminal(self):
        self.answer("nodeloads", listed(node_load(
            "a\x1b]0;x\x07\nb\u202ec\x9bz")))
        text = self.says("top", "nodes")
        self.assertIn("a\\x1b]0;x\\x07\\nb\\u202ec\\u009bz", text)
        self.assertEqual(len(text.splitlines()), 2)

    def test_a_garbled_answer_is_an_error(self):
        self.answer("nodeloads", '{"items":[')
        self.assertRegex(self.fails("top", "nodes"),
                         "error: the answer to .*: invalid JSON")

    def test_watch_lists_again_until_it_is_interrupted(self):
        self.answer("nodeloads", listed(node_load("second")))
        self.answer("nodeloads", listed(node_load("first")), times=1)
        log = self.folder / "out"
        with open(log, "wb") as out:
            child = subprocess.Popen(
                [PLUGIN, "top", "nodes", "--watch", "--interval=1"],
                stdout=out, env=self.environment())
        self.addCleanup(child.kill)
        eventually("a second list", lambda: "second" in log.read_text())
        self.assertIn("first", log.read_text())
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(), -signal.SIGINT)


class Completion(PluginCase):
    def complete(self, *words):
        text = self.says("__complete", *words)
        *lines, directive = text.splitlines()
        return [line.split("\t")[0] for line in lines], directive

    def test_commands_flags_and_words(self):
        self.assertEqual(self.complete("w"), (["why", "where", "whatif"],
                                              ":4"))
        self.assertEqual(self.complete("top", ""), (["nodes", "vms"], ":4"))
        self.assertEqual(self.complete("top", "nodes", "--so"),
                         (["--sort-by"], ":4"))
        self.assertEqual(self.complete("top", "nodes", "--sort-by", "c"),
                         (["contention", "cpu"], ":4"))
        self.assertEqual(self.complete("where", "-f", ""), ([], ":0"))
        self.assertEqual(self.complete("--contex"), (["--context"], ":4"))
        self.assertEqual(self.complete("nonsense", ""), ([], ":4"))

    def test_names_come_from_the_cluster_that_is_meant(self):
        self.answer("get virtualmachineinstances", "a.kubevirt.io/web-1\n"
                    "a.kubevirt.io/db-1\na.kubevirt.io/w\x1b\n")
        self.answer("get nodes", "node/node1\n")
        self.answer("get-contexts", "east\nwest\n")
        self.assertEqual(self.complete("--context", "east", "why", "-n",
                                       "shop", "w"),
                         (["web-1", "w\\x1b"], ":4"))
        self.assertTrue(self.lines_of_calls()[0].endswith(
            "--context=east --namespace=shop"))
        self.assertEqual(self.complete("evacuate", ""), (["node1"], ":4"))
        self.assertEqual(self.complete("migrate", "a", "--to", "n"),
                         (["node1"], ":4"))
        self.assertEqual(self.complete("top", "vms", "--context", "w"),
                         (["west"], ":4"))

    def test_without_a_cluster_nothing_is_completed(self):
        self.answer("get nodes", err="no\n", status=1)
        done = self.plugin("__complete", "evacuate", "")
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, ":4\n", ""))

    def test_bash_completes_with_its_script(self):
        script = self.says("completion", "bash")
        done = subprocess.run(
            ["bash", "-c", script + "\nCOMP_WORDS=(kubectl-plimsoll top n)\n"
             "COMP_CWORD=2\n_kubectl_plimsoll\necho \"${COMPREPLY[@]}\""],
            capture_output=True, text=True, check=True,
            env=self.environment() | {
                "PATH": f"{PLUGIN.parent}:{os.environ['PATH']}"})
        self.assertEqual(done.stdout, "nodes\n")

    def zsh(self, settings, *typed):
        """What zsh makes of lines for kubectl-plimsoll that end with a Tab.
        settings: of .zshrc, before and after the beginning of compsys."""
        self.assertTrue(shutil.which("zsh"), "`make check` installs it")
        said = self.folder / "said"
        said.write_text("")
        before, after = settings
        # A widget writes the line where a test finds it, and another says
        # that the line editor reads.
        (self.folder / ".zshrc").write_text(
            f"{before}\nautoload -Uz compinit\ncompinit -u -D\n{after}\n"
            f"say() {{ print -r -- \"$BUFFER\" >>{said}; BUFFER= }}\n"
            "zle -N say\nbindkey '^X' say\n"
            f"zle-line-init() {{ print ready >>{said} }}\n"
            "zle -N zle-line-init\n")
        terminal, end = pty.openpty()
        self.addCleanup(os.close, terminal)
        shell = subprocess.Popen(
            ["zsh", "-d", "-i"], cwd=self.folder, start_new_session=True,
            stdin=end, stdout=end, stderr=end, env=self.environment() | {
                "PATH": f"{PLUGIN.parent}:{os.environ['PATH']}",
                "ZDOTDIR": str(self.folder), "TERM": "dumb"})
        os.close(end)
        self.addCleanup(shell.wait)
        self.addCleanup(shell.kill)
        eventually("zsh reads", said.read_text)
        os.write(terminal, "".join(
            f"kubectl-plimsoll {line}\t\x18" for line in typed).encode())
        lines = eventually("zsh has completed all lines", lambda: (
            said.read_text().splitlines()[len(typed):] and said.read_text()))
        return [line.removeprefix("kubectl-plimsoll ")
                for line in lines.splitlines()[1:]]

    def test_zsh_completes_with_its_script(self):
        self.answer("get nodes", "node/node1\n")
        (self.folder / "vm.yaml").touch()
        functions = self.folder / "functions"
        functions.mkdir()
        (functions / "_kubectl-plimsoll").write_text(
            self.says("completion", "zsh"))
        for settings in (("", "source <(kubectl-plimsoll completion zsh)"),
                         (f"fpath=({functions} $fpath)", "")):
            with self.subTest(settings):
                self.assertEqual(
                    self.zsh(settings, "top n", "--contex", "evacuate n",
                             "where -f vm"),
                    ["top nodes ", "--context ", "evacuate node1 ",
                     "where -f vm.yaml "])

    def test_kubectl_completes_with_its_script(self):
        path = self.folder / "kubectl_complete-plimsoll"
        path.write_text(self.says("completion", "kubectl"))
        path.chmod(0o755)
        done = subprocess.run(
            [path, "top", "v"], capture_output=True, text=True, check=True,
            env=self.environment() | {
                "PATH": f"{PLUGIN.parent}:{os.environ['PATH']}"})
        self.assertEqual(done.stdout, "vms\n:4\n")

    def test_each_script_is_one_of_three(self):
        self.assertIn("compdef _kubectl_plimsoll kubectl-plimsoll",
                      self.says("completion", "zsh"))
        self.assertIn("bash, zsh or kubectl", self.fails("completion", "sh"))


if __name__ == "__main__":
    unittest.main()
