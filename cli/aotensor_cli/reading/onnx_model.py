"""`file.onnx` → a Function, by the importer: nothing of the file is executed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from aotensor import Function
from aotensor.errors import AotensorError
from aotensor_cli.failure import explain
from aotensor_cli.options import Exit, Refusal

SUFFIX: Final = ".onnx"
_SHOWN: Final = 6
"""Operations without counterpart that the line of an error names."""


def function_of_file(path: Path) -> Function:
    """The Function of an ONNX model.

    Raises: Refusal: 2 for a file that cannot be read or is no ONNX model, 3 for a model that has no counterpart, 4
    without the package `onnx`
    """
    try:
        from aotensor.importers.onnx import NoCounterpart, from_onnx
        from aotensor.importers.onnx.model import DamagedModel
    except ImportError as error:
        raise Refusal(
            f"{path}: ONNX models need the package onnx, which cannot be imported ({error})",
            "pip install 'aotensor[onnx]'", Exit.TOOL,
        ) from error  # fmt: skip
    try:
        return from_onnx(path)
    except DamagedModel as error:
        raise Refusal(error.diagnostic.title, error.diagnostic.hint) from error
    except NoCounterpart as error:
        named = [str(item).replace("   made at ", " at ") for item in error.operations[:_SHOWN]]
        rest = [f"and {len(error.operations) - _SHOWN} more"] if len(error.operations) > _SHOWN else []
        title = f"{path}: {error.diagnostic.title}: {'; '.join([*named, *rest])}"
        raise Refusal(title, error.diagnostic.hint, Exit.PROGRAM) from error
    except AotensorError as error:
        found = explain(error)
        raise Refusal(f"{path}: {found.title}", found.hint, Exit.PROGRAM) from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise Refusal(f"{path}: cannot be read ({reason})") from error
