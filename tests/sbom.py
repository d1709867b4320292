"""A software bill of materials of the wheel: CycloneDX JSON, with what the wheel needs.

`python -m tests.installable` makes it, after it has installed the wheel into an empty environment.
The versions of what the wheel needs are those of that environment.
"""

import json
import os
import subprocess
import uuid
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import DisjunctiveLicense, LicenseExpression
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from .package_metadata import AUTHOR, REPOSITORY

FORMAT: Final = SchemaVersion.V1_6
READ: Final = """
import json, re
from importlib.metadata import metadata, requires
found, names = {}, ["hookbus"]
for name in names:
    about = metadata(name)
    lines = [each for each in requires(name) or () if "extra" not in each]
    needed = [re.match(r"[\\w.-]+", line)[0] for line in lines]
    classes = [each for each in about.get_all("Classifier") or () if each.startswith("License ::")]
    found[name] = {"version": about["Version"], "needs": needed, "summary": about["Summary"],
                   "license": about["License-Expression"] or about["License"],
                   "license_name": classes[0].rpartition(" :: ")[2] if classes else None}
    names += [each for each in needed if each not in names]
print(json.dumps(found))
"""
"""Prints hookbus and what it needs without extras, as installed."""


def installed(python: Path) -> dict[str, dict[str, Any]]:
    """Return hookbus and what it needs, as installed in the environment of a Python."""
    ran = subprocess.run([python, "-I", "-c", READ], check=True, capture_output=True, text=True)
    found: dict[str, dict[str, Any]] = json.loads(ran.stdout)
    return found


def text_of(wheel: Path, packages: dict[str, dict[str, Any]], moment: float) -> str:
    """Return the bill of a wheel as JSON; the same wheel and packages give the same text.

    Args:
        wheel: the file.
        packages: hookbus and what it needs.
        moment: when it was made, in seconds since 1970.
    """
    digest = sha256(wheel.read_bytes()).hexdigest()
    components = {name: _component(name, about) for name, about in packages.items()}
    root = components.pop("hookbus")
    root.publisher = AUTHOR
    root.hashes = [HashType(alg=HashAlgorithm.SHA_256, content=digest)]
    root.external_references = [
        ExternalReference(type=ExternalReferenceType.VCS, url=XsUri(REPOSITORY))
    ]
    bom = Bom(
        components=components.values(),
        serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"{REPOSITORY}#{digest}"),
        metadata=BomMetaData(component=root, timestamp=datetime.fromtimestamp(moment, UTC)),
    )
    every = {"hookbus": root, **components}
    for name, component in every.items():
        bom.register_dependency(component, [every[each] for each in packages[name]["needs"]])
    text: str = make_outputter(bom, OutputFormat.JSON, FORMAT).output_as_string(indent=2)
    return f"{text}\n"


def problems_of(text: str) -> list[str]:
    """Return what a bill lacks: the schema decides, and every package must be in it."""
    problem = JsonStrictValidator(FORMAT).validate_str(text)
    if problem:
        return [f"the SBOM does not fit its schema: {problem}"]
    bill = json.loads(text)
    names = [bill["metadata"]["component"]["name"], *(each["name"] for each in bill["components"])]
    unlicensed = [each["name"] for each in bill["components"] if not each.get("licenses")]
    found = [f"the SBOM has no licence of {name}" for name in unlicensed]
    if sorted(names) != ["attrs", "blinker", "hookbus"] or len(bill["dependencies"]) != 3:
        found.append(f"the SBOM should have hookbus, attrs and blinker: {names}")
    return found


def write(wheel: Path, python: Path, target: Path) -> list[str]:
    """Write the bill of an installed wheel, and return what is wrong with it."""
    moment = float(os.environ.get("SOURCE_DATE_EPOCH", 0))
    text = text_of(wheel, installed(python), moment)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    return problems_of(text)


def _component(name: str, about: dict[str, Any]) -> Component:
    version = about["version"]
    return Component(
        name=name, version=version, description=about["summary"], type=ComponentType.LIBRARY,
        bom_ref=f"{name}@{version}", purl=PackageURL("pypi", None, name, version),
        licenses=_licenses(about),
    )  # fmt: skip


def _licenses(about: dict[str, Any]) -> list[LicenseExpression | DisjunctiveLicense]:
    if about["license"]:
        return [LicenseExpression(about["license"])]
    return [DisjunctiveLicense(name=about["license_name"])] if about["license_name"] else []
