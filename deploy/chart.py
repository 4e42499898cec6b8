"""The Helm chart of a release, generated from what kustomize renders, so that
both install the same objects.

Each feature of the chart is a component of deploy/components. The generator
renders every combination of the features that touch an object, and writes one
template in which {{ if }} stands around the lines that differ."""
import difflib
import functools
import gzip
import hashlib
import io
import itertools
import json
import re
import tarfile

from commands import ROOT, BuildError, say
from kustomize import FEATURES, dashed, render_features, split
from oci import add_bytes

SOURCE = ROOT / "deploy/chart"
ARGUMENT = re.compile(r"( +)- --([\w-]+)=(.*)")
# The program of each workload, as values.yaml calls it.
WORKLOADS = {("DaemonSet", "plimsoll-agent"): "agent",
             ("StatefulSet", "plimsoll-aggregator"): "aggregator",
             ("Deployment", "plimsoll-scheduler"): "scheduler",
             ("Deployment", "plimsoll-extended"): "extender",
             ("Job", "plimsoll-certificates-dev"): "certificates",
             ("CronJob", "plimsoll-certificates"): "certificates"}
# The Job's name without the suffixes of components, which say that the Job is
# another one.
JOB = next(name for kind, name in WORKLOADS if kind == "Job")
# Flags whose values are in values.yaml: program, flag -> template.
FLAGS = {("aggregator", "max-db-size"):
         "{{ .Values.aggregator.storage.maxDatabaseSize }}"}


# ---- values in place of what kustomize writes ----

def resources_end(lines, at):
    """The index behind the block of a container's resources at this line, or
    None if the line begins none."""
    indent = len(lines[at]) - len(lines[at].lstrip())
    if lines[at].strip() != "resources:" or not lines[at + 1].startswith(
            " " * (indent + 2)):
        return None
    end = at + 1
    while end < len(lines) and lines[end].startswith(" " * (indent + 2)):
        end += 1
    words = " ".join(lines[at + 1:end])
    return end if "cpu:" in words or "memory:" in words else None


def insert_arguments(out, indent, program):
    """What follows the arguments of a program."""
    if program == "scheduler":
        for flag, value, default in (
                ("rebalance", "rebalance.mode", "recommend"),
                ("make-room", "rebalance.makeRoom", "recommend")):
            out += [f'{{{{- if ne .Values.{value} "{default}" }}}}',
                    f"{indent}- --{flag}={{{{ .Values.{value} }}}}",
                    "{{- end }}"]
    if program == "aggregator":
        for flag, value in (("remote-write", "url"),
                            ("remote-write-ca", "ca")):
            out += ["{{- if and .Values.remoteWrite.enabled "
                    f".Values.remoteWrite.{value} }}}}",
                    f"{indent}- --{flag}="
                    f"{{{{ .Values.remoteWrite.{value} }}}}", "{{- end }}"]
    out += [f"{{{{- range .Values.{program}.extraArgs }}}}",
            f"{indent}- {{{{ . | quote }}}}", "{{- end }}"]


