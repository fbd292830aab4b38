"""Every op that the table of R-ops names, under its own name; permuted rows, products that skip zeros, positions as one
number, different elements."""

from __future__ import annotations

import numpy as np
from case import NAN, Case, int8, normal, value

import aotensor.tensor as at
import aotensor.tensor.ops as ops
from aotensor.gradient import grad

LINE = np.arange(7.0) - 2.5
GRID = np.arange(12.0).reshape(3, 4) - 5.5
CUBE = np.arange(24.0).reshape(2, 3, 4) - 11.5
ROWS, PLACES = np.array([1, 1, 2]), np.array([[2, 0], [-1, 2]])
ORDER, KEYS = np.array([2, 0, 3, 1]), np.array([[0.1, 0.3, 0.2, 0.7], [9.0, 8.0, 7.0, 6.0], [0.4, 0.0, 0.6, 0.5]])
ORDERS = KEYS.argsort(axis=1)
ZEROS = np.array([[2.0, 0.0, -1.0], [0.0, 0.0, 3.0], [0.5, 1.0, 4.0]])
REPEATED = np.array([3.0, 1.0, 3.0, -2.0, 1.0, 0.5])
FACE, SIDE = np.array([[2, 0, 1]]), np.array([[1], [3]])


def count(n: int) -> np.ndarray:
    """An extent as an input."""
    return np.array(n)


