"""The functions of stored libraries: every kind of input, output, state, check and option that a manifest describes.

A later release may add libraries and calls. The libraries of earlier releases are never made again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor_runtime.arrays.layout import DTYPES as KNOWN

DTYPES: Final = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16",
    "float32", "float64", "complex64", "complex128",
)  # fmt: skip


@dataclass(frozen=True)
class Program:
    """Functions of one library, their calls in order, and options of `aotensor.compile`.

    A call is a function's name, arguments, and the builtin exception that it must raise, if any.
    """

    functions: Sequence[aot.Function | aot.NLP]
    calls: Sequence[tuple[str, Mapping[str, Any]] | tuple[str, Mapping[str, Any], type[Exception]]] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


def _numbers(*shape: int) -> np.ndarray[Any, Any]:
    """1/4, 2/4, ... with signs that alternate: exact in every dtype."""
    count = int(np.prod(shape))
    return (np.arange(1, count + 1) / 4 * np.where(np.arange(count) % 2, -1, 1)).reshape(shape)


def dtypes() -> Program:
    """A scalar and a vector of each dtype."""
    functions, calls = [], []
    for dtype in DTYPES:
        x, s = at.vector("x", dtype=dtype, shape=("n",)), at.scalar("s", dtype=dtype)
        results = {"same": x, "joined": at.concatenate([x, s[None]])}
        results |= {"less": ~x & s} if dtype == "bool" else {"sum": x + s, "product": x * s}
        functions.append(aot.function([x, s], results, name=f"of_{dtype}"))
        kind = "float32" if dtype == "bfloat16" else dtype
        values = np.abs(4 * _numbers(5)) if "int" in dtype or dtype == "bool" else _numbers(5)
        given = values.astype(kind).astype(KNOWN[dtype])
        calls.append((f"of_{dtype}", {"x": given, "s": given[2]}))
        calls.append((f"of_{dtype}", {"x": given[:0], "s": given[1]}))
    return Program(functions, calls)


def dims() -> Program:
    """Numbers, names that several inputs share, unknown extents; ranks 0 to 4; a static check of extents."""
    X, y = at.matrix("X", shape=("n", "p")), at.vector("y", shape=("n",))
    w, fixed = at.vector("w", shape=("p",)), at.vector("fixed", shape=(3,))
    loss = at.softplus(-y * (X @ w)).mean()
    t, a, b = at.tensor4("t", shape=(2, "k", None, 1)), at.vector("a"), at.vector("b")
    functions = [
        aot.function([X, y, w], {"loss": loss, "grad_w": aot.grad(loss, w)}, name="logistic"),
        aot.function([fixed], at.cumsum(fixed)[::-1], name="three"),
        aot.function([t], [t.sum(axis=1), t.shape[2]], name="four"),
        aot.function([a, b], a * b, name="equal"),
        aot.function([], at.arange(4.0), name="nothing"),
    ]
    given = {"X": _numbers(4, 2), "y": np.array([1.0, -1, 1, -1]), "w": np.array([0.5, -0.25])}
    calls = [
        ("logistic", given),
        ("logistic", {**given, "y": np.ones(5)}, ValueError),
        ("three", {"fixed": _numbers(3)}),
        ("three", {"fixed": _numbers(4)}, ValueError),
        ("four", {"t": _numbers(2, 3, 2, 1)}),
        ("four", {"t": _numbers(2, 0, 2, 1)}),
        ("equal", {"a": _numbers(3), "b": _numbers(3)}),
        ("equal", {"a": _numbers(3), "b": _numbers(1)}, ValueError),
        ("nothing", {}),
    ]
    return Program(functions, calls)


def names() -> Program:
    """Names beyond ASCII, keywords of Python and C, names with spaces, also in errors; a prefix."""
    theta, keyword, text = at.vector("θ", shape=("größe",)), at.scalar("lambda"), at.scalar("a b", dtype="int64")
    results = {"σ²": (theta**2).sum() * keyword, "Zeile": theta[text], "class": theta + 1, 'q"\\': -keyword}
    functions = [
        aot.function([theta, keyword, text], results, name="mixed"),
        aot.function([keyword], keyword + 1, name="double"),
    ]
    calls = [
        ("mixed", {"in0": _numbers(3), "lambda": np.array(0.5), "a_b": np.array(1)}),
        ("mixed", {"in0": _numbers(3), "lambda": np.array(0.5), "a_b": np.array(7)}, IndexError),
        ("double", {"lambda": np.array(2.0)}),
    ]
    return Program(functions, calls, {"prefix": "own_"})


def outputs() -> Program:
    """One, several, named, none; an input, one value twice; extents that depend on values; checks of values."""
    x, i, mask = at.vector("x", shape=("n",)), at.scalar("i", dtype="int64"), at.vector("mask", dtype="bool")
    functions = [
        aot.function([x], x.sum(), name="one"),
        aot.function([x], [x, 2 * x, x], name="several"),
        aot.function([x], {"least": x.min(), "order": at.argsort(x)}, name="named"),
        aot.function([x, mask], [x[mask], at.nonzero(mask)[0]], name="chosen"),
        aot.function([x, i], x[i], name="pick"),
    ]
    calls = [(name, {"x": _numbers(5)}) for name in ("one", "several", "named")]
    calls += [
        ("chosen", {"x": _numbers(4), "mask": np.array(given)}) for given in ([True, False, True, True], [False] * 4)
    ]
    calls += [("pick", {"x": _numbers(4), "i": np.array(i)}) for i in (-1, 2)]
    calls += [("pick", {"x": _numbers(4), "i": np.array(4)}, IndexError)]
    return Program(functions, calls)


def sparse() -> Program:
    """CSR, CSC and BSR, indices of 32 and 64 bits, constant patterns, products, factors; a wrong index."""
    A, C = sp.csr_matrix("A", shape=("n", "p")), sp.csc_matrix("C", dtype="float32", shape=("n", "p"))
    B, x = sp.bsr_matrix("B", shape=(4, 4), blocksize=(2, 2)), at.vector("x", shape=("p",))
    z = sp.csr_matrix("Z", dtype="complex128")
    loss = ((A @ x) ** 2).sum()
    fixed = at.vector("fixed", shape=(4,))
    banded = sp.square_diagonal(fixed)
    functions = [
        aot.function([A, x], {"y": A @ x, "grad_A": aot.grad(loss, A), "grad_x": aot.grad(loss, x)}, name="product"),
        aot.function([C], [2 * C, C.T, C.sum()], name="columns"),
        aot.function([B, fixed], [B @ fixed, 3 * B], name="blocks"),
        aot.function([z], z.conj().T, name="adjoint"),
        aot.function([fixed], banded, name="diagonal"),
        aot.function([A, fixed], sp.spsolve(A, fixed), name="solve"),
    ]
    dense = np.array([[4.0, 1, 0, 0], [1, 5, 0, 2], [0, 0, 6, 0], [0, 2, 0, 7]])
    A0, b = ss.csr_matrix(dense), _numbers(4)
    wide = ss.csr_matrix(dense)
    wide.indices, wide.indptr = wide.indices.astype("i8"), wide.indptr.astype("i8")
    unsorted = ss.csr_matrix((np.arange(1.0, 5), np.array([2, 0, 1, 1], "i4"), np.array([0, 2, 4], "i4")), shape=(2, 4))
    wrong = ss.csr_matrix(dense)
    wrong.indices[1] = 9
    calls = [
        ("product", {"A": A0, "x": b}),
        ("product", {"A": wide, "x": b}),
        ("product", {"A": unsorted, "x": b}),
        ("product", {"A": ss.csr_matrix((3, 4)), "x": b}),
        ("product", {"A": wrong, "x": b}, IndexError),
        ("columns", {"C": ss.csc_matrix(dense[:3].astype("float32"))}),
        ("blocks", {"B": ss.bsr_matrix(dense, blocksize=(2, 2)), "fixed": b}),
        ("adjoint", {"Z": ss.csr_matrix(dense[:2] * (1 + 2j))}),
        ("diagonal", {"fixed": b}),
        ("solve", {"A": A0, "fixed": b}),
        ("solve", {"A": 0 * A0, "fixed": b}, np.linalg.LinAlgError),
    ]
    return Program(functions, calls)


def state() -> Program:
    """Shared variables, dense and sparse, that functions share and update; streams of random numbers; no result."""
    x, count = at.vector("x", shape=(2,)), at.shared(np.array(3, "int64"), name="count")
    w = at.shared(np.array([1.0, 2.0]), name="w")
    S = sp.shared(ss.csr_matrix(np.array([[0.0, 1.0], [2.0, 0.0]])), name="S")
    stream = at.RandomStream(7)
    functions = [
        aot.function([x], w * count, updates={w: w + x, count: count + 1}, name="step"),
        aot.function([], [w, count], name="peek"),
        aot.function([x], S @ x, updates={S: 2 * S}, name="doubling"),
        aot.function([], stream.normal(size=(2, 3)), name="draw"),
        aot.function([], None, updates={count: 2 * count}, name="silent"),
    ]
    given = {"x": np.array([0.5, -1.0])}
    calls = [
        ("step", given), ("step", given), ("silent", {}), ("peek", {}),
        ("doubling", given), ("doubling", given), ("draw", {}), ("draw", {}),
    ]  # fmt: skip
    return Program(functions, calls)


def solutions() -> Program:
    """BLAS and LAPACK of the caller, loops, branches, roots, transforms, explicit random streams."""
    A, b = at.matrix("A", shape=("n", "n")), at.vector("b", shape=("n",))
    c, x0 = at.scalar("c"), at.scalar("x0")
    walk, _ = aot.scan(lambda x, s: 0.5 * s + x, sequences=b, outputs_info=[c])
    L = at.linalg.cholesky(A)
    functions = [
        aot.function([A, b], {"x": at.linalg.solve(A, b), "log": at.log(at.diag(L)).sum()}, name="gaussian"),
        aot.function([A], at.linalg.eigh(A)[0], name="spectrum"),
        aot.function([b, c], walk, name="walk"),
        aot.function([c, x0], aot.ifelse(c > 0, x0 * c, x0 - c), name="branch"),
        aot.function([c, x0], at.optimize.root(lambda x: x**2 - c, x0), name="root"),
        aot.function([b], at.fft.fft(b), name="transform"),
    ]
    positive = np.array([[4.0, 1, 0.5], [1, 5, 0.25], [0.5, 0.25, 6]])
    calls = [
        ("gaussian", {"A": positive, "b": _numbers(3)}),
        ("gaussian", {"A": -positive, "b": _numbers(3)}, np.linalg.LinAlgError),
        ("spectrum", {"A": positive}),
        ("walk", {"b": _numbers(5), "c": np.array(1.0)}),
        ("branch", {"c": np.array(2.0), "x0": np.array(3.0)}),
        ("branch", {"c": np.array(-2.0), "x0": np.array(3.0)}),
        ("root", {"c": np.array(2.0), "x0": np.array(1.0)}),
        ("transform", {"b": _numbers(6)}),
    ]
    return Program(functions, calls)


def _regression() -> tuple[aot.Function, dict[str, Any]]:
    X, y = at.matrix("X", shape=("n", "p")), at.vector("y", shape=("n",))
    w = at.vector("w", shape=("p",))
    loss = ((X @ w - y) ** 2).mean()
    given = {"X": _numbers(20, 2), "y": np.sign(_numbers(20)), "w": np.array([0.5, -0.25])}
    return aot.function([X, y, w], {"loss": loss, "grad_w": aot.grad(loss, w)}, name="squares"), given


def _with(**options: Any) -> Callable[[], Program]:
    def program() -> Program:
        f, given = _regression()
        return Program([f], [("squares", given)], options)

    return program


def scheduled() -> Program:
    """Loops by a schedule of the user."""
    f, given = _regression()
    return Program([f], [("squares", given)], {"schedule": f.schedule.block("n.chunks", 8)})


def casadi() -> Program:
    """CasADi's convention."""
    A, v = at.matrix("A", shape=(2, 3)), at.vector("v", shape=(3,))
    return Program(
        [aot.function([A, v], {"y": A @ v, "t": at.tanh(v)}, name="mats")],
        [("mats", {"A": _numbers(2, 3), "v": _numbers(3)})],
        {"abi": "casadi"},
    )