class Template:
    """The lines of an object with values in them."""

    def __init__(self, key, lines):
        self.program = WORKLOADS.get((key[0], key[2]))
        self.lines, self.out, self.at = lines, [], 0
        while self.at < len(lines):
            self.step(lines[self.at])

    def step(self, line):
        at, indent = self.at, line[:len(line) - len(line.lstrip())]
        self.at += 1
        line = line.replace("{{", '{{ "{{" }}')
        line = re.sub(r"localhost/plimsoll-(\w+):dev",
                      r'{{ include "plimsoll.image" (list . "\1") }}', line)
        line = line.replace("https://docs.example.com/plimsoll/",
                            "{{ .Values.monitoring.runbooks }}/")
        line = line.replace("plimsoll-certificates-dev",
                            '{{ include "plimsoll.certificatesJob" . }}')
        line = line.replace("managed-by: kustomize",
                            "managed-by: {{ .Release.Service }}")
        line = line.replace("app.kubernetes.io/version: dev",
                            "app.kubernetes.io/version: "
                            "{{ .Chart.AppVersion }}")
        if self.program:
            self.step_of_workload(line, indent, at)
        else:
            self.out.append(line)

    def step_of_workload(self, line, indent, at):
        words, out, program = line.strip(), self.out, self.program
        if words.startswith("imagePullPolicy:"):
            out.append(f"{indent}imagePullPolicy: "
                       "{{ .Values.image.pullPolicy }}")
        elif words.startswith("image: registry.k8s.io/kube-scheduler"):
            out.append(f"{indent}image: {{{{ .Values.extender.image }}}}")
        elif words == "containers:":
            out += ["{{- with .Values.image.pullSecrets }}",
                    f"{indent}imagePullSecrets:",
                    f"{{{{- toYaml . | nindent {len(indent)} }}}}",
                    "{{- end }}", line]
        elif resources_end(self.lines, at):
            self.at = resources_end(self.lines, at)
            out += [f"{indent}resources:",
                    f"{{{{- toYaml .Values.{program}.resources | "
                    f"nindent {len(indent) + 2} }}}}"]
        elif words.startswith("schedule: "):
            out.append(f"{indent}schedule: "
                       f"{{{{ .Values.{program}.schedule | quote }}}}")
        elif words.startswith("storage: "):
            out += [f"{indent}storage: {{{{ .Values.{program}.storage.size "
                    "}}",
                    f"{{{{- with .Values.{program}.storage.className }}}}",
                    f"{indent[:-4]}storageClassName: {{{{ . }}}}",
                    "{{- end }}"]
        elif ARGUMENT.fullmatch(line):
            self.step_of_argument(line, at)
        else:
            out.append(line)

    def step_of_argument(self, line, at):
        indent, flag, _ = ARGUMENT.fullmatch(line).groups()
        value = FLAGS.get((self.program, flag))
        self.out.append(f"{indent}- --{flag}={value}" if value else line)
        if (self.program != "certificates"
                and not self.lines[at + 1].startswith(f"{indent}- ")):
            insert_arguments(self.out, indent, self.program)


# ---- one template for all combinations ----

def key_in_chart(key):
    """The key of an object for all features: the Job's name varies."""
    kind, namespace, name = key
    return kind, namespace, JOB if name.startswith(JOB) else name


class Objects:
    """What kustomize renders with some features: key -> template lines."""

    def __init__(self):
        self.raw = functools.lru_cache(None)(lambda features: {
            key_in_chart(key): lines for key, lines in split(
                render_features(features)).items()})
        self.with_ = functools.lru_cache(None)(self.rendered)

    def rendered(self, features):
        return {key: tuple(Template(key, lines).out)
                for key, lines in self.raw(features).items()}

    def relevant(self):
        """key -> the features that touch it, found by all features alone and
        in pairs."""
        found = {}
        none = frozenset()
        sets = [none] + [frozenset([f]) for f in FEATURES] + [
            frozenset(pair) for pair in itertools.combinations(FEATURES, 2)]
        for features in sets:
            for feature in features:
                one, other = (self.with_(features),
                              self.with_(features - {feature}))
                for key in one.keys() | other.keys():
                    touched = found.setdefault(key, set())
                    if one.get(key) != other.get(key):
                        touched.add(feature)
        return found


def merge(feature, off, on):
    """Items that give `on` if the feature is enabled, else `off`. An item is
    a line, or a condition with the items of both cases."""
    if off == on:
        return off
    if not off or not on:
        return ((feature, on, off),)
    merged = []
    for kind, a, b, c, d in difflib.SequenceMatcher(
            None, off, on, autojunk=False).get_opcodes():
        if kind == "equal":
            merged += off[a:b]
        else:
            merged.append((feature, on[c:d], off[a:b]))
    return tuple(merged)


def expand(objects, key, features, chosen=frozenset()):
    """The items of an object, for each choice of the features."""
    if not features:
        return objects.with_(chosen).get(key, ())
    first, *rest = features
    return merge(first, expand(objects, key, rest, chosen),
                 expand(objects, key, rest, chosen | {first}))


def write_items(items):
    lines = []
    for item in items:
        if isinstance(item, str):
            lines.append(item)
            continue
        feature, on, off = item
        value = f".Values.{feature}.enabled"
        if on:
            lines += [f"{{{{- if {value} }}}}", *write_items(on)]
            lines += ["{{- else }}", *write_items(off)] if off else []
        else:
            lines += [f"{{{{- if not {value} }}}}", *write_items(off)]
        lines.append("{{- end }}")
    return lines