NAMED = [
    Case(id="op-SpecifyShape", build=lambda x: ops.SpecifyShape((3, None), (False,) * 2)(x), inputs=normal((3, 4))),
    Case(id="op-MaxAndArgmax", build=lambda x: ops.MaxAndArgmax(axis=1)(x)[0], inputs=normal((3, 4))),
    Case(id="op-MaxAndArgmax-all", build=lambda x: ops.MaxAndArgmax()(x)[0], inputs=normal((2, 3, 2))),
    Case(id="op-MaxAndArgmax-axes", build=lambda x: ops.MaxAndArgmax(axis=(0, 2))(x)[0], inputs=normal((2, 3, 2))),
    value("op-MaxAndArgmax-place", lambda x: ops.MaxAndArgmax(axis=0)(x)[1], [ZEROS], [0, 2, 2]),
    Case(id="op-Subtensor", build=lambda x: x[1:, ::-2], inputs=[GRID]),
    Case(id="op-IncSubtensor", build=lambda x, y: x[1:].inc(y), inputs=[GRID, GRID[1:] ** 2]),
    Case(id="op-IncSubtensor-set", build=lambda x, y: x[:, 0].set(y), inputs=[GRID, LINE[:3]]),
    Case(id="op-Alloc", build=lambda x: ops.Alloc((2, 3, 4))(x), inputs=normal((3, 4)), dims=[(3, 4)]),
    Case(id="op-Dot", build=lambda x, y: ops.Dot()(x, y), inputs=normal((3, 4), (4, 2))),
    Case(id="op-Elemwise", build=lambda x, y: at.exp(x) * at.sin(y), inputs=normal((3, 4), (1, 4))),
    Case(id="op-Sum", build=lambda x: ops.Sum((1,), "float64", "float64")(x), inputs=normal((3, 4))),
    Case(id="op-Softmax", build=lambda x: at.softmax(x, axis=-1), inputs=normal((3, 4))),
    Case(id="op-Shape", build=lambda x: x * ops.Shape()(x)[0], inputs=normal((3, 4))),
    Case(id="op-Join", build=lambda x, y: ops.Join(1)(x, y), inputs=normal((3, 4), (3, 2))),
    Case(id="op-Split", build=lambda x: ops.Split(1, (1, 3))(x), inputs=normal((3, 4))),
    Case(id="op-Rebroadcast", build=lambda x: ops.Rebroadcast((0, True), (1, False))(x), inputs=normal((1, 4)),
         dims=[(None, None)]),
    Case(id="op-Reshape", build=lambda x: ops.Reshape((2, -1))(x), inputs=normal((3, 4))),
    Case(id="op-Flatten", build=lambda x: ops.Flatten(2)(x), inputs=normal((2, 3, 4))),
    Case(id="op-DimShuffle", build=lambda x: ops.DimShuffle((1, None, 0))(x), inputs=normal((3, 4))),
    Case(id="op-Tile", build=lambda x: ops.Tile(2)(x, (2, 3)), inputs=normal((2, 3))),
    Case(id="op-ARange", build=lambda a, c: ops.ARange("float64")(a, 3.1, c),
         inputs=[np.float64(0.5), np.float64(0.7)]),
    Case(id="op-ScalarFromTensor", build=lambda x: ops.ScalarFromTensor()(x) * 2, inputs=[np.float64(1.5)]),
    Case(id="op-TensorFromScalar", build=lambda x: ops.TensorFromScalar()(x) * 2, inputs=[np.float64(1.5)]),
    Case(id="op-AdvancedSubtensor1", build=lambda x, i: ops.AdvancedSubtensor1()(x, i), inputs=[GRID, ROWS], wrt=(0,),
         expected=GRID[ROWS]),
    Case(id="op-AdvancedSubtensor", build=lambda x, i, j: ops.AdvancedSubtensor((0, 1))(x, i, j),
         inputs=[GRID, PLACES, PLACES], wrt=(0,), expected=GRID[PLACES, PLACES]),
    Case(id="op-AdvancedIncSubtensor1", build=lambda x, y, i: ops.AdvancedIncSubtensor1()(x, y, i),
         inputs=[GRID, GRID**2, ROWS], wrt=(0, 1)),
    Case(id="op-AdvancedIncSubtensor1-set", wrt=(0, 1), inputs=[GRID, GRID**2, ROWS],
         build=lambda x, y, i: ops.AdvancedIncSubtensor1(set_instead_of_inc=True)(x, y, i)),
    Case(id="op-AdvancedIncSubtensor", build=lambda x, y, i, j: ops.AdvancedIncSubtensor()(x, y, i, j),
         inputs=[GRID, GRID[:2, :2] ** 2, PLACES, PLACES], wrt=(0, 1)),
    Case(id="op-AdvancedIncSubtensor-set", wrt=(0, 1), inputs=[GRID, GRID[:, :3] ** 2, ROWS],
         build=lambda x, y, i: ops.AdvancedIncSubtensor(set_instead_of_inc=True, axes=[1])(x, y, i)),
    Case(id="op-PermuteRowElements", build=lambda x, k: ops.PermuteRowElements()(x, k.argsort()), wrt=(0,),
         inputs=[GRID, KEYS], expected=np.take_along_axis(GRID, ORDERS, 1)),
    Case(id="op-TensorDot", build=lambda x, y: ops.TensorDot([[0, 1], [1, 0]])(x, y), inputs=normal((2, 3, 4), (3, 2))),
    Case(id="op-Outer", build=lambda x, y: ops.Outer()(x, y), inputs=normal((3,), (4,))),
    Case(id="op-Prod", build=lambda x: ops.Prod((1,), "float64", "float64")(x), inputs=[ZEROS]),
    Case(id="op-ProdWithoutZeros", build=lambda x: ops.ProdWithoutZeros((1,), "float64", "float64")(x), inputs=[ZEROS],
         numeric=False, expected=[-2.0, 3.0, 2.0]),
    Case(id="op-MulWithoutZeros", build=lambda x, y: ops.MulWithoutZeros()(x, y), inputs=normal((3, 4), (1, 4))),
    Case(id="op-CAReduce-max", build=lambda x: ops.CAReduce(at.maximum, axis=0)(x), inputs=normal((3, 4))),
    Case(id="op-CAReduce-min", build=lambda x: ops.CAReduce(at.minimum)(x), inputs=normal((3, 4))),
    Case(id="op-CAReduce-add", build=lambda x: ops.CAReduce(at.add, (0, 1))(x), inputs=normal((3, 4))),
    Case(id="op-CAReduce-mul", build=lambda x: ops.CAReduce(at.mul, 1)(x), inputs=[ZEROS]),
    value("op-CAReduce-all", lambda x: ops.CAReduce(at.and_, 1)(x), [ZEROS != 0], [False, False, True]),
    value("op-CAReduce-any", lambda x: ops.CAReduce(at.or_, 0)(x), [ZEROS == 0], [True, True, False]),
    Case(id="op-CumSum", build=lambda x: ops.CumSum(1, "float64")(x), inputs=normal((3, 4))),
    Case(id="op-CumProd", build=lambda x: ops.CumProd(1, "float64")(x), inputs=[ZEROS]),
    Case(id="op-Sort", build=lambda x: ops.Sort(1)(x)[0] * LINE[:4], inputs=normal((3, 4))),
    Case(id="op-ExtractDiag", build=lambda x: ops.ExtractDiag(1)(x), inputs=normal((3, 4))),
    Case(id="op-LogSoftmax", build=lambda x: ops.LogSoftmax((0,))(x), inputs=normal((3, 4))),
    Case(id="op-Unique", build=lambda x: ops.Unique()(x) * LINE[:4], inputs=[REPEATED], numeric=False, ragged=True,
         specials={0: [0.5, -0.5, 0.0, -2.5, 0.0, -1.5]}),
]  # fmt: skip

