"""Records of the libraries in a wheel: a bill of materials, and how they were built. No time, no random number.

Source: PEP 770; CycloneDX 1.6; in-toto Statement v1; SLSA Provenance v1.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

from packaging.version import Version

from aotensor_cli.packaging.libraries import PackagedLibrary
from aotensor_runtime.manifest import Manifest
from aotensor_runtime.weights.spec import WeightsSpec

BILL: Final = "aotensor.cdx.json"
PROVENANCE: Final = "aotensor.provenance.json"
_COMPILE: Final = "urn:aotensor:compile:1"
_SPACE: Final = uuid.uuid5(uuid.NAMESPACE_URL, "urn:aotensor:bill")


def bills(name: str, version: Version, libraries: Sequence[PackagedLibrary]) -> dict[str, bytes]:
    """File name below `.dist-info/sboms` → content.   name: of the distribution"""
    made = {BILL: _bill(name, version, libraries), PROVENANCE: _provenance(libraries)}
    return {file: (json.dumps(content, indent=1, ensure_ascii=True) + "\n").encode() for file, content in made.items()}


def _bill(name: str, version: Version, libraries: Sequence[PackagedLibrary]) -> dict[str, Any]:
    """The CycloneDX document: the distribution with its libraries as components."""
    digests = [_digest(library) for library in libraries]
    purl = f"pkg:pypi/{name}@{version}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(_SPACE, ' '.join([purl, *digests]))}",
        "version": 1,
        "metadata": {
            "tools": {"components": _tools(libraries)},
            "component": {"type": "library", "bom-ref": purl, "name": name, "version": str(version), "purl": purl},
        },
        "components": [
            {
                "type": "library",
                "bom-ref": f"file:{library.file_name}",
                "name": library.file_name,
                "hashes": [{"alg": "SHA-256", "content": digest}],
                "properties": [
                    {"name": f"aotensor:{key}", "value": value} for key, value in _facts(library.manifest).items()
                ],
            }
            for library, digest in zip(libraries, digests, strict=True)
        ]
        + [_weights(spec) for library in libraries if (spec := library.manifest.weights) is not None],
        "dependencies": [
            {"ref": purl, "dependsOn": [f"file:{library.file_name}" for library in libraries]},
            *(
                {"ref": f"file:{library.file_name}", "dependsOn": [f"file:{spec.file}"]}
                for library in libraries
                if (spec := library.manifest.weights) is not None
            ),
        ],
    }


def _weights(spec: WeightsSpec) -> dict[str, Any]:
    """The component of a file of weights, on which its library depends."""
    return {
        "type": "data",
        "bom-ref": f"file:{spec.file}",
        "name": spec.file,
        "hashes": [{"alg": "SHA-256", "content": spec.sha256}],
        "properties": [{"name": "aotensor:bytes", "value": str(spec.bytes)}],
    }


def _provenance(libraries: Sequence[PackagedLibrary]) -> dict[str, Any]:
    """An unsigned in-toto statement: the compiler and the options that produced the files."""
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": library.file_name, "digest": {"sha256": _digest(library)}} for library in libraries]
        + [{"name": spec.file, "digest": {"sha256": spec.sha256}} for x in libraries if (spec := x.manifest.weights)],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": _COMPILE,
                "externalParameters": {library.file_name: _facts(library.manifest) for library in libraries},
                "resolvedDependencies": [
                    {"name": tool["name"], "annotations": {"version": tool["version"]}} for tool in _tools(libraries)
                ],
            },
            "runDetails": {"builder": {"id": "urn:aotensor:builder:local"}},
        },
    }


def _tools(libraries: Sequence[PackagedLibrary]) -> list[dict[str, str]]:
    """Distinct versions of the compiler and of LLVM."""
    found = {(name, made): None for library in libraries for name, made in _makers(library.manifest).items()}
    return [{"type": "application", "name": name, "version": made} for name, made in found]


def _makers(manifest: Manifest) -> Mapping[str, str]:
    return {"aotensor": manifest.aotensor, "llvm": manifest.llvm}


def _facts(manifest: Manifest) -> dict[str, str]:
    """Non-empty target and compile options of a manifest."""
    found = {
        "target": manifest.target,
        "cpu": ",".join((manifest.cpu, *manifest.levels)),
        "features": manifest.features,
        "fp": manifest.fp,
        "passes": manifest.pipeline,
        "schedule": manifest.schedule,
        "abi": str(manifest.abi),
        "interfaces": ",".join(one.name for one in manifest.interfaces),
        "functions": ",".join(spec.name for spec in manifest.functions),
    }
    return {key: value for key, value in found.items() if value}


def _digest(library: PackagedLibrary) -> str:
    return hashlib.sha256(library.data).hexdigest()
