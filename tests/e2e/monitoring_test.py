"""A Prometheus that scrapes a real aggregator and a real scheduler has data for
each query of each dashboard and for each series that an alert names."""
import json
import math
import pathlib
import re
import sys
import unittest

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import ClusterCase  # noqa: E402
from engines import Prometheus  # noqa: E402
from harness import (ROOT, Driver, Machine, agent,  # noqa: E402
                     eventually, launcher)
from secure import SecureAggregator, certs, client_flags  # noqa: E402

MONITORING = ROOT / "deploy/components/monitoring"
NAME = re.compile(r"\b(?:plimsoll|scheduler|leader)_[a-z_]+(?:\{[^}]*\})?")
GIB = 1 << 30


def dashboards():
    return {path.stem: json.loads(path.read_text())
            for path in MONITORING.glob("dashboards/*.json")}


def alerts():
    groups = yaml.safe_load((MONITORING / "alerts.yaml").read_text())[
        "spec"]["groups"]
    return {rule["alert"]: rule["expr"]
            for group in groups for rule in group["rules"]}


class Monitoring(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.keys = cls.folder.path / "keys"
        certs("new", cls.keys)
        cls.make_nodes(["broken", "works"], 6)
        cls.start_programs()
        # Pods whose load is known: of VMs that the scheduler has placed.
        cls.vm = cls.make_for_class(launcher("vm"))
        eventually("the VM has a node", lambda: cls.kube.node_of(cls.vm))
        cls.run_vm(cls.machines["works"], cls.vm["metadata"]["uid"])
        cls.make_for_class(launcher("large", cpu="100"))

    @classmethod
    def start_programs(cls):
        path = cls.folder.path
        cls.aggregator = cls.folder.add(SecureAggregator(
            path, cls.keys, "aggregator",
            "--kubeconfig", cls.cluster.kubeconfig())).start()
        cls.machines = {name: Machine(path / name)
                        for name in ("broken", "works")}
        for machine in cls.machines.values():
            machine.busy = 0.3
            cls.addClassCleanup(machine.close)
        driver = Driver(cls.machines.values()).start()
        cls.addClassCleanup(driver.stop)
        for name, machine in cls.machines.items():
            probe = ["--kvm-probe", "stat"] if name == "broken" else []
            cls.folder.add(agent(
                path, name, [cls.aggregator.url], *machine.agent_flags(),
                *client_flags(cls.keys), *probe)).start()
        cls.await_load()
        scheduler = cls.scheduler(
            "--aggregator", cls.aggregator.url,
            *client_flags(cls.keys, "scheduler")).start()
        scheduler.wait_log("receiving load")
        port = scheduler.wait_log(r'http="?[^ ]*?(\d+)"? ').group(1)
        cls.prometheus = cls.folder.add(Prometheus(path, {
            "plimsoll-aggregator": f"127.0.0.1:{cls.aggregator.ports[1]}",
            "plimsoll-scheduler": f"127.0.0.1:{port}"})).start()

    @classmethod
    def run_vm(cls, machine, uid):
        """A VM pod that waits for CPU, with the files of its memory."""
        base = machine.pod_dir(uid)
        for name, text in (
                ("memory.stat", f"anon {GIB}\nshmem 0\ninactive_file 0\n"),
                ("memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n"),
                ("memory.swap.current", "0\n")):
            machine.write(f"{base}/{name}", text)
        machine.run_pod(uid, cores=1.5, waiting=0.2)

    def values(self, query):
        """The values of an instant query, without those that are none."""
        for name, value in (("__rate_interval", "10s"), ("node", "works"),
                            ("namespace", "default"), ("vm", ".+")):
            query = query.replace(f"${name}", value)
        return [float(one["value"][1])
                for one in self.prometheus.ask("query", query=query)["result"]
                if not math.isnan(float(one["value"][1]))]

    def assert_data(self, queries):
        missing = dict(queries)

        def all_have_data():
            for what, query in list(missing.items()):
                if self.values(query):
                    del missing[what]
            return not missing
        try:
            eventually("each query has data", all_have_data, every=0.5)
        except AssertionError:
            self.fail("no data: " + "\n".join(
                f"{what}: {query}" for what, query in missing.items()))

    def test_each_query_of_each_panel_has_data(self):
        self.assert_data({
            (uid, panel["title"], target["refId"]): target["expr"]
            for uid, board in dashboards().items()
            for panel in board["panels"] for target in panel["targets"]})

    def test_each_variable_has_values(self):
        count = 0
        for board in dashboards().values():
            for variable in board["templating"]["list"]:
                if variable["type"] != "query":
                    continue
                metric, label = re.fullmatch(
                    r"label_values\((.*), (\w+)\)",
                    variable["definition"].replace("$namespace", ".+")
                ).groups()
                eventually(f"{variable['name']} has values", lambda m=metric,
                           at=label: self.prometheus.ask(
                               f"label/{at}/values", **{"match[]": m}))
                count += 1
        self.assertEqual(count, 3)

    def test_each_series_of_each_alert_has_data(self):
        self.assert_data({(alert, series): series
                          for alert, expression in alerts().items()
                          for series in NAME.findall(expression)})

    def test_alerts_of_what_is_wrong_here_have_an_answer_and_others_none(self):
        firing = {"PlimsollKVMBroken", "PlimsollVMsPending"}
        self.assert_data({name: alerts()[name] for name in firing})
        for name, expression in alerts().items():
            if name not in firing:
                eventually(f"{name} does not fire", lambda it=expression: (
                    self.values(it) == []))


if __name__ == "__main__":
    unittest.main()