def bridgestan() -> Program:
    """BridgeStan's interface of a log density with parameters and data."""
    y, mean, sigma = at.vector("y", shape=("n",)), at.scalar("mean"), at.scalar("sigma")
    logp = (-0.5 * ((y - mean) / sigma) ** 2 - at.log(sigma)).sum() - sigma
    parameters = {"mean": aot.Parameter(), "sigma": aot.Parameter(lower=0.0)}
    f = aot.function([y, mean, sigma], logp, name="normal", parameters=parameters)
    return Program([f], [("normal", {"y": _numbers(3), "mean": 0.5, "sigma": 2.0})], {"abi": "bridgestan"})


def ipopt() -> Program:
    """Ipopt's callbacks of a nonlinear program, with sparse derivatives of constant patterns."""
    x, c = at.vector("x", shape=(4,)), at.scalar("c")
    problem = aot.nlp(x, x[0] * x[3] * x[:3].sum() + c * x[2], [at.prod(x), (x**2).sum()], p=c, name="hs71")
    given = {"x": np.array([1.0, 5, 5, 1]), "c": 1.0}
    return Program([problem], [(f"hs71_{part}", given) for part in ("f", "grad_f", "g", "jac_g")], {"abi": "ipopt"})


def sundials() -> Program:
    """User functions of SUNDIALS of a right-hand side."""
    t, y, k = at.scalar("t"), at.vector("y", shape=(3,)), at.vector("k", shape=(3,))
    first, last = -k[0] * y[0] + k[1] * y[1] * y[2], k[2] * y[1] ** 2
    f = aot.function([t, y, k], at.stack([first, -first - last, last]), name="rob", on_unused_input="ignore")
    given = {"t": 0.5, "y": np.array([0.9, 0.125, 0.1]), "k": np.array([0.04, 4.0, 3.0])}
    return Program([f], [("rob", given)], {"abi": "sundials"})


