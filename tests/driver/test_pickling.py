"""Functions pickle with their graphs, whatever these are made of, and run in a process that does not compile."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.graph.op import Op
from aotensor.tensor.random import RandomStream


def vector(name: str = "x") -> Any:
    return at.vector(name, dtype="float64", shape=("n",))


def elementwise() -> aot.Function:
    x = vector()
    y = at.where(x > 0, at.exp(x), at.gammaln(x**3 + 5)) + at.cast(at.maximum(x, 1), "float32") / 3
    return aot.function([x], {"y": y, "g": aot.grad(y.sum(), x)}, name="elementwise")


def loop() -> aot.Function:
    x = vector()
    sums = aot.scan(lambda v, s: s + v * v, sequences=[x], outputs_info=[at.zeros(())])
    last = (sums[0] if isinstance(sums, list | tuple) else sums)[-1]
    return aot.function([x], [last, aot.grad(last, x)], name="loop")


def matrix() -> aot.Function:
    A = sp.csr_matrix("A", shape=("n", "p"))
    v = at.vector("v", dtype="float64", shape=("p",))
    return aot.function([A, v], (A @ v).sum(), name="matrix")


def wishes() -> aot.Function:
    x, unnamed = vector(), at.scalar(dtype="float64")
    return aot.function([aot.In(x, strict=True), unnamed], aot.Out(x * unnamed), name="wishes", profile=True)


X = np.linspace(0.5, 2, 4)
CASES: dict[str, tuple[Callable[[], aot.Function], tuple[Any, ...]]] = {
    "elementwise": (elementwise, (X,)),
    "a loop with its gradient": (loop, (X,)),
    "a sparse matrix": (matrix, (scipy.sparse.csr_matrix(np.eye(4)), X)),
    "wishes": (wishes, (X, 3.0)),
}


def listed(result: Any) -> list[Any]:
    return list(result.values()) if isinstance(result, dict) else result if isinstance(result, list) else [result]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("copied", [lambda f: pickle.loads(pickle.dumps(f)), copy.deepcopy], ids=["pickle", "deepcopy"])
def test_a_copy_is_the_same_function(case: str, copied: Callable[[aot.Function], aot.Function]) -> None:
    make, arguments = CASES[case]
    f = make()
    for is_compiled in (False, True):
        g = copied(f)
        assert (g._compiled is not None) == is_compiled
        for stage in ("graph", "tensor-opt"):
            assert g.ir(stage) == f.ir(stage)
        assert repr(g) == repr(f) and inspect.signature(g) == inspect.signature(f)
        for found, expected in zip(listed(g.reference(*arguments)), listed(f.reference(*arguments)), strict=True):
            assert np.array_equal(found, expected)
        for found, expected in zip(listed(g(*arguments)), listed(f(*arguments)), strict=True):
            assert np.array_equal(found, expected)
        assert set(map(id, g.inputs)).isdisjoint(map(id, f.inputs))


def test_state_travels_and_parts_ways() -> None:
    s = aot.shared(np.ones(2), name="s")
    x = vector()
    f = aot.function([x], s + x, updates={s: 2 * s}, name="f")
    f(np.zeros(2))
    g = pickle.loads(pickle.dumps(f))
    assert g(np.zeros(2)).tolist() == [2, 2] == f(np.zeros(2)).tolist()
    g(np.zeros(2))
    assert g(np.zeros(2)).tolist() == [8, 8] and f(np.zeros(2)).tolist() == [4, 4]


def test_random_streams() -> None:
    f = aot.function([], RandomStream(3).normal(size=(3,)), name="draw")
    g = pickle.loads(pickle.dumps(f))
    assert g().tolist() == f().tolist() and g().tolist() == f().tolist()


def test_a_shared_variable_that_its_own_update_reads() -> None:
    s = aot.shared(1.0, name="s")
    s.default_update = s + 1
    f = aot.function([], s * 1, name="count")
    g = pickle.loads(pickle.dumps(f))
    assert [float(g()), float(g())] == [1, 2]


def test_depth_costs_no_stack() -> None:
    x = vector()
    y = x
    for _ in range(5000):
        y = y + x
    f = aot.function([x], y, name="deep")
    g = pickle.loads(pickle.dumps(f))
    assert g.reference(np.ones(1)).tolist() == [5001]


def test_constants_stay_read_only() -> None:
    x = vector()
    g = pickle.loads(pickle.dumps(aot.function([x], x + np.arange(3.0), name="f")))
    (constant,) = (y for y in g.results["out"].owner.inputs if hasattr(y, "data"))
    assert not constant.data.flags.writeable


def test_another_process_runs_it_without_compiling(tmp_path: Path) -> None:
    f = elementwise()
    expected = f(X)
    (tmp_path / "f.pickle").write_bytes(pickle.dumps(f))
    program = (
        "import pickle, sys, numpy as np\n"
        f"f = pickle.load(open({str(tmp_path / 'f.pickle')!r}, 'rb'))\n"
        "print(f(np.linspace(0.5, 2, 4))['y'].tolist(), 'llvmlite' in sys.modules)\n"
    )
    environment = {**os.environ, "AOTENSOR_CACHE_DIR": str(tmp_path / "empty")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.stdout == f"{expected['y'].tolist()} False\n", done.stderr
    assert not (tmp_path / "empty").exists()


def test_what_cannot_be_pickled_is_named() -> None:
    class Local(Op):
        """An op of a class that no other process can find."""

        def infer_type(self, x: Any) -> Any:
            return x

        def reference(self, x: Any) -> Any:
            return x

    x = vector()
    f = aot.function([x], Local()(x), name="local")
    with pytest.raises(pickle.PicklingError, match=r"local cannot be pickled: .*Local"):
        pickle.dumps(f)


def test_out_and_tables() -> None:
    x = vector()
    f = aot.function([x], {"a key": 2 * x}, name="f")
    out = np.zeros(2)
    assert f(np.ones(2), out={"a key": out})["a key"] is out and out.tolist() == [2, 2]
    assert ">a key</td>" in f._repr_html_()
    assert "<td" in f.verify(samples=1)._repr_html_()
    slow = aot.function([x], 2 * x, name="f", mode="FAST_COMPILE")
    with pytest.raises(aot.errors.GraphValueError, match="out is for compiled calls"):
        slow(np.ones(2), out=out)
    strict = wishes()
    assert strict(np.ones(2), 3.0, out=out) is out and out.tolist() == [3, 3]
