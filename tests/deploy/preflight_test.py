"""deploy/preflight.sh on a real API server: each test takes something away, or
breaks it, and reads the sentence."""
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from cluster import ClusterCase  # noqa: E402
from harness import PATIENCE_S, ROOT, eventually  # noqa: E402
from installation import FOREIGN, Shell  # noqa: E402
from kube_api import token_kubeconfig  # noqa: E402

SCRIPT = ROOT / "deploy/preflight.sh"
STORAGE_CLASS = {
    "kind": "StorageClass", "provisioner": "example.com/none",
    "metadata": {"name": "standard", "annotations": {
        "storageclass.kubernetes.io/is-default-class": "true"}}}
SECRETS = (("plimsoll-agents", "plimsoll-agent-tls"),
           ("plimsoll", "plimsoll-aggregator-tls"),
           ("plimsoll", "plimsoll-scheduler-tls"),
           ("plimsoll", "plimsoll-scheduler-server-tls"))


class Preflight(ClusterCase):
    """A cluster without nodes: no pod ever runs."""

    @classmethod
    def setUpClass(cls):
        cls.begin_alone("--with", "controller-manager")
        cls.shell = Shell(cls.folder.path, cls.cluster.kubeconfig())
        cls.bare = cls.preflight()
        cls.shell.run(f"kubectl apply -f {FOREIGN}/kubevirt-migrations.yaml")
        cls.shell.run("kubectl wait --for=condition=Established crd "
                      "-l plimsoll.io/foreign --timeout=30s")
        cls.shell.run("kubectl create namespace kubevirt")
        cls.kube.create(STORAGE_CLASS)
        cls.set_kubevirt("v1.8.4")

    @classmethod
    def set_kubevirt(cls, version):
        cls.shell.run(f"""cat <<EOF | kubectl apply -f -
apiVersion: kubevirt.io/v1
kind: KubeVirt
metadata: {{name: kubevirt, namespace: kubevirt}}
status: {{observedKubeVirtVersion: {version}}}
EOF""")

    @classmethod
    def preflight(cls, **env):
        """The exit status, and the lines without notes."""
        done = subprocess.run(["sh", SCRIPT], env=cls.shell.env | env,
                              capture_output=True, text=True, check=False,
                              timeout=PATIENCE_S)
        cls.notes = [line for line in done.stdout.splitlines()
                     if line.startswith("note: ")]
        return done.returncode, [line for line in done.stdout.splitlines()
                                 if not line.startswith("note: ")]

    def assert_says(self, *sentences):
        status, said = self.preflight()
        for sentence in sentences:
            self.assertTrue(any(sentence in line for line in said),
                            f"{sentence}: {said}")
        self.assertEqual(status, 1)

    # ---- before the installation ----

    def test_a_bare_cluster_lacks_kubevirt_and_a_storage_class(self):
        status, said = self.bare
        self.assertEqual(status, 1)
        self.assertEqual(len(said), 2, said)
        self.assertIn("KubeVirt is not installed", said[0])
        self.assertIn("No StorageClass is the default one", said[1])

    def test_a_complete_cluster_lacks_nothing(self):
        self.assertEqual(self.preflight(), (0, ["Nothing is missing."]))
        self.assertEqual(len(self.notes), 1)
        self.assertIn("cert-manager is not installed", self.notes[0])

    def test_an_older_kubevirt_is_told_and_is_not_missing(self):
        self.set_kubevirt("v1.5.2")
        self.addCleanup(self.set_kubevirt, "v1.8.4")
        self.assertEqual(self.preflight()[0], 0)
        self.assertIn("KubeVirt v1.5.2 is older than 1.6", self.notes[0])

    def test_whoever_lacks_rights_hears_which(self):
        path = self.folder.path / "nobody"
        path.write_text(token_kubeconfig(
            self.cluster.kubeconfig(), self.kube.token("default", "default")))
        status, said = self.preflight(KUBECONFIG=str(path))
        self.assertEqual(status, 1)
        self.assertTrue(any("You may not label namespaces" in line
                            for line in said), said)
        self.assertTrue(any("You may not create clusterroles" in line
                            for line in said), said)
        for what in ("kubevirts.kubevirt.io", "nodes", "namespaces",
                     "persistentvolumeclaims in plimsoll"):
            self.assertIn(f"You may not read {what}.", said)
        self.assertNotRegex("".join(said), "is not installed|No StorageClass")

    def test_an_old_kubernetes_is_refused(self):
        """No such API server is built here: kubectl is played, and only its
        answer about the version."""
        folder = self.folder.path / "old"
        folder.mkdir()
        kubectl = folder / "kubectl"
        kubectl.write_text(
            '#!/bin/sh\nif [ "$1" = version ]; then\n'
            "echo 'Server Version: v1.29.9'\nexit 0\nfi\n"
            f'exec "{self.folder.path}/bin/kubectl" "$@"\n')
        kubectl.chmod(0o755)
        status, said = self.preflight(
            PATH=f"{folder}:{self.shell.env['PATH']}")
        self.assertEqual(status, 1)
        self.assertEqual(said, ["Kubernetes 1.29.9 is too old: plimsoll needs "
                                "1.30."])

    def test_a_cluster_that_is_away_is_another_status(self):
        path = self.folder.path / "away"
        path.write_text(token_kubeconfig(self.cluster.kubeconfig(), "x",
                                         "https://127.0.0.1:1"))
        status, said = self.preflight(KUBECONFIG=str(path))
        self.assertEqual(status, 2)
        self.assertIn("The cluster does not answer", said[0])

    def test_it_explains_itself_and_refuses_arguments(self):
        done = subprocess.run(["sh", SCRIPT, "--help"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0)
        self.assertIn("usage: deploy/preflight.sh", done.stdout)
        self.assertNotIn("set -u", done.stdout)
        done = subprocess.run(["sh", SCRIPT, "x"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 2)

    def test_an_apiservice_that_does_not_answer_is_named_with_its_reason(self):
        """That of the overlay without its Service, as somebody makes it who
        applies the file alone."""
        self.addCleanup(self.shell.run,
                        "kubectl delete apiservice v1alpha1.load.plimsoll.io")
        self.shell.run(
            "kubectl apply -f deploy/components/kubectl/apiservice.yaml")
        self.shell.run("kubectl wait --for=condition=Available=False "
                       "apiservice/v1alpha1.load.plimsoll.io --timeout=30s")
        self.assert_says(
            "The APIService v1alpha1.load.plimsoll.io is not available "
            "(ServiceNotFound: ", "no namespace can be deleted")

    # ---- after the installation ----

    def install(self):
        self.addCleanup(self.shell.run, "kubectl delete -k deploy/ "
                        "--ignore-not-found")
        self.shell.run("kubectl apply -k deploy/")

    def test_an_installation_without_nodes_is_incomplete(self):
        self.install()
        self.shell.run("kubectl create namespace tenant")
        self.addCleanup(self.shell.run, "kubectl delete namespace tenant")
        self.shell.run("kubectl label namespace tenant "
                       "plimsoll.io/schedule=enabled")
        self.assert_says(
            "plimsoll-aggregator has 0 of 1 pods ready.",
            "plimsoll-scheduler has 0 of 2 pods ready.",
            "webhook plimsoll-scheduler-name has no caBundle",
            "Nothing sets schedulerName in the labelled namespaces (tenant)",
            *(f"The Secret {namespace}/{name} has no certificate yet."
              for namespace, name in SECRETS))
        self.fill_secrets()
        self.trust_webhook()
        _, said = self.preflight()
        self.assertEqual([line for line in said
                          if "pods ready" not in line], [])
        self.fail_the_job()
        self.assert_says("The Job plimsoll-certificates-dev failed, so there "
                         "are no new certificates: Job was active longer than "
                         "specified deadline. `kubectl -n plimsoll logs job/")
        self.run_the_job_again()

    def run_the_job_again(self):
        """With the two commands that the sentence names."""
        said, = [line for line in self.preflight()[1] if "The Job" in line]
        for command in re.search("To run it again: `(.*?)`, then `(.*?)`",
                                 said).groups():
            self.shell.run(command)
        self.assertEqual([line for line in self.preflight()[1]
                          if "The Job" in line], [])

    def fill_secrets(self):
        for namespace, name in SECRETS:
            self.kube.patch(
                f"/api/v1/namespaces/{namespace}/secrets/{name}",
                {"data": dict.fromkeys(("ca.crt", "tls.crt", "tls.key"),
                                       "eA==")})

    def trust_webhook(self):
        authority = next(self.cluster.dir.rglob("ca.crt"))
        self.shell.run(
            "kubectl patch mutatingwebhookconfiguration "
            "plimsoll-scheduler-name --type=json -p '[{\"op\": \"add\", "
            '"path": "/webhooks/0/clientConfig/caBundle", "value": "\''
            f"$(base64 -w0 {authority})'\"}}]'")

    def fail_the_job(self):
        """Its pod never starts, and its time is over at once."""
        path = ("/apis/batch/v1/namespaces/plimsoll/jobs/"
                "plimsoll-certificates-dev")
        self.kube.patch(path, {"spec": {"activeDeadlineSeconds": 1}})
        eventually("the Job has failed", lambda: any(
            c["type"] == "Failed" for c in self.kube.get(path)["status"].get(
                "conditions", [])))


if __name__ == "__main__":
    unittest.main()
