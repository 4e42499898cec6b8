"""The Job of deploy/components/certificates on a real API server: its program
with its account's token, what it may do, and what is denied when it is over.
Nothing runs the Job's pod: a test starts the program, and says as a kubelet how
the pod ended; the job controller then ends the Job."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from certificates_case import (API, CA, JOB, LEAVES, NOW, TOKENS,  # noqa: E402
                               ACCOUNT, USER, WEBHOOK, CertificatesCase)
from harness import PATIENCE_S, eventually  # noqa: E402
from kube_api import MERGE, Kube, Refused  # noqa: E402


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

    def test_with_a_limit_only_what_ends_soon_is_renewed(self):
        self.issue()
        before = {name: self.secret(name) for name in LEAVES}
        self.assertEqual(
            self.issue("--renew-days=33").count("keeps a certificate"), 4)
        self.assertEqual({name: self.secret(name) for name in LEAVES}, before)
        self.kube.patch(f"{API}/secrets/plimsoll-scheduler-tls",
                        {"data": None})
        self.assertEqual(
            self.issue("--renew-days=33").count("keeps a certificate"), 3)
        self.assert_consistent()
        self.assertNotIn("keeps a certificate",
                         self.issue("--renew-days=366"))

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

    def test_an_authority_that_ends_first_is_renewed_with_its_key(self):
        good = self.secret("plimsoll/plimsoll-ca")
        self.addCleanup(self.kube.patch, CA, {"stringData": good})
        old = self.make_authority(good["servers-ca.key"], 100)
        self.kube.patch(CA, {"stringData": {"servers-ca.crt": old}})
        self.assertIn("renewed the authorities", self.issue())
        self.assert_consistent()
        renewed = self.secret("plimsoll/plimsoll-ca")
        self.assertEqual(renewed["servers-ca.key"], good["servers-ca.key"])
        self.assertTrue(renewed["servers-ca.crt"].endswith(old))
        new = renewed["servers-ca.crt"].removesuffix(old)
        for only in (old, new):
            self.assert_signed_by(only)
        # Its maker chose an id of the key. A leaf names the authority by it.
        self.assertIn("\n                01:02:03:04\n", self.openssl(
            "x509", "-in", "new", "-noout", "-text", new=new).stdout)
        self.assertIn("uses the authorities", self.issue())
        self.assertEqual(self.secret("plimsoll/plimsoll-ca"), renewed)

    def assert_signed_by(self, authority):
        """Whoever trusts this one alone accepts the servers."""
        cert = self.secret("plimsoll/plimsoll-aggregator-tls")["tls.crt"]
        said = self.openssl("verify", "-x509_strict", "-CAfile", "only",
                            "cert", only=authority, cert=cert)
        self.assertEqual(said.stdout, "cert: OK\n", said.stderr)

    def make_authority(self, key, days, *signer):
        """The certificate of an authority with this key, and with an id of
        the key that its maker chose."""
        said = self.openssl(
            "req", "-x509", "-new", "-key", "key", "-config", "config",
            "-extensions", "authority", "-days", str(days), "-out", "own",
            *signer, key=key, config=(
                "[req]\ndistinguished_name=name\nprompt=no\n"
                "[name]\nCN=own\n"
                "[authority]\nsubjectKeyIdentifier=01020304\n"
                "basicConstraints=critical,CA:TRUE\n"
                "keyUsage=critical,keyCertSign\n"))
        self.assertEqual(said.returncode, 0, said.stderr)
        return (self.folder.path / "own").read_text()

    def test_an_authority_that_another_has_signed_is_not_renewed(self):
        good = self.secret("plimsoll/plimsoll-ca")
        self.addCleanup(self.kube.patch, CA, {"stringData": good})
        (self.folder.path / "ca").write_text(good["clients-ca.crt"])
        (self.folder.path / "ca.key").write_text(good["clients-ca.key"])
        own = self.make_authority(good["servers-ca.key"], 100,
                                  "-CA", "ca", "-CAkey", "ca.key")
        self.kube.patch(CA, {"stringData": {"servers-ca.crt": own}})
        self.assert_refused("it ends too early: another authority has signed "
                            "it")
        self.assertEqual(self.secret("plimsoll/plimsoll-ca")[
            "servers-ca.crt"], own)

    def test_an_authority_keeps_the_key_id_that_its_maker_chose(self):
        good = self.secret("plimsoll/plimsoll-ca")
        self.addCleanup(self.kube.patch, CA, {"stringData": good})
        own = self.make_authority(good["servers-ca.key"], 800)
        self.kube.patch(CA, {"stringData": {"servers-ca.crt": own}})
        self.issue()
        self.assert_consistent()
        self.assertEqual(self.secret("plimsoll/plimsoll-ca")[
            "servers-ca.crt"], own)

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

        self.assert_cron_job_has_the_rights_of_the_job_and_no_longer(thief)

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

    def assert_cron_job_has_the_rights_of_the_job_and_no_longer(self, thief):
        args = self.run_cron_job()
        self.assertIn("--renew-days=33", args)
        token = self.job_token(NOW)
        self.assertIn("keeps a certificate", self.issue(
            *args[1:], kubeconfig=self.kubeconfig(token)))
        self.assertTrue(self.is_refused(thief, "is over"))
        second = Kube(self.kubeconfig(token))
        pod = self.end_job("Succeeded", NOW)
        self.await_condition("Complete", NOW)
        self.assert_over(second, pod)
        self.cluster.kubectl("-n", "plimsoll", "delete", "job", NOW)

    def install_again(self):
        """The API server stops to watch what only policies need when the last
        of them is deleted."""
        self.cluster.kubectl("delete", "-k", str(self.manifests))
        self.apply()
        self.assertTrue(self.job_token())


if __name__ == "__main__":
    unittest.main()