def file_of(key, lines):
    """The template that an object is in: by its label `component`."""
    for line in lines:
        match = re.fullmatch(
            r"    app.kubernetes.io/component: ([\w-]+)", line)
        if match:
            return f"{match.group(1)}.yaml"
    return "common.yaml"


def templates(objects):
    """File name -> text."""
    files = {}
    for key, touched in sorted(objects.relevant().items()):
        features = [f for f in FEATURES if f in touched]
        items = expand(objects, key, features)
        lines = write_items(items)
        # A condition around the whole object stands around its separator.
        is_whole = (len(items) == 1 and not isinstance(items[0], str)
                    and not (items[0][1] and items[0][2]))
        text = (lines[:1] + ["---"] + lines[1:] if is_whole
                else ["---"] + lines)
        files.setdefault(file_of(key, lines), []).extend(text)
    return {name: "\n".join(lines) + "\n" for name, lines in files.items()}


# ---- the chart ----

def resources_of(objects, features, kind, name):
    """A container's resources as kustomize has them, as lines of YAML."""
    for key, lines in objects.raw(features).items():
        if (key[0], key[2]) == (kind, name):
            for at in range(len(lines)):
                end = resources_end(lines, at)
                if end:
                    indent = len(lines[at]) - len(lines[at].lstrip()) + 2
                    return [line[indent:] for line in lines[at + 1:end]]
    raise BuildError(f"{kind} {name} has no resources")


def fill(text, facts):
    for word, value in facts.items():
        text = text.replace(f"@{word}@", value)
    return text


def facts_of(objects, version, registry, images):
    """What the files of deploy/chart leave open."""
    facts = {"VERSION": version, "REGISTRY": registry,
             "JOB": f"plimsoll-certificates-{dashed(version)}"}
    for (kind, name), program in WORKLOADS.items():
        features = frozenset(["extender"] if program == "extender" else [])
        lines = resources_of(objects, features, kind, name)
        facts[f"{program.upper()}_RESOURCES"] = "\n".join(
            "    " + line for line in lines)
    kube_scheduler = (ROOT / "deploy/components/extender/kube-scheduler.yaml")
    facts["KUBE_SCHEDULER"] = re.search(
        r"image: (\S+)", kube_scheduler.read_text()).group(1)
    cron_job = (ROOT / "deploy/components/certificates/cronjob.yaml")
    facts["SCHEDULE"] = re.search(
        r'schedule: "(.+)"', cron_job.read_text()).group(1)
    for program, reference in images.items():
        facts[f"{program.upper()}_DIGEST"] = reference.partition("@")[2]
    return facts


def job_settings_digest(facts):
    """The digest of the values that the Job is made of, as toJson writes
    them: with others the Job gets another name, as a Job cannot change."""
    image = {"registry": facts["REGISTRY"], "tag": facts["VERSION"],
             "pullPolicy": "IfNotPresent", "pullSecrets": [],
             "digests": {p: facts[f"{p.upper()}_DIGEST"]
                         for p in ("agent", "aggregator", "scheduler")}}
    resources = {}
    for line in facts["CERTIFICATES_RESOURCES"].splitlines():
        name, _, value = line.strip().partition(": ")
        if value:
            resources[part][name] = value
        else:
            part = name.rstrip(":")
            resources[part] = {}
    text = json.dumps([image, resources],
                      sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def make_chart(version, registry, images):
    """File name -> bytes, below the folder plimsoll."""
    objects = Objects()
    say("rendering every combination of the chart's features")
    files = {f"templates/{name}": text
             for name, text in templates(objects).items()}
    facts = facts_of(objects, version, registry, images)
    facts["JOB_SETTINGS"] = job_settings_digest(facts)
    for path in sorted(SOURCE.rglob("*")):
        if path.is_file():
            files[str(path.relative_to(SOURCE))] = fill(path.read_text(),
                                                        facts)
    files["LICENSE"] = (ROOT / "LICENSE").read_text()
    return {name: text.encode() for name, text in files.items()}


def pack(files, path, mtime):
    """Writes the chart as helm package does, but always the same bytes."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        # Helm reads Chart.yaml first.
        for name in sorted(files, key=lambda n: (n != "Chart.yaml", n)):
            add_bytes(tar, f"plimsoll/{name}", files[name], mtime)
    path.write_bytes(gzip.compress(raw.getvalue(), compresslevel=9, mtime=0))
