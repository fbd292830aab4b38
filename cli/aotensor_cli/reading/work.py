"""The work per call of a library's functions, from the IR that travels in it; the IR is read in a process of its own.

A file that nobody trusts may hold IR that takes for ever to read, or all memory. The process has limits for both, and
whatever ends it is reported, not suffered. It reads a task as JSON from stdin and writes the answer to stdout.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, Final

from aotensor.passes.estimate import Estimate, count_flops_in_text
from aotensor_runtime.container import Container
from aotensor_runtime.errors import DamagedLibrary

SECTION: Final = "ir.loops"
_SECONDS: Final = 20
"""Processor time, and time on the wall, that reading may take."""
_MEMORY: Final = 4 << 30
"""Address space, in bytes."""
_MAX_TEXT: Final = 1 << 24
"""Longest IR that is read for this, in bytes."""


def flops_of(container: Container) -> dict[str, str]:
    """Formula of the floating point operations by function; none where no IR travels, or too much of it.

    Raises: DamagedLibrary if the IR cannot be read within the limits.
    """
    if SECTION not in container.extra_names():
        return {}
    text = container.extra(SECTION)
    if len(text) > _MAX_TEXT:
        return {}
    shapes = {spec.name: [value.shape for value in spec.values] for spec in container.manifest().functions}
    task = json.dumps({"text": text.decode(errors="replace"), "shapes": shapes})
    command = [sys.executable, "-c", f"from {__name__} import main; main()"]
    try:
        done = subprocess.run(
            command, input=task, capture_output=True, text=True, timeout=2 * _SECONDS, check=False, preexec_fn=_limit
        )
        found = json.loads(done.stdout) if done.returncode == 0 else None
    except (subprocess.TimeoutExpired, ValueError):
        found = None
    if not isinstance(found, dict):
        raise DamagedLibrary(f"section {SECTION} is damaged: it is no IR that can be read")
    return {str(name): str(formula) for name, formula in found.items()}


def flops_text(found: Estimate) -> str:
    """An estimate for people."""
    return str(found.flops) if found.is_exact else f"at least {found.flops}"


def main() -> None:
    """The process that reads."""
    task: Mapping[str, Any] = json.load(sys.stdin)
    found = {
        name: count_flops_in_text(task["text"], f"{name}.kernel", shapes) for name, shapes in task["shapes"].items()
    }
    if None in found.values():
        raise SystemExit(1)
    json.dump({name: flops_text(x) for name, x in found.items() if x is not None}, sys.stdout)


def _limit() -> None:
    for kind, limit in ((resource.RLIMIT_CPU, _SECONDS), (resource.RLIMIT_AS, _MEMORY), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(kind, (limit, limit))
