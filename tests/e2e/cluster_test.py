"""kubecluster, on which every other end-to-end test relies.

KUBECLUSTER names the binary; `make` puts it at build/kubecluster.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import Cluster as AnyCluster  # noqa: E402
from harness import PATIENCE_S, eventually  # noqa: E402
from kube_api import KUBECLUSTER  # noqa: E402

NOT_READY_TAINTS = {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}
SILENT = {"plimsoll.io/test-silent": "true"}


def is_running(pid):
    """A zombie counts as ended: init may collect it at any time."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


class Cluster(AnyCluster):
    """A cluster that these tests use through its own kubectl."""

    def get(self, *what):
        return json.loads(self.kubectl("get", *what, "--ignore-not-found", "-o", "json") or "null")

    def create(self, thing):
        self.kubectl("create", "-f", "-", input=json.dumps(thing))

    def create_node(self, name, annotations=None, conditions=()):
        size = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        self.create(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "annotations": annotations or {}},
                "status": {
                    "capacity": size,
                    "allocatable": size,
                    "conditions": list(conditions),
                },
            }
        )

    def taints(self, node):
        return {taint["key"] for taint in self.get("node", node)["spec"].get("taints", [])}

    def ready_condition(self, node):
        conditions = self.get("node", node)["status"].get("conditions", [])
        return next((c for c in conditions if c["type"] == "Ready"), {"status": "missing"})

    def is_ready(self, node):
        return self.ready_condition(node)["status"] == "True" and not self.taints(node)

    def await_ready_node(self, node):
        eventually(f"{node} is ready and untainted",
                   lambda: self.is_ready(node))


class WholeClusterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster("--with", "controller-manager,scheduler",
                              "--time-limit", "1h")
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.await_ready()

    def test_prints_one_line_that_names_a_usable_kubeconfig(self):
        out = self.cluster.out()
        self.assertEqual(out, f"kubeconfig: {self.cluster.dir / 'admin.kubeconfig'}\n")
        self.assertEqual(self.cluster.kubectl("auth", "can-i", "*", "*").strip(), "yes")

    def test_says_its_version(self):
        versions = json.loads(self.cluster.kubectl("version", "-o", "json"))
        self.assertEqual(versions["serverVersion"]["gitVersion"], "v1.37.2")
        self.assertEqual(versions["clientVersion"]["gitVersion"], "v1.37.2")

    def test_a_new_node_becomes_ready_and_keeps_its_size(self):
        self.cluster.create_node("fresh")
        self.cluster.await_ready_node("fresh")
        self.assertEqual(self.cluster.get("node", "fresh")["status"]["allocatable"]["cpu"], "4")

    def test_a_silent_node_is_tainted_while_a_kept_one_stays_ready(self):
        self.cluster.create_node("kept")
        self.cluster.create_node("silent")
        self.cluster.await_ready_node("kept")
        self.cluster.await_ready_node("silent")
        since = self.cluster.ready_condition("kept")["lastTransitionTime"]

        self.cluster.kubectl("annotate", "node", "silent", "plimsoll.io/test-silent=true")
        eventually(
            "the silent node is tainted",
            lambda: self.cluster.taints("silent") & NOT_READY_TAINTS,
        )
        # The kept node has had the same time.
        self.assertTrue(self.cluster.is_ready("kept"))
        self.assertEqual(self.cluster.ready_condition("kept")["lastTransitionTime"], since)

    def test_a_node_born_silent_is_left_alone(self):
        # Without a Ready condition the controller-manager would remove the
        # taint until the grace period is over.
        self.cluster.create_node("mute", SILENT, [{"type": "Ready", "status": "False"}])
        self.cluster.create_node("witness")
        self.cluster.await_ready_node("witness")
        self.assertEqual(self.cluster.ready_condition("mute")["status"], "False")
        self.assertTrue(self.cluster.taints("mute") & NOT_READY_TAINTS)
        self.assertIsNone(self.cluster.get("lease", "mute", "-n", "kube-node-lease"))

    def test_a_new_namespace_gets_its_service_account(self):
        self.cluster.kubectl("create", "namespace", "fresh")
        eventually(
            "the namespace has its ServiceAccount",
            lambda: self.cluster.get("serviceaccount", "default", "-n", "fresh"),
        )

    def test_mirror_pods_of_one_static_uid_get_uids_of_their_own(self):
        """Whatever uid kubelet asks for: no two pods that a scheduler or an
        aggregator sees have the same."""
        static = "8b6f4d3c2a1908f7e6d5c4b3a2918070"
        for node in ("node-a", "node-b"):
            self.cluster.create(
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {
                        "name": f"proxy-{node}",
                        "namespace": "default",
                        "uid": static,
                        "annotations": {
                            "kubernetes.io/config.hash": static,
                            "kubernetes.io/config.mirror": static,
                            "kubernetes.io/config.source": "http",
                        },
                    },
                    "spec": {
                        "nodeName": node,
                        "containers": [{"name": "proxy", "image": "proxy"}],
                    },
                }
            )
        uids = {self.cluster.get("pod", f"proxy-{node}")["metadata"]["uid"]
                for node in ("node-a", "node-b")}
        self.assertEqual(len(uids), 2)
        self.assertNotIn(static, uids)

    def test_the_stock_scheduler_binds_a_pod(self):
        self.cluster.create_node("roomy")
        self.cluster.kubectl("run", "pause", "--image=pause:3.10")
        eventually(
            "the pod is bound",
            lambda: self.cluster.get("pod", "pause")["spec"].get("nodeName"),
        )

    def test_a_killed_apiserver_comes_back_with_its_data(self):
        self.cluster.kubectl("create", "configmap", "kept", "--from-literal=answer=42")
        old = self.cluster.state()["children"]["kube-apiserver"]["pid"]

        done = self.cluster.run("kill", "kube-apiserver", "--dir", self.cluster.dir)

        self.assertEqual(done.returncode, 0, done.stderr)
        new = self.cluster.state()["children"]["kube-apiserver"]["pid"]
        self.assertEqual(
            done.stdout,
            f"kube-apiserver: killed pid {old}\nkube-apiserver: serves again as pid {new}\n",
        )
        self.assertFalse(is_running(old))
        self.assertEqual(self.cluster.get("configmap", "kept")["data"], {"answer": "42"})
        self.assertIn(
            f"child kube-apiserver (pid {old}) ended: signal: killed; restarting\n",
            self.cluster.err(),
        )

    def test_a_killed_etcd_comes_back_with_its_data(self):
        self.cluster.kubectl("create", "configmap", "stored", "--from-literal=answer=42")
        done = self.cluster.run("kill", "etcd", "--dir", self.cluster.dir)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.cluster.get("configmap", "stored")["data"], {"answer": "42"})

    def test_kill_names_the_children_there_are(self):
        done = self.cluster.run("kill", "kubelet", "--dir", self.cluster.dir)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no child \"kubelet\"", done.stderr)
        self.assertIn("kube-scheduler", done.stderr)


