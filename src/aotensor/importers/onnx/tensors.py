"""Tensors of ONNX files as arrays: dtypes, extents, and external data."""

from __future__ import annotations

import os
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from onnx import numpy_helper

import aotensor.tensor as at
from aotensor.errors import AotensorError, GraphValueError, UnsupportedError

_EXTERNAL: Final = onnx.TensorProto.EXTERNAL


def dtype_of(element: int, what: str) -> str:
    """Convert a value of `TensorProto.DataType` to a dtype.

    Raises: UnsupportedError with `what` for an unsupported one
    """
    try:
        name = str(onnx.TensorProto.DataType.Name(element))
    except ValueError:
        raise GraphValueError(f"{what} has the data type number {element}, which ONNX does not define") from None
    dtype = "float32" if element == onnx.TensorProto.FLOAT else "float64" if name == "DOUBLE" else name.lower()
    try:
        at.TensorType(dtype, ())
    except AotensorError as error:
        raise UnsupportedError(
            f"{what} has dtype {name}, which aotensor does not have", hint=error.diagnostic.hint
        ) from error
    return dtype


def element_of(dtype: str) -> int:
    """Convert a dtype to a value of `TensorProto.DataType`."""
    return int(onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def array_of(tensor: Any, folder: Path | None, what: str) -> np.ndarray[Any, Any]:
    """The values of a TensorProto.   folder: of the model, for external data; None if it has none

    Raises: GraphValueError, UnsupportedError with `what` for a dtype that we lack, data that are fewer than the
    extents say, and files outside of the folder.
    """
    dtype = np.dtype(dtype_of(tensor.data_type, what))
    extents = tuple(tensor.dims)
    if any(n < 0 for n in extents):
        raise GraphValueError(f"{what} has a negative extent: {list(extents)}")
    if tensor.data_location == _EXTERNAL:
        return _external(tensor, dtype, extents, folder, what)
    if tensor.HasField("raw_data") and len(tensor.raw_data) != prod(extents) * dtype.itemsize:
        raise GraphValueError(f"{what} has {len(tensor.raw_data)} bytes of data for extents {list(extents)} of {dtype}")
    try:
        found = numpy_helper.to_array(tensor)
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        raise GraphValueError(f"{what}: its data do not match extents {list(extents)} of {dtype}") from error
    return np.asarray(found, dtype).reshape(extents)


def _external(
    tensor: Any, dtype: np.dtype[Any], extents: tuple[int, ...], folder: Path | None, what: str
) -> np.ndarray[Any, Any]:
    """Read external data from a file, which must be in the folder of the model or below, after following links."""
    entries = {item.key: item.value for item in tensor.external_data}
    location = entries.get("location", "")
    if folder is None:
        raise GraphValueError(f"{what} has its data in the file {location!r}, but the model was not read from a file")
    path = Path(os.path.realpath(folder / location))
    if not location or "\0" in location or not path.is_relative_to(os.path.realpath(folder)):
        raise GraphValueError(
            f"{what} has its data in {location!r}, which is not in the folder of the model",
            hint="save the data in the folder of the model: onnx.save(..., save_as_external_data=True)",
        )
    count = prod(extents)
    try:
        offset = int(entries.get("offset", 0))
        length = int(entries.get("length", count * dtype.itemsize))
    except ValueError:
        raise GraphValueError(f"{what}: offset or length of its data in {location!r} is not a number") from None
    if offset < 0 or length != count * dtype.itemsize:
        raise GraphValueError(
            f"{what} has {length} bytes from byte {offset} of {location!r} for extents {list(extents)} of {dtype}"
        )
    try:
        if offset + length > path.stat().st_size or not path.is_file():
            raise GraphValueError(f"{what}: {location!r} ends before byte {offset + length}, where its data end")
        found = np.fromfile(path, dtype.newbyteorder("<"), count, offset=offset)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise GraphValueError(f"{what}: its data in {location!r} cannot be read ({reason})") from error
    return found.astype(dtype).reshape(extents)
