"""A test case with KubeVirt in which an operator runs kubectl plimsoll, with the
rights that docs/kubectl.md names.

    class Operates(OperatorCase):
        @classmethod
        def setUpClass(cls):
            cls.begin_kubevirt(...)
            cls.begin_api()
            cls.make_operator()
            cls.start_vm_load(*cls.api_flags())
            cls.start_scheduler()
            cls.await_available()

        def test_...(self):
            text = self.says("evacuate", "node-a", "--yes")"""
import os

from api_service import ApiServiceCase
from harness import BIN, Program
from kube_api import KUBECLUSTER, RBAC
from kubevirt_case import KubeVirtCase

ROLES = ("view", "plimsoll-load-cluster-reader", "plimsoll-load-ask",
         "kubevirt.io:view", "kubevirt.io:migrate", "cordons")


class OperatorCase(KubeVirtCase, ApiServiceCase):
    @classmethod
    def make_operator(cls):
        """A user with the rights that the plugin needs."""
        cls.kube.request("POST", f"{RBAC}/clusterroles", {
            "metadata": {"name": "cordons"}, "rules": [
                {"apiGroups": [""], "resources": ["nodes"],
                 "verbs": ["get", "patch"]}]})
        cls.account("default", "operator")
        for role in ROLES:
            cls.kube.request("POST", f"{RBAC}/clusterrolebindings", {
                "metadata": {"name": f"operator-{role}"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                            "kind": "ClusterRole", "name": role},
                "subjects": [{"kind": "ServiceAccount", "name": "operator",
                              "namespace": "default"}]})
        cls.kubectl_path = cls.folder.path / "kubectl"
        cls.kubectl_path.write_text(
            f'#!/bin/sh\nexec "{KUBECLUSTER}" kubectl "$@"\n')
        os.chmod(cls.kubectl_path, 0o755)

    # ---- the plugin ----

    def plugin(self, *arguments):
        """The operator's plugin, which runs."""
        name = f"{arguments[0]}-{len(self.folder.programs)}"
        program = Program(self.folder.path, name, [
            BIN / "kubectl-plimsoll", *arguments])
        program.env = {**self.user_environment("operator"),
                       "KUBECTL": str(self.kubectl_path)}
        self.addCleanup(program.kill)
        return self.folder.add(program).start()

    def ended(self, program, status=0):
        """What it has said, once it has ended with this status."""
        try:
            self.wait(f"{program.name} ends",
                      lambda: not program.running())
        except AssertionError as late:
            raise AssertionError(f"{late}: {program.log()}") from None
        self.assertEqual(program.process.returncode, status, program.log())
        return program.log()

    def says(self, *arguments):
        return self.ended(self.plugin(*arguments))

    # ---- nodes ----

    def cordon(self, *nodes, ends=False):
        for node in nodes:
            self.kube.patch(f"/api/v1/nodes/{node}",
                            {"spec": {"unschedulable": not ends}})
