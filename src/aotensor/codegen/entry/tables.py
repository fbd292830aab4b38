"""Constant tables that describe each function to the fixed functions, with layouts defined as ctypes structs.

`function_table` writes a table, and `core` reads it through the same struct.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aotensor.codegen.entry.code import NULL, constant_struct, number
from aotensor.codegen.entry.layout import offset_of, pointer_bytes
from aotensor.codegen.llvm import Bytes, Function, Module, Value, function, i32, i64, ir, pointer
from aotensor.codegen.targets.systems import system_of
from aotensor.passes.checking.check_bounds import has_bounds_checks
from aotensor_runtime.abi import CANONICAL, DTYPE_CODES, DTYPE_SIZES, Blas
from aotensor_runtime.manifest import ArgumentSpec, FunctionSpec, OutputSpec, SparseSpec

HIDDEN: Final = "hidden"
"""A visibility: visible to the modules of a library only. In LLVM's syntax it is in the position of the linkage."""

PLAIN: Final = 0
"""Kind of an array that the typed entry receives as the address of its elements."""
ALLOCATED: Final = 1
"""Kind of an output that the typed entry receives as an aotensor_array."""
PATTERN: Final = 2
"""Kind of an array that represents the extents of a sparse matrix: it has no memory, the next three have."""
PART: Final = 3
"""Kind of an array that is data, indices or indptr of a sparse matrix."""
COLUMNS: Final = 4
"""Kind of a plain array that kernels have column-major: as the row-major transpose, with extents in reverse."""

TAKE_MATRICES: Final = "entry.take_matrices"
CHECK_MATRICES: Final = "entry.check_matrices"
GIVE_MATRIX: Final = "entry.give_matrix"
"""The fixed functions for sparse matrices, a separate part that libraries without sparse matrices do not contain."""


class Argument(ctypes.Structure):
    """The record of one input or output.

    dims: per axis the extent, or -1 - d for dim number d; inputs only. kind: see above.
    """

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("dims", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("itemsize", ctypes.c_int32),
        ("kind", ctypes.c_int32),
    )


class Matrix(ctypes.Structure):
    """The record of one sparse input.

    first: number of its pattern. offset: position of the pattern's extents. major: its axis.

    height, width: rows and columns of a stored entry: 1 and 1, except for blocks of bsr. indices: position of the
    extent of its indices after those of the pattern; that of indptr is next.
    """

    _fields_ = (
        ("first", ctypes.c_int32),
        ("offset", ctypes.c_int32),
        ("major", ctypes.c_int32),
        ("indices", ctypes.c_int32),
        ("height", ctypes.c_int64),
        ("width", ctypes.c_int64),
    )


class Table(ctypes.Structure):
    """The table of one function. Ranks are sums over all inputs, or all outputs; texts end with NUL.

    checks, codes: templates and status codes of its checks. sized: 1 if the workspace depends on the dims only. needs:
    offsets in aotensor_blas of the functions that it requires; need_names: their names. kept: number of values that
    `extents` keeps for the kernel. matrices: its sparse inputs; the functions take_matrices, check_matrices,
    give_matrix are NULL if there are none. weights: makes sure that the file of weights is mapped, NULL without one.
    obeyed_flags: flags of a context that change its calls; a checking build checks indices in spite of CANONICAL.
    """

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("extents", ctypes.c_void_p),
        ("kernel", ctypes.c_void_p),
        ("arguments", ctypes.c_void_p),
        ("dim_names", ctypes.c_void_p),
        ("checks", ctypes.c_void_p),
        ("codes", ctypes.c_void_p),
        ("needs", ctypes.c_void_p),
        ("need_names", ctypes.c_void_p),
        ("matrices", ctypes.c_void_p),
        ("take_matrices", ctypes.c_void_p),
        ("check_matrices", ctypes.c_void_p),
        ("give_matrix", ctypes.c_void_p),
        ("weights", ctypes.c_void_p),
        ("inputs", ctypes.c_int32),
        ("outputs", ctypes.c_int32),
        ("dims", ctypes.c_int32),
        ("input_ranks", ctypes.c_int32),
        ("output_ranks", ctypes.c_int32),
        ("sized", ctypes.c_int32),
        ("need_count", ctypes.c_int32),
        ("matrix_count", ctypes.c_int32),
        ("kept", ctypes.c_int32),
        ("obeyed_flags", ctypes.c_int32),
    )


