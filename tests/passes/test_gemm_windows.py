"""Products of filters and the windows of images: tiles read windows where they are, instead of packed copies."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from gemm_harness import SMALL, SUFFIXES, TARGET, Matrix
from loaded import address_of, loaded
from xdsl.builder import Builder
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint

from aotensor.codegen.emit import emit_module
from aotensor.codegen.machine import Machine
from aotensor.ir.types import element_type
from aotensor.passes.gemm.dispatch import add_gemm_kernels
from aotensor.passes.gemm.position_product import arguments_at
from aotensor.passes.target import Target

Convolution = Callable[[Matrix, Matrix, int], Matrix]
"""(filters, image, dilation) → the sums of all windows."""


def module_of(width: int, dtype: str, target: Target) -> ModuleOp:
    """A module that calls the product at positions, with its kernels."""
    module, suffix, arguments = ModuleOp([]), SUFFIXES[dtype], arguments_at(element_type(dtype))
    module.body.block.add_op(func.FuncOp.external(f"aot_gemm_at.{suffix}", arguments, []))
    op = func.FuncOp("product", (arguments, []))
    b = Builder(InsertPoint.at_end(op.body.block))
    b.insert(func.CallOp(f"aot_gemm_at.{suffix}", list(op.body.block.args), []))
    b.insert(func.ReturnOp())
    module.body.block.add_op(op)
    add_gemm_kernels(module, width, target)
    return module


def kernel(module: ModuleOp, role: str) -> func.FuncOp:
    """The kernel of a role, such as tile or pack32."""
    [found] = [
        op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data.startswith(f"aot_gemm_at_{role}.")
    ]
    return found


@cache
def compiled(width: int, dtype: str, target: Target, has_panels: bool = True) -> Convolution:
    """The product at positions.   has_panels: False if the function that packs panels of windows does nothing"""
    module = module_of(width, dtype, target)
    if not has_panels:
        block = kernel(module, f"pack{2 * width // np.dtype(dtype).itemsize}").body.block
        for op in list(block.ops)[-2::-1]:
            op.detach()
    module.verify()
    machine = Machine.host()
    emitted = emit_module(module, machine, exported=["product"], threads=False)
    library = loaded(machine.optimise(emitted), machine, ["product"])
    memref = [ctypes.c_void_p, ctypes.c_int64]
    function = ctypes.CFUNCTYPE(None, *memref * 12, ctypes.c_void_p)(address_of(library, "product"))

    def convolve(filters: Matrix, image: Matrix, dilation: int) -> Matrix:
        o, _, kh, kw = filters.shape
        height, width = (n - (k - 1) * dilation for n, k in zip(image.shape[1:], (kh, kw), strict=True))
        whole = np.arange(image.size).reshape(image.shape)
        terms = (whole[:, : (kh - 1) * dilation + 1 : dilation, : (kw - 1) * dilation + 1 : dilation]).ravel()
        found = np.full((o, height * width), np.nan, image.dtype)
        zero = np.zeros(1, "int64")
        tables = [
            zero, np.arange(o) * terms.size, np.arange(terms.size),
            zero, terms, (np.arange(height)[:, None] * image.shape[2] + np.arange(width)).ravel(),
            zero, np.arange(o) * height * width, np.arange(height * width),
        ]  # fmt: skip
        arrays = [filters, image, found, *(np.ascontiguousarray(t, "int64") for t in tables)]
        function(*(v for x in arrays for v in (x.ctypes.data, x.size)), None)
        return found.reshape(o, height, width)

    return convolve


def summed(filters: Matrix, image: Matrix, dilation: int) -> Matrix:
    """The sums of windows, by NumPy."""
    o, _, kh, kw = filters.shape
    height, width = (n - (k - 1) * dilation for n, k in zip(image.shape[1:], (kh, kw), strict=True))
    total = np.zeros((o, height, width))
    for i, j in np.ndindex(kh, kw):
        part = image[:, i * dilation : i * dilation + height, j * dilation : j * dilation + width]
        total += np.einsum("oc,chw->ohw", filters[:, :, i, j], part)
    return total


SHAPES = [
    ((5, 4, 3, 3), (9, 66), 1), ((13, 7, 3, 3), (30, 42), 1), ((4, 3, 1, 5), (3, 19), 1), ((25, 4, 3, 3), (7, 21), 2),
    ((2, 3, 1, 1), (9, 40), 1), ((3, 2, 2, 1), (40, 7), 1), ((3, 40, 3, 3), (6, 36), 1), ((1, 1, 1, 2), (1, 2), 1),
]  # fmt: skip


def drawn(rng: np.random.Generator, number: int, dtype: str) -> tuple[Matrix, Matrix, int]:
    filters, size, dilation = SHAPES[number]
    return rng.normal(size=filters).astype(dtype), rng.normal(size=(filters[1], *size)).astype(dtype), dilation


@pytest.mark.parametrize(("width", "dtype"), [(64, "float32"), (16, "float32"), (32, "float64")])
def test_windows_in_place_have_the_bits_of_packed_ones(width: int, dtype: str, rng: np.random.Generator) -> None:
    target = replace(SMALL, direct_work=0, product_depth=160)
    in_place, packed = (compiled(width, dtype, replace(target, reads_windows=x)) for x in (True, False))
    tolerance = 1e-4 if dtype == "float32" else 1e-12
    for number in range(len(SHAPES)):
        case = drawn(rng, number, dtype)
        found = in_place(*case)
        assert found.tobytes() == packed(*case).tobytes()
        np.testing.assert_allclose(found, summed(*case), rtol=tolerance, atol=tolerance)
    for shape in ((0, 2, 3, 3), (3, 0, 3, 3)):
        image = rng.normal(size=(shape[1], 9, 40)).astype(dtype)
        np.testing.assert_array_equal(in_place(np.ones(shape, dtype), image, 1), np.zeros((shape[0], 7, 38)))


@pytest.mark.parametrize(("width", "extent", "is_read"), [(64, 42, True), (16, 66, True), (64, 42, False)])
def test_windows_of_long_rows_are_not_packed(width: int, extent: int, is_read: bool, rng: np.random.Generator) -> None:
    """Without panels of windows results are right: of whole vectors, and of two pieces where masks are registers."""
    target = replace(TARGET, direct_work=0, reads_windows=is_read)
    convolve = compiled(width, "float32", target, has_panels=False)
    filters, image = (rng.integers(-8, 9, shape).astype("float32") for shape in ((5, 4, 3, 3), (4, 18, extent)))
    is_right = np.array_equal(convolve(filters, image, 1), summed(filters, image, 1))
    assert is_right == is_read


def test_special_values_reach_their_windows_only(rng: np.random.Generator) -> None:
    target = replace(SMALL, direct_work=0, product_depth=160, reads_windows=True)
    filters, image, _ = drawn(rng, 1, "float32")
    image[2, 11, 20], image[3, 25, 1] = np.nan, np.inf
    found = compiled(64, "float32", target)(filters, image, 1)
    wanted = np.zeros(found.shape[1:], bool)
    wanted[9:12, 18:21] = wanted[23:26, 0:2] = True
    np.testing.assert_array_equal(~np.isfinite(found), np.broadcast_to(wanted, found.shape))


def test_tiles_read_windows_if_the_target_says_so() -> None:
    """Each of three heights has a loop for whole vectors, and where masks are registers one for two pieces."""
    for width, masked in ((64, 12), (32, 0)):
        read, packed = (
            str(kernel(module_of(width, "float32", Target(reads_windows=is_read)), "tile")) for is_read in (True, False)
        )
        assert (read.count("vector.maskedload"), packed.count("vector.maskedload")) == (masked, 0)
        assert read.count("vector.load") == packed.count("vector.load") + 6