PERMUTED = [
    Case(id="permute-one-order", build=at.permute_row_elements, inputs=[CUBE, ORDER], wrt=(0,),
         expected=CUBE[..., ORDER]),
    Case(id="permute-back", build=lambda x, k: at.permute_row_elements(x, k.argsort(), True), inputs=[GRID, KEYS],
         wrt=(0,), expected=np.take_along_axis(GRID, np.argsort(ORDERS, 1), 1)),
    Case(id="permute-one-row", build=lambda x, k: at.permute_row_elements(x, k.argsort()), wrt=(0,),
         inputs=[GRID[0], KEYS], expected=GRID[0][ORDERS]),
    Case(id="permute-small-integers", build=at.permute_row_elements, inputs=[LINE[:3], int8(2, 0, 1)], wrt=(0,)),
    Case(id="permute-nothing", build=at.permute_row_elements, inputs=[GRID[:, :0], ORDER[:0]], wrt=(0,)),
    Case(id="permute-second", build=lambda x, k: grad((at.permute_row_elements(x, k.argsort()) ** 3)[:2].sum(), x),
         inputs=[GRID, KEYS], wrt=(0,)),
    value("permute-int8-values", at.permute_row_elements, [int8(5, 6, 7), np.array([2, 0, 1], "uint8")], [7, 5, 6]),
    value("inverse-permutation", lambda k: at.inverse_permutation(k.argsort()), [KEYS], np.argsort(ORDERS, 1)),
]  # fmt: skip

WITHOUT_ZEROS = [
    Case(id="prod-without-zeros-all", build=lambda x: ops.ProdWithoutZeros((0, 1), "float64", "float64")(x),
         inputs=[ZEROS], numeric=False, expected=-12.0,
         specials={0: [[-6, 0, 12], [0, 0, -4], [-24, -12, -3]]}),
    Case(id="prod-without-zeros-second", inputs=normal((2, 3)), build=lambda x: grad(
        (ops.ProdWithoutZeros((1,), "float64", "float64")(x) ** 2).sum(), x)),
    value("prod-without-zeros-int8", lambda x: ops.ProdWithoutZeros((0,), "int64", "int64")(x), [int8(0, 100, 2)], 200),
    value("prod-without-zeros-of-zeros", lambda x: ops.ProdWithoutZeros((0,), "float64", "float64")(x), [LINE * 0], 1),
    value("mul-without-zeros", at.mul_without_zeros, [np.array([2.0, 0.0, 0.0, 2.0, NAN]), np.array([3.0, 3, 0, 0, 0])],
          [6.0, 3.0, 0.0, 2.0, NAN]),
    value("mul-without-zeros-int", at.mul_without_zeros, [int8(2, 0, 5), int8(3, 4, 0)], [6, 4, 5]),
    Case(id="mul-without-zeros-derivatives", build=at.mul_without_zeros, numeric=False,
         inputs=[np.array([2.0, 0.0, 0.0, 2.0]), np.array([3.0, 3.0, 0.0, 0.0])],
         specials={0: [3, 0, 0, 1], 1: [2, 1, 0, 0]}),
]  # fmt: skip

