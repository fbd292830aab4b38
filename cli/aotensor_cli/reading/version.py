"""The versions that `aotensor --version` shows, found without importing the compiler."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_LLVM: Final = {"0.47": "20.1", "0.48": "22.1", "0.49": "22.1", "0.50": "22.1"}  # llvmlite → the LLVM in its wheels


def version_text() -> str:
    """The version line: aotensor, LLVM, ABI."""
    lite = installed("llvmlite") or "missing"
    llvm = _LLVM.get(lite.rpartition(".")[0], "unknown")
    return f"aotensor {installed('aotensor') or '0+uninstalled'} (LLVM {llvm} in llvmlite {lite}, ABI {abi_version()})"


def installed(distribution: str) -> str | None:
    """The version of an installed distribution, None if it is not there."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def abi_version() -> int:
    """ABI version of the header that the runtime carries."""
    spec = find_spec("aotensor_runtime")
    assert spec is not None and spec.origin is not None
    header = Path(spec.origin).parent / "include" / "aotensor.h"
    found = re.search(r"#define AOTENSOR_ABI_VERSION +(\d+)", header.read_text(encoding="utf-8"))
    assert found is not None
    return int(found[1])
