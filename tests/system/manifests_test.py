"""What the manifests promise for a node without CPU time left: nothing of
plimsoll starves before the VMs do, or is killed while it works. And what they
promise for the Job of the certificates."""
import pathlib
import re
import sys
import unittest

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import ROOT  # noqa: E402

USES_PROGRAMS = False
WORKLOADS = {"agent": "daemonset", "aggregator": "statefulset",
             "scheduler": "deployment"}
PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
# What KubeVirt requests for a VM with one vCPU, by default.
VM_MILLI = 100
# A busy node gets so long before a container is killed.
PATIENT_S = 300
DAY_S = 86400
UNITS = {"Mi": 1 << 20, "MiB": 1 << 20}


def pod_of(name):
    path = ROOT / "deploy/base" / name / f"{WORKLOADS[name]}.yaml"
    documents = yaml.safe_load_all(path.read_text())
    return next(d for d in documents if d["metadata"]["name"] ==
                f"plimsoll-{name}" and "template" in d["spec"]
                )["spec"]["template"]["spec"]


def bytes_of(text):
    number = text.rstrip("BMi")
    return int(number) * UNITS[text.removeprefix(number)]


class BusyNode(unittest.TestCase):
    def each(self):
        for name in WORKLOADS:
            pod = pod_of(name)
            for container in pod["containers"]:
                with self.subTest(name):
                    yield pod, container

    def test_no_probe_runs_a_process_in_the_container(self):
        for _, container in self.each():
            for name in PROBES:
                self.assertIn("httpGet", container[name])
                # Pod Security (1.34) forbids a host of one's own.
                self.assertNotIn("host", container[name]["httpGet"])

    def test_a_container_that_answers_late_is_not_killed_at_once(self):
        for _, container in self.each():
            for name in ("startupProbe", "livenessProbe"):
                probe = container[name]
                self.assertGreaterEqual(
                    probe["periodSeconds"] * probe["failureThreshold"],
                    PATIENT_S)
                self.assertLess(probe["timeoutSeconds"], PATIENT_S)

    def test_each_program_has_the_cpu_weight_of_a_vm_and_no_limit(self):
        for pod, container in self.each():
            resources = container["resources"]
            milli = int(resources["requests"]["cpu"].removesuffix("m"))
            self.assertGreaterEqual(milli, VM_MILLI)
            self.assertNotIn("cpu", resources["limits"])
            self.assertEqual(pod["priorityClassName"], "plimsoll")

    def test_the_agents_spool_is_bounded_and_needs_no_folder_of_the_node(self):
        pod = pod_of("agent")
        container, = pod["containers"]
        flags = dict(a.split("=", 1) for a in container["args"])
        mount, = [m for m in container["volumeMounts"]
                  if m["mountPath"] == flags["--spool"]]
        volume, = [v for v in pod["volumes"] if v["name"] == mount["name"]]
        # Files that it writes and deletes at that moment come on top.
        self.assertGreater(bytes_of(volume["emptyDir"]["sizeLimit"]),
                           bytes_of(flags["--spool-max-bytes"]))
        for other in container["volumeMounts"]:
            self.assertEqual(other.get("readOnly", False), other != mount)


def certificates(name):
    """The first object of a file of the component."""
    return next(yaml.safe_load_all((
        ROOT / "deploy/components/certificates" / name).read_text()))


class Certificates(unittest.TestCase):
    def test_the_cron_job_runs_what_the_job_runs_and_keeps_what_is_good(self):
        """Three nights come before the alert."""
        job = certificates("job.yaml")["spec"]["template"]
        nightly = certificates("cronjob.yaml")["spec"]["jobTemplate"]["spec"][
            "template"]
        args = nightly["spec"]["containers"][0]["args"]
        alerts = (ROOT / "deploy/components/monitoring/alerts.yaml"
                  ).read_text()
        days = int(re.search(r"certificate_expiry_timestamp_seconds\)\s+- time"
                             r"\(\) < (\d+) \* 86400", alerts).group(1))
        self.assertIn(f"--renew-days={days + 3}", args)
        args.remove(f"--renew-days={days + 3}")
        self.assertEqual(nightly, job)

    def test_the_job_does_not_fail_while_its_pod_is_removed(self):
        """The limit goes on until kubelet has removed the pod, which took a
        quarter of an hour on a node without CPU time."""
        self.assertGreaterEqual(
            certificates("job.yaml")["spec"]["activeDeadlineSeconds"], DAY_S)

    def test_all_that_the_job_writes_is_applied_with_it(self):
        """install.md applies these components before the workloads."""
        command = re.search(r"kubectl apply -k deploy/ -l '.* in \((.*)\)'", (
            ROOT / "docs/install.md").read_text()).group(1).split(", ")
        for name in ("certificates", "webhook"):
            for path in (ROOT / "deploy/components" / name).glob("*.yaml"):
                for document in yaml.safe_load_all(path.read_text()):
                    if path.name != "kustomization.yaml":
                        labels = document["metadata"]["labels"]
                        self.assertIn(labels["app.kubernetes.io/component"],
                                      command)
        self.assertNotIn("agent", command)


if __name__ == "__main__":
    unittest.main()
