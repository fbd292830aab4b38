"""A library with kernels on sparse matrices, written by hand as in `entry_harness`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from entry_harness import Body, Handmade

from aotensor.codegen.entry.code import number
from aotensor.codegen.library import Library
from aotensor.codegen.llvm import Value, constant, f32, f64, i32, i64
from aotensor_runtime.manifest import SPARSE_PARTS, ArgumentSpec, Default, FunctionSpec, OutputSpec, SparseSpec


@dataclass(frozen=True)
class Matrix:
    """A sparse input or output in the making."""

    name: str
    format: str
    dtype: str
    index_dtype: str
    shape: tuple[int | str, ...]
    first: int

    @property
    def group(self) -> SparseSpec:
        return SparseSpec(self.name, self.format, self.first)

    def inputs(self, defaults: Sequence[Default | None] = (None, None, None, None)) -> tuple[ArgumentSpec, ...]:
        """Its four arrays as inputs."""
        count, pointers = f"{self.name}_nnz", f"{self.name}_indptr_0"
        rows = zip(self._names, self._dtypes, (self.shape, (count,), (count,), (pointers,)), defaults, strict=True)
        return tuple(ArgumentSpec(*row) for row in rows)

    def outputs(self) -> tuple[OutputSpec, ...]:
        """Its four arrays as outputs, whose sizes the library finds."""
        rows = zip(self._names, self._dtypes, (self.shape, (None,), (None,), (None,)), strict=True)
        return tuple(OutputSpec(*row) for row in rows)

    @property
    def _names(self) -> tuple[str, ...]:
        return (self.name, *(f"{self.name}.{part}" for part in SPARSE_PARTS))

    @property
    def _dtypes(self) -> tuple[str, ...]:
        return "bool", self.dtype, self.index_dtype, self.index_dtype


@cache
def sparse_library() -> Library:
    """All functions, compiled once per process."""
    h = Handmade()
    for add in (_product, _weighted, _twice, _stored, _drop, _fixed):
        add(h)
    return h.library("matrices")


def _index(k: Body, name: str, place: Value, is_wide: bool = False) -> Value:
    c = k.code
    return c.item(k.data[name], place) if is_wide else c.builder.sext(c.item(k.data[name], place, i32), i64)


def _product(h: Handmade) -> None:
    """y = A·x.   A: csr float64 (n, p), x: (p,) → y: (n,)"""
    a = Matrix("A", "csr", "float64", "int32", ("n", "p"), 0)
    inputs = (*a.inputs(), ArgumentSpec("x", "float64", ("p",)))
    spec = FunctionSpec(
        "product", ("n", "p", "A_nnz", "A_indptr_0"), inputs, (OutputSpec("y", "float64", ("n",)),), "single",
        sparse_inputs=(a.group,),
    )  # fmt: skip

    def kernel(k: Body) -> None:
        c, b = k.code, k.code.builder
        with c.loop(k.extents["A"][0]) as i:
            total = c.slot(f64, constant(f64, 0.0))
            low, high = _index(k, "A.indptr", i), _index(k, "A.indptr", b.add(i, number(1)))
            with c.loop(high, low) as q:
                total.set(b.fadd(total.get(), b.fmul(k.load("A.data", q), k.load("x", _index(k, "A.indices", q)))))
            k.store("y", total.get(), i)

    h.add(spec, kernel, lambda k: [k.extents["A"][0], number(0)], lambda c: c.builder.add(*c.arguments[2:]))


def _weighted(h: Handmade) -> None:
    """out = Σ (1 + column)·A[row, column].   A: csc float32 (4, p) with 64-bit indices, w: () → out: ()"""
    a = Matrix("A", "csc", "float32", "int64", (4, "p"), 1)
    inputs = (ArgumentSpec("w", "float32", ()), *a.inputs())
    spec = FunctionSpec(
        "weighted", ("p", "A_nnz", "A_indptr_0"), inputs, (OutputSpec("out", "float32", ()),), "single",
        sparse_inputs=(a.group,),
    )  # fmt: skip

    def kernel(k: Body) -> None:
        c, b = k.code, k.code.builder
        total = c.slot(f32, constant(f32, 0.0))
        with c.loop(k.extents["A"][0]) as j:
            weight = b.sitofp(b.add(j, number(1)), f32)
            low, high = _index(k, "A.indptr", j, True), _index(k, "A.indptr", b.add(j, number(1)), True)
            with c.loop(high, low) as q:
                total.set(b.fadd(total.get(), b.fmul(weight, k.load("A.data", q, "float32"))))
        k.store("out", b.fmul(k.load("w", 0, "float32"), total.get()))

    h.add(spec, kernel, lambda k: [number(0)], lambda c: number(0))


def _copied(k: Body, target: str, keep: Value) -> None:
    """target = the first `keep` entries of A, twice as large, on the same rows."""
    c, b = k.code, k.code.builder
    with c.loop(keep) as q:
        k.store(f"{target}.data", b.fmul(k.load("A.data", q), constant(f64, 2.0)), q)
        c.store_at(k.data[f"{target}.indices"], q, c.item(k.data["A.indices"], q, i32))
    with c.loop(k.extents["A.indptr"][0]) as i:
        place = c.item(k.data["A.indptr"], i, i32)
        last = b.trunc(keep, i32)
        c.store_at(k.data[f"{target}.indptr"], i, b.select(c.less(place, last), place, last))


def _sizes(k: Body, keep: Value) -> list[Value]:
    return [*k.extents["A"], keep, keep, k.extents["A.indptr"][0]]


def _twice(h: Handmade) -> None:
    """S = 2·A and the sum of all entries.   A: csr float64 (n, p) → S: csr float64 (n, p), total: ()"""
    a = Matrix("A", "csr", "float64", "int32", ("n", "p"), 0)
    result = Matrix("S", "csr", "float64", "int32", ("n", "p"), 0)
    outputs = (*result.outputs(), OutputSpec("total", "float64", ()))
    spec = FunctionSpec(
        "twice", ("n", "p", "A_nnz", "A_indptr_0"), a.inputs(), outputs, "dict",
        sparse_inputs=(a.group,), sparse_outputs=(result.group,),
    )  # fmt: skip

    def kernel(k: Body) -> None:
        c, b = k.code, k.code.builder
        nnz = k.extents["A.data"][0]
        _copied(k, "S", nnz)
        total = c.slot(f64, constant(f64, 0.0))
        with c.loop(nnz) as q:
            total.set(b.fadd(total.get(), k.load("A.data", q)))
        k.store("total", total.get())

    h.add(spec, kernel, lambda k: [*_sizes(k, k.extents["A.data"][0]), number(0)], lambda c: number(0))


def _stored(h: Handmade) -> None:
    """out = the stored values of A as they are in its canonical form.   A: csr float64 (A_0, A_1)"""
    a = Matrix("A", "csr", "float64", "int32", ("A_0", "A_1"), 0)
    dims = "A_0", "A_1", "A_nnz", "A_indptr_0"
    spec = FunctionSpec(
        "stored", dims, a.inputs(), (OutputSpec("out", "float64", (None,)),), "single", sparse_inputs=(a.group,)
    )

    def kernel(k: Body) -> None:
        with k.code.loop(k.extents["A.data"][0]) as q:
            k.store("out", k.load("A.data", q), q)

    h.add(spec, kernel, lambda k: [k.extents["A.data"][0], number(0)], lambda c: number(0))


def _drop(h: Handmade) -> None:
    """A ← 2·A without its last entry; returns how many it had.   A: shared csr float64 (2, 3)"""
    arrays = np.array([1.0, 2.0, 3.0], "<f8"), np.array([0, 2, 1], "<i4"), np.array([0, 2, 3], "<i4")
    defaults = h.pool.add((2, 3), b""), *(h.pool.add(x.shape, x.tobytes()) for x in arrays)
    a = Matrix("A", "csr", "float64", "int32", (2, 3), 0)
    new = Matrix("new_A", "csr", "float64", "int32", (2, 3), 1)
    outputs = (OutputSpec("out", "int64", ()), *new.outputs())
    spec = FunctionSpec(
        "drop", ("A_nnz", "A_indptr_0"), a.inputs(defaults), outputs, "single", (("A", "new_A"),),
        sparse_inputs=(a.group,), sparse_outputs=(new.group,),
    )  # fmt: skip

    def left(k: Body) -> Value:
        c = k.code
        return c.larger(c.builder.sub(k.extents["A.data"][0], number(1)), number(0))

    def kernel(k: Body) -> None:
        k.store("out", k.extents["A.data"][0])
        _copied(k, "new_A", left(k))

    def sizes(k: Body) -> list[Value]:
        keep = left(k)
        return [number(2), number(3), keep, keep, k.extents["A.indptr"][0], number(0)]

    h.add(spec, kernel, sizes, lambda c: number(0))


def _fixed(h: Handmade) -> None:
    """out = nnz of A + nnz of B.   A: csr int8 (2, 3), B: csc bool (0, 3) with 64-bit indices"""
    a = Matrix("A", "csr", "int8", "int32", (2, 3), 0)
    b = Matrix("B", "csc", "bool", "int64", (0, 3), 4)
    dims = "A_nnz", "A_indptr_0", "B_nnz", "B_indptr_0"
    spec = FunctionSpec(
        "fixed", dims, (*a.inputs(), *b.inputs()), (OutputSpec("out", "int64", ()),), "single",
        sparse_inputs=(a.group, b.group),
    )  # fmt: skip

    def kernel(k: Body) -> None:
        k.store("out", k.code.builder.add(k.extents["A.data"][0], k.extents["B.data"][0]))

    h.add(spec, kernel, lambda k: [number(0)], lambda c: number(0))
