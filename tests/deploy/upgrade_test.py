"""An installation of commit 3b4b01f is upgraded, gets new certificates and is
removed, as the documents say."""
import json
import pathlib
import re
import sys
import time
import unittest

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from harness import ROOT, eventually  # noqa: E402
from installation import NODES, PROGRAMS  # noqa: E402
from installation_case import (InstallationCase, Reader,  # noqa: E402
                               new_world)
from kubelet import own_network  # noqa: E402
from manifests import installed, named, rendered  # noqa: E402

OLD = ROOT / "tests/deploy/manifests-3b4b01f.yaml"
# Secret -> its namespace, and the files of certs.sh for ca.crt and tls.*.
OLD_SECRETS = {
    "plimsoll-agent-tls-c6f6c86hmh":
        ("plimsoll-agents", "servers-ca", "agent"),
    "plimsoll-aggregator-tls-c6f6c86hmh":
        ("plimsoll", "clients-ca", "aggregator"),
    "plimsoll-scheduler-tls-hmb8k6h68g":
        ("plimsoll", "servers-ca", "scheduler")}
ROUNDS = 2  # of new certificates, each with two runs
world = None  # the cluster of all tests here


def setUpModule():
    global world
    own_network()
    world = new_world()


class Upgraded(InstallationCase):
    @classmethod
    def setUpClass(cls):
        cls.begin(world)
        cls.is_old, cls.began = True, int(time.time())
        cls.install_old()
        cls.reader = cls.let_read()
        eventually("a history begins", lambda: len(cls.history(
            cls.began, int(time.time()), cls.reader)) > 5)
        cls.ended = int(time.time())
        cls.before = cls.history(cls.began, cls.ended, cls.reader)
        cls.old_containers = cls.pids()
        cls.shell.follow("upgrade.md", heading="Steps")
        cls.shell.follow("upgrade.md",
                         heading="From manifests with `deploy/certs`")
        cls.await_installation()
        cls.is_old = False
        cls.shell.run("kubectl label namespace vms "
                      "plimsoll.io/schedule=enabled")
        cls.await_loads()

    @classmethod
    def install_old(cls):
        cls.addClassCleanup(cls.remove)
        cls.shell.run("mkdir old && deploy/certs.sh new old")
        things = list(yaml.safe_load_all(OLD.read_text()))
        (world.path / "old.yaml").write_text(yaml.safe_dump_all(
            t for t in things if cls.is_served(t)))
        cls.shell.run("kubectl apply -f old.yaml")
        for name, (namespace, authority, who) in OLD_SECRETS.items():
            cls.shell.run(
                f"kubectl -n {namespace} create secret generic {name} "
                f"--from-file=ca.crt=old/{authority}.crt "
                f"--from-file=tls.crt=old/{who}.crt "
                f"--from-file=tls.key=old/{who}.key --dry-run=client -o yaml |"
                " kubectl label --local -f - -o yaml "
                "app.kubernetes.io/part-of=plimsoll | kubectl apply -f -")
        cls.await_installation()

    @classmethod
    def is_served(cls, thing):
        """Kubernetes 1.30 does not serve the kinds of the policy."""
        return (not thing["kind"].startswith("MutatingAdmission")
                or world.serves("mutatingadmissionpolicies"))

    @classmethod
    def authority(cls):
        if cls.is_old:
            return (world.path / "old/servers-ca.crt").read_text()
        return super().authority()

    # ---- the upgrade ----

    def test_the_history_of_before_is_served(self):
        now = self.history(self.began, self.ended, self.reader)
        times = sorted(self.before)[1:-1]  # reports may still have been due
        self.assertEqual([now.get(t) for t in times],
                         [self.before[t] for t in times])

    def test_the_agents_report_again(self):
        eventually("all nodes are fresh", lambda: self.fresh_nodes(
            self.reader) == set(NODES))
        self.assertFalse(self.pids().keys() & self.old_containers.keys())
        self.await_idlest()

    def test_no_object_of_the_old_manifests_stays(self):
        self.assertEqual(installed(self.shell),
                         named(rendered(self.shell, "deploy/")))

    # ---- new certificates ----

    def test_new_certificates_come_without_a_restart_or_a_lost_report(self):
        for agent in self.kubelet.of("agent"):
            agent.program.wait_log("connected")
        self.await_idlest()
        pids, begin = self.pids(), int(time.time())
        trust = self.trust()
        reader = Reader(lambda: self.get("/v1/nodes", self.reader, trust))
        self.addCleanup(reader.close)
        for _ in range(ROUNDS):
            old = self.served()
            self.shell.follow("upgrade.md", heading="New certificates")
            eventually("every server presents its new certificate",
                       lambda old=old: not set(self.served()) & set(old))
            eventually("the API server trusts the webhook", lambda:
                       self.name_given() == "plimsoll-scheduler")
        eventually("agents report after that", lambda: self.fresh_nodes(
            self.reader) == set(NODES))
        eventually("it was asked meanwhile", lambda: reader.answers > 10)
        reader.close()
        self.assertEqual(reader.failures, [])
        self.assertEqual(self.pids(), pids)
        self.assertEqual([c.restarts for name in PROGRAMS
                          for c in self.kubelet.of(name)], [0] * 6)
        self.assert_no_report_lost(begin, self.reader)
        self.await_idlest()


