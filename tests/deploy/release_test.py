"""A release on a bare cluster: install.yaml and the chart become ready, place
VMs, and leave nothing behind."""
import base64
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from installation_case import (InstallationCase, new_world,  # noqa: E402
                               second_apply_changes_nothing)
from kubelet import own_network  # noqa: E402
from released import CHART, HELM, RELEASE, VERSION  # noqa: E402

INSTALL = f"kubectl apply -f {RELEASE}/install.yaml"
JOB = f"plimsoll-certificates-{VERSION.replace('.', '-')}"
world = None  # the cluster of all tests here


def setUpModule():
    global world
    own_network()
    world = new_world(RELEASE)
    (world.path / "bin/helm").symlink_to(HELM)


class ReleaseCase(InstallationCase):
    def setUp(self):
        self.begin(world)
        self.shell.run("kubectl label namespace vms "
                       "plimsoll.io/schedule=enabled")
        self.before = world.objects()

    def assert_it_places_vms(self):
        self.await_loads()
        self.await_idlest()
        for scheduler in self.kubelet.of("scheduler"):
            scheduler.program.wait_log(f'version="{VERSION}"')

    def assert_uninstalled(self):
        self.assert_nothing_left(self.before)
        self.free_the_disk()


class Manifest(ReleaseCase):
    def test_one_command_installs_and_one_removes(self):
        self.install(INSTALL)
        self.assert_it_places_vms()
        second_apply_changes_nothing(self.shell,
                                     f"-f {RELEASE}/install.yaml")
        self.shell.run(f"kubectl delete -f {RELEASE}/install.yaml")
        self.assert_uninstalled()


class Chart(ReleaseCase):
    def helm(self, *words):
        return self.shell.run("helm " + " ".join(map(str, words)))

    def jobs(self):
        return self.shell.run("kubectl -n plimsoll get jobs -o "
                              "jsonpath='{.items[*].metadata.name}'").split()

    def arguments(self):
        return self.shell.run(
            "kubectl -n plimsoll get deploy/plimsoll-scheduler -o jsonpath="
            "'{.spec.template.spec.containers[0].args}'")

    def test_helm_installs_upgrades_and_uninstalls(self):
        self.install(f"helm install plimsoll {CHART} --namespace default")
        self.assert_it_places_vms()
        authority = self.secret("plimsoll-ca", r"servers-ca\.crt")
        leaf = self.secret("plimsoll-scheduler-tls", r"tls\.crt")
        self.assertRegex(authority, "BEGIN CERTIFICATE")
        self.helm("upgrade plimsoll", CHART, "--namespace default",
                  "--set=rebalance.enabled=true",
                  "--set=rebalance.mode=automatic")
        self.await_installation()
        self.assertIn("--rebalance=automatic", self.arguments())
        # The same Job, so the same certificates.
        self.assertEqual(self.jobs(), [JOB])
        self.assertEqual(self.secret("plimsoll-scheduler-tls", r"tls\.crt"),
                         leaf)
        self.assertEqual(self.secret("plimsoll-ca", r"servers-ca\.crt"),
                         authority)
        self.await_idlest()
        # A feature that changes the Job: another one, of the same authority.
        self.helm("upgrade plimsoll", CHART, "--namespace default",
                  "--set=rebalance.enabled=true",
                  "--set=rebalance.mode=automatic",
                  "--set=kubectl.enabled=true")
        self.await_installation()
        self.assertEqual(self.jobs(), [f"{JOB}-kubectl"])
        trusted = self.shell.run("kubectl get apiservice -o jsonpath="
                                 "'{.spec.caBundle}' v1alpha1.load.plimsoll.io")
        self.assertEqual(base64.b64decode(trusted).decode(), authority)
        self.assertEqual(self.secret("plimsoll-ca", r"servers-ca\.crt"),
                         authority)
        self.helm("rollback plimsoll 1 --namespace default")
        self.await_installation()
        self.assertNotIn("--rebalance", self.arguments())
        said = self.helm("uninstall plimsoll --namespace default --wait "
                         "--timeout=120s")
        self.assertTrue(re.search("release .plimsoll. uninstalled", said))
        self.assert_uninstalled()


if __name__ == "__main__":
    unittest.main()
