"""Cases worth keeping: for every wrong rule a small one that shows it, with
the verdicts of kube-scheduler's own filters. tests/system replays them, which
needs no Go."""
import copy
import json

from parity_cases import case
from parity_rules import RULES

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
    """Whether the wrong rule changes a verdict of this case."""
    wrong = copy.deepcopy(one)
    RULES[name](wrong)
    return wrong != one and judge(wrong) != judge(one)


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


def keep(driver, judge, seed, seen, folder):
    """Writes files for wrong rules. judge: our reasons by node."""
    for name, number in sorted(seen.items()):
        one = quiet(smaller(judge, driver.ask(case(seed, number))["case"],
                            name))
        answer = driver.ask(named(one))
        if "invalid" in answer:
            raise AssertionError(f"'{name}' is kept as no case: "
                                 f"{answer['invalid']}")
        verdicts = {node: sorted(v["reasons"])
                    for node, v in sorted(answer["verdicts"].items())}
        if verdicts != judge(one) or not shows(judge, one, name):
            raise AssertionError(f"'{name}' is lost when it is kept")
        path = folder / f"{name.replace(' ', '-')}.json"
        path.write_text(json.dumps({
            "notices": name, "reasons": verdicts, "case": one}) + "\n")


def named(one):
    """As the driver wants it: containers have an image."""
    made = copy.deepcopy(one)
    for pod in [made["pod"], *made["pods"]]:
        spec = pod["spec"]
        for container in spec["containers"] + spec.get("initContainers", []):
            container["image"] = "registry.example/i:1"
    return made