class KeptAuthorities(InstallationCase):
    @classmethod
    def setUpClass(cls):
        cls.begin(world)
        cls.addClassCleanup(cls.remove)
        cls.addClassCleanup(cls.shell.run, "rm -r deploy/certs")
        cls.shell.run("deploy/certs.sh new deploy/certs")
        cls.shell.run("kubectl create namespace plimsoll")
        cls.shell.follow("upgrade.md", heading="Keeping the old authorities")
        cls.shell.run("kubectl apply -k deploy/")
        cls.await_installation()
        cls.shell.run("kubectl label namespace vms "
                      "plimsoll.io/schedule=enabled")
        cls.await_loads()

    def test_the_job_signs_with_the_authorities_of_certs_sh(self):
        for name, authority in (("plimsoll-scheduler-tls", "servers-ca"),
                                ("plimsoll-aggregator-tls", "clients-ca")):
            self.assertEqual(
                self.secret(name, r"ca\.crt").split(),
                (world.path / f"deploy/certs/{authority}.crt"
                 ).read_text().split())
        self.await_idlest()


class Uninstalled(InstallationCase):
    @classmethod
    def setUpClass(cls):
        cls.begin(world)
        cls.install_as_documented()
        cls.await_loads()

    def vms(self):
        """Node and phase of each VM pod that runs."""
        pods = self.kube.get("/api/v1/pods?labelSelector="
                             "kubevirt.io=virt-launcher")["items"]
        return {(p["metadata"]["uid"], p["spec"].get("nodeName"),
                 p["status"]["phase"]) for p in pods
                if p["status"]["phase"] == "Running"}

    def waiting(self):
        return self.kube.get("/api/v1/namespaces/vms/pods?fieldSelector="
                             "spec.nodeName=")["items"]

    def test_uninstalling_leaves_nothing_and_vms_run(self):
        self.shell.run("kubectl label namespace vms "
                       "plimsoll.io/schedule=enabled")
        for name in ("one", "two"):
            self.run_vm(self.make_vm(name, scheduler="plimsoll-scheduler"))
        self.make_vm("huge", scheduler="plimsoll-scheduler", cpu="100")
        running = self.vms()
        self.assertEqual(len(running), 2)
        self.assertEqual(len(self.waiting()), 1)
        if world.serves("mutatingadmissionpolicies"):  # of an older version
            self.shell.run("kubectl apply -f "
                           "deploy/components/admission-policy/policy.yaml")
        earlier = len(self.deleted())
        self.shell.follow("uninstall.md")
        self.assert_webhook_went_first(self.deleted()[earlier:])
        self.assertEqual(self.vms(), running)
        self.assertEqual(self.waiting(), [])
        kinds = {line.split()[1] for line in world.objects()
                 if "plimsoll" in line}
        self.assertEqual(kinds, set())

    def deleted(self):
        """The kinds of plimsoll's objects that were deleted, in order."""
        events = map(json.loads, world.audit.read_text().splitlines())
        return [event["objectRef"]["resource"] for event in events
                if event["verb"] == "delete"
                and event["objectRef"].get("name", "").startswith("plimsoll")]

    def assert_webhook_went_first(self, deleted):
        """VMs were never given to a scheduler that had gone."""
        self.assertLess(deleted.index("mutatingwebhookconfigurations"),
                        deleted.index("deployments"))


if __name__ == "__main__":
    unittest.main()
