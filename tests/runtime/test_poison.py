"""Calls on poisoned memory: what results and workspaces hold before, and that values do not depend on it."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor_runtime.abi import Array, Context
from aotensor_runtime.arrays.poison import PATTERN, poison, poisoned
from aotensor_runtime.library import Library


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a library whose functions have workspaces, a dense and a sparse result."""
    x = at.vector("x", shape=("n",))
    a, b = (sp.csr_matrix(name, shape=("n", "n")) for name in "ab")
    running = at.cumsum(at.sort(x))
    functions = [
        aot.function([x], [running - running.mean(), at.sort(running * x)], name="dense"),
        aot.function([a, b], a + b, name="total"),
    ]
    return aot.compile(functions, tmp_path_factory.mktemp("poison"), name="poison").library.read_bytes()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128"])
def test_the_pattern_is_nan(dtype: str) -> None:
    with poisoned():
        assert np.isnan(poison(np.zeros((3, 5), dtype))).all()
    assert not np.isnan(poison(np.zeros(3, dtype))).any()


def test_the_pattern_of_integers_and_bools() -> None:
    with poisoned():
        assert (np.abs(poison(np.zeros(7, "int64"))) > 1 << 62).all()
        assert set(poison(np.zeros(5, "int8")).tolist()) == {0x7F, 0xF4 - 256}
        assert set(poison(np.zeros(4, "bool")).view("uint8").tolist()) == {0x7F, 0xF4}
        assert poison(np.zeros((0, 3))).size == 0


class _Spy:
    """The uniform entry of a function; keeps what workspace and outputs hold when it is called."""

    def __init__(self, function: Any) -> None:
        self.real, self.outputs = function._entries.uniform, len(function.spec.outputs)
        self.workspaces: list[bytes] = []
        self.results: list[bytes] = []

    def __call__(self, context: Any, inputs: Any, outputs: Any) -> int:
        given = ctypes.cast(context, ctypes.POINTER(Context)).contents
        if given.workspace:
            self.workspaces.append(ctypes.string_at(given.workspace, given.workspace_bytes))
        arrays = ctypes.cast(outputs, ctypes.POINTER(Array))
        self.results += [ctypes.string_at(arrays[k].data, 8) for k in range(self.outputs) if arrays[k].data]
        return int(self.real(context, inputs, outputs))


def test_dense_calls(data: bytes, rng: np.random.Generator) -> None:
    x = rng.normal(size=50)
    plain = Library(data).functions["dense"](x)
    with poisoned():
        function = Library(data).functions["dense"]
        spy = _Spy(function)
        function._entries = replace(function._entries, uniform=spy)
        found = function(x)
        assert spy.workspaces and all(len(x) >= 400 for x in spy.workspaces)
        assert all(one == (PATTERN * len(one))[: len(one)] for one in (*spy.workspaces, *spy.results))
        assert len(spy.results) == 2
        bound = function.bind(x=x)
        for mine, first in zip(bound(), plain, strict=True):
            np.testing.assert_array_equal(mine, first)
        given = [np.empty(50), np.empty(50)]
        np.testing.assert_array_equal(function(x, out=given)[1], plain[1])
    for mine, first in zip(found, plain, strict=True):
        np.testing.assert_array_equal(mine, first)


def test_sparse_calls(data: bytes) -> None:
    a, b = (scipy.sparse.random(40, 40, 0.1, "csr", random_state=k) for k in range(2))
    with poisoned():
        np.testing.assert_array_equal(Library(data).functions["total"](a, b).toarray(), (a + b).toarray())


def test_the_environment(data: bytes, tmp_path: Path) -> None:
    """AOTENSOR_POISON=1 is read once, when the runtime is imported; 0 and nothing leave memory alone."""
    text = "from aotensor_runtime.arrays.poison import is_poisoned; print(is_poisoned())"
    for value, said in [("1", "True"), ("0", "False"), ("", "False")]:
        done = subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, check=True, env={"AOTENSOR_POISON": value}
        )
        assert done.stdout.strip() == said
