"""Facts on functions from the manifest, and the sizes of the parts of a file."""

from __future__ import annotations

from typing import Any

from aotensor_cli.reading.describe import Description, signature


def functions_of(description: Description) -> list[dict[str, Any]]:
    """Name, signature and facts of each function."""
    found = []
    for spec in description.manifest.functions:
        work = description.work[spec.name]
        rows = [
            ("dims", ", ".join(spec.dims) or "none"),
            *((key, f"{work[key]} per call") for key in ("flops",) if key in work),
        ]
        rows.append(("bytes", f"{work['bytes']} of inputs and outputs"))
        rows += [("needs", f"{', '.join(spec.lapack)} of BLAS and LAPACK")] if spec.lapack else []
        rows += [("check", x.static_text()) for x in spec.checks]
        found.append({"name": spec.name, "signature": signature(spec), "rows": rows})
    return found


def parts_of(description: Description) -> list[tuple[str, int]]:
    """The parts of a file with their sizes in bytes, the largest first."""
    sections = description.container.image.sections
    parts = [(name, section.size) for name, section in sections.items() if name and section.size]
    return sorted(parts, key=lambda row: -row[1])
