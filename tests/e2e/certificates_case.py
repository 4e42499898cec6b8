"""The component deploy/components/certificates on a real API server, for a
class of tests: a cluster of its own, the Job, and what it has written."""
import base64
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import ClusterCase  # noqa: E402
from harness import BIN, PATIENCE_S, ROOT, Program, eventually  # noqa: E402
from kube_api import Refused, token_kubeconfig  # noqa: E402

JOB = "plimsoll-certificates-dev"
NOW = "plimsoll-certificates-now"  # of docs/upgrade.md
ACCOUNT = "plimsoll-certificates"
USER = f"system:serviceaccount:plimsoll:{ACCOUNT}"
API = "/api/v1/namespaces/plimsoll"
CA = f"{API}/secrets/plimsoll-ca"
SERVERS_CA = f"{API}/configmaps/plimsoll-servers-ca"
TOKENS = f"{API}/serviceaccounts/{ACCOUNT}/token"
WEBHOOK = ("/apis/admissionregistration.k8s.io/v1/"
           "mutatingwebhookconfigurations/plimsoll-scheduler-name")
# Secret -> the authority that has signed it, the one that it trusts, its
# purpose, and a name of it.
LEAVES = {
    "plimsoll/plimsoll-aggregator-tls":
        ("servers", "clients", "sslserver", "plimsoll-aggregator.plimsoll.svc"),
    "plimsoll/plimsoll-scheduler-server-tls":
        ("servers", "servers", "sslserver", "plimsoll-scheduler.plimsoll.svc"),
    "plimsoll/plimsoll-scheduler-tls":
        ("clients", "servers", "sslclient", "plimsoll-scheduler"),
    "plimsoll-agents/plimsoll-agent-tls":
        ("clients", "servers", "sslclient", "plimsoll-agent"),
}
# The component needs these objects of the rest of deploy/.
AROUND = """
apiVersion: v1
kind: Namespace
metadata: {name: plimsoll, labels:
  {pod-security.kubernetes.io/enforce: restricted}}
---
apiVersion: v1
kind: Namespace
metadata: {name: plimsoll-agents}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: plimsoll}
value: 900000000
preemptionPolicy: Never
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: plimsoll-scheduler-name}
webhooks:
- name: scheduler-name.plimsoll.io
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  timeoutSeconds: 2
  clientConfig: {service: {name: plimsoll-scheduler, namespace: plimsoll,
    path: /mutate-pods, port: 443}}
  namespaceSelector: {matchLabels: {plimsoll.io/schedule: enabled}}
  rules:
  - {apiGroups: [""], apiVersions: [v1], operations: [CREATE],
    resources: [pods], scope: "*"}
"""


