"""The SBOM of an image or archive as SPDX 2.3: the program with its commit, and
the Debian packages that its libraries come from, and the scripts inside it. No
library is built from sources of its own, and no other program is in it."""
import hashlib
import json
import re
import time

from commands import TOOLS, title as title_of

# Short names in Debian's copyright files -> SPDX identifiers.
SPDX = {"expat": "MIT", "mit": "MIT", "curl": "curl", "zlib": "Zlib",
        "isc": "ISC", "openldap": "OLDAP-2.8", "openssl": "OpenSSL",
        "apache-2.0": "Apache-2.0", "apache-2": "Apache-2.0",
        "bsd-2-clause": "BSD-2-Clause", "bsd-3-clause": "BSD-3-Clause",
        "gpl-2": "GPL-2.0-only", "gpl-2+": "GPL-2.0-or-later",
        "gpl-3": "GPL-3.0-only", "gpl-3+": "GPL-3.0-or-later",
        "lgpl-2": "LGPL-2.0-only", "lgpl-2+": "LGPL-2.0-or-later",
        "lgpl-2.1": "LGPL-2.1-only", "lgpl-2.1+": "LGPL-2.1-or-later",
        "lgpl-3": "LGPL-3.0-only", "lgpl-3+": "LGPL-3.0-or-later"}
# Packages whose copyright files machines cannot read, as people read them.
READ = {"libjs-dygraphs": "MIT"}


def identifier(*words):
    """An SPDX identifier, which has letters, digits, dots and dashes."""
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", "-".join(words))


def licence(copyright_text):
    """The licence of most files by a copyright file that machines can read;
    NOASSERTION if it is another kind of file, names a licence that SPDX does
    not know, or lists licences with commas, which SPDX has no word for."""
    stanza = re.search(r"^Files: \*\n(?:.+\n)*?License: (.+)$",
                       copyright_text, re.M)
    words = stanza.group(1).lower().split() if stanza else []
    names, operators = words[::2], words[1::2]
    if (len(words) % 2 == 0 or not set(names) <= SPDX.keys()
            or not set(operators) <= {"and", "or"}):
        return "NOASSERTION"
    return " ".join(SPDX.get(word, word.upper()) for word in words)


def package(name, version, spdx, **more):
    return {"name": name, "SPDXID": spdx, "versionInfo": version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "copyrightText": "NOASSERTION", **more}


def debian_package(builder, root, source, name, version):
    """A package of the root, with its licence. source: its name, version."""
    text = (root / "usr/share/doc" / name / "copyright").read_text(
        errors="replace")
    found = READ.get(name) or licence(text)
    purl = (f"pkg:deb/debian/{name}@{version.replace('+', '%2B')}"
            f"?arch={builder.architecture}&distro={builder.suite}")
    return package(
        name, version, identifier("Package", name),
        supplier="Organization: Debian", licenseConcluded="NOASSERTION",
        licenseDeclared=found,
        licenseComments=f"/usr/share/doc/{name}/copyright in the image",
        sourceInfo="built from the Debian source package "
                   + " ".join(source),
        externalRefs=[{"referenceCategory": "PACKAGE-MANAGER",
                       "referenceType": "purl", "referenceLocator": purl}])


def make_sbom(builder, name, root, packages, facts):
    """The SBOM as bytes. packages: the lines of closure.sh."""
    title = title_of(name)
    program = hashlib.sha256((root / title).read_bytes()).hexdigest()
    ours = package(
        title, facts["version"], identifier("Package", title),
        primaryPackagePurpose="ARCHIVE" if name in TOOLS else "CONTAINER",
        licenseConcluded="Apache-2.0",
        licenseDeclared="Apache-2.0",
        sourceInfo=f"commit {facts['revision']}",
        checksums=[{"algorithm": "SHA256", "checksumValue": program}],
        comment=f"The checksum is that of the program /{title}.")
    sources = builder.sources()
    others = [debian_package(builder, root, sources[line.split(" ")[0]],
                             *line.split(" "))
              for line in packages.splitlines()]
    return json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{title}-{facts['version']}-{facts['architecture']}",
        "documentNamespace":
            f"https://plimsoll.io/spdx/{title}-{facts['version']}-"
            f"{facts['architecture']}-{program}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ",
                                     time.gmtime(facts["mtime"])),
            "creators": ["Tool: plimsoll-deploy/release.py"]},
        "packages": [ours, *others],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT",
             "relationshipType": "DESCRIBES",
             "relatedSpdxElement": ours["SPDXID"]},
            *({"spdxElementId": ours["SPDXID"],
               "relationshipType": "CONTAINS",
               "relatedSpdxElement": other["SPDXID"]} for other in others)],
    }, indent=1, sort_keys=True).encode() + b"\n"
