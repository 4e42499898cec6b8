"""The volumes of a pod, for kubelet.py: Secrets and ConfigMaps as folders that
change while the pod runs, projected tokens, empty folders, folders of the node
and claims."""
import base64
import os
import shutil

from kube_api import Refused


class NotYet(Exception):
    """The pod cannot start yet: a Secret, a key of it or a token is
    missing."""


def field(pod, path):
    value = pod
    for part in path.split("."):
        value = value[part]
    return value


def chosen(data, volume):
    """The keys that the volume selects, by the file names it gives them."""
    if "items" not in volume:
        return data
    missing = [i["key"] for i in volume["items"] if i["key"] not in data]
    if missing and not volume.get("optional"):
        raise NotYet(f"{volume} has no {missing}")
    return {i["path"]: data[i["key"]] for i in volume["items"]
            if i["key"] in data}


class Swapped:
    """A folder whose files change all at once, as kubelet does it: each name
    is a link into `..data`, which is a link to the newest folder."""

    def __init__(self, folder, group, mode):
        self.folder, self.group, self.mode = folder, group, mode
        self.count = 0
        self.files = None

    def write(self, files):
        """files: name -> bytes."""
        if files == self.files:
            return
        new = self.folder / f"..{self.count}"
        for name, data in files.items():
            path = new / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            os.chown(path, 0, self.group or 0)
            path.chmod(self.mode)
        new.mkdir(exist_ok=True)
        link = self.folder / "..data.new"
        link.symlink_to(new.name)
        link.rename(self.folder / "..data")
        for name in files:
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(f"..data/{name}")
        if self.count > 0:
            shutil.rmtree(self.folder / f"..{self.count - 1}")
        self.count += 1
        self.files = files


class Volumes:
    """group: the pod's fsGroup, or None."""

    def __init__(self, kubelet, pod, folder, group):
        self.kubelet, self.pod = kubelet, pod
        self.folder, self.group = folder, group
        self.namespace = pod["metadata"]["namespace"]
        self.secrets = []  # (Swapped, volume)

    def open(self, name):
        folder = self.folder / name
        folder.mkdir(parents=True)
        folder.chmod(0o755)
        return folder

    def swapped(self, name, mode, files):
        folder = Swapped(self.open(name), self.group, mode)
        folder.write(files)
        return folder

    def folder_of(self, volume):
        """The folder with the files of a volume."""
        name = volume["name"]
        if "secret" in volume:
            made = self.swapped(name, volume["secret"]["defaultMode"],
                                self.secret(volume["secret"]))
            self.secrets.append((made, volume["secret"]))
            return made.folder
        if "projected" in volume:
            projected = volume["projected"]
            files = {}
            for source in projected["sources"]:
                files |= self.source(source)
            return self.swapped(name, projected["defaultMode"], files).folder
        if "configMap" in volume:
            return self.swapped(name, 0o644, self.source(volume)).folder
        if "emptyDir" in volume:
            folder = self.open(name)
            folder.chmod(0o1777)
            return folder
        if "hostPath" in volume:
            return self.kubelet.hosts(self.pod["spec"]["nodeName"])[
                volume["hostPath"]["path"]]
        return self.claim(volume["persistentVolumeClaim"]["claimName"])

    def claim(self, name):
        folder = self.kubelet.folder / "claims" / name
        folder.mkdir(parents=True, exist_ok=True)
        for path in (folder, *folder.iterdir()):
            os.chown(path, -1, self.group)
            path.chmod(path.stat().st_mode | 0o660)
        folder.chmod(0o2770)
        return folder

    def secret(self, volume):
        data = self.kubelet.secrets.get(
            (self.namespace, volume["secretName"]))
        if data is None and not volume.get("optional"):
            raise NotYet(f"there is no Secret {volume['secretName']}")
        return {name: base64.b64decode(value)
                for name, value in chosen(data or {}, volume).items()}

    def refresh(self):
        """Brings changed Secrets into a running pod. A Secret that is gone
        changes nothing."""
        for folder, volume in self.secrets:
            try:
                folder.write(self.secret(volume))
            except NotYet:
                pass

    def source(self, source):
        """The files of one source of a projected volume: name -> bytes."""
        if "serviceAccountToken" in source:
            ask = source["serviceAccountToken"]
            return {ask["path"]: self.token(ask).encode()}
        if "configMap" in source:
            return self.config_map(source["configMap"])
        return {i["path"]: field(self.pod, i["fieldRef"]["fieldPath"]).encode()
                for i in source["downwardAPI"]["items"]}

    def config_map(self, volume):
        found = self.kubelet.kube.find(
            f"/api/v1/namespaces/{self.namespace}/configmaps/"
            f"{volume['name']}")
        if found is None and not volume.get("optional"):
            raise NotYet(f"there is no ConfigMap {volume['name']}")
        data = found["data"] if found else {}
        return {name: text.encode()
                for name, text in chosen(data, volume).items()}

    def token(self, ask):
        meta = self.pod["metadata"]
        spec = {"expirationSeconds": ask.get("expirationSeconds", 3600),
                "boundObjectRef": {"kind": "Pod", "apiVersion": "v1",
                                   "name": meta["name"], "uid": meta["uid"]}}
        if "audience" in ask:
            spec["audiences"] = [ask["audience"]]
        try:
            return self.kubelet.kube.request(
                "POST", f"/api/v1/namespaces/{meta['namespace']}/"
                f"serviceaccounts/{self.pod['spec']['serviceAccountName']}"
                "/token", {"spec": spec})["status"]["token"]
        except Refused as no:
            # A policy may not know the pod's Job yet: kubelet tries again.
            raise NotYet(no.message) from no
