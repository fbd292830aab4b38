"""Test vectors in a library: inputs, expected outputs, and tolerances.

One line of JSON describes the arrays, their row-major little-endian bytes follow. `python -m aotensor_runtime.vectors
LIBRARY` calls the library on all of them and prints the findings as JSON, so a library that crashes ends only that
process.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from aotensor_runtime.arguments import pattern
from aotensor_runtime.arrays.layout import DTYPES
from aotensor_runtime.arrays.plain import AnyArray, kind_of
from aotensor_runtime.call import LibraryFunction
from aotensor_runtime.errors import AotensorError, ArgumentTypeError, DamagedLibrary, ToolError
from aotensor_runtime.json_node import parsed
from aotensor_runtime.library import Library, load
from aotensor_runtime.sparse.call import joined_inputs
from aotensor_runtime.sparse.values import is_sparse

SECTION: Final = "vectors"
"""Name of the extra section."""


@dataclass(frozen=True)
class Vector:
    """One call. inputs: all of them, state included, in the order of the signature; outputs likewise.

    A sparse input is its four arrays, the pattern one without bytes; a sparse output is a dense array.
    tolerances: largest absolute difference of each output.
    """

    function: str
    inputs: tuple[AnyArray, ...]
    outputs: tuple[AnyArray, ...]
    tolerances: tuple[float, ...]


@dataclass(frozen=True)
class Replay:
    """The result of replaying one vector.   problem: None if the outputs were right"""

    function: str
    problem: str | None


def pack(vectors: Iterable[Vector]) -> bytes:
    """Serialise vectors; equal vectors give equal bytes."""
    rows, data = [], bytearray()
    for vector in vectors:
        sides = []
        for arrays in (vector.inputs, vector.outputs):
            sides.append([[_PATTERN if _is_pattern(x) else x.dtype.name, list(x.shape)] for x in arrays])
            for x in arrays:
                data += b"" if _is_pattern(x) else x.astype(x.dtype.newbyteorder("<"), order="C").tobytes()
        rows.append([vector.function, *sides, list(vector.tolerances)])
    return json.dumps(rows, separators=(",", ":")).encode() + b"\n" + bytes(data)


def unpack(content: bytes) -> list[Vector]:
    """Parse the vectors in a section.

    Raises: DamagedLibrary for anything that `pack` does not write; ArgumentTypeError for bfloat16 without ml_dtypes.
    """
    head, _, data = content.partition(b"\n")
    vectors, offset = [], 0
    try:
        rows: Any = parsed(head)
        for function, inputs, outputs, tolerances in rows:
            sides: list[tuple[AnyArray, ...]] = []
            for side in (inputs, outputs):
                arrays = []
                for dtype, shape in side:
                    array, offset = _array(data, offset, dtype, shape)
                    arrays.append(array)
                sides.append(tuple(arrays))
            vectors.append(Vector(str(function), sides[0], sides[1], tuple(map(float, tolerances))))
    except ArgumentTypeError:
        raise
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        raise DamagedLibrary(f"the test vectors are damaged ({error})") from error
    return vectors


_PATTERN: Final = "pattern"


def _is_pattern(x: AnyArray) -> bool:
    """Is an array the pattern argument, which only passes the extents of a sparse matrix?"""
    return x.ndim == 2 and x.dtype == bool and x.strides == (0, 0)


def _array(data: bytes, offset: int, dtype: str, shape: Sequence[int]) -> tuple[AnyArray, int]:
    if not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError(f"the shape {shape} is not valid")
    if dtype == _PATTERN and len(shape) == 2:
        return pattern(tuple(shape)), offset
    kind = DTYPES[dtype]
    end = offset + math.prod(shape) * kind.itemsize
    if end > len(data):
        raise ValueError("the data ends too early")
    return np.frombuffer(data[offset:end], kind.newbyteorder("<")).astype(kind).reshape(shape), end


def replay(library: Library) -> list[Replay]:
    """Call the library on its vectors. A library without vectors gives an empty list."""
    if SECTION not in library.manifest.sections:
        return []
    return [_replay_one(library, vector) for vector in unpack(library.section(SECTION))]


def _replay_one(library: Library, vector: Vector) -> Replay:
    function = library.functions.get(vector.function)
    if function is None or len(vector.inputs) != len(function.spec.inputs):
        return Replay(vector.function, "the vector does not fit the signature")
    inputs = joined_inputs(function.spec, vector.inputs)
    try:
        found = call_with_state(function, inputs)
        for count in THREADS:
            if not same_bits(found, call_with_state(function.with_threads(count), inputs)):
                return Replay(vector.function, f"{count} threads give other values")
    except AotensorError as error:
        return Replay(vector.function, f"refused: {error.diagnostic.title}")
    rows = zip(function.spec.produced, found, vector.outputs, vector.tolerances, strict=True)
    for value, x, expected, allowed in rows:
        if not is_near(x, expected, allowed):
            return Replay(vector.function, f"{value.name} differs from the recorded value")
    return Replay(vector.function, None)


def call_with_state(function: LibraryFunction, values: Sequence[Any], is_dense: bool = True) -> list[Any]:
    """All outputs for values of all inputs, those of shared variables included; is_dense: sparse ones as dense arrays.

    The state is restored afterwards.
    """
    spec, before = function.spec, dict(function.state)
    convert: Callable[[Any], Any] = _dense if is_dense else lambda x: x
    try:
        arguments = []
        for value, x in zip(spec.arguments, values, strict=True):
            if value.default is None:
                arguments.append(x)
            else:
                function.state[value.name] = x
        found = function(*arguments)
        rows: list[Any] = {"single": [found], "none": []}.get(spec.output_kind) or list(
            found.values() if isinstance(found, dict) else found or ()
        )
        by_name = {value.name: convert(x) for value, x in zip(spec.results, rows, strict=True)}
        by_name |= {output: convert(function.state[state]) for state, output in spec.updates}
    finally:
        for name, old in before.items():
            function.state[name] = old
    return [by_name[value.name] for value in spec.produced]


def _dense(x: Any) -> AnyArray:
    return np.asarray(x.toarray() if is_sparse(x) else x)


THREADS: Final = (1, 2, 3, 7)
"""Numbers of threads that must give equal bits."""


def same_bits(found: Sequence[AnyArray], others: Sequence[AnyArray]) -> bool:
    """Are arrays equal to the last bit, nan included?"""
    return all(x.tobytes() == y.tobytes() for x, y in zip(found, others, strict=True))


def is_near(found: AnyArray, expected: AnyArray, allowed: float) -> bool:
    """Equal dtype and shape, and values no further apart than `allowed`; nan equals nan, inf equals inf."""
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return False
    if expected.dtype.kind == "c":
        return all(is_near(x, y, allowed) for x, y in ((found.real, expected.real), (found.imag, expected.imag)))
    if kind_of(expected.dtype) != "f":
        return np.array_equal(found, expected)
    with np.errstate(invalid="ignore"):
        near = np.abs(found.astype(float) - expected.astype(float)) <= allowed
    return bool(np.all(near | (found == expected) | (np.isnan(found) & np.isnan(expected))))


NOT_RUN: Final = 4
"""Exit code where the calls could not be made, as for a full temporary folder; the last line on stderr says why."""


def main(path: str, weights: str | None = None) -> None:
    """Print a JSON list of [function, problem or null].

    path: of a library, or - for its bytes on stdin. weights: the file with its large constants, if it has one
    """
    library = Library(sys.stdin.buffer.read(), weights=weights) if path == "-" else load(path, weights)
    sys.stdout.write(json.dumps([[x.function, x.problem] for x in replay(library)]) + "\n")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ToolError as error:
        sys.stderr.write(f"{error.diagnostic.title}\n")
        sys.exit(NOT_RUN)
