"""The optional C extension `_calls`: calls without Python code around them. Without it, they go through ctypes.

The wheel of a platform contains it; `AOTENSOR_NO_EXTENSION=1` switches it off. Results, errors and the release of the
interpreter's lock are the same. An interpreter without the stable ABI of 3.11, or with its own lock in each
subinterpreter, cannot import it.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any, Final

VARIABLE: Final = "AOTENSOR_NO_EXTENSION"
INTERFACE: Final = 1
"""Number of the interface of `_calls` that the runtime needs (`calls.h`): one of other sources is not used."""

try:
    from aotensor_runtime.extension import _calls  # type: ignore[attr-defined]
except ImportError:  # a wheel for every platform
    _found: Any = None
else:
    _found = _calls if _calls.INTERFACE == INTERFACE else None

_module: Any = _found if os.environ.get(VARIABLE, "0") in ("", "0") else None


def calls() -> Any:
    """The module `_calls`; None if it is missing or switched off."""
    return _module


def state() -> str:
    """How calls reach a library: "used", "off" by AOTENSOR_NO_EXTENSION, or "missing" from this installation."""
    if _module is not None:
        return "used"
    return "missing" if _found is None else "off"


def function_class(kind: Any) -> Any:
    """The class itself, or with the extension a subclass whose calls are those of `_calls.Function`."""
    return kind if _module is None or issubclass(kind, _module.Function) else _function_class(kind, _module)


def bound_class(kind: Any) -> Any:
    """The same with the calls of `_calls.Bound`."""
    return kind if _module is None or issubclass(kind, _module.Bound) else _bound_class(kind, _module)


@cache
def _function_class(kind: Any, module: Any) -> Any:
    return module.function_subclass(kind)


@cache
def _bound_class(kind: Any, module: Any) -> Any:
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    return type(kind.__name__, (module.Bound, kind), names)