class EndOfAClusterTest(unittest.TestCase):
    def start(self, *arguments):
        cluster = Cluster(*arguments)
        self.addCleanup(cluster.close)
        return cluster

    def assert_all_end(self, pids):
        eventually(
            "every child has ended",
            lambda: not any(is_running(pid) for pid in pids),
        )

    def test_sigterm_ends_every_child(self):
        cluster = self.start()
        cluster.await_ready()
        # The keeper removes the taint, as there is no controller-manager.
        cluster.create_node("alone")
        cluster.await_ready_node("alone")

        pids = cluster.pids()
        self.assertEqual(len(pids), 2)
        self.assertEqual(cluster.end(), 0)
        self.assert_all_end(pids)
        self.assertFalse((cluster.dir / "state.json").exists())

    def test_kill_9_of_the_supervisor_ends_every_child(self):
        cluster = self.start()
        cluster.await_ready()
        pids = cluster.pids()
        cluster.process.kill()
        cluster.process.wait(PATIENCE_S)
        self.assert_all_end(pids)

    def test_the_time_limit_ends_it_with_124(self):
        cluster = self.start("--time-limit", "2s")
        self.assertEqual(cluster.process.wait(PATIENCE_S), 124)
        self.assertEqual(cluster.err(), "kubecluster: the time limit is over (2s)\n")

    def test_the_end_of_its_starter_ends_it(self):
        with tempfile.TemporaryDirectory() as base:
            state = pathlib.Path(base, "cluster", "state.json")
            command = '"$0" up --dir "$1/cluster" >"$1/out" 2>&1 & read line'
            with subprocess.Popen(
                ["sh", "-c", command, KUBECLUSTER, base], stdin=subprocess.PIPE
            ) as shell:
                eventually("a child runs", state.exists)
                pids = [json.loads(state.read_text())["supervisor"]]
            # Leaving the block closed the shell's input, which ends it.
            self.assertEqual(shell.returncode, 1)
            self.assert_all_end(pids)
            self.assertIn("has ended", pathlib.Path(base, "out").read_text())

    def test_a_child_that_fails_to_start_is_quoted(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
            config.write("profiles: nonsense\n")
            config.flush()
            cluster = self.start("--with", "scheduler", "--scheduler-config", config.name)
            self.assertEqual(cluster.process.wait(PATIENCE_S), 1)
        self.assertIn("kube-scheduler ended during start-up (exit status 1)", cluster.err())
        self.assertIn("profiles", cluster.err())


class MistakeTest(unittest.TestCase):
    def assert_refused(self, arguments, sentence):
        done = subprocess.run(
            [KUBECLUSTER, *arguments], capture_output=True, text=True,
            timeout=PATIENCE_S, check=False
        )
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, f"kubecluster: {sentence}\n")

    def test_each_mistake_gets_its_sentence(self):
        self.assert_refused(["up"], "up needs --dir")
        self.assert_refused(
            ["up", "--dir", "x", "--with", "kubelet"],
            '--with takes controller-manager and scheduler, not "kubelet"',
        )
        self.assert_refused(
            ["up", "--dir", "x", "--scheduler-config", "y"],
            "--scheduler-config needs --with scheduler",
        )

    def test_a_used_folder_is_refused(self):
        with tempfile.TemporaryDirectory() as base:
            os.mkdir(os.path.join(base, "logs"))
            self.assert_refused(
                ["up", "--dir", base],
                f'"{base}" already holds a cluster: remove it or name another --dir',
            )


if __name__ == "__main__":
    unittest.main()
