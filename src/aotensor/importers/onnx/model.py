"""Read an ONNX file as a checked ModelProto, without executing it; external data must be in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Final

import onnx
from google.protobuf.message import DecodeError, Error, Message

from aotensor.errors import GraphTypeError, GraphValueError

OLDEST: Final = 7
"""The oldest version of the standard operators that is read: since then they broadcast as NumPy does."""

SETTLED: Final = 13
"""The version in whose form nodes of older ones are read."""


class DamagedModel(GraphValueError):
    """A file that is not an ONNX model, or a part of one."""


def read_model(path: str | PathLike[str]) -> tuple[Any, Path]:
    """The model of a file, and the absolute path of the latter.

    Raises: OSError if the file cannot be read; DamagedModel for bytes that are not a complete ONNX model;
    GraphValueError as `check_opsets`.
    """
    if not isinstance(path, str | PathLike):
        raise GraphTypeError(f"from_onnx: expected the path of a file, found {type(path).__name__} {path!r:.60}")
    file = Path(path)
    model = parsed(file.read_bytes(), str(file))
    return model, file.absolute()


def parsed(content: bytes, what: str) -> Any:
    """The model in the bytes of a file.   Raises: DamagedModel, GraphValueError as `check_opsets`"""
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except (DecodeError, Error, ValueError, RecursionError) as error:
        raise DamagedModel(
            f"{what}: this is not an ONNX model, or it is truncated", hint="write it with onnx.save, in binary form"
        ) from error
    if not _is_text(model):
        raise DamagedModel(f"{what}: this ONNX model has names that are not text", hint="write it again with onnx.save")
    if not model.HasField("graph") or not model.opset_import:
        raise DamagedModel(f"{what}: this ONNX model has no graph or no version of its operators")
    check_opsets(opsets_of(model), what)
    return model


def _is_text(message: Any) -> bool:
    """Are all strings valid UTF-8? protobuf returns other strings as bytes."""
    for field, value in message.ListFields():
        if field.cpp_type == field.CPPTYPE_MESSAGE:
            if not all(map(_is_text, [value] if isinstance(value, Message) else value)):
                return False
        elif field.type == field.TYPE_STRING and not all(isinstance(x, str) for x in _listed(value)):
            return False
    return True


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str | bytes) else value


def opsets_of(proto: Any) -> dict[str, int]:
    """Domain → version of its operators, of a model or a function."""
    return {"" if item.domain == "ai.onnx" else item.domain: int(item.version) for item in proto.opset_import}


def check_opsets(opsets: Mapping[str, int], what: str) -> None:
    """Raises: GraphValueError for standard operators older than we read, or newer than the package `onnx` knows"""
    version = opsets.get("", OLDEST)
    if version < OLDEST:
        raise GraphValueError(
            f"{what}: its operators are of opset {version}, and the oldest supported opset is {OLDEST}",
            hint=f"onnx.save(onnx.version_converter.convert_version(onnx.load('old.onnx'), {SETTLED}), 'new.onnx')",
        )
    newest = onnx.defs.onnx_opset_version()
    if version > newest:
        raise GraphValueError(
            f"{what}: its operators are of opset {version}, and onnx {onnx.__version__} supports opsets up to {newest}",
            hint="pip install -U onnx",
        )
