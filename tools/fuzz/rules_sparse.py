"""Steps with sparse matrices; the oracle stores dense values and a mask of stored entries."""

from __future__ import annotations

from collections.abc import Sequence

from tools.fuzz.rules import Rule, Shape, both, rank, same, small
from tools.fuzz.rules_arrays import _square

STRUCTURED = ("sin", "tanh", "expm1", "arctan", "sinh")


def _by_vector(a: Shape, x: Shape) -> bool:
    return len(x) in (1, 2) and a[1] == x[0]


def _from_left(x: Shape, a: Shape) -> bool:
    return len(x) in (1, 2) and x[-1] == a[0]


def _chain(a: Shape, b: Shape) -> bool:
    return a[1] == b[0] and a[0] * b[1] <= 600


def _long(a: Shape, *_: Shape) -> bool:
    return min(a) >= 3


SPARSE: Sequence[Rule] = [
    Rule("-{0}", "{0}.mapped(np.negative)", "s"),
    Rule("{0} * 0.7", "{0}.mapped(lambda x: x * 0.7)", "s"),
    Rule("{0}.T", "{0}.T", "s"),
    *(Rule(f"sp.structured_{f}({{0}})", f"{{0}}.mapped(np.{f})", "s") for f in STRUCTURED),
    Rule("sp.structured_exp({0})", "{0}.mapped(np.exp)", "s"),
    Rule("sp.structured_sigmoid({0})", "{0}.mapped(o.sigmoid)", "s"),
    Rule("sp.sqr({0})", "{0}.mapped(np.square)", "s"),
    Rule("{0} + {1}", "o.union({0}, {1})", "ss", same),
    Rule("{0} - {1}", "o.union({0}, {1}.mapped(np.negative))", "ss", same),
    Rule("{0} * {1}", "o.common({0}, {1})", "ss", same),
    Rule("{0} * {1}", "o.scaled({0}, {1})", "sf", same),
    Rule("{0} * {1}", "o.scaled({0}, {1})", "sf", lambda a, x: len(x) == 1 and a[1:] == x),
    Rule("sp.row_scale({0}, {1})", "o.scaled({0}, {1}[:, None])", "sf", lambda a, x: len(x) == 1 and a[:1] == x),
    Rule("sp.col_scale({0}, {1})", "o.scaled({0}, {1})", "sf", lambda a, x: len(x) == 1 and a[1:] == x),
    Rule("sp.structured_dot({0}, {1})", "o.times({0}, {1})", "ss", _chain),
    Rule("sp.structured_dot({0}, {1}.T)", "o.times({0}, {1}.T)", "ss", lambda a, b: a[1] == b[1] and a[0] * b[0] < 600),
    Rule("sp.sampling_dot({0}, {1}, {2})", "o.sampled({2}, {0} @ {1}.T)", "ffs",
         lambda x, y, p: len(x) == len(y) == 2 and x[1] == y[1] and p == (x[0], y[0])),
    Rule("{0}[1:, :]", "{0}[1:, :]", "s", _long),
    Rule("{0}[:, :-1]", "{0}[:, :-1]", "s", _long),
    Rule("{0}[:2, 1:]", "{0}[:2, 1:]", "s", _long),
    Rule("sp.csr_from_dense({0})", "o.Matrix({0}, {0} != 0)", "f", both(rank(2), small), lambda x: bool(x.all())),
]  # fmt: skip

TO_DENSE: Sequence[Rule] = [
    Rule("{0} @ {1}", "{0}.dense @ {1}", "sf", _by_vector),
    Rule("{0} @ {1}", "{0}.dense @ {1}", "sf", _by_vector),
    Rule("{0}.T @ {1}", "{0}.dense.T @ {1}", "sf", lambda a, x: len(x) in (1, 2) and a[0] == x[0]),
    Rule("{0} @ {1}", "{0} @ {1}.dense", "fs", _from_left),
    Rule("at.tanh({0} @ {1}) * 0.5", "np.tanh({0}.dense @ {1}) * 0.5", "sf", _by_vector),
    Rule("sp.dense_from_sparse({0})", "{0}.dense", "s"),
    Rule("sp.sp_sum({0}, axis=0)", "{0}.dense.sum(axis=0)", "s"),
    Rule("sp.sp_sum({0}, axis=1)", "{0}.dense.sum(axis=1)", "s"),
    Rule("sp.sp_sum({0})", "{0}.dense.sum()", "s"),
    Rule("sp.sp_sum(sp.sqr({0}))", "np.square({0}.dense).sum()", "s"),
    Rule("{0} + {1}", "{0}.dense + {1}", "sf", same),
    Rule("sp.diag({0})", "np.diagonal({0}.dense)", "s", _square),
    Rule("sp.structured_dot({0}, {1})", "{0}.dense @ {1}", "sf", _by_vector),
    Rule("{0}[1, 2]", "{0}.dense[1, 2]", "s", _long),
]  # fmt: skip