def ceres() -> Program:
    """A cost function of two parameter blocks, with data."""
    pose, landmark, seen = (at.vector(name, shape=(n,)) for name, n in (("pose", 3), ("landmark", 2), ("seen", 2)))
    c, s, d = at.cos(pose[2]), at.sin(pose[2]), landmark - pose[:2]
    error = at.stack([c * d[0] + s * d[1], c * d[1] - s * d[0]]) - seen
    f = aot.function([pose, landmark, aot.In(seen, data=True)], error, name="sighting")
    given = {"pose": np.array([0.5, -0.25, 0.1]), "landmark": _numbers(2), "seen": np.array([1.0, 2.0])}
    return Program([f], [("sighting", given)], {"abi": "ceres"})


def fmi() -> Program:
    """The model of an FMU, with a parameter and several types."""
    x, p = at.vector("x", shape=(3,)), at.vector("p", dtype="float32", shape=(3,))
    k, on = at.scalar("k", dtype="int32"), at.scalar("on", dtype="bool")
    f = aot.function([x, aot.In(p, data=True), k, on], {"y": at.tanh(x) * p, "n": 2 * k, "off": ~on}, name="plant")
    given = {"x": _numbers(3), "p": np.array([1, 2, 3], dtype="float32"), "k": np.int32(3), "on": np.bool_(True)}
    return Program([f], [("plant", given)], {"abi": "fmi"})


