"""Ops of users with kernels: values on every level against NumPy, derivatives, batches, and refusals at their lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from made_ops import op_of

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import TensorType
from aotensor.errors import GraphTypeError, GraphValueError, UnsupportedError
from aotensor.gradient import grad, jacobian, verify_grad
from aotensor.graph.operations import LateModule
from aotensor.graph.variable import Variable
from aotensor.graph.vectorize import vectorize_graph
from aotensor.ir.context import parse_module
from aotensor.ir.interpreter.interpret import interpret
from aotensor.kernels.language import (
    Element,
    Elements,
    Index,
    Indices,
    Real,
    Reals,
    alloc,
    alloc_words,
    exp,
    is_nan,
    parallel,
    sqrt,
    word,
)
from aotensor_runtime.errors import ArgumentError

RNG = np.random.default_rng(7)
SPECIAL = np.array([0.0, -0.0, np.nan, 1.0, np.inf, 1.0, -np.inf, np.nan, 2.0])


def _larger(x: Element, y: Element) -> Element:
    return x if x > y or is_nan(x) else y


class RunningMaximum(aot.Op):
    """Running maxima, where they were found, and their number of changes: two arrays and a number."""

    name = "running_maximum"

    def infer_type(self, x: TensorType) -> tuple[TensorType, ...]:
        return x, TensorType("int32", x.shape), TensorType("int64")

    @staticmethod
    def kernel(x: Elements, y: Elements, where: Indices) -> Index:
        best, changes = 0, 0
        for k in range(len(x)):
            if x[k] > x[best]:
                best = k
                changes += 1
            y[k], where[k] = x[best], best
        return changes

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Variable]:
        return [at.inc_subtensor(at.zeros_like(inputs[0])[outputs[1]], cotangents[0])]


@dataclass(frozen=True)
class Smoothed(aot.Op):
    """y[k] = decay·y[k − 1] + x[k] along each row, on several cores, and the norm of each row."""

    decay: float

    def infer_type(self, x: TensorType) -> tuple[TensorType, ...]:
        return x, TensorType(x.dtype, x.shape[:1])

    @staticmethod
    def kernel(x: Reals, y: Reals, norms: Reals, decay: Real) -> None:
        n, m = x.shape
        for i in parallel(n):
            last, total = 0.0, 0.0
            for j in range(m):
                last = decay * last + x[i, j]
                y[i, j] = last
                total += last * last
            norms[i] = sqrt(total)


class Merged(aot.Op):
    """The union of two ascending vectors, with scratch memory and an extent that is the sum of two others."""

    name = "merged"

    def infer_type(self, x: TensorType, y: TensorType) -> TensorType:
        known = [n for n in (*x.shape, *y.shape) if isinstance(n, int)]
        return TensorType(x.dtype, (sum(known) if len(known) == 2 else None,))

    def output_extents(self, inputs: Sequence[Variable]) -> list[tuple[Variable]]:
        return [(inputs[0].shape[0] + inputs[1].shape[0],)]

    @staticmethod
    def kernel(x: Elements, y: Elements, out: Elements) -> None:
        left, right, n = 0, 0, len(x)
        copy = alloc(x, n)
        for k in range(n):
            copy[k] = x[k]
        for k in range(len(out)):
            is_left = left < n and (right >= len(y) or copy[left] <= y[right])
            out[k] = copy[left] if is_left else y[right]
            left = left + 1 if is_left else left
            right = right if is_left else right + 1


class Dot(aot.Op):
    """Σ x[k]·exp(y[k]), for vectors whose extents are checked."""

    name = "dot_exp"
    input_dims = (("n",), ("n",))

    def infer_type(self, x: TensorType, y: TensorType) -> TensorType:
        return TensorType(x.dtype)

    @staticmethod
    def kernel(x: Reals, y: Reals) -> Real:
        total = 0.0
        for k in range(len(x)):
            total += x[k] * exp(y[k])
        return total


def _smoothed(x: Any, decay: float) -> Any:
    y = np.zeros_like(x)
    for j in range(x.shape[1]):
        y[:, j] = (decay * y[:, j - 1] if j else 0) + x[:, j]
    return y


def _programs(n: Any, m: Any, dtype: str) -> list[aot.Function]:
    x, z = at.vector("x", dtype=dtype, shape=(n,)), at.vector("z", dtype=dtype, shape=(m,))
    matrix = at.matrix("a", dtype=dtype, shape=(n, m))
    y, where, changes = RunningMaximum()(x)
    return [
        aot.function([x], {"y": y, "where": where, "changes": changes}, name="maximum"),
        aot.function([matrix], Smoothed(0.5)(matrix), name="smoothed"),
        aot.function([x, z], Merged()(x, z), name="merged"),
        aot.function([x], Dot()(x, -x) + 1, name="dot"),
    ]


def _check_values(library: Any, n: int, m: int, dtype: str) -> None:
    x, z, a = (RNG.normal(size=shape).astype(dtype) for shape in (n, m, (n, m)))
    tight = {"rtol": 1e-12 if dtype == "float64" else 1e-4, "atol": 1e-6 if dtype == "float32" else 0}
    found = library.maximum(x)
    np.testing.assert_array_equal(found["y"], np.maximum.accumulate(x))
    np.testing.assert_array_equal(x[found["where"]], found["y"])
    assert found["changes"] == len(set(found["where"].tolist())) - (n > 0) and found["where"].dtype == np.int32
    y, norms = library.smoothed(a)
    np.testing.assert_allclose(y, _smoothed(a, 0.5), **tight)
    np.testing.assert_allclose(norms, np.linalg.norm(y, axis=1), **tight)
    np.testing.assert_array_equal(library.merged(np.sort(x), np.sort(z)), np.sort(np.concatenate([x, z])))
    np.testing.assert_allclose(library.dot(x), (x * np.exp(-x)).sum() + 1, **tight)


@pytest.mark.parametrize(
    ("opt_level", "cpu", "dtype"),
    [(0, None, "float64"), (3, "x86-64-v2", "float32"), (3, "x86-64-v3", "float64"), (3, "x86-64-v4", "float64")],
)
def test_one_library_has_all_sizes(opt_level: int, cpu: str | None, dtype: str, tmp_path: Any) -> None:
    library = aot.compile(_programs("n", "m", dtype), tmp_path, name="ops", opt_level=opt_level, cpu=cpu).load()
    for n in (0, 1, 2, 3, 7, 16, 17, 33, 40):
        _check_values(library, n, (5 * n + 3) % 41, dtype)


@pytest.mark.parametrize("n", [0, 1, 5, 40])
def test_static_extents(n: int, tmp_path: Any) -> None:
    library = aot.compile(_programs(n, 3, "float64"), tmp_path, name="ops", opt_level=1).load()
    _check_values(library, n, 3, "float64")


def test_special_values_and_integers_agree_with_the_kernel_as_python() -> None:
    for values in (SPECIAL, np.array([3, 255, 0, 200], np.uint8), np.array([-4, 2**62], np.int64)):
        x = at.vector("x", dtype=values.dtype.name)
        f = aot.function([x], RunningMaximum()(x))
        for found, wanted in zip(f(values), f.reference(values), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_it_is_interpreted() -> None:
    """IR at tensor level calls the kernel as Python, also after it was printed and parsed."""
    x = at.vector("x", dtype="uint8", shape=("n",))
    y, where, changes = RunningMaximum()(x)
    ready = aot.function([x], [y, where, changes], name="f")
    values = np.array([3, 200, 7, 255], np.uint8)
    module = parse_module(ready.ir("tensor"))
    found = interpret(module, "f", values)
    np.testing.assert_array_equal(found[0].view(np.uint8), [3, 200, 200, 255])
    assert found[2] == 2
    assert str(parse_module(str(module))) == str(module)


def test_the_gradient_is_that_of_the_pullback() -> None:
    x = at.vector("x", shape=("n",))
    y = RunningMaximum()(x)[0]
    f = aot.function([x], [y.sum(), grad((y * y).sum(), x)], name="f", mode="DEBUG_MODE")
    np.testing.assert_array_equal(f([1.0, 3.0, 2.0])[1], [2.0, 12.0, 0.0])
    verify_grad(lambda v: RunningMaximum()(v)[0], [np.array([1.0, 3.0, 2.0, 5.0])])


def test_batches_run_sample_by_sample() -> None:
    x, batch, deep = at.vector("x"), at.matrix("b", shape=(None, 4)), at.tensor3("c", shape=(2, None, 4))
    y, where, changes = RunningMaximum()(x)
    values = RNG.normal(size=(2, 3, 4))
    for replaced, given in ((batch, values[0]), (deep, values)):
        f = aot.function([replaced], vectorize_graph([y, where, changes], {x: replaced}))
        for found, wanted in zip(f(given), f.reference(given), strict=True):
            np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(f(given)[0], np.maximum.accumulate(given, axis=-1))
    both = vectorize_graph(Dot()(x, at.ones(4)), {x: batch})
    np.testing.assert_allclose(aot.function([batch], both)(values[0]), np.e * values[0].sum(axis=1))
    slopes = aot.function([x], jacobian(RunningMaximum()(x)[0], x))([1.0, 3.0, 2.0])
    np.testing.assert_array_equal(slopes, [[1, 0, 0], [0, 1, 0], [0, 1, 0]])


def test_complex_values_and_halves() -> None:
    half = at.vector("h", dtype="float16")
    found = aot.function([half], RunningMaximum()(half)[0])(np.array([1, 3, 2], np.float16))
    np.testing.assert_array_equal(found, np.array([1, 3, 3], np.float16))
    with pytest.raises(GraphTypeError, match="running_maximum: does not accept complex values"):
        RunningMaximum()(at.zvector("z"))


def test_extents_are_checked() -> None:
    x, y = at.vector("x"), at.vector("y")
    f = aot.function([x, y], Dot()(x, y), name="f")
    with pytest.raises(ArgumentError, match=r"extents n differ: y_0 = 3 and x_0 = 2"):
        f([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(GraphValueError, match=r"extents n differ: 2 and 3"):
        f.reference([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(GraphValueError, match=r"extents n differ: 3 and 4"):
        Dot()(at.vector("x", shape=(3,)), at.vector("y", shape=(4,)))


def test_equal_kernels_are_one_and_other_text_is_another() -> None:
    x = at.matrix("x")
    texts = [aot.function([x], Smoothed(decay)(x)[0], name="f").ir("tensor") for decay in (0.5, 0.5, 0.25)]
    assert texts[0] == texts[1] != texts[2]
    both = aot.function([x], [Smoothed(0.5)(x)[0], Smoothed(0.5)(x)[1]], name="f").ir("tensor-opt")
    assert both.count("aot.kernel") == 1


def test_memory_of_a_kernel_is_planned(tmp_path: Any) -> None:
    """Scratch memory is workspace, without malloc; an extent that the kernel computes is refused there."""

    def positive(x: Reals, y: Reals) -> None:
        count = 0
        for k in range(len(x)):
            count += int(x[k] > 0.0)
        found, at_end = alloc(x, count), 0
        for k in range(len(x)):
            y[k] = 0.0
            if x[k] > 0.0:
                found[at_end] = x[k]
                at_end += 1
        for k in range(count):
            y[k] = found[k]

    x, z = at.vector("x", shape=(5,)), at.vector("z", shape=(3,))
    merged = aot.function([x, z], Merged()(x, z), name="merged")
    f = aot.compile(merged, tmp_path / "m", malloc=False, opt_level=0).load().merged
    np.testing.assert_array_equal(f(np.arange(5.0), np.arange(3.0)), np.sort([0, 1, 2, 3, 4, 0, 1, 2]))
    g = aot.function([x], op_of(positive)(x), name="g")
    np.testing.assert_array_equal(g([1.0, -1.0, 2.0, 0.0, 3.0]), [1, 2, 3, 0, 0])
    with pytest.raises(UnsupportedError, match="malloc"):
        aot.compile(g, tmp_path / "g", malloc=False)
    aot.compile(merged, tmp_path / "free", emit="static", freestanding=True, target="thumbv7em-none-eabihf")


def test_disjoint_writes_are_found() -> None:
    """What a parallel loop may write: its own element, row, block of a step, block of a row-major matrix."""

    def shifted(x: Reals, y: Reals) -> None:
        n = len(x)
        for i in parallel(0, n, 4):
            for j in range(i, min(i + 4, n)):
                y[j] = x[j]
        for i in parallel(0, n, 4):
            for j in range(min(4, n - i)):
                y[i + j] += x[i + j]
        for i in parallel(n - 1):
            y[i + 1] = y[i + 1] + 1.0
        half = n // 2
        for i in parallel(half):
            own = alloc_words(1)
            own[0] = word(1)
            for j in range(2):
                y[i * 2 + j] = y[i * 2 + j] * 2.0

    x = at.vector("x")
    f = aot.function([x], op_of(shifted)(x))
    assert f.ir("loops").count("scf.parallel") == 4
    given = np.arange(7.0)
    wanted = (2 * given + [0, 1, 1, 1, 1, 1, 1]) * [2, 2, 2, 2, 2, 2, 1]
    np.testing.assert_array_equal(f(given), wanted)
    np.testing.assert_array_equal(f.reference(given), wanted)


def test_ops_of_earlier_layers_may_have_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The module that calls kernels is a later one: it is not there when the ops of the package are defined."""

    def lengths_of_runs(x: Reals, y: Reals) -> None:
        length = 0.0
        for k in range(len(x)):
            length = length + 1.0 if k > 0 and x[max(k - 1, 0)] == x[k] else 1.0
            y[k] = length

    with monkeypatch.context() as early:
        early.setattr("aotensor.graph.op.kernel_calls", LateModule())
        op = op_of(lengths_of_runs)
    x = at.matrix("x")
    f = aot.function([x], at.vectorize(op, "(n)->(n)")(x))
    given = np.array([[2.0, 2.0, 2.0, 3.0], [np.nan, np.nan, 0.0, -0.0]])
    np.testing.assert_array_equal(f.reference(given), [[1, 2, 3, 1], [1, 1, 1, 2]])
    assert "aot.kernel" in f.ir("tensor")
