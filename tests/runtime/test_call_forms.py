"""Other ways to call: by name, into given outputs, with objects of other libraries; and how functions look."""

from __future__ import annotations

import inspect
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import aotensor_runtime as runtime
from aotensor_runtime import call as calling


@pytest.fixture(params=["plain objects", "descriptors"])
def ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways into a library."""
    if request.param == "descriptors":
        monkeypatch.setattr(calling, "probe", lambda: None)


@pytest.fixture
def fresh(built: tuple[Any, Any]) -> runtime.Library:
    return runtime.load(built[0])


# --- by name ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("ways")
def test_names_in_any_order(fresh: runtime.Library) -> None:
    X, w = np.arange(6.0).reshape(2, 3), np.array([1.0, 0.0, -1.0])
    for found in (fresh.affine(b=1.0, w=w, X=X), fresh.affine(X, b=1.0, w=w), fresh.affine(X, w, b=1.0)):
        assert found["y"].tolist() == [-1, -1] and found["total"] == -2
    assert fresh.scale(x=[1.0]).tolist() == [2]


def test_a_call_by_name_takes_the_short_way(fresh: runtime.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """No names are looked up one by one, and no arguments converted: that is what made such calls slow."""
    fresh.affine(np.ones((2, 3)), np.ones(3), 0.0)

    def never(*_: object) -> None:
        raise AssertionError("the long way")

    for name in ("match_names", "to_value", "invoke_values"):
        monkeypatch.setattr(calling, name, never)
    assert fresh.affine(b=1.0, w=np.ones(3), X=np.ones((2, 3)))["total"] == 8
    assert fresh.step(x=np.ones(2)).tolist() == [1, 2], "with shared variables too"


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((), {"X": 1, "w": 2}, "missing b"),
        ((1,), {"X": 1, "w": 2}, "input 'X' is given twice"),
        ((), {"X": 1, "w": 2, "c": 3}, "has no input 'c'"),
        ((1, 2, 3), {"b": 1}, "input 'b' is given twice"),
        ((1, 2, 3, 4), {}, "accepts 3 arguments, found 4"),
    ],
)
def test_names_that_do_not_fit(fresh: runtime.Library, args: Any, kwargs: Any, text: str) -> None:
    with pytest.raises(runtime.ArgumentTypeError, match=text):
        fresh.affine(*args, **kwargs)


# --- given outputs ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("ways")
def test_outputs_in_every_form(fresh: runtime.Library) -> None:
    out = np.full(2, np.nan)
    assert fresh.scale([1.0, 2.0], out=out) is out and out.tolist() == [2, 4]
    assert fresh.scale([1.0, 2.0], out=[out]) is out and fresh.scale([1.0], out=None).tolist() == [2]
    y, total = np.zeros(2), np.zeros(())
    found = fresh.affine(np.ones((2, 3)), np.ones(3), 1.0, out={"y": y, "total": total})
    assert found == {"y": y, "total": total} or (found["y"] is y and found["total"] is total)
    assert y.tolist() == [4, 4] and total == 8
    found = fresh.affine(np.zeros((2, 3)), np.ones(3), b=1.0, out={"total": total})
    assert found["total"] is total and total == 2 and found["y"].tolist() == [1, 1] and y.tolist() == [4, 4]
    both, _ = (np.zeros(4), np.zeros(2))
    found = fresh.join(np.ones(2), np.zeros(2), out=[both, None])
    assert found[0] is both and both.tolist() == [1, 1, 0, 0] and found[1].tolist() == [1, 1]


@pytest.mark.usefixtures("ways")
def test_strided_outputs(fresh: runtime.Library) -> None:
    room = np.zeros((4, 3))
    fresh.scale(np.arange(4.0), out=room[::-1, 1])
    assert room[:, 1].tolist() == [6, 4, 2, 0] and not room[:, [0, 2]].any()


@pytest.mark.usefixtures("ways")
def test_outputs_and_state(fresh: runtime.Library) -> None:
    out = np.zeros(2)
    assert fresh.step([1.0, 1.0], out=out) is out and out.tolist() == [1, 2]
    assert fresh.step.state["w"].tolist() == [2, 3]
    out[:] = 0
    assert fresh.peek(out=out) is out and out.tolist() == [2, 3]


X = np.arange(4.0)
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "the input itself": (lambda: X, runtime.ArgumentValueError, "output out overlaps x"),
    "a part of it": (lambda: X[1:], runtime.ArgumentValueError, "extent 0 of out is 3, expected 4|overlaps"),
    "too long": (lambda: np.zeros(5), runtime.ArgumentValueError, "extent 0 of out is 5, expected 4"),
    "another dtype": (lambda: np.zeros(4, "f4"), runtime.ArgumentTypeError, "array of dtype float64 and rank 1"),
    "another byte order": (lambda: np.zeros(4, ">f8"), runtime.ArgumentTypeError, "array of dtype float64"),
    "another rank": (lambda: np.zeros((4, 1)), runtime.ArgumentTypeError, "rank 1"),
    "a list of numbers": (lambda: [[0.0] * 4], runtime.ArgumentTypeError, "needs an array"),
    "read-only": (lambda: np.broadcast_to(np.zeros(()), (4,)), runtime.ArgumentValueError, "read-only"),
    "one address": (
        lambda: np.lib.stride_tricks.as_strided(np.zeros(1), (4,), (0,)),
        runtime.ArgumentValueError, "overlap each other",
    ),
    "unaligned": (lambda: np.zeros(33, "u1")[1:].view("f8"), runtime.ArgumentValueError, "not aligned"),
    "two": (lambda: [np.zeros(4), np.zeros(4)], runtime.ArgumentTypeError, "has 1 outputs, but out has 2"),
    "an unknown name": (lambda: {"y": np.zeros(4)}, runtime.ArgumentTypeError, "has no output 'y'"),
}  # fmt: skip


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("case", REFUSED)
def test_outputs_that_are_refused(fresh: runtime.Library, case: str) -> None:
    make, kind, text = REFUSED[case]
    before = X.copy()
    with pytest.raises(kind, match=text):
        fresh.scale(X, out=make())
    assert np.array_equal(X, before)


def test_outputs_that_overlap_each_other(fresh: runtime.Library) -> None:
    room = np.zeros(6)
    with pytest.raises(runtime.ArgumentValueError, match="output sum overlaps both"):
        fresh.join(np.ones(2), np.ones(2), out=[room[:4], room[3:5]])


# --- objects of other libraries --------------------------------------------------------------------------------------


class OnlyDLPack:
    """An array that nothing but DLPack can read."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


