"""The alerts of deploy/components/monitoring: Prometheus' promtool shows each of
them fire, and stay quiet. Each has a section in docs/troubleshooting.md and uses
documented series."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import ROOT  # noqa: E402

USES_PROGRAMS = False
PROMTOOL = ROOT / "build/ci/debian/prometheus/usr/bin/promtool"
RULES = ROOT / "deploy/components/monitoring/alerts.yaml"
SCHEDULER = 'instance="s1",job="plimsoll-scheduler"'
LEADER = 'leader_election_master_status{name="%s",' + SCHEDULER + "}"
OURS, STOCK = LEADER % "plimsoll-scheduler", LEADER % "kube-scheduler"
PENDING = 'scheduler_pending_pods{queue="unschedulable",' + SCHEDULER + "}"
KVM = 'plimsoll_node_kvm{node="n1",state="%s"}'
FAILED = 'plimsoll_scheduler_moves_total{state="failed"}'
STATE = 'plimsoll_scheduler_admission_state{state="%s"}'
CONNECTED = 'plimsoll_scheduler_aggregators_connected{instance="s1"}'
CONFIGURED = 'plimsoll_scheduler_aggregators{instance="s1"}'
BYTES, LIMIT = ("plimsoll_aggregator_database_bytes",
                "plimsoll_aggregator_database_limit_bytes")
EXPIRY = ('plimsoll_aggregator_certificate_expiry_timestamp_seconds'
          '{use="https"}')
AUTHORITY = ('plimsoll_scheduler_authority_expiry_timestamp_seconds{'
             + SCHEDULER + "}")
DAY = 86400
# Alert -> (series that make it fire, the labels of the alert, the texts that
# have a figure or a name in them, series for which it stays quiet). A series is
# a value for all times, or promtool's notation.
CASES = {
    "PlimsollNodeUnmeasured": (
        {'plimsoll_node_age_seconds{node="n1"}': 90}, {"node": "n1"},
        {"summary": "No load figures from n1 for 1m 30s"},
        {'plimsoll_node_age_seconds{node="n1"}': 59}),
    "PlimsollNodeOverloaded": (
        {'plimsoll_node_cpu_contention_ratio{node="n1"}': 0.4}, {"node": "n1"},
        {"summary": "VMs on n1 wait for CPU",
         "description": "They wait 40% of the time, not counting their own "
         "limits. The scheduler's /v1/rebalance says why it moves none of "
         "them."},
        {'plimsoll_node_cpu_contention_ratio{node="n1"}': 0.2}),
    "PlimsollKVMBroken": (
        {KVM % "missing": 1}, {"node": "n1"},
        {"summary": "VMs cannot start on n1"},
        {KVM % "ok": 1, KVM % "unverified": 1}),
    "PlimsollReportsLost": (
        {'plimsoll_node_reports_dropped_total{node="n1"}': "0+1x120"},
        {"node": "n1"}, {"summary": "The agent of n1 dropped reports before "
                         "they were stored"},
        {'plimsoll_node_reports_dropped_total{node="n1"}': 7}),
    "PlimsollAggregatorAway": (
        {'plimsoll_aggregator_nodes{state="fresh"}': "3x20 stale"}, {}, {},
        {'plimsoll_aggregator_nodes{state="fresh"}': 3}),
    "PlimsollNotStoring": (
        {"plimsoll_aggregator_storing": 0}, {}, {},
        {"plimsoll_aggregator_storing": 1}),
    "PlimsollDatabaseDamaged": (
        {"plimsoll_aggregator_database_damaged": 1}, {},
        {"summary": "The aggregator's database is damaged"},
        {"plimsoll_aggregator_database_damaged": 0}),
    "PlimsollDatabaseNearlyFull": (
        {BYTES: 95, LIMIT: 100}, {},
        {"summary": "The database is at 95% of --max-db-size"},
        {BYTES: 85, LIMIT: 100}),
    "PlimsollCertificateExpires": (
        {EXPIRY: 3 * DAY}, {"use": "https"},
        {"description": "It expires in 2d 22h 0m 0s (https). Replace its "
         "files; no program restarts for that."}, {EXPIRY: 40 * DAY}),
    "PlimsollAuthorityExpires": (
        {AUTHORITY: 89 * DAY},
        {"instance": "s1", "job": "plimsoll-scheduler"},
        {"description": "s1 trusts it, and it expires in 88d 22h 0m 0s. Its "
         "renewal needs no restart, and both are trusted meanwhile."},
        {AUTHORITY: 91 * DAY}),
    # kube-scheduler leads, and its series is another one.
    "PlimsollSchedulerWithoutLeader": (
        {OURS: 0, STOCK: 1}, {}, {}, {OURS: 1}),
    # So is the number of its pending pods.
    "PlimsollVMsPending": (
        {PENDING: 2, OURS: 1}, {"queue": "unschedulable", "instance": "s1",
                                "job": "plimsoll-scheduler"},
        {"summary": "2 VMs or other pods fit on no node"},
        {PENDING: 2, STOCK: 1, OURS: 0}),
    "PlimsollAggregatorsGone": (
        {CONNECTED: 1, CONFIGURED: 2}, {"instance": "s1"},
        {"summary": "The scheduler s1 has lost an aggregator",
         "description": "It is connected to 1. With none, VMs are placed by "
         "the last known load, and more and more by requests."},
        {CONNECTED: 2, CONFIGURED: 2}),
    "PlimsollNothingNamesScheduler": (
        {"plimsoll_scheduler_admission_namespaces": 1, STATE % "nothing": 1},
        {}, {}, {"plimsoll_scheduler_admission_namespaces": 1,
                 STATE % "nothing": 0, STATE % "webhook": 1}),
    "PlimsollVMsMissed": (
        {"plimsoll_scheduler_admission_missed_pods_total": "0+1x120"}, {}, {},
        {"plimsoll_scheduler_admission_missed_pods_total": 5}),
    "PlimsollMovesFailing": (
        {FAILED: "0x115 3+1x5"}, {},
        {"description": "About 7 within an hour. The events MoveFailed say "
         "why."}, {FAILED: "0x100 1x20"}),
    "PlimsollMovesPaused": (
        {"plimsoll_scheduler_moves_paused": 0,
         "plimsoll_scheduler_moves_paused_namespaces": 1}, {}, {},
        {"plimsoll_scheduler_moves_paused": 0,
         "plimsoll_scheduler_moves_paused_namespaces": 0}),
}


def rules():
    groups = yaml.safe_load(RULES.read_text())["spec"]["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def names_of(expression):
    return set(re.findall(r"\b(?:plimsoll|scheduler|leader)_[a-z_]+\w",
                          re.sub(r'"[^"]*"', "", expression)))


def test_of(rule, series, labels, texts):
    """A test of promtool, two hours after the start."""
    expected = {key: texts.get(key, text)
                for key, text in rule["annotations"].items()}
    return {
        "interval": "1m",
        "input_series": [
            {"series": name, "values": value if isinstance(value, str)
             else f"{value}x120"} for name, value in series.items()],
        "alert_rule_test": [{
            "alertname": rule["alert"], "eval_time": "2h",
            "exp_alerts": [] if labels is None else [
                {"exp_labels": {**rule["labels"], **labels},
                 "exp_annotations": expected}]}]}


class Alerts(unittest.TestCase):
    def promtool(self, *arguments, **files):
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():  # JSON is YAML, too
                pathlib.Path(folder, f"{name}.json").write_text(
                    json.dumps(content))
            done = subprocess.run([PROMTOOL, *arguments], cwd=folder,
                                  check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def run_rules(self, tests):
        self.promtool(
            "test", "rules", "tests.json",
            rules=yaml.safe_load(RULES.read_text())["spec"],
            tests={"rule_files": ["rules.json"], "evaluation_interval": "1m",
                   "tests": tests})

    def test_promtool_accepts_the_alerts(self):
        self.promtool("check", "rules", "rules.json",
                      rules=yaml.safe_load(RULES.read_text())["spec"])

    def test_each_alert_fires(self):
        self.assertEqual(set(CASES), set(rules()))
        self.run_rules([test_of(rules()[name], fires, labels, texts)
                        for name, (fires, labels, texts, _) in CASES.items()])

    def test_each_alert_stays_quiet(self):
        self.run_rules([test_of(rules()[name], quiet, None, {})
                        for name, (*_, quiet) in CASES.items()])

    def test_each_case_has_the_series_of_its_alert(self):
        for name, (fires, _, _, quiet) in CASES.items():
            used = names_of(rules()[name]["expr"])
            for series in (fires, quiet):
                given = set().union(*map(names_of, series))
                self.assertLessEqual(given, used, name)

    def test_alerts_use_documented_series(self):
        ours = {name for document in ("http.md", "metrics.md")
                for name in re.findall(r"^\| `(\w+)` \|", (
                    ROOT / "docs" / document).read_text(), re.M)}
        for name, rule in rules().items():
            self.assertTrue(names_of(rule["expr"]), name)
            self.assertEqual(names_of(rule["expr"]) - ours, set(), name)

    def test_each_alert_has_its_section_and_no_section_is_left_over(self):
        text = (ROOT / "docs/troubleshooting.md").read_text()
        sections = re.findall(r"^### (Plimsoll\w+)$", text, re.M)
        self.assertEqual(sorted(sections), sorted(rules()))
        for name, rule in rules().items():
            self.assertTrue(name.startswith("Plimsoll"), name)
            self.assertEqual(rule["annotations"]["runbook_url"],
                             "https://docs.example.com/plimsoll/"
                             f"troubleshooting.md#{name.lower()}")


if __name__ == "__main__":
    unittest.main()
