"""The Job of deploy/components/certificates on a real API server: its program
with its account's token, what it may do, and what is denied when it is over.
Nothing runs the Job's pod: a test starts the program, and says as a kubelet how
the pod ended; the job controller then ends the Job."""
import base64
import json
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import unittest  # noqa: E402

from cluster import ClusterCase  # noqa: E402
from harness import BIN, PATIENCE_S, ROOT, Program, eventually  # noqa: E402
from kube_api import MERGE, Kube, Refused, token_kubeconfig  # noqa: E402

JOB = "plimsoll-certificates-dev"
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


def thief_pod(account=ACCOUNT):
    """A pod that Pod Security admits."""
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": f"{JOB}-thief", "namespace": "plimsoll"},
            "spec": {"serviceAccountName": account,
                     "securityContext": {
                         "runAsNonRoot": True,
                         "seccompProfile": {"type": "RuntimeDefault"}},
                     "containers": [{
                         "name": "c", "image": "x", "securityContext": {
                             "allowPrivilegeEscalation": False,
                             "capabilities": {"drop": ["ALL"]}}}]}}


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
    def job_pod(cls):
        """The pod that the job controller has made for the Job."""
        pod = eventually("the Job has its pod", lambda: next(iter(
            cls.kube.get(f"{API}/pods?labelSelector=job-name={JOB}")[
                "items"]), None))
        return {"kind": "Pod", **pod}

    @classmethod
    def job_token(cls):
        return eventually("the policies know the Job", lambda: cls.try_token(
            cls.job_pod()))

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
        program = cls.program(*flags, **options).start()
        status = program.process.wait(PATIENCE_S)
        if status != 0:
            raise AssertionError(f"{status}: {program.log()}")
        return program.log()

    @classmethod
    def renew_job(cls):
        """As docs/security.md says."""
        cls.cluster.kubectl("-n", "plimsoll", "delete", "job", JOB)
        cls.apply()

    @classmethod
    def end_job(cls, phase):
        pod = cls.job_pod()
        cls.kube.patch_status(pod, {"phase": phase})
        return pod

    @classmethod
    def await_condition(cls, kind):
        path = f"/apis/batch/v1/namespaces/plimsoll/jobs/{JOB}"
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


