"""Cases worth keeping: for every wrong rule a small one that shows it, with
the verdicts of kube-scheduler's own filters and its scores. tests/system
replays them, which needs no Go."""
import collections
import copy
import json

from parity_cases import case

# ask(case): kube-scheduler's answer; ours(case): ours; shows(name, right,
# wrong): the wrong rule changes the answer; rules: by name.
Judge = collections.namedtuple("Judge", "ask ours shows rules")

# Fields that every object has and no filter reads.
NOISE = {"terminationMessagePath", "terminationMessagePolicy", "generation",
         "imagePullPolicy", "dnsPolicy", "securityContext", "schedulerName",
         "enableServiceLinks", "terminationGracePeriodSeconds", "nodeInfo",
         "daemonEndpoints", "apiVersion", "image", "imageID", "ready",
         "restartCount", "finalizers", "reclaimPolicy", "attachRequired",
         "persistentVolumeReclaimPolicy", "podInfoOnMount", "fsGroupPolicy",
         "volumeLifecycleModes", "requiresRepublish", "seLinuxMount"}
# Fields of terms about other pods. The labelSelector holds them by then, and
# validation refuses to merge them again.
MERGED = {"matchLabelKeys", "mismatchLabelKeys"}


def quiet(thing):
    """A copy without the noise; owners keep their apiVersion, and Ceph's
    volumes their image."""
    if isinstance(thing, list):
        return [quiet(t) for t in thing]
    if not isinstance(thing, dict):
        return thing
    noise = set() if {"controller", "monitors"} & thing.keys() else NOISE
    if "topologyKey" in thing and "maxSkew" not in thing:
        noise = noise | MERGED
    return {k: quiet(v) for k, v in thing.items() if k not in noise}


def shows(judge, one, name):
    """Whether the wrong rule changes the answer to this case."""
    wrong = copy.deepcopy(one)
    judge.rules[name](wrong)
    return wrong != one and judge.shows(name, judge.ours(one),
                                        judge.ours(wrong))


def smaller(judge, one, name):
    """Without the halves of what is there that the wrong rule needs not."""
    for part in ("objects", "pods", "objects"):
        count = len(one[part])
        for half in (slice(0, count // 2), slice(count // 2, count)):
            less = copy.deepcopy(one)
            del less[part][half]
            if shows(judge, less, name):
                one = less
                break
    return one


def keep(judge, seed, seen, folder):
    """Writes files for wrong rules. seen: the number of a case, by rule."""
    for name, number in sorted(seen.items()):
        one = quiet(smaller(judge, judge.ask(case(seed, number))["case"],
                            name))
        answer = judge.ask(named(one))
        if "invalid" in answer:
            raise AssertionError(f"'{name}' is kept as no case: "
                                 f"{answer['invalid']}")
        verdicts = sorted(answer["verdicts"].items())
        theirs = {node: (sorted(v["reasons"]), v.get("scores", {}))
                  for node, v in verdicts}
        if theirs != judge.ours(one) or not shows(judge, one, name):
            raise AssertionError(f"'{name}' is lost when it is kept")
        path = folder / f"{name.replace(' ', '-')}.json"
        path.write_text(json.dumps({
            "notices": name,
            "reasons": {node: found[0] for node, found in theirs.items()},
            "scores": {node: found[1] for node, found in theirs.items()},
            "case": one}) + "\n")


def named(one):
    """As the driver wants it: containers have an image."""
    made = copy.deepcopy(one)
    for pod in [made["pod"], *made["pods"]]:
        spec = pod["spec"]
        for container in spec["containers"] + spec.get("initContainers", []):
            container["image"] = "registry.example/i:1"
    return made