def layouts() -> Program:
    """A column-major input beside a row-major one."""
    A, B = at.matrix("A", shape=("n", "p")), at.matrix("B", shape=("p", 2))
    f = aot.function([aot.In(A, layout="F"), B], A @ B, name="columns")
    return Program([f], [("columns", {"A": np.asfortranarray(_numbers(4, 3)), "B": _numbers(3, 2)})], {})


PROGRAMS: Final[Mapping[str, Callable[[], Program]]] = {
    "dtypes": dtypes,
    "dims": dims,
    "names": names,
    "outputs": outputs,
    "sparse": sparse,
    "state": state,
    "solutions": solutions,
    "levels": _with(cpu="v2,v3"),
    "strict": _with(fp="strict", threads=False, debug_info=True),
    "no_malloc": _with(malloc=False, opt_size=True),
    "checked": _with(check=True, disable_passes=["fuse"]),
    "scheduled": scheduled,
    "layouts": layouts,
    "casadi": casadi,
    "bridgestan": bridgestan,
    "ipopt": ipopt,
    "sundials": sundials,
    "ceres": ceres,
    "fmi": fmi,
}
"""Name of a library → its functions."""

ROUNDS: Final = "rounds"
"""The library of a function that is split over rows; its one call goes through `open_rounds`."""


def rounds() -> tuple[aot.Rounds, dict[str, Any]]:
    """The regression over chunks of rows, and the arguments of a call."""
    f, given = _regression()
    return aot.split(f, over="n"), given