class Frame(ctypes.Structure):
    """The frame of one active call, in stack memory.

    data: address of the row-major elements of each input and output. temporaries: memory to free at the end, per input
    and output. shapes: extents of all inputs, then of all outputs, then the bytes of workspace. dims: the values of
    dims. kept: for each kept value an address, to be freed at the end, and a size in bytes.
    """

    _fields_ = (
        ("table", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("temporaries", ctypes.c_void_p),
        ("shapes", ctypes.c_void_p),
        ("dims", ctypes.c_void_p),
        ("kept", ctypes.c_void_p),
    )


class Description(ctypes.Structure):
    """What the fixed entries of a library read about it.

    check_message: returns the text of a check for its status; NULL if the library has no checks. manifest: its JSON
    text. signatures: the text of each function, `count` of them.
    """

    _fields_ = (
        ("check_message", ctypes.c_void_p),
        ("manifest", ctypes.c_void_p),
        ("signatures", ctypes.c_void_p),
        ("count", ctypes.c_int64),
    )


@dataclass
class Constants:
    """Read-only data of the module; equal texts are stored once."""

    module: Module

    def __post_init__(self) -> None:
        self._texts: dict[bytes, Value] = {}

    def data(self, name: str, value: Value, *, section: str = "", align: int = 8) -> Value:
        """Define an internal constant, in a section of that name; as plain data in formats other than ELF."""
        data = ir.GlobalVariable(self.module, value.type, self.module.get_unique_name(name))
        data.initializer, data.global_constant, data.linkage, data.align = value, True, "internal", align
        if section and system_of(self.module.triple).is_elf:
            data.section = section
        return data

    def text(self, text: str | bytes) -> Value:
        """Define a NUL-terminated text; return its address."""
        raw = (text.encode() if isinstance(text, str) else text) + b"\0"
        if raw not in self._texts:
            data = self.data("entry.text", Bytes(raw), align=1)
            data.unnamed_addr = True
            self._texts[raw] = data
        return self._texts[raw]

    def pointers(self, values: Sequence[Value]) -> Value:
        """Define an array of addresses; NULL if it is empty."""
        if not values:
            return NULL
        return self.data("entry.list", ir.Constant(ir.ArrayType(pointer, len(values)), list(values)))

    def numbers(self, values: Sequence[int]) -> Value:
        """Define an array of 64-bit numbers; NULL if it is empty."""
        if not values:
            return NULL
        return self.data("entry.list", ir.Constant(ir.ArrayType(i64, len(values)), [number(v) for v in values]))

    def words(self, name: str, values: Sequence[Value | int]) -> Value:
        """Define a table of 64-bit numbers and addresses; NULL if it is empty."""
        if not values:
            return NULL
        fields = [number(x) if isinstance(x, int) else x for x in values]
        return self.data(name, ir.Constant(ir.LiteralStructType([x.type for x in fields]), fields))


def function_table(
    constants: Constants,
    spec: FunctionSpec,
    extents: Function,
    kernel: Function,
    kept: int,
    sized: bool,
    texts: Sequence[bytes],
    codes: Sequence[int],
    weights: Value = NULL,
) -> Value:
    """Define the table of one function; `texts` are the templates of its checks, `codes` their status codes.

    weights: the function that makes sure that the weights are mapped
    """
    kinds = [*_kinds(spec.inputs, spec.sparse_inputs), *_kinds(spec.outputs, spec.sparse_outputs)]
    arguments = [_argument(constants, spec, value, kind) for value, kind in zip(spec.values, kinds, strict=True)]
    matrices = [_matrix(spec, group) for group in spec.sparse_inputs]
    values = {
        "name": constants.text(spec.name),
        "extents": extents,
        "kernel": kernel,
        "arguments": constants.data("entry.arguments", _array(arguments)) if arguments else NULL,
        "dim_names": constants.pointers([constants.text(name) for name in spec.dims]),
        "checks": constants.pointers([constants.text(text) for text in texts]),
        "codes": constants.numbers(codes),
        "needs": constants.numbers([offset_of(Blas, name, pointer_bytes(constants.module)) for name in spec.lapack]),
        "need_names": constants.pointers([constants.text(name) for name in spec.lapack]),
        "matrices": constants.data("entry.matrices", _array(matrices)) if matrices else NULL,
        "take_matrices": sparse_step(constants.module, TAKE_MATRICES) if matrices else NULL,
        "check_matrices": sparse_step(constants.module, CHECK_MATRICES) if matrices else NULL,
        "give_matrix": sparse_step(constants.module, GIVE_MATRIX) if spec.sparse_outputs else NULL,
        "weights": weights,
        "inputs": len(spec.inputs),
        "outputs": len(spec.outputs),
        "dims": len(spec.dims),
        "input_ranks": sum(len(value.shape) for value in spec.inputs),
        "output_ranks": sum(len(value.shape) for value in spec.outputs),
        "sized": int(sized),
        "need_count": len(spec.lapack),
        "matrix_count": len(matrices),
        "kept": kept,
        "obeyed_flags": 0 if has_bounds_checks(spec) else CANONICAL,
    }
    return constants.data(f"entry.table.{spec.name}", constant_struct(Table, values))


def sparse_step(module: Module, name: str) -> Function:
    """Declare a fixed function for sparse matrices, which another module of the library defines."""
    arguments = [pointer, i64, i64, pointer] if name == GIVE_MATRIX else [pointer]
    declared = function(module, name, i32, arguments)
    declared.linkage = HIDDEN
    return declared


def _kinds(values: Sequence[ArgumentSpec | OutputSpec], groups: Sequence[SparseSpec]) -> list[int]:
    kinds = [
        ALLOCATED if isinstance(value, OutputSpec) and value.is_allocated else COLUMNS if value.layout == "F" else PLAIN
        for value in values
    ]
    for group in groups:
        kinds[group.first : group.first + 4] = [PATTERN, PART, PART, PART]
    return kinds


def _argument(constants: Constants, spec: FunctionSpec, value: ArgumentSpec | OutputSpec, kind: int) -> Value:
    is_input = isinstance(value, ArgumentSpec)
    dims = [n if isinstance(n, int) else -1 - spec.dims.index(str(n)) for n in value.shape] if is_input else []
    return constant_struct(
        Argument,
        {
            "name": constants.text(value.name),
            "dims": constants.numbers(dims),
            "dtype": DTYPE_CODES[value.dtype],
            "rank": len(value.shape),
            "itemsize": DTYPE_SIZES[value.dtype],
            "kind": kind,
        },
    )


def _matrix(spec: FunctionSpec, group: SparseSpec) -> Value:
    offset = sum(len(value.shape) for value in spec.inputs[: group.first])
    _, *blocks = spec.inputs[group.first + 1].shape
    height, width = blocks or (1, 1)
    return constant_struct(
        Matrix,
        {
            "first": group.first,
            "offset": offset,
            "major": group.major,
            "indices": 3 + len(blocks),
            "height": height,
            "width": width,
        },
    )


def _array(values: Sequence[Value]) -> Value:
    return ir.Constant(ir.ArrayType(values[0].type, len(values)), list(values))
