"""Whatever is passed to a public function or method: it works, or it raises an error of ours, none of Python or NumPy.

Each callable gets arguments that it takes, if some are found, with one of them exchanged for each of the odd values.
What Python itself says about the number and the names of arguments is left to Python.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import aotensor as aot
import aotensor.gradient
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import AotensorError
from aotensor.graph.variable import Variable

X, M, S, T = at.dvector("x"), at.dmatrix("m"), at.dscalar("s"), at.dtensor3("t")
J, B, A = at.lvector("i"), at.vector("b", dtype="bool"), sp.csr_matrix("A")
STATE = aot.shared(np.ones(2), name="state")
DOUBLE = aot.function([X], X * 2, name="double")


def step(*values: Any) -> Any:
    return values[0] if values else X


ODD: list[Any] = [
    None, True, 0, -1, 3, 2**70, 1.5, float("nan"), 1j, "a", "", b"a", [], [[]], (1, 2), ["a"], [[1], [2, 3]],
    {"a": 1}, {1}, np.array(1), np.array([0, 1]), np.array([True, False]), np.zeros((2, 3)), np.array([None]),
    np.array("a"), np.float32(2), np.int8(-1), scipy.sparse.eye_array(2, format="csr"), X, M, S, J, B, A, T, STATE,
    [X, 1.0], slice(None), Ellipsis, object(), step, np.ma.array([1.0, 2.0], mask=[0, 1]), range(3),
    np.datetime64("2020"), DOUBLE, "float64",
]  # fmt: skip
STARTS: list[list[Any]] = [
    [X], [M], [A], [S], [M, M], [X, X], [A, M], [A, A], [X, J], [M, X], [[X, X]], [2], [step, X], [J, [X, X]],
    [M, 0, 1], [M, M, A], [X, J, X], [B, X, X], [X, J, J, (2, 2)], [S, M, M, M], [S.sum(), S], [X.sum(), X], [X, X, X],
    ["csr"],
]  # fmt: skip
"""Arguments that functions take; the first ones with which a call succeeds are varied."""

MODULES: dict[str, ModuleType] = {
    "tensor": at,
    "sparse": sp,
    "gradient": aotensor.gradient,
    "random": at.random,
    "linalg": at.linalg,
    "fft": at.fft,
    "optimize": at.optimize,
    "integrate": at.integrate,
    "training": at.training,
    "aotensor": aot,
}
OWN_RULES = {"compile", "load", "function", "config", "errors", "load_ipython_extension", "Ending"}
"""What has tests of its own below, is not a function, is called by IPython, or is an enum."""


def is_fine(call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Does the call work, or is it refused by us, or by Python for its form?"""
    try:
        inspect.signature(call).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return True
    try:
        call(*args, **kwargs)
    except AotensorError:
        return True
    except Exception as error:
        return "positional argument" in str(error) or "unexpected keyword" in str(error)
    return True


def works(call: Callable[..., Any], args: Sequence[Any]) -> bool:
    try:
        call(*args)
    except Exception:
        return False
    return True


def variations(call: Callable[..., Any], start: Sequence[Any]) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """The arguments with one exchanged, or one option added, for each odd value."""
    parameters = inspect.signature(call).parameters.values()
    for odd in ODD:
        for place in range(len(start)):
            yield [*start[:place], odd, *start[place + 1 :]], {}
        for place, parameter in enumerate(parameters):
            is_free = parameter.kind == parameter.KEYWORD_ONLY or place >= len(start)
            if is_free and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                yield list(start), {parameter.name: odd}


def raw_exceptions(calls: Iterator[tuple[str, Callable[..., Any], list[Any]]]) -> list[str]:
    """The calls that raise something else than they should."""
    found = []
    for name, call, start in calls:
        for args, kwargs in variations(call, start):
            if not is_fine(call, args, kwargs):
                found.append(f"{name}(*{args!r:.80}, **{kwargs!r:.60})")
    return found


def public_calls(module: ModuleType) -> Iterator[tuple[str, Callable[..., Any], list[Any]]]:
    names = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
    seen: set[int] = set()
    for name in names:
        call = getattr(module, name)
        is_made_by_others = inspect.isclass(call) and issubclass(call, BaseException | Variable)
        if not callable(call) or is_made_by_others or id(call) in seen or name in OWN_RULES:
            continue
        seen.add(id(call))
        start = next((list(args) for args in STARTS if works(call, args)), [X])
        yield name, call, start


def method_calls(x: Any) -> Iterator[tuple[str, Callable[..., Any], list[Any]]]:
    operators = (
        "add radd sub mul rmul truediv rtruediv floordiv mod pow rpow matmul rmatmul and or xor lt ge eq getitem"
        " contains setitem divmod"
    )
    for name in [*(f"__{name}__" for name in operators.split()), *(name for name in dir(type(x)) if name[0] != "_")]:
        try:
            call = getattr(x, name)
        except AotensorError:  # a vector has no mT
            continue
        if not callable(call):
            continue
        start = next((list(args) for args in ([], [X], [M], [0], [0, 1], [J]) if works(call, args)), [])
        yield f"{x}.{name}", call, start


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    STATE.default_update = None
    STATE.set_value(np.ones(2))


