"""Names that the compiler and the runtime define and that help lists: read without importing either package.

`import aotensor.driver.stages` would first import `aotensor`, which takes half a second: NumPy, every op, every layer.
The modules that are read here import the standard library only, as `tests/house` checks. Each is executed once more,
under another name; only strings and numbers of it are used.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any, Final


def _alone(name: str) -> Any:
    """Import a module without its parent packages, as `aotensor_cli.commands.names.<last part of its name>`."""
    package, *inner = name.split(".")
    spec = find_spec(package)  # which does not import a package at the top
    for part in inner:
        assert spec is not None
        spec = PathFinder.find_spec(f"{__name__}.{part}", spec.submodule_search_locations)
    assert spec is not None and spec.loader is not None, name
    module = sys.modules[spec.name] = module_from_spec(spec)  # dataclasses look for their module
    spec.loader.exec_module(module)
    return module


_stages = _alone("aotensor.driver.stages")
STAGES: Final[tuple[str, ...]] = _stages.STAGES
FORMS: Final[tuple[str, ...]] = tuple(_stages.FORMS)
"""What `aotensor compile --emit` makes."""

KINDS: Final[tuple[str, ...]] = tuple(_alone("aotensor.codegen.targets.kinds").KINDS)
"""What `aotensor split --emit` makes."""

INTERFACES: Final[tuple[str, ...]] = _alone("aotensor.api.interfaces.names").NAMES
"""Of other projects, which `aotensor compile --abi` adds."""

_rows = _alone("aotensor.graph.passes.table").ROWS
PASSES: Final[tuple[str, ...]] = tuple(row[0] for row in _rows)
RENAMED: Final[dict[str, str]] = {row[4]: row[0] for row in _rows if row[4]}
"""Old names of passes → new ones."""
OPTIMISATIONS: Final[tuple[str, ...]] = tuple(row[0] for row in _rows if not row[3])
"""The passes that can be left out."""

_triples = _alone("aotensor.codegen.targets.triples")
TARGETS: Final[tuple[str, ...]] = (*_triples.TARGETS, *_triples.BARE)

MOST_THREADS: Final[int] = _alone("aotensor_runtime.systems.limits").MOST_THREADS
MOST_SAMPLES: Final[int] = _alone("aotensor.verification.limits").MOST_SAMPLES