class WhileTheJobRuns(CertificatesCase):
    """The Job of this class never ends."""

    @classmethod
    def setUpClass(cls):
        cls.begin_installation()
        cls.token = cls.job_token()
        cls.job = Kube(cls.kubeconfig(cls.token))
        cls.log = cls.issue(kubeconfig=cls.kubeconfig(cls.token))

    def setUp(self):
        if not self.secret("plimsoll/plimsoll-ca"):
            self.issue()

    def test_the_program_writes_all_certificates_with_the_jobs_rights(self):
        self.assert_consistent()
        self.assertIn("made new authorities", self.log)
        self.assertNotIn("try again", self.log)

    def test_the_log_and_the_audit_log_have_no_key(self):
        for name in ("plimsoll/plimsoll-ca", *LEAVES):
            for key, text in self.secret(name).items():
                if key.endswith(".key"):
                    line = text.splitlines()[1]
                    self.assertNotIn(line, self.log)
                    self.assertNotIn(line, self.cluster.audit.read_text())

    def test_the_account_uses_each_of_its_rights_and_no_other(self):
        used = set()
        for line in self.cluster.audit.read_text().splitlines():
            event = json.loads(line)
            if (event["user"]["username"] == USER
                    and event["responseStatus"]["code"] < 300):
                thing = event["objectRef"]
                used.add((event["verb"], thing["resource"],
                          thing.get("namespace"), thing["name"]))
        granted = set()
        for role in json.loads(self.cluster.kubectl(
                "get", "roles,clusterroles", "-A", "-o", "json"))["items"]:
            for rule in (role["rules"] if role["metadata"]["name"] == ACCOUNT
                         else ()):
                granted |= {(verb, resource, role["metadata"].get("namespace"),
                             name) for verb in rule["verbs"]
                            for resource in rule["resources"]
                            for name in rule["resourceNames"]}
        self.assertEqual(used, granted)

    def test_other_secrets_and_verbs_are_refused(self):
        self.kube.request("POST", f"{API}/secrets", {
            "kind": "Secret", "metadata": {"name": "other"}})
        self.addCleanup(self.kube.delete, f"{API}/secrets/other")
        for method, path in (
                ("PATCH", f"{API}/secrets/other"), ("GET", CA),
                ("GET", f"{API}/secrets"), ("DELETE", CA),
                ("POST", f"{API}/secrets"), ("POST", f"{API}/pods"),
                ("PATCH", CA.replace("plimsoll/", "default/")),
                ("POST", TOKENS), ("PATCH", f"{WEBHOOK}-2"),
                ("GET", WEBHOOK)):
            with self.subTest(method=method, path=path):
                with self.assertRaises(Refused) as no:
                    self.job.request(method, path, {}, MERGE if
                                     method == "PATCH" else "application/json")
                self.assertEqual(no.exception.status, 403)

    def test_only_pods_of_the_job_have_tokens_and_none_for_long(self):
        pod = self.job_pod()
        with self.assertRaisesRegex(Refused, "for pods of its Job alone"):
            self.kube.token("plimsoll", ACCOUNT)
        with self.assertRaisesRegex(Refused, "at most 600 seconds"):
            self.kube.request("POST", TOKENS, {"spec": {
                "expirationSeconds": 601, "boundObjectRef": {
                    "kind": "Pod", "apiVersion": "v1",
                    "name": pod["metadata"]["name"]}}})
        self.assertTrue(self.kube.token("plimsoll", "default"))

    def test_no_other_pod_and_no_secret_gets_the_account(self):
        pod = thief_pod()
        with self.assertRaisesRegex(Refused, "for pods of its Job alone"):
            self.kube.create(pod)
        pod["metadata"]["ownerReferences"] = self.job_pod()["metadata"][
            "ownerReferences"]
        with self.assertRaisesRegex(Refused, "for pods of its Job alone"):
            self.kube.create(pod)
        with self.assertRaisesRegex(Refused, "no Secret may hold a token"):
            self.kube.request("POST", f"{API}/secrets", {
                "kind": "Secret", "type": "kubernetes.io/service-account-token",
                "metadata": {"name": "thief", "annotations": {
                    "kubernetes.io/service-account.name": ACCOUNT}}})
        self.make(thief_pod("default"))

    def test_a_second_run_renews_certificates_and_keeps_the_authorities(self):
        before = {name: self.secret(name)
                  for name in ("plimsoll/plimsoll-ca", *LEAVES)}
        self.assertIn("uses the authorities", self.issue())
        self.assert_consistent()
        for name, old in before.items():
            new = self.secret(name)
            if name == "plimsoll/plimsoll-ca":
                self.assertEqual(new, old)
            else:
                self.assertNotEqual(new["tls.crt"], old["tls.crt"])
                self.assertNotEqual(new["tls.key"], old["tls.key"])

    def test_further_names_and_the_lifetime_are_those_of_the_flags(self):
        self.issue("--dns-name", "load.example.com", "--days", "30")
        cert = self.secret("plimsoll/plimsoll-aggregator-tls")["tls.crt"]
        said = self.openssl("x509", "-in", "cert", "-noout", "-text",
                            cert=cert).stdout
        self.assertIn("DNS:plimsoll-aggregator.plimsoll.svc.cluster.local, "
                      "DNS:load.example.com\n", said)
        days = 86400 * 30
        for seconds, is_valid in (days - 600, True), (days + 600, False):
            self.assertEqual(self.openssl(
                "x509", "-in", "cert", "-noout", "-checkend",
                str(seconds)).returncode == 0, is_valid)

    def test_two_runs_at_once_agree_on_the_authorities(self):
        for number in range(5):
            self.kube.patch(CA, {"data": None})
            runs = [self.program(name=f"run-{number}-{i}").start()
                    for i in range(3)]
            self.assertEqual([run.process.wait(PATIENCE_S) for run in runs],
                             [0] * 3)
            self.assertEqual(sum("made new authorities" in run.log()
                                 for run in runs), 1)
            self.assert_consistent()

    def test_authorities_that_cannot_be_used_stay_and_change_nothing(self):
        good = self.secret("plimsoll/plimsoll-ca")
        self.addCleanup(self.kube.patch, CA, {"stringData": good})
        scenarios = {
            "holds other keys of authorities, but no 'clients-ca.key'":
                {"data": {"clients-ca.key": None}},
            "is no text": {"data": {"servers-ca.crt": "AAAA"}},
            "the servers' authority in Secret plimsoll-ca cannot be used: not "
            "all of its certificates can be read":
                {"stringData": {"servers-ca.crt": "-----BEGIN"}},
            "the clients' authority in Secret plimsoll-ca cannot be used: its "
            "key is not that of its first certificate":
                {"stringData": {"clients-ca.key": good["servers-ca.key"]}},
            "its certificate may not sign others": {"stringData": {
                f"servers-ca.{end}": self.secret(
                    "plimsoll/plimsoll-aggregator-tls")[f"tls.{end}"]
                for end in ("crt", "key")}},
        }
        for sentence, change in scenarios.items():
            with self.subTest(sentence):
                self.kube.patch(CA, {"stringData": good})
                self.kube.patch(CA, change)
                self.assert_refused(sentence)

    def assert_refused(self, sentence, *flags):
        """The program ends with one sentence and leaves all as it was."""
        before = {name: self.secret(name)
                  for name in ("plimsoll/plimsoll-ca", *LEAVES)}
        program = self.program(*flags, name=self.own_name()).start()
        self.assertEqual(program.process.wait(PATIENCE_S), 1)
        last = program.log().splitlines()[-1]
        self.assertTrue(last.startswith("E"), last)
        self.assertIn(sentence, last)
        self.assertEqual(before, {name: self.secret(name) for name in before})

    def test_an_authority_that_ends_first_is_not_used(self):
        good = self.secret("plimsoll/plimsoll-ca")
        self.addCleanup(self.kube.patch, CA, {"stringData": good})
        self.openssl("req", "-x509", "-new", "-key", "key", "-subj", "/CN=old",
                     "-days", "100", "-out", "old", "-addext",
                     "keyUsage=critical,keyCertSign",
                     key=good["servers-ca.key"])
        old = (self.folder.path / "old").read_text()
        self.kube.patch(CA, {"stringData": {"servers-ca.crt": old}})
        self.assert_refused("before its certificates would")
        self.issue("--days", "99")
        # The new authority signs, and the old one is still trusted.
        self.kube.patch(CA, {"stringData": {
            "servers-ca.crt": good["servers-ca.crt"] + old}})
        self.issue()
        self.assert_consistent()

    def test_an_authority_keeps_the_key_id_that_its_maker_chose(self):
        good = self.secret("plimsoll/plimsoll-ca")
        self.addCleanup(self.kube.patch, CA, {"stringData": good})
        said = self.openssl(
            "req", "-x509", "-new", "-key", "key", "-config", "config",
            "-extensions", "authority", "-days", "800", "-out", "own",
            key=good["servers-ca.key"], config=(
                "[req]\ndistinguished_name=name\nprompt=no\n"
                "[name]\nCN=own\n"
                "[authority]\nsubjectKeyIdentifier=01020304\n"
                "basicConstraints=critical,CA:TRUE\n"
                "keyUsage=critical,keyCertSign\n"))
        self.assertEqual(said.returncode, 0, said.stderr)
        own = (self.folder.path / "own").read_text()
        self.kube.patch(CA, {"stringData": {"servers-ca.crt": own}})
        self.issue()
        self.assert_consistent()

    def test_it_waits_for_an_api_server_that_is_away(self):
        path = self.folder.path / "away.kubeconfig"
        admin = json.loads(self.cluster.kubeconfig().read_text())
        admin["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
        path.write_text(json.dumps(admin))
        program = self.program(kubeconfig=path, name="away").start()
        program.wait_log("request failed, retrying.*cannot reach")
        self.assertEqual(program.stop(), 1)
        self.assertIn("stopped before the certificates were complete",
                      program.log())


class WhenTheJobIsOver(CertificatesCase):
    @classmethod
    def setUpClass(cls):
        cls.begin_installation()

    @staticmethod
    def is_refused(thief, why):
        try:
            thief.patch(CA, {})
        except Refused as no:
            return why in no.message
        return False

    def assert_over(self, thief, pod, writes="is over"):
        """All writes, tokens and pods of the account are denied."""
        eventually("the account writes no more",
                   lambda: self.is_refused(thief, writes))
        for name in ("plimsoll/plimsoll-ca", *LEAVES):
            namespace, secret = name.split("/")
            with self.assertRaisesRegex(Refused, writes):
                thief.patch(f"/api/v1/namespaces/{namespace}/secrets/{secret}",
                            {"stringData": {"tls.crt": "x"}})
        with self.assertRaisesRegex(Refused, "the Job of plimsoll-certificates"
                                    " is over|no params found"):
            self.kube.token("plimsoll", ACCOUNT, pod)
        with self.assertRaisesRegex(Refused, "for pods of its Job alone"):
            self.kube.create(thief_pod())

    def test_its_rights_end_with_success_failure_and_deletion(self):
        thief = Kube(self.kubeconfig(self.job_token()))
        self.issue(kubeconfig=self.kubeconfig(self.job_token()))
        pod = self.end_job("Succeeded")
        self.await_condition("Complete")
        self.assert_over(thief, pod)
        self.assert_consistent()
        # Others may still write there.
        self.kube.patch(CA, {"metadata": {"annotations": {"a": "b"}}})
        self.kube.remove(self.kube.create(thief_pod("default")))
        for line in self.apply().splitlines():
            self.assertTrue(line.endswith(" unchanged"), line)

        self.renew_job()
        eventually("the token ends with its pod", lambda: self.is_refused(
            thief, "Unauthorized"))
        thief = Kube(self.kubeconfig(self.job_token()))
        self.kube.patch(f"/apis/batch/v1/namespaces/plimsoll/jobs/{JOB}",
                        {"spec": {"activeDeadlineSeconds": 1}})
        self.await_condition("Failed")
        # The job controller has removed the pod, and its token with it.
        self.assert_over(thief, pod, "Unauthorized")

        self.cluster.kubectl("-n", "plimsoll", "delete", "job", JOB)
        with self.assertRaisesRegex(Refused, "no params found"):
            eventually("the policy knows that the Job is gone",
                       lambda: self.kube.token("plimsoll", ACCOUNT, pod)
                       and None)
        self.assertTrue(self.kube.token("plimsoll", "default"))
        self.kube.remove(self.kube.create(thief_pod("default")))
        self.assertIn(f"job.batch/{JOB} created", self.apply())
        self.install_again()

    def install_again(self):
        """The API server stops to watch what only policies need when the last
        of them is deleted."""
        self.cluster.kubectl("delete", "-k", str(self.manifests))
        self.apply()
        self.assertTrue(self.job_token())


if __name__ == "__main__":
    unittest.main()