@pytest.mark.parametrize("module", MODULES)
def test_functions(module: str) -> None:
    assert raw_exceptions(public_calls(MODULES[module])) == []


@pytest.mark.parametrize("x", [X, M, S, J, B, T, A, A.T, X[1:], at.constant(np.ones(3)), STATE], ids=str)
def test_methods(x: Any) -> None:
    assert raw_exceptions(method_calls(x)) == []


def test_indices() -> None:
    places = [0, None, slice(None), [0, 1], J, B, Ellipsis]
    for x in (X, M, A):
        for odd in ODD:
            for place in places:
                for index in ((odd, place), (place, odd), slice(odd, None), slice(None, None, odd)):
                    assert is_fine(x.__getitem__, [index], {}), index


def test_function_and_its_wishes() -> None:
    options = [key for key in inspect.signature(aot.function).parameters if key not in ("inputs", "outputs")]
    wishes = [key for key in inspect.signature(aot.In).parameters if key != "variable"]
    for odd in ODD:
        calls: list[tuple[list[Any], dict[str, Any]]] = [
            ([odd, X], {}), ([[odd], X], {}), ([[X, odd], X], {}), ([[X], odd], {}), ([[X], [X, odd]], {}),
            ([[X], {"a": odd}], {}), ([[X], aot.Out(odd)], {}),
            *(([[X], X * STATE], {key: odd}) for key in options),
            *(([[X], X * STATE], {key: pairs}) for key in ("updates", "givens")
              for pairs in ([odd], [(STATE, odd)], [(odd, STATE)])),
        ]  # fmt: skip
        for args, kwargs in calls:
            assert is_fine(aot.function, args, kwargs), (args, kwargs)
        for key in wishes:
            assert is_fine(lambda **wish: aot.function([aot.In(X, **wish)], X), [], {key: odd}), key
        STATE.default_update = odd
        assert is_fine(aot.function, [[], STATE], {})


def test_values_at_calls() -> None:
    """Compiled, by the reference, by eval; shared variables; types."""
    good = {"x": np.ones(2), "m": np.eye(2), "A": np.eye(2), "i": [1], "s": 1.0, "b": [True]}
    f = aot.function([X, M, A, J, S, B], [X * S, M.sum(), A.sum(), J + 1, B.sum()], name="several")
    for run in (f, f.reference):
        assert is_fine(run, [], good)
        for odd in ODD:
            for key in good:
                assert is_fine(run, [], good | {key: odd}), (key, odd)
            assert is_fine(run, [odd], {})
    for odd in ODD:
        for x in (X, A, J):
            assert is_fine(x.eval, [{x: odd}], {}), odd
        assert is_fine(X.eval, [odd], {})
        assert is_fine(STATE.set_value, [odd], {})
        assert is_fine(f.ir, [odd], {})
        assert is_fine(at.TensorType, [odd, ()], {})
        assert is_fine(at.TensorType, ["float64", odd], {})
        assert is_fine(at.TensorType("float32", (None,)).filter, [odd], {})
        assert is_fine(setattr, [aot.config, "floatX", odd], {})
    assert aot.config.floatX == "float64"


def test_compiling(tmp_path: Any) -> None:
    for odd in ODD:
        assert is_fine(aot.compile, [odd, tmp_path], {})
        assert is_fine(aot.compile, [[odd], tmp_path], {})
        assert is_fine(aot.load, [odd], {})
        if not isinstance(odd, str | bytes):
            assert is_fine(aot.compile, [DOUBLE, odd], {})
        for key in ("name", "target", "cpu", "features", "opt_level", "fp", "threads", "check", "prefix"):
            if odd not in (None, "") if isinstance(odd, str | None) else not isinstance(odd, int | float):
                assert is_fine(aot.compile, [DOUBLE, tmp_path], {key: odd}), (key, odd)


def test_sizes_beyond_memory() -> None:
    n = at.lscalar("n")
    f = aot.function([n], at.zeros((n,)), name="zeros")
    for run in (f, f.reference):
        with pytest.raises(MemoryError) as found:
            run(2**45)
        assert isinstance(found.value, AotensorError)
        with pytest.raises(ValueError) as wrong:
            aot.function([n], at.zeros((n, n)))(2**40) if run is f else at.zeros((n, n)).eval({n: 2**40})
        assert isinstance(wrong.value, AotensorError)


def test_lists_that_hold_themselves() -> None:
    loop: list[Any] = []
    loop.append(loop)
    for call in (lambda: X + loop, lambda: at.as_tensor([loop, X]), lambda: X.eval({X: loop}), lambda: DOUBLE(loop)):
        with pytest.raises(AotensorError):
            call()
