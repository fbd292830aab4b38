"""Import `file.onnx` and `file.mlir` as a Function; nothing in the file is executed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from aotensor import Function
from aotensor.errors import AotensorError, OptionError
from aotensor.importers.errors import NoCounterpart, NoMatch
from aotensor_cli.options import Exit, Refusal
from aotensor_cli.reading.kinds import refuse_other_kinds
from aotensor_cli.terminal.failure import explain

_SHOWN: Final = 6
"""Operations without counterpart that the line of an error names."""

Loader = Callable[[Path], tuple[Callable[..., Function], type[AotensorError]]]
"""What reads a file, and what it raises for one that is damaged."""


def _onnx(path: Path) -> Any:
    try:
        from aotensor.importers.onnx import from_onnx
        from aotensor.importers.onnx.model import DamagedModel
    except ImportError as error:
        raise Refusal(
            f"{path}: ONNX models need the package onnx, which cannot be imported ({error})",
            "pip install 'aotensor[onnx]'", Exit.TOOL,
        ) from error  # fmt: skip
    return from_onnx, DamagedModel


def _stablehlo(path: Path) -> Any:
    """Read StableHLO text.   Raises: Refusal for MLIR of other dialects, such as the output of `--emit`"""
    from aotensor.importers.stablehlo import DamagedText, from_stablehlo

    with path.open("rb") as file:
        start = file.read(1 << 16)
    if b"func.func" not in start and not start.startswith(b"ML\xefR"):
        refuse_other_kinds(path, start)
    return from_stablehlo, DamagedText


_LOADERS: Final[Mapping[str, Loader]] = {".onnx": _onnx, ".mlir": _stablehlo}
SUFFIXES: Final = frozenset(_LOADERS)


def without_counterpart(error: NoCounterpart) -> str:
    """The title of an error, with the operations that it is about."""
    named = [str(item).replace("   made at ", " at ") for item in error.operations[:_SHOWN]]
    rest = [f"and {len(error.operations) - _SHOWN} more"] if len(error.operations) > _SHOWN else []
    return f"{error.diagnostic.title}: {'; '.join([*named, *rest])}"


def function_of_file(
    path: Path,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int | None]] | None = None,
    trainable: Sequence[str] = (),
) -> Function:
    """The Function of an ONNX model or of StableHLO text.   dims, shapes: extents that it leaves open

    trainable: patterns of `--wrt`, for initializers of an ONNX model

    Raises: Refusal: 2 for a file that cannot be read or is damaged, 3 for a model that has no counterpart, 4 without
    the package that reads it
    """
    try:
        read, damaged = _LOADERS[path.suffix.lower()](path)
        given: dict[str, Any] = {"shapes": shapes} if shapes else {}
        if trainable and path.suffix.lower() == ".onnx":
            given["trainable"] = tuple(trainable)
        if dims and path.suffix.lower() != ".onnx":
            raise Refusal(
                f"{path}: --dim is supported only for ONNX models, whose dims have names", "use --shape INPUT=N,..."
            )
        try:
            return read(path, **given, **({"dims": dims} if dims else {}))
        except damaged as error:
            raise Refusal(error.diagnostic.title, error.diagnostic.hint) from error
    except NoCounterpart as error:
        raise Refusal(f"{path}: {without_counterpart(error)}", error.diagnostic.hint, Exit.PROGRAM) from error
    except NoMatch as error:
        raise Refusal(f"--wrt: {error.diagnostic.title}", error.diagnostic.hint) from error
    except AotensorError as error:
        found = explain(error)
        code = Exit.USAGE if isinstance(error, OptionError) else Exit.PROGRAM
        raise Refusal(f"{path}: {found.title}", found.hint, code) from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise Refusal(f"{path}: cannot be read ({reason})") from error
