"""Lower bounds on the time of a row's work on this machine, measured in the same run on the same cores.

stream: every input read once, every output written once, arrays of these sizes: first all reads and then all writes, or
both in one loop, or, where inputs are as large as outputs, all arrays side by side; whichever is faster. gather: the
row's own places, read in an array of the row's own size and added up by column, or to one number. FMA: its floating
point operations as multiply-adds in registers, apart from those in products of matrices, which GEMM stands for: those
at the speed of a product of 512 rows, if that is faster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from contenders import Array, Comparison, Contender, Model

import aotensor as aot
import aotensor.tensor as at
from aotensor.api.cost.limits import (
    CHAIN_FLOPS,
    EDGE,
    PRODUCT_FLOPS,
    RESIDENT,
    bound,
    chains_of,
    gather_of,
    product_of,
)
from aotensor.api.cost.work import bytes_of, flops_of
from aotensor_runtime.manifest import SparseValue

SIDE_BY_SIDE: Final = 8
"""Streams that a kernel reads side by side at most."""
LEAST: Final = 1 << 15
"""Elements of a stream at least: below, the call itself would be measured. Smaller rows take their part of it."""


@dataclass(frozen=True)
class Limit:
    """A limit: a call of a kernel, and the row's work as a multiple of the kernel's.

    name: of the limit; the fastest of several kernels counts.
    """

    call: Contender
    factor: float
    name: str


def work_of(c: Comparison) -> dict[str, float]:
    """Bytes that go in and out, and floating point operations, as far as they are known."""
    spec, model = c.compiled.spec, c.model
    known, is_all = flops_of(c.compiled.library, spec.name, _extents(spec, c.bound.inputs))
    operations = known if known is not None and is_all else max(known or 0.0, model.operations or model.products)
    return {
        "read": float(bytes_of(list(c.bound.inputs.values()))),
        "written": float(bytes_of(list(c.bound.outputs.values()))),
        "operations": operations,
    }


def _extents(spec: Any, inputs: Mapping[str, Any]) -> dict[str, int]:
    """Name of a dim → its extent."""
    found: dict[Any, int] = {}
    for value in spec.arguments:
        x = inputs[value.name]
        if isinstance(value, SparseValue):
            pattern, entries = spec.inputs[value.first : value.first + 2]
            found |= dict(zip((*pattern.shape, entries.shape[0]), (*x.shape, len(x.indices)), strict=True))
        else:
            found |= dict(zip(value.shape, np.shape(x), strict=True))
    return {name: n for name, n in found.items() if isinstance(name, str)}


def limits_of(model: Model, work: Mapping[str, float]) -> dict[str, Limit]:
    """The kernels for the limits that a row has."""
    dtype = "float32" if any(getattr(x, "dtype", None) == np.float32 for x in model.values.values()) else "float64"
    read, written = (int(work[name]) // 8 for name in ("read", "written"))
    scale = max(1.0, LEAST / max(1, read + written))
    sizes = {"x": max(1, int(read * scale)), "y": max(1, int(written * scale))}
    x, like = np.ones(sizes["x"]), np.ones(sizes["y"])
    limits = {"stream": Limit(bound(_moved(), None, x=x, like=like), 1 / scale, "stream")}
    if read and written:
        # Fewer whole blocks than bytes, so that the kernel's work is at most that of the row.
        few, blocks = min(x.size, like.size), max(x.size, like.size) // min(x.size, like.size)
        kernel = _reduced() if x.size >= like.size else _repeated()
        many = np.ones((blocks, few)) if x.size >= like.size else np.ones(few)
        more = {} if x.size >= like.size else {"like": np.ones(blocks)}
        share = (x.size + like.size) / (few * (blocks + 1))
        limits["stream, one loop"] = Limit(bound(kernel, None, x=many, **more), share / scale, "stream")
        if 1 < blocks <= SIDE_BY_SIDE and x.size == blocks * like.size:
            arrays = {f"x{k}": np.ones(like.size) for k in range(blocks)}
            limits["stream, side by side"] = Limit(bound(_added(blocks), None, **arrays), 1 / scale, "stream")
    rest = max(0.0, work["operations"] - model.products)
    if work["operations"]:
        x = np.full(RESIDENT, 0.5, dtype)
        limits["FMA"] = Limit(bound(chains_of(dtype), None, x=x), rest / (CHAIN_FLOPS * RESIDENT), "FMA")
    if model.products:
        A = np.full((EDGE, EDGE), 0.5, dtype)
        limits["GEMM"] = Limit(bound(product_of(dtype), None, x=A, y=A.copy()), model.products / PRODUCT_FLOPS, "GEMM")
    if model.gathered is not None:
        table, places = model.gathered
        f = gather_of(table.ndim, str(places.dtype))
        limits["gather"] = Limit(bound(f, None, x=table, places=places), 1.0, "gather")
        if table.ndim > 1:
            limits["gather, one sum"] = Limit(
                bound(_gathered(table, places), None, x=table, places=places), 1.0, "gather"
            )
    return limits


def least_seconds(model: Model, limits: Mapping[str, Limit], times: Mapping[str, float]) -> dict[str, float]:
    """The least seconds of the row by each limit.   times: of the calls

    A product is no slower than multiply-adds let it be: where a kernel is, that is no limit of the machine.
    """
    least: dict[str, float] = {}
    for name, limit in limits.items():
        least[limit.name] = min(limit.factor * times[name], least.get(limit.name, float("inf")))
    if "GEMM" in least:
        least["GEMM"] = min(least["GEMM"], times["FMA"] * model.products / (CHAIN_FLOPS * RESIDENT))
    return least


def _moved() -> aot.Function:
    """A function that reads an array and writes another."""
    x, like = at.vector("x", shape=("n",)), at.vector("like", shape=("m",))
    total = x.sum()
    return aot.function([x, like], {"total": total, "written": at.zeros((like.shape[0],)) + total}, name="moved")


def _reduced() -> aot.Function:
    """A function that reads several rows and writes their sum, in one loop."""
    x = at.matrix("x", shape=("k", "m"))
    return aot.function([x], {"written": x.sum(axis=0)}, name="reduced")


def _added(count: int) -> aot.Function:
    """A function that reads several arrays side by side and writes their sum."""
    arrays = [at.vector(f"x{k}", shape=("n",)) for k in range(count)]
    return aot.function(arrays, {"written": sum(arrays[1:], arrays[0])}, name="added")


def _repeated() -> aot.Function:
    """A function that reads a row and writes it several times."""
    x, like = at.vector("x", shape=("n",)), at.vector("like", shape=("k",))
    return aot.function([x, like], {"written": like[:, None] * x}, name="repeated")


def _gathered(table: Array, places: Array) -> aot.Function:
    """A function that adds up the elements of the rows at given positions."""
    x, at_rows = at.matrix("x", shape=("n", table.shape[1])), at.vector("places", dtype=str(places.dtype), shape=("m",))
    return aot.function([x, at_rows], {"total": x[at_rows].sum()}, name="gathered")
