"""The header's declarations of the entries that accept a file of weights."""

from __future__ import annotations

from aotensor.codegen.declarations.text import prototype
from aotensor.codegen.entry.names import OwnSymbols, maps_files
from aotensor_runtime.manifest import Manifest


def weights_lines(manifest: Manifest) -> list[tuple[list[str], str]]:
    """Comment and prototype of each entry; empty for a library that holds its constants itself."""
    spec = manifest.weights
    if spec is None:
        return []
    own, context = OwnSymbols.from_manifest(manifest), "aotensor_context *context"
    file = f"{spec.file}, {spec.expectation}"
    statuses = [
        "Returns a status: 0 is success, also if the weights are in use already; AOTENSOR_NO_WEIGHTS;",
        "AOTENSOR_WRONG_WEIGHTS for another size or digest. The context may be NULL; its message names the file.",
    ]
    found = []
    if maps_files(manifest.target):
        lines = [
            f"The library is not complete without its constants in {file}.",
            "The first call maps that file from the folder of the library. This entry maps it earlier, or from another",
            "path; path NULL is the folder of the library. Any thread may call it, at any time.",
            *statuses,
        ]
        found.append((lines, prototype("int32_t", own.weights, (context, "const char *path"))))
    lines = [
        f"Use memory of the caller that holds the content of {file}:",
        "at a multiple of 64 bytes, readable and unchanged until the last call of the library. flags: 0, or",
        "AOTENSOR_WEIGHTS_CHECKED.",
        *statuses,
    ]
    parameters = context, "const void *data", "int64_t bytes", "int32_t flags"
    return [*found, (lines, prototype("int32_t", own.set_weights, parameters))]
