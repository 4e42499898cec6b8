"""The storage of a random case: volumes, claims, classes, drivers."""
from parity_words import (BETA_CLASS, BOUND, CLAIMS, DRIVERS, GONE, HOST,
                          NAMESPACES, OLD_ZONE, SELECTED, TOPOLOGIES, VALUES,
                          ZONE)


class Storage:
    """A part of parity_cases.Case, which has the dice, the themes, the labels
    and the pod to place."""

    def volume(self, name):
        d = self.dice
        if self.has("disks") and d.maybe(0.85):
            if d.maybe(0.5):
                return {"name": name, "iscsi": {
                    "targetPortal": "10.0.0.9:3260", "lun": d.pick(0, 1),
                    "iqn": f"iqn.2020-01.example:{d.pick('i', 'j')}",
                    "readOnly": d.maybe(0.65)}}
            return {"name": name, "rbd": {
                "monitors": d.sample(["m", "n", "o"], 2),
                "image": d.pick("i", "j"), "pool": "rbd",
                "readOnly": d.maybe(0.65)}}
        if d.maybe(0.15):
            return {"name": name, "ephemeral": {"volumeClaimTemplate": {
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {
                    "requests": {"storage": "1Gi"}}}}}}
        return {"name": name, "persistentVolumeClaim": {
            "claimName": d.choice(CLAIMS), "readOnly": d.maybe(0.1)}}

    def storage_class(self, name, provisioner):
        d = self.dice
        made = {"kind": "StorageClass", "metadata": {"name": name},
                "provisioner": provisioner, "volumeBindingMode":
                "Immediate" if name == "imm" else "WaitForFirstConsumer"}
        if name != "local" and d.maybe(0.3):
            made["allowedTopologies"] = [{"matchLabelExpressions": [{
                "key": d.choice(TOPOLOGIES[1:]),
                "values": d.sample(VALUES, 2)}]}]
        return made

    def modes(self, least):
        d = self.dice
        if d.maybe(0.25):
            return ["ReadWriteOncePod"]
        return d.sample(["ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"],
                        d.randint(least, 3))

    def persistent_volume(self, i, size):
        d = self.dice
        labels = self.labels()
        if d.maybe(0.8):
            labels[d.pick(ZONE, ZONE, OLD_ZONE)] = d.pick(
                "1", "2__3", "3__2", "1__3", "2__9")
        spec = {"storageClassName": "local" if self.has("provision")
                else d.pick("local", "local", "csi"),
                "capacity": {"storage": size}, "accessModes": self.modes(2)}
        if d.maybe(0.15):
            spec["volumeMode"] = d.pick("Block", "Filesystem")
        if d.maybe(0.25):
            key = d.choice(TOPOLOGIES)
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{
                "matchExpressions": [{
                    "key": key, "operator": d.pick("In", "In", "NotIn"),
                    "values": d.some(("n0", "n1", "n2") if key == HOST
                                     else VALUES)}]}]}}
        if d.maybe(0.6):
            spec["csi"] = {"driver": d.choice(DRIVERS),
                           "volumeHandle": f"h{d.pick(i, i, 0)}"}
        else:
            spec["nfs"] = {"server": "10.0.0.8", "path": f"/{i}"}
        if d.maybe(0.6):
            spec["claimRef"] = {"namespace": d.pick("x", "y"),
                                "name": d.choice(CLAIMS)}
        if "csi" in spec and d.maybe(0.05):
            spec["volumeAttributesClassName"] = "gold"
        made = {"kind": "PersistentVolume",
                "metadata": {"name": f"pv{i}", "uid": f"pv{i}",
                             "labels": labels},
                "spec": spec, "status": {
                    "phase": d.pick("Available", "Available", "Available",
                                    "Bound")}}
        if d.maybe(0.05):
            made["metadata"]["deletionTimestamp"] = GONE
        return made

    def unbound(self, spec, meta):
        d = self.dice
        spec["storageClassName"] = (
            d.pick("csi", "csi2") if self.has("provision")
            else d.pick("local", "local", "csi", "csi", "csi2")
            if d.maybe(0.95) else d.pick("imm", "none", ""))
        if d.maybe(0.1):
            meta["annotations"][SELECTED] = d.pick("n0", "n1")
        if d.maybe(0.1):
            spec["selector"] = self.selector()
        if d.maybe(0.05):
            spec["volumeMode"] = "Block"
        if d.maybe(0.05):
            spec["volumeAttributesClassName"] = d.pick("gold", "tin")
        if d.maybe(0.15):
            meta["annotations"][BETA_CLASS] = d.pick("local", "csi")

    def claim(self, namespace, name, volumes):
        d = self.dice
        spec = {"accessModes": [d.choice(self.modes(1))],
                "resources": {"requests": {"storage": f"{d.randint(1, 20)}Gi"}}}
        meta = {"namespace": namespace, "name": name,
                "uid": f"u-{namespace}-{name}", "annotations": {}}
        made = {"kind": "PersistentVolumeClaim", "metadata": meta,
                "spec": spec, "status": {}}
        if d.maybe(0.2 if self.has("provision") else 0.55):
            spec["volumeName"] = f"pv{d.randrange(volumes)}"
            if d.maybe(0.02):
                spec["volumeName"] = "pv99"
            if d.maybe(0.98):
                meta["annotations"][BOUND] = "yes"
            spec["storageClassName"] = d.pick("local", "csi")
        else:
            self.unbound(spec, meta)
        if name.startswith("p-") and d.maybe(0.7):
            meta["ownerReferences"] = [{
                "apiVersion": "v1", "kind": "Pod", "name": "p",
                "controller": True, "uid": "p" if d.maybe(0.85) else "o"}]
        if d.maybe(0.02):
            made["status"]["phase"] = "Lost"
        if d.maybe(0.02):
            meta["deletionTimestamp"] = GONE
        return made

    def drivers(self):
        d = self.dice
        limited = 0.4 if self.has("provision") else 0.8
        for i in range(self.size):
            if d.maybe(0.8):
                yield {"kind": "CSINode", "metadata": {"name": f"n{i}"},
                       "spec": {"drivers": [{
                           "name": name, "nodeID": "x", "topologyKeys": [],
                           **({"allocatable": {"count": d.randint(0, 2)}}
                              if d.maybe(limited) else {})}
                           for name in DRIVERS if d.maybe(0.8)]}}
        for name in DRIVERS:
            if d.maybe(0.95 if self.has("provision") else 0.6):
                # One driver alone: of several that are missing,
                # kube-scheduler names any one.
                missed = name == DRIVERS[0] and d.maybe(0.4)
                yield {"kind": "CSIDriver", "metadata": {"name": name},
                       "spec": {"storageCapacity": d.maybe(0.8),
                                **({"preventPodSchedulingIfMissing": True}
                                   if missed else {})}}

    def capacity(self, i):
        d = self.dice
        made = {"kind": "CSIStorageCapacity",
                "metadata": {"namespace": "k", "name": f"k{i}"},
                "storageClassName": ("csi", "csi2")[i % 2]}
        if d.maybe(0.9):
            made["nodeTopology"] = d.pick(
                {"matchLabels": {ZONE: d.pick("1", "2")}}, {}, {},
                {"matchExpressions": [{"key": "rack", "operator": "Exists"}]})
        if d.maybe(0.9):
            made["capacity"] = d.pick("5Gi", "10Gi", "30Gi", "30Gi")
        if d.maybe(0.8):
            made["maximumVolumeSize"] = d.pick("1Gi", "4Gi", "9Gi")
        return made

    def storage(self):
        d = self.dice
        for name, provisioner in (
                ("local", "kubernetes.io/no-provisioner"),
                ("csi", DRIVERS[0]), ("csi2", DRIVERS[1]),
                ("imm", DRIVERS[0])):
            if d.maybe(0.97):
                yield self.storage_class(name, provisioner)
        volumes = d.randint(2, 6)
        # kube-scheduler takes any one of several volumes of the same size.
        sizes = d.sample(range(1, 40), volumes)
        reserved = []  # and of several that are reserved for one claim
        for i in range(volumes):
            made = self.persistent_volume(i, f"{sizes[i]}Gi")
            if made["spec"].get("claimRef") in reserved:
                del made["spec"]["claimRef"]
            reserved.append(made["spec"].get("claimRef", "none"))
            yield made
        for namespace in NAMESPACES:
            for name in CLAIMS:
                if d.maybe(0.97):
                    yield self.claim(namespace, name, volumes)
            for name in ("p-v0", "p-v1"):
                if d.maybe(0.7):
                    yield self.claim(namespace, name, volumes)
        yield from self.drivers()
        for i in range(d.randint(2, 3) if self.has("provision")
                       else d.randint(0, 3)):
            yield self.capacity(i)
        for i in range(d.randint(0, 6)):
            yield {"kind": "VolumeAttachment", "metadata": {"name": f"va{i}"},
                   "spec": {"attacher": d.choice(DRIVERS),
                            "nodeName": f"n{d.randrange(self.size)}",
                            "source": {"persistentVolumeName":
                                       f"pv{d.randrange(volumes)}"}}}

    def spoil(self, made):
        """One claim of the pod that nothing can be done with."""
        names = [v["persistentVolumeClaim"]["claimName"]
                 for v in made["pod"]["spec"].get("volumes", [])
                 if "persistentVolumeClaim" in v]
        found = [o for o in made["objects"]
                 if o["kind"] == "PersistentVolumeClaim"
                 and o["metadata"]["namespace"] == self.namespace
                 and o["metadata"]["name"] in names]
        if not found:
            return
        claim, how = self.dice.choice(found), self.dice.randrange(3)
        if how == 0:
            claim["status"]["phase"] = "Lost"
        elif how == 1:
            claim["metadata"]["deletionTimestamp"] = GONE
        else:
            claim["spec"].setdefault("volumeName", "pv0")
            claim["metadata"]["annotations"].pop(BOUND, None)
