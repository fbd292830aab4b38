"""Kernels of ops that are refused: at their lines, when the op is applied, compiled, evaluated or called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from made_ops import op_of

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import TensorType
from aotensor.errors import GraphIndexError, KernelError, UnsupportedError
from aotensor.kernels.language import (
    Index,
    Real,
    Reals,
    Words,
    alloc,
    parallel,
)


def _breaks(x: Reals, y: Reals) -> None:
    for _ in range(len(x)):
        break


def _mixes(x: Reals, y: Reals) -> None:
    for i in range(len(x)):
        y[i] = x[i] + i


def _writes_input(x: Reals, y: Reals) -> None:
    x[0] = 1.0


def _scatters(x: Reals, y: Reals) -> None:
    for i in parallel(len(x)):
        y[i // 2] = x[i]


def _reads_neighbour(x: Reals, y: Reals) -> None:
    for i in parallel(len(x) - 1):
        y[i + 1] = y[i] + x[i]


def _shares_cell(x: Reals, y: Reals) -> None:
    for i in parallel(len(x)):
        y[0] = x[i]


def _crosses_blocks(x: Reals, y: Reals) -> None:
    for i in parallel(len(x) // 2):
        for j in range(3):
            y[i * 2 + j] = x[i]


def _shares_scratch(x: Reals, y: Reals) -> None:
    scratch = alloc(x, 4)
    for i in parallel(len(x)):
        scratch[0] = x[i]
        y[i] = scratch[0]


def _counts_down(x: Reals, y: Reals) -> None:
    for i in range(3, -1, -1):
        y[i] = x[i]


def _is_negative(x: Reals, y: Reals) -> None:
    y[-1] = x[0]


def _has_another_rank(x: Reals, y: Reals) -> None:
    y[0, 0] = x[0]


def _callee(y: Reals, k: Index) -> None:
    y[0] = y[k]


def _races_in_a_callee(x: Reals, y: Reals) -> None:
    for i in parallel(len(x)):
        _callee(y, i)


REFUSED: dict[Callable[..., Any], tuple[Callable[..., Any], int, str]] = {
    _breaks: (_breaks, 2, "not a part of the kernel language"),
    _mixes: (_mixes, 2, "float64 and index are mixed"),
    _writes_input: (_writes_input, 1, "x is an input, which the kernel may only read"),
    _scatters: (_scatters, 2, "another iteration of a parallel loop may write"),
    _reads_neighbour: (_reads_neighbour, 2, "another iteration of a parallel loop may write"),
    _shares_cell: (_shares_cell, 2, "another iteration of a parallel loop may write"),
    _crosses_blocks: (_crosses_blocks, 3, "another iteration of a parallel loop may write"),
    _shares_scratch: (_shares_scratch, 3, "another iteration of a parallel loop may write"),
    _counts_down: (_counts_down, 1, "a step of -1: steps are positive"),
    _is_negative: (_is_negative, 1, "a position is negative"),
    _has_another_rank: (_has_another_rank, 1, "2 positions in an array of rank 1"),
    _races_in_a_callee: (_callee, 1, "another iteration of a parallel loop may write"),
}


@pytest.mark.parametrize("kernel", REFUSED, ids=lambda kernel: kernel.__name__)
def test_errors_name_the_line_of_the_kernel(kernel: Callable[..., Any]) -> None:
    where, offset, text = REFUSED[kernel]
    line = inspect.getsourcelines(where)[1] + offset
    x = at.vector("x")
    with pytest.raises(KernelError, match=rf"test_op_kernel_errors.py:{line}: kernel {where.__name__}: .*{text}"):
        aot.function([x], op_of(kernel)(x)).ir("loops")


def _lacks_an_output(x: Reals) -> None:
    pass


def _returns_an_array(x: Reals, y: Reals) -> Real:
    return x[0]


def _needs_words(x: Words, y: Reals) -> None:
    y[0] = 0.0


def _needs_a_number(x: Real, y: Reals) -> None:
    y[0] = x


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (_lacks_an_output, "1 arguments for 1 inputs and 1 outputs of rank 1 or more"),
        (_returns_an_array, "1 results for 0 outputs of rank 0"),
        (_needs_words, "x is float64 where Words needs int64"),
        (_needs_a_number, "x is an array .*, but its type is Real"),
        (lambda x, y: None, "expected a function with a name|x has the type of nothing"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_signatures_are_checked_when_the_op_is_applied(kernel: Callable[..., Any], text: str) -> None:
    with pytest.raises(KernelError, match=text):
        op_of(kernel)(at.vector("x"))


def test_an_unknown_extent_is_refused() -> None:
    class Half(aot.Op):
        name = "half_of"

        def infer_type(self, x: TensorType) -> TensorType:
            return TensorType(x.dtype, (None,))

        kernel = staticmethod(_leaves_one_out)

    x = at.vector("x")
    with pytest.raises(UnsupportedError, match="the extent of output 0 along axis 0 is not that of an input"):
        aot.function([x], Half()(x)).ir("tensor")


def _runs_over(x: Reals, y: Reals) -> None:
    for i in range(len(x)):
        y[i + int(x[0])] = x[i]


def _leaves_one_out(x: Reals, y: Reals) -> None:
    for i in range(1, len(x)):
        y[i] = x[i]


def test_positions_out_of_bounds(tmp_path: Any) -> None:
    line = inspect.getsourcelines(_runs_over)[1] + 2
    x = at.vector("x")
    f = aot.function([x], op_of(_runs_over)(x), name="f")
    with pytest.raises(
        GraphIndexError, match=rf"test_op_kernel_errors.py:{line}: kernel _runs_over: 3 is not a position"
    ):
        f.reference([1.0, 2.0, 3.0])
    checked = aot.compile(f, tmp_path, check=True, opt_level=0).load().f
    text = rf"f: test_op_kernel_errors.py:{line}: an access at 3 lies outside of an array of extent 3"
    with pytest.raises(IndexError, match=text):
        checked(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(checked(np.array([0.0, 2.0])), [0, 2])
    with pytest.raises(GraphIndexError, match=r"element \(0,\) of y is never written"):
        op_of(_leaves_one_out)(x).eval({x: [1.0, 2.0]})


def test_an_attribute_that_is_not_a_static_method_is_not_a_kernel() -> None:
    """Ops have had fields of this name, such as the extents of a window."""

    @dataclass(frozen=True)
    class Window(aot.Op):
        kernel: int
        axis: int

        def infer_type(self, x: TensorType) -> TensorType:
            return x

        def reference(self, x: Any) -> Any:
            return x * self.kernel

    x = at.vector("x")
    assert not Window.has_kernel and Window(3, 0)(x).eval({x: [2.0]}) == [6.0]