class CertificatesCase(ClusterCase):
    """A cluster of its own in which the component is applied."""

    @classmethod
    def begin_installation(cls):
        cls.begin_alone("--with", "controller-manager")
        shutil.copytree(ROOT / "deploy", cls.folder.path / "deploy",
                        ignore=shutil.ignore_patterns("*.crt", "*.key"))
        cls.manifests = cls.folder.path / "installation"
        cls.manifests.mkdir()
        (cls.manifests / "around.yaml").write_text(
            AROUND)
        (cls.manifests / "kustomization.yaml").write_text(
            "resources: [around.yaml]\n"
            "components: [../deploy/components/certificates]\n")
        cls.apply()

    @classmethod
    def apply(cls):
        return cls.cluster.kubectl("apply", "-k", str(cls.manifests))

    @classmethod
    def job_pod(cls, job=JOB):
        """The pod that the job controller has made for the Job."""
        pod = eventually("the Job has its pod", lambda: next(iter(
            cls.kube.get(f"{API}/pods?labelSelector=job-name={job}")[
                "items"]), None))
        return {"kind": "Pod", **pod}

    @classmethod
    def job_token(cls, job=JOB):
        return eventually("the policies know the Job", lambda: cls.try_token(
            cls.job_pod(job)))

    @classmethod
    def try_token(cls, pod):
        try:
            return cls.kube.token("plimsoll", ACCOUNT, pod)
        except Refused:
            return None

    @classmethod
    def kubeconfig(cls, token):
        path = cls.folder.path / "job.kubeconfig"
        path.write_text(token_kubeconfig(cls.cluster.kubeconfig(), token))
        return path

    @classmethod
    def program(cls, *flags, kubeconfig=None, name="certificates"):
        return cls.folder.add(Program(cls.folder.path, name, [
            BIN / "plimsoll-scheduler", "certificates", "--kubeconfig",
            kubeconfig or cls.cluster.kubeconfig(),
            "--webhook-configuration=plimsoll-scheduler-name",
            "--ca-config-map=plimsoll-servers-ca", *flags]))

    @classmethod
    def issue(cls, *flags, **options):
        """Runs the program to its end; its log."""
        options.setdefault("name", f"certificates-{len(cls.folder.programs)}")
        program = cls.program(*flags, **options).start()
        status = program.process.wait(PATIENCE_S)
        if status != 0:
            raise AssertionError(f"{status}: {program.log()}")
        return program.log()

    @classmethod
    def renew_job(cls):
        cls.cluster.kubectl("-n", "plimsoll", "delete", "job", JOB)
        cls.apply()

    @classmethod
    def run_cron_job(cls):
        """As the controller at night, or a person who follows
        docs/upgrade.md; the arguments of its container."""
        cls.cluster.kubectl("-n", "plimsoll", "create", "job", NOW,
                            "--from=cronjob/plimsoll-certificates")
        container, = cls.job_pod(NOW)["spec"]["containers"]
        return container["args"]

    @classmethod
    def end_job(cls, phase, job=JOB):
        pod = cls.job_pod(job)
        cls.kube.patch_status(pod, {"phase": phase})
        return pod

    @classmethod
    def await_condition(cls, kind, job=JOB):
        path = f"/apis/batch/v1/namespaces/plimsoll/jobs/{job}"
        eventually(f"the Job is {kind}", lambda: any(
            c["type"] == kind and c["status"] == "True" for c in cls.kube.get(
                path)["status"].get("conditions", [])))

    @classmethod
    def secret(cls, name):
        namespace, name = name.split("/")
        data = cls.kube.get(
            f"/api/v1/namespaces/{namespace}/secrets/{name}").get("data", {})
        return {key: base64.b64decode(text).decode()
                for key, text in data.items()}

    def openssl(self, *arguments, **files):
        """Its output; files are written beside each other."""
        for name, text in files.items():
            (self.folder.path / name).write_text(text)
        return subprocess.run(["openssl", *arguments], cwd=self.folder.path,
                              capture_output=True, text=True, check=False)

    def assert_consistent(self):
        """Each certificate has its purpose, name, key and authority."""
        authorities = self.secret("plimsoll/plimsoll-ca")
        self.assertEqual(set(authorities), {
            "servers-ca.crt", "servers-ca.key", "clients-ca.crt",
            "clients-ca.key"})
        for name, (signer, trusted, purpose, host) in LEAVES.items():
            secret = self.secret(name)
            self.assertEqual(set(secret), {"ca.crt", "tls.crt", "tls.key"})
            self.assertEqual(secret["ca.crt"], authorities[f"{trusted}-ca.crt"])
            said = self.openssl(
                "verify", "-x509_strict", "-purpose", purpose,
                "-verify_hostname", host, "-CAfile", "ca", "cert",
                ca=authorities[f"{signer}-ca.crt"], cert=secret["tls.crt"])
            self.assertEqual(said.stdout, "cert: OK\n", (name, said.stderr))
            other = {"sslserver": "sslclient", "sslclient": "sslserver"}
            said = self.openssl("verify", "-purpose", other[purpose],
                                "-CAfile", "ca", "cert")
            self.assertIn("unsuitable certificate purpose", said.stderr)
            public = self.openssl("x509", "-in", "cert", "-noout", "-pubkey")
            own = self.openssl("pkey", "-in", "key", "-pubout",
                               key=secret["tls.key"])
            self.assertEqual(public.stdout, own.stdout)
        bundle = self.kube.get(WEBHOOK)["webhooks"][0]["clientConfig"][
            "caBundle"]
        self.assertEqual(base64.b64decode(bundle).decode(),
                         authorities["servers-ca.crt"])
        self.assertEqual(self.kube.get(SERVERS_CA)["data"],
                         {"ca.crt": authorities["servers-ca.crt"]})