class OnOtherDevice(OnlyDLPack):
    def __dlpack_device__(self) -> Any:
        return (2, 0)

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("the array is on a GPU")


class Interface:
    def __init__(self, array: Any) -> None:
        self.__array_interface__ = array.__array_interface__
        self._array = array


class Convertible:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array([1.0, 2.0, 3.0], dtype)


class Failing:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("this tensor requires grad")


@pytest.mark.parametrize("make", [OnlyDLPack, Interface, lambda x: Convertible(), memoryview, lambda x: x[::-1][::-1]])
def test_protocols(fresh: runtime.Library, make: Callable[[Any], Any]) -> None:
    array = np.array([1.0, 2.0, 3.0])
    assert fresh.scale(make(array)).tolist() == [2, 4, 6]
    assert fresh.affine(X=OnlyDLPack(np.ones((2, 3))), w=make(array), b=0.0)["y"].tolist() == [6, 6]


@pytest.mark.parametrize(("value", "text"), [(Failing(), "requires grad"), (OnOtherDevice(np.ones(3)), "on a GPU")])
def test_protocols_that_fail(fresh: runtime.Library, value: object, text: str) -> None:
    with pytest.raises(runtime.ArgumentTypeError, match=f"scale: x: .* is not an array .*{text}"):
        fresh.scale(value)


# --- how functions look ----------------------------------------------------------------------------------------------


def test_docstrings_and_signatures(fresh: runtime.Library) -> None:
    assert fresh.affine.__doc__ == "y = X w + b, and its sum."
    assert fresh.scale.__doc__ == "scale(x: float64[n]) -> out: float64[n]"
    assert str(inspect.signature(fresh.affine)) == "(X, w, b, *, out=None)"
    assert str(inspect.signature(fresh.step)) == "(x, *, out=None)", "shared variables are no arguments"
    assert inspect.signature(fresh.affine).bind(1, b=2, w=3).arguments == {"X": 1, "b": 2, "w": 3}
    copy = pickle.loads(pickle.dumps(fresh.affine))
    assert inspect.signature(copy) == inspect.signature(fresh.affine)


def test_tables_for_notebooks(fresh: runtime.Library) -> None:
    text = re.sub(r' style="[^"]*"', "", fresh.step._repr_html_())
    assert "<td>w</td><td>float64[n]</td><td>shared variable</td>" in text
    text = fresh._repr_html_()
    assert "<b>library handmade</b>" in text and "scale(x: float64[n]) -&gt; out: float64[n]" in text