POSITIONS = [
    value("ravel-multi-index", lambda i, j: at.ravel_multi_index([i, j], (2, 4)), [np.array([0, 1]), np.array([3, 2])],
          [3, 6]),
    value("ravel-multi-index-f", lambda i, j: at.ravel_multi_index([i, j], (2, 4), order="F"),
          [np.array([0, 1]), np.array([3, 2])], [6, 5]),
    value("ravel-multi-index-broadcast", lambda i, j: at.ravel_multi_index([i, j], (4, 5)), [FACE, SIDE],
          [[11, 1, 6], [13, 3, 8]]),
    value("ravel-multi-index-modes", lambda i, n: at.ravel_multi_index([i, i], (3, n), mode=("clip", "wrap")),
          [np.array([-2, 1, 9]), count(4)], [2, 5, 9]),
    value("ravel-multi-index-empty", lambda i: at.ravel_multi_index([i], (0,)), [np.zeros(0, "int64")], []),
    value("ravel-multi-index-cube", lambda i: at.ravel_multi_index([i, i, 1], (2, 3, 4)), [int8(0, 1)], [1, 17]),
    value("unravel-index-rows", lambda i: at.unravel_index(i, (3, 4))[0], [np.array([0, 5, 11])], [0, 1, 2]),
    value("unravel-index-columns", lambda i: at.unravel_index(i, (3, 4))[1], [np.array([0, 5, 11])], [0, 1, 3]),
    value("unravel-index-f", lambda i: at.unravel_index(i, (3, 4), order="F")[1], [np.array([0, 5, 11])], [0, 1, 3]),
    value("unravel-index-shape", lambda i, x: at.unravel_index(i, x.shape)[1], [count(7), GRID], 3),
    value("position-inside", lambda i: at.ravel_multi_index([i], (9,)), [np.array([[8, 0]])], [[8, 0]]),
]  # fmt: skip

CHOSEN = [
    Case(id="choose", build=lambda i, x, y: at.choose(i, [x, y, 1.0]), wrt=(1, 2),
         inputs=[ROWS, LINE[:3], LINE[3:6] ** 2], expected=np.choose(ROWS, [LINE[:3], LINE[3:6] ** 2, 1.0])),
    Case(id="choose-wrap", build=lambda i, x: i.choose([x, -x], mode="wrap"), inputs=[PLACES, GRID[:2, :2]], wrt=(1,),
         expected=np.choose(PLACES, [GRID[:2, :2], -GRID[:2, :2]], mode="wrap")),
    Case(id="choose-rows", build=at.choose, inputs=[np.array([1, 1, 2, 0]), GRID], wrt=(1,),
         expected=np.choose([1, 1, 2, 0], GRID)),
    Case(id="choose-rows-clip", build=lambda i, x: at.choose(i, x, mode="clip"), inputs=[PLACES, GRID[:, :2]], wrt=(1,),
         expected=np.choose(PLACES, GRID[:, :2], mode="clip")),
    Case(id="compress", build=lambda c, x: at.compress(c, x, axis=1), inputs=[ORDER > 1, GRID], wrt=(1,), ragged=True,
         expected=np.compress(ORDER > 1, GRID, axis=1)),
    Case(id="compress-flat", build=lambda c, x: x.compress(c), inputs=[ORDER, GRID[0]], wrt=(1,), ragged=True,
         expected=np.compress(ORDER, GRID[0])),
    Case(id="nonzero-values", build=lambda x: x.nonzero_values(), inputs=[ZEROS], numeric=False, ragged=True,
         expected=ZEROS[ZEROS != 0], specials={0: ZEROS != 0}),
]  # fmt: skip

UNIQUE = [
    value("unique", at.unique, [REPEATED], np.unique(REPEATED), ragged=True),
    value("unique-index", lambda x: at.unique(x, return_index=True)[1], [REPEATED], [3, 5, 1, 0], ragged=True),
    value("unique-inverse", lambda x: at.unique(x, return_inverse=True)[1], [REPEATED], [3, 2, 3, 0, 2, 1]),
    value("unique-counts", lambda x: at.unique(x, return_counts=True)[1], [REPEATED], [1, 1, 2, 2], ragged=True),
    value("unique-nan", at.unique, [np.array([[NAN, 1.0], [1.0, NAN]])], [1.0, NAN], ragged=True),
    value("unique-of-nothing", lambda x: at.unique(x, True, True, True)[3], [LINE[:0]], [], ragged=True),
    value("unique-uint8", at.unique, [np.array([200, 3, 200], "uint8")], [3, 200], ragged=True),
    value("unique-bool", at.unique, [np.array([True, True])], [True], ragged=True),
]

CASES = [*NAMED, *PERMUTED, *WITHOUT_ZEROS, *POSITIONS, *CHOSEN, *UNIQUE]
