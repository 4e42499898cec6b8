"""What an overlay asks for, and what a cluster has of plimsoll."""
import json

import yaml

PART_OF = "app.kubernetes.io/part-of=plimsoll"
# Objects of controllers, with the labels of ours.
MADE = {"Endpoints", "EndpointSlice", "PersistentVolumeClaim"}


def rendered(shell, folder):
    """The objects of a kustomization."""
    return list(yaml.safe_load_all(shell.run(f"kubectl kustomize {folder}")))


def named(things):
    """(Kind, namespace, name) of objects."""
    return {(t["kind"], t["metadata"].get("namespace", ""),
             t["metadata"]["name"]) for t in things}


def installed(shell):
    """The names of all of plimsoll's objects that no controller made."""
    kinds = shell.run("kubectl api-resources --verbs=list,delete -o name")
    listed = json.loads(shell.run(
        f"kubectl get -A {','.join(kinds.split())} -l {PART_OF} -o json"))
    return named(t for t in listed["items"] if t["kind"] not in MADE
                 and "ownerReferences" not in t["metadata"])
