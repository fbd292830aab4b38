"""The entry points as C sees them: typed and uniform entry, workspace, statuses, messages, callbacks."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from entry_harness import Handmade, handmade, handmade_library, small, small_library

import aotensor as aot
import aotensor.tensor as at
import aotensor_runtime
from aotensor.codegen.entry.entries import add_entries
from aotensor.codegen.entry.names import exported_symbols
from aotensor.codegen.library import Blueprint, write_library
from aotensor.codegen.llvm import ir
from aotensor.codegen.machine import Machine
from aotensor.errors import GraphValueError, InternalError, UnsupportedError
from aotensor_runtime.abi import ABI_VERSION, DTYPE_CODES, Array, Context, Status
from aotensor_runtime.manifest import ArgumentSpec, FunctionSpec, OutputSpec
from aotensor_runtime.typed.parameters import parameter_names

F64, F32, I64, BOOL = (DTYPE_CODES[name] for name in ("float64", "float32", "int64", "bool"))
AnyArray = np.ndarray[Any, np.dtype[Any]]


@pytest.fixture(scope="module")
def dll(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    path, _ = write_library(handmade_library(), tmp_path_factory.mktemp("entries"))
    return ctypes.CDLL(str(path))


class Call:
    """Arguments of a uniform call, which may be spoilt before it is made."""

    def __init__(self, inputs: list[AnyArray], outputs: list[AnyArray]) -> None:
        self.keep: list[Any] = [inputs, outputs]
        self.inputs = (Array * max(len(inputs), 1))(*map(self.describe, inputs))
        self.outputs = (Array * max(len(outputs), 1))(*map(self.describe, outputs))
        self.message = ctypes.create_string_buffer(200)
        self.context = Context(ctypes.sizeof(Context))
        self.context.message, self.context.message_size = ctypes.addressof(self.message), 200

    def describe(self, array: AnyArray) -> Array:
        rank = max(array.ndim, 1)
        shape = (ctypes.c_int64 * rank)(*array.shape)
        strides = (ctypes.c_int64 * rank)(*(s // array.itemsize for s in array.strides))
        self.keep += [shape, strides]
        code = DTYPE_CODES[array.dtype.name]
        return Array(array.ctypes.data, ctypes.addressof(shape), ctypes.addressof(strides), array.ndim, code)

    def __call__(self, entry: Any) -> tuple[int, str]:
        status = entry(ctypes.byref(self.context), self.inputs, self.outputs)
        return status, self.message.value.decode()


def affine() -> Call:
    return Call([np.arange(6.0).reshape(2, 3), np.ones(3), np.array(1.0)], [np.zeros(2), np.zeros(())])


def test_uniform(dll: ctypes.CDLL) -> None:
    call = affine()
    assert call(dll.affine_call) == (0, "")
    assert call.keep[1][0].tolist() == [4, 13] and call.keep[1][1] == 17


def test_context_may_be_null(dll: ctypes.CDLL) -> None:
    call = affine()
    assert dll.affine_call(None, call.inputs, call.outputs) == 0
    call.inputs[0].rank = 1
    assert dll.affine_call(None, call.inputs, call.outputs) == Status.WRONG_RANK


def test_null_strides_are_row_major(dll: ctypes.CDLL) -> None:
    call = affine()
    for array in (*call.inputs, *call.outputs):
        array.strides = None
    assert call(dll.affine_call) == (0, "")
    assert call.keep[1][0].tolist() == [4, 13]


def _spoil(which: str, index: int, field: str, value: Any) -> Any:
    def change(call: Call) -> None:
        setattr(getattr(call, which)[index], field, value)

    return change


def _shape(which: str, index: int, axis: int, value: int) -> Any:
    def change(call: Call) -> None:
        (ctypes.c_int64 * 2).from_address(getattr(call, which)[index].shape)[axis] = value

    return change


@pytest.mark.parametrize(
    ("change", "status", "text"),
    [
        (_spoil("inputs", 0, "data", None), Status.NULL_POINTER, "affine: X is NULL"),
        (_spoil("inputs", 1, "shape", None), Status.NULL_POINTER, "affine: shape of w is NULL"),
        (_spoil("outputs", 0, "shape", None), Status.NULL_POINTER, "affine: shape of y is NULL"),
        (_spoil("inputs", 1, "dtype", F32), Status.WRONG_DTYPE, "affine: w has dtype float32, expected float64"),
        (_spoil("inputs", 1, "dtype", 77), Status.WRONG_DTYPE, "affine: w has dtype unknown, expected float64"),
        (_spoil("outputs", 1, "dtype", -5), Status.WRONG_DTYPE, "affine: total has dtype unknown, expected float64"),
        (_spoil("inputs", 2, "rank", 1), Status.WRONG_RANK, "affine: b has rank 1, expected 0"),
        (_spoil("outputs", 0, "rank", 0), Status.WRONG_RANK, "affine: y has rank 0, expected 1"),
        (_shape("inputs", 1, 0, 2), Status.WRONG_EXTENT, "affine: dim p of w is 2, but X has p = 3"),
        (_shape("outputs", 0, 0, 5), Status.WRONG_EXTENT, "affine: extent 0 of y is 5, expected 2"),
        (_shape("inputs", 0, 1, -3), Status.NEGATIVE, "affine: extent 1 of X is negative, -3"),
        (_shape("inputs", 0, 0, 2**61), Status.TOO_LARGE, "affine: X is too large to address"),
    ],
)
def test_uniform_refusals(dll: ctypes.CDLL, change: Any, status: int, text: str) -> None:
    call = affine()
    change(call)
    assert call(dll.affine_call) == (status, text)


def test_null_array_lists(dll: ctypes.CDLL) -> None:
    call = affine()
    context = ctypes.byref(call.context)
    assert dll.affine_call(context, None, call.outputs) == Status.NULL_POINTER
    assert call.message.value == b"affine: inputs is NULL"
    assert dll.affine_call(context, call.inputs, None) == Status.NULL_POINTER
    assert call.message.value == b"affine: outputs is NULL"
    touch = Call([np.array(1.0)], [])
    assert dll.touch_call(None, touch.inputs, None) == 0


def test_overlap_names_both(dll: ctypes.CDLL) -> None:
    x = np.arange(5.0)
    assert Call([x], [x])(dll.scale_call) == (Status.OVERLAP, "scale: output out overlaps x")
    assert Call([x[:4]], [x[1:]])(dll.scale_call) == (Status.OVERLAP, "scale: output out overlaps x")
    assert Call([x[:2]], [x[2:4]])(dll.scale_call)[0] == 0
    assert Call([x[1::-1]], [x[2:4]])(dll.scale_call)[0] == 0
    both = np.zeros(4)
    call = Call([np.ones(2), np.ones(2)], [both, both[3:1:-1]])
    assert call(dll.join_call) == (Status.OVERLAP, "join: output sum overlaps both")


def test_strided_outputs_are_written_back(dll: ctypes.CDLL) -> None:
    room = np.zeros((3, 2))
    assert Call([np.arange(3.0)], [room[::-1, 1]])(dll.scale_call) == (0, "")
    assert room.tolist() == [[0, 4], [0, 2], [0, 0]]
    flags = np.zeros((3, 2), bool)
    assert Call([np.zeros((2, 3), bool)], [flags.T])(dll.logic_call) == (0, "")
    assert flags.all()
    repeated = np.lib.stride_tricks.as_strided(np.zeros(1), (3,), (0,))
    assert Call([np.arange(3.0)], [repeated])(dll.scale_call) == (
        Status.OVERLAP, "scale: elements of output out overlap each other",
    )  # fmt: skip


def status_of(function: str) -> int:
    """The status of the first check of a function."""
    return handmade_library().manifest.status_of(function, 1)


def test_failed_checks_leave_strided_outputs_alone(dll: ctypes.CDLL) -> None:
    call = Call([np.ones(2, "f4"), np.array(9)], [np.full((), 5, "f4")])
    assert call(dll.pick_call) == (status_of("pick"), "pick: index 9 is out of range for x of extent 2")
    assert call.keep[1][0] == 5


def test_unaligned(dll: ctypes.CDLL) -> None:
    raw, out = np.zeros(33, "u1"), np.zeros(33, "u1")
    x, y = raw[1:].view("f8"), out[1:].view("f8")
    x[:] = [1, 2, 3, 4]
    assert Call([x], [y])(dll.scale_call) == (0, "")
    assert y.tolist() == [2, 4, 6, 8]


def test_messages_are_cut_to_their_room(dll: ctypes.CDLL) -> None:
    for room in (0, 1, 2, 10, 41, 42, 43):
        call = affine()
        _shape("inputs", 1, 0, 2)(call)
        ctypes.memset(call.message, 0x7A, 200)
        call.context.message_size = room
        assert dll.affine_call(ctypes.byref(call.context), call.inputs, call.outputs) == Status.WRONG_EXTENT
        whole = b"affine: dim p of w is 2, but X has p = 3"
        expected = whole[: room - 1] + b"\0" if room else b""
        assert call.message.raw == expected.ljust(200, b"z")


def test_old_context(dll: ctypes.CDLL) -> None:
    call = affine()
    call.context.struct_size = 8
    assert call(dll.affine_call) == (Status.WRONG_CONTEXT, "")


ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p)


def _blank(call: Call, index: int, rank: int) -> Any:
    shape = (ctypes.c_int64 * 3)(-1, -1, -1)
    call.keep.append(shape)
    call.outputs[index] = Array(None, ctypes.addressof(shape), None, rank, 0)
    return shape


def test_outputs_needed(dll: ctypes.CDLL) -> None:
    call = Call([np.ones(2), np.ones(2)], [np.zeros(4), np.zeros(2)])
    shapes = _blank(call, 0, 1), _blank(call, 1, 1)
    assert call(dll.join_call) == (
        Status.OUTPUTS_NEEDED, "join: output sum has no data, and the context has no allocate",
    )  # fmt: skip
    assert [list(shape) for shape in shapes] == [[4, -1, -1], [2, -1, -1]]
    assert [array.dtype for array in call.outputs] == [F64, F64]


def test_outputs_allocated(dll: ctypes.CDLL) -> None:
    call = Call([np.array(3)], [np.zeros((1, 1), int)])
    shape = _blank(call, 0, 2)
    blocks = []

    @ALLOCATE
    def allocate(user: int, output: int, size: int, extents: int) -> int:
        blocks.append((user, output, size, list((ctypes.c_int64 * 2).from_address(extents)), np.zeros(size // 8, int)))
        return int(blocks[-1][4].ctypes.data)

    call.context.allocate, call.context.user = ctypes.cast(allocate, ctypes.c_void_p), 42
    assert call(dll.ramp_call) == (0, "")
    assert blocks[0][:4] == (42, 0, 24, [3, 1]) and blocks[0][4].tolist() == [0, 1, 2]
    assert list(shape) == [3, 1, -1] and call.outputs[0].data == blocks[0][4].ctypes.data

    call = Call([np.array(3)], [np.zeros((1, 1), int)])
    _blank(call, 0, 2)
    call.context.allocate = ctypes.cast(ALLOCATE(lambda *_: None), ctypes.c_void_p)
    assert call(dll.ramp_call) == (Status.NO_MEMORY, "ramp: no memory for 24 bytes of out")


def test_empty_outputs_need_no_data(dll: ctypes.CDLL) -> None:
    call = Call([np.array(0)], [np.zeros((1, 1), int)])
    shape = _blank(call, 0, 2)
    assert call(dll.ramp_call) == (0, "")
    assert list(shape) == [0, 1, -1]


def test_workspace(dll: ctypes.CDLL) -> None:
    sizes = {}
    for name, count in (("affine", 2), ("scale", 1), ("ramp", 0)):
        entry = dll[f"{name}_workspace"]
        entry.argtypes, entry.restype = [ctypes.c_int64] * count, ctypes.c_int64
        sizes[name] = entry
    assert sizes["affine"](10, 3) == 10 * 8 + 64 and sizes["affine"](0, 3) == 0
    assert sizes["affine"](-1, 3) == -1 and sizes["scale"](5) == 0 and sizes["ramp"]() == -1


@pytest.mark.parametrize("room", [2 * 8 + 64, 2 * 8 + 63, 1, 0])
def test_given_workspace_is_used_if_it_is_large_enough(dll: ctypes.CDLL, room: int) -> None:
    call = affine()
    block = np.full(200, 7, "u1")
    call.context.workspace, call.context.workspace_bytes = block.ctypes.data + 1, room
    assert call(dll.affine_call) == (0, "")
    assert call.keep[1][0].tolist() == [4, 13]
    assert (block == 7).all() == (room < 2 * 8 + 64)
    assert block[0] == 7 and (block[1 + room :] == 7).all()


def _typed(dll: ctypes.CDLL, name: str, *arguments: int | AnyArray | None) -> int:
    kinds = [ctypes.c_int64 if isinstance(x, int) else ctypes.c_void_p for x in arguments]
    entry = dll[name]
    entry.argtypes, entry.restype = kinds, ctypes.c_int32
    return int(entry(*(x.ctypes.data if isinstance(x, np.ndarray) else x for x in arguments)))


def test_typed(dll: ctypes.CDLL) -> None:
    x, w, b = np.arange(6.0).reshape(2, 3), np.ones(3), np.array(1.0)
    y, total, block = np.zeros(2), np.zeros(()), np.zeros(2 * 8 + 64, "u1")
    assert _typed(dll, "affine", 2, 3, x, w, b, y, total, None) == 0
    assert y.tolist() == [4, 13] and total == 17
    y[:] = 0
    assert _typed(dll, "affine", 2, 3, x, w, b, y, total, block) == 0
    assert y.tolist() == [4, 13] and block.any()


def test_typed_refusals(dll: ctypes.CDLL) -> None:
    x, y = np.ones(3), np.zeros(3)
    assert _typed(dll, "scale", -1, x, y, None) == Status.NEGATIVE
    assert _typed(dll, "scale", 3, None, y, None) == Status.NULL_POINTER
    assert _typed(dll, "scale", 3, x, None, None) == Status.NULL_POINTER
    assert _typed(dll, "scale", 0, None, None, None) == 0
    assert _typed(dll, "scale", 2**62, x, y, None) == Status.TOO_LARGE
    assert _typed(dll, "join", 3, 2, x, x, np.zeros(5), y, None) == status_of("join")


def test_typed_of_static_shapes(tmp_path: Path) -> None:
    x, w = at.vector("x", shape=(5,)), at.vector("w", shape=(5,))
    order = at.argsort(x * w)  # needs a workspace
    made = aot.compile(aot.function([x, w], x[order], name="ordered"), tmp_path, opt_level=0)
    lib, given, out = ctypes.CDLL(str(made.library)), np.array([3.0, 1, 2, 5, 4]), np.zeros(5)
    lib.ordered_workspace.restype = ctypes.c_int64
    room = lib.ordered_workspace()
    assert room > 0
    for block in (None, np.zeros(room, "u1")):
        out[:] = 0
        assert _typed(lib, "ordered", given, np.ones(5), out, block) == 0
        assert out.tolist() == [1, 2, 3, 4, 5]
        assert _typed(lib, "ordered", None, given, out, block) == Status.NULL_POINTER
        assert _typed(lib, "ordered", given, given, None, block) == Status.NULL_POINTER


def test_typed_with_an_output_sized_by_a_value(dll: ctypes.CDLL) -> None:
    call = Call([np.array(3)], [np.zeros((6, 1), int)[::2]])
    context, output = ctypes.addressof(call.context), ctypes.addressof(call.outputs)
    entry = dll["ramp"]
    entry.argtypes = [ctypes.c_void_p] * 4
    k = np.array(3)
    assert entry(context, k.ctypes.data, output, None) == 0
    assert call.keep[1][0].tolist() == [[0], [1], [2]]
    k[...] = 2
    assert entry(context, k.ctypes.data, output, None) == Status.WRONG_EXTENT
    assert call.message.value == b"ramp: extent 0 of out is 3, expected 2"
    assert entry(context, k.ctypes.data, None, None) == Status.NULL_POINTER
    k[...] = -1
    assert entry(context, k.ctypes.data, output, None) == status_of("ramp")
    assert call.message.value == b"ramp: k is -1, it must not be negative"
    _blank(call, 0, 2)
    k[...] = 4
    assert entry(context, k.ctypes.data, output, None) == Status.OUTPUTS_NEEDED
    assert entry(None, k.ctypes.data, output, None) == Status.OUTPUTS_NEEDED


def test_texts(dll: ctypes.CDLL) -> None:
    message, manifest = dll.aotensor_status_message, dll.aotensor_manifest
    message.restype = manifest.restype = ctypes.c_char_p
    assert message(0) == b"success"
    common = [status for status in Status if status != Status.CHECK]
    assert all(message(int(status)) not in (b"", b"unknown status") for status in common)
    assert message(status_of("pick")) == b"pick: an index is out of range for x"
    assert message(status_of("join")) == b"join: extent 0 of b is ..., but a has ..."
    for status in (-1, len(Status) - 1, 999, 1000, 2**31 - 1, -(2**31)):
        assert message(status) == b"unknown status"
    assert manifest().startswith(b'{"abi":%d,' % ABI_VERSION) and dll.aotensor_abi_version() == ABI_VERSION


def test_names_that_cannot_be_exported() -> None:
    def library(*names: str, prefix: str = "") -> tuple[str, ...]:
        specs = [FunctionSpec(name, (), (), (), "none") for name in names]
        return exported_symbols(Blueprint("x", specs, Machine.host(), "0", prefix=prefix).manifest())

    assert library("f")[:3] == ("f", "f_workspace", "f_call")
    assert library("exp", prefix="my_")[0] == "my_exp"
    header = (Path(aotensor_runtime.__file__).parent / "include" / "aotensor.h").read_text()
    own = re.findall(r"^(?:} |#define )(aotensor_(?=.*;)\w+|AOTENSOR_\w+)", header, re.MULTILINE)
    for name in ("exp", "class", "tanhf", "main", "FILE", "nullptr_t", "mmap", "uint", *own):
        with pytest.raises(GraphValueError, match=f"function name '{name}' is reserved by C or its library"):
            library(name)
    for names, symbol in ((("f", "f_call"), "f_call"), (("aotensor_manifest",), "aotensor_manifest")):
        with pytest.raises(GraphValueError, match=f"two functions of the library export '{symbol}'"):
            library(*names)


def test_parameter_names_are_distinct_identifiers() -> None:
    inputs = tuple(
        ArgumentSpec(name, "float64", ("n",)) for name in ("x", "int", "grad x", "2", "n", "workspace", "größe")
    )
    outputs = OutputSpec("x", "float64", ("n",)), OutputSpec("template", "float64", ("n",))
    names = parameter_names(FunctionSpec("f", ("n",), inputs, outputs))
    assert names == ["n", "x", "int_", "grad_x", "x_2", "n_", "workspace_", "gr__e", "x_out", "template_"]
    assert len(set(names)) == len(names)


def test_kernels_must_be_there_and_fit() -> None:
    manifest = Blueprint("x", small().specs, Machine.host(), "0").manifest()
    with pytest.raises(InternalError, match=r"the module has no plus\.extents"):
        add_entries(ir.Module(), manifest)
    one, other = small(), Handmade()
    other.module = one.module
    other.specs = [FunctionSpec("plus", (), (ArgumentSpec("a", "float64", ()),), (), "none")]
    with pytest.raises(InternalError, match=r"plus\.(extents|kernel) does not fit the signature of plus"):
        other.library()


@pytest.mark.parametrize("triple", ["aarch64-apple-darwin", "aarch64-linux-gnu", "riscv64-linux-gnu"])
def test_other_targets_get_objects(triple: str) -> None:
    library = small().library(machine=Machine.parse(triple, "generic"))
    assert len(library.object_code) > 1000


def test_32_bit_targets_are_refused() -> None:
    h = small()
    h.module.triple, h.module.data_layout = "i686-linux-gnu", "e-m:e-p:32:32-p270:32:32-S128"
    with pytest.raises(UnsupportedError, match="i686-linux-gnu has 32-bit pointers"):
        add_entries(h.module, Blueprint("x", h.specs, Machine.host(), "0").manifest())


def test_same_bytes() -> None:
    first, second = (handmade().library("same") for _ in range(2))
    assert first.object_code == second.object_code
    assert first.shared() == second.shared() and first.static() == second.static()
    assert first.header() == second.header()


def test_a_scalar_library_is_small() -> None:
    assert len(small_library().shared()) < 24_000
