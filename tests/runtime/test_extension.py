"""The C extension of the runtime: results and errors as through ctypes, no leaks, and checks of wrong use."""

from __future__ import annotations

import ctypes
import gc
import inspect
import os
import pickle
import subprocess
import sys
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from runpy import run_path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
import aotensor_runtime as runtime
from aotensor_runtime import extension as switch
from aotensor_runtime.arrays.layout import probe
from aotensor_runtime.fast import plan_of

pytestmark = pytest.mark.needs("extension")
X = np.arange(6.0).reshape(2, 3)
W = np.array([1.0, 10.0, 100.0])


@pytest.fixture
def fast(built: tuple[Path, Path], extension: Any, monkeypatch: pytest.MonkeyPatch) -> runtime.Library:
    """The library, called by the extension; each function has been called once."""
    monkeypatch.setattr(switch, "_module", extension)
    library = runtime.load(built[0])
    warm(library)
    return library


@pytest.fixture
def slow(built: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> runtime.Library:
    """The library, called by ctypes."""
    monkeypatch.setattr(switch, "_module", None)
    library = runtime.load(built[0])
    warm(library)
    return library


def warm(lib: runtime.Library) -> None:
    lib.scale(W), lib.affine(X, W, 1.0), lib.pick(np.ones(2, "f4"), np.array(0)), lib.plus(1.0, 2.0)
    lib.join(W, W), lib.ramp(2), lib.logic(np.zeros((2, 3), bool)), lib.touch(1.0), lib.step(np.ones(2))


CALLS: list[Callable[[runtime.Library], Any]] = [
    lambda lib: lib.scale(W),
    lambda lib: lib.scale(x=W),
    lambda lib: lib.scale(**{"".join(["", "x"]): W}),
    lambda lib: lib.scale(W[::-2]),
    lambda lib: lib.scale([1, 2]),
    lambda lib: lib.scale(np.arange(3)),
    lambda lib: lib.scale(np.zeros(0)),
    lambda lib: lib.scale(np.ones(300_000)),
    lambda lib: lib.scale(W, num_threads=1),
    lambda lib: lib.scale(W, out=np.zeros(3)),
    lambda lib: lib.scale(out=np.zeros(6)[::-2], x=W),
    lambda lib: lib.scale(W, out=[np.zeros(3)]),
    lambda lib: lib.scale(W, out={"out": np.zeros(3)}),
    lambda lib: lib.scale(W, out=None),
    lambda lib: lib.scale([1, 2, 3], out=np.zeros(3)),
    lambda lib: lib.affine(X, W, 1.0, out=[np.zeros(2), np.zeros(())]),
    lambda lib: lib.scale(W, out=np.broadcast_to(0.0, 3)),
    lambda lib: lib.scale(W, out=W),
    lambda lib: lib.scale(W, out=np.zeros(3, "f4")),
    lambda lib: lib.scale(W, out=np.zeros((3, 1))),
    lambda lib: lib.scale(W, out=np.zeros(25, "u1")[1:].view("f8")),
    lambda lib: lib.scale(W, out=np.zeros(3).view(np.recarray)),
    lambda lib: lib.scale(W, out=1.0),
    lambda lib: lib.scale(out=np.zeros(3)),
    lambda lib: lib.touch(1.0, out=[]),
    lambda lib: lib.affine(X, b=2.0, w=W),
    lambda lib: lib.affine(w=W, X=X.T[:, ::-1].T, b=np.float64(2)),
    lambda lib: lib.affine(X, W, 2),
    lambda lib: lib.plus(np.array(1.0), b=3.0),
    lambda lib: lib.pick(np.ones(2, "f4"), np.array(1)),
    lambda lib: lib.join(W, 2 * W),
    lambda lib: lib.ramp(np.array(3)),
    lambda lib: lib.logic(np.ones((2, 3), bool)),
    lambda lib: lib.touch(1.0),
    lambda lib: lib.step(np.ones(2)),
    lambda lib: lib.scale.__call__(W),
    lambda lib: lib.affine.__call__(X, W, b=1.0),
    lambda lib: lib.affine(*(X, W), b=1.0),
    lambda lib: lib.scale(),
    lambda lib: lib.scale(W, W),
    lambda lib: lib.scale(W, x=W),
    lambda lib: lib.scale(y=W),
    lambda lib: lib.affine(X, W, X=W),
    lambda lib: lib.affine(X, W),
    lambda lib: lib.affine(b=1.0, w=W, Y=X),
    lambda lib: lib.affine(X, W[:2], 1.0),
    lambda lib: lib.scale(W, 1, out=W),
    lambda lib: lib.scale(1.0),
    lambda lib: lib.scale(X),
    lambda lib: lib.scale(None),
    lambda lib: lib.scale(W * 1j),
    lambda lib: lib.scale(W, num_threads=0),
    lambda lib: lib.scale(W, out=np.zeros(2)),
    lambda lib: lib.pick(np.ones(2, "f4"), np.array(5)),
    lambda lib: lib.pick(x=np.ones(2, "f4"), i=np.array(-1)),
    lambda lib: lib.logic(np.zeros((2, 4), bool)),
    lambda lib: lib.affine.bind(X=X, w=W, b=1.0)(),
    lambda lib: lib.affine.bind(X=X, w=W, b=1.0, num_threads=2)(),
    lambda lib: lib.logic.bind(flags=np.ones((2, 3), bool))(),
    lambda lib: lib.touch.bind(x=1.0)(),
    lambda lib: lib.step.bind(x=np.ones(2))(),
    lambda lib: lib.has_blas.bind(x=1.0)(),
    lambda lib: lib.pick.bind(x=np.ones(0, "f4"), i=np.array(0)),
    lambda lib: lib.scale.bind(x=W)(1),
    lambda lib: lib.scale.bind(x=W)(x=1),
]
"""Every form of a call, and of its errors."""


def answer(call: Callable[[runtime.Library], Any], lib: runtime.Library) -> Any:
    """Types, values and names of the result, or class and message of the error."""
    try:
        found = call(lib)
    except Exception as error:
        return type(error), str(error).replace("BoundFunction.", "")
    pairs = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else [(0, found)]
    return type(found), [(key, x.dtype, x.shape, x.strides, x.tobytes()) for key, x in pairs]


@pytest.mark.parametrize("call", CALLS)
def test_both_roads_give_the_same(
    fast: runtime.Library, slow: runtime.Library, extension: Any, call: Callable[[runtime.Library], Any]
) -> None:
    """`slow` is made last: the functions of `fast` keep their road."""
    assert isinstance(fast.scale, extension.Function) and not isinstance(slow.scale, extension.Function)
    expected = answer(call, slow)
    switch._module = extension  # `slow` restores it
    assert answer(call, fast) == expected


def test_dense_calls_are_native(fast: runtime.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """No Python code runs in a call whose arguments fit."""
    for name in ("_call_in_python", "_call_converted"):
        monkeypatch.delattr(runtime.LibraryFunction, name)
    assert fast.scale(W).tolist() == [2, 20, 200] and fast.affine(X, b=1.0, w=W)["y"].tolist() == [211, 544]
    out = np.zeros(3)
    assert fast.scale(W, out=out) is out and out.tolist() == [2, 20, 200]
    bound = fast.scale.bind(x=W)
    monkeypatch.delattr(runtime.BoundFunction, "_call_in_python")
    assert bound() is bound.result


def test_functions_are_those_of_the_class(fast: runtime.Library) -> None:
    f = fast.affine
    assert isinstance(f, runtime.LibraryFunction) and type(f).__name__ == "LibraryFunction"
    assert str(inspect.signature(f)) == "(X, w, b, *, out=None)" and f.__doc__ == "y = X w + b, and its sum."
    assert repr(f) == "<function affine(X, w, b) of library handmade>" and f.with_threads(None) is f
    one = f.with_threads(1)
    assert one is f.with_threads(1) is not f and type(one) is type(f) and vars(one)["spec"] is f.spec
    assert pickle.loads(pickle.dumps(f))(X, W, 1.0)["y"].tolist() == f(X, W, 1.0)["y"].tolist()
    assert isinstance(f.bind(X=X, w=W, b=1.0), runtime.BoundFunction)


def test_every_call_returns_its_references(fast: runtime.Library) -> None:
    """A leaked tuple of inputs, a result that holds them, or a Call would keep some."""
    kept = (X, W, fast.scale, fast.affine, fast.scale._fast, type(fast.scale), fast, None)
    seen = []
    for repeats in (1, 20):
        for call in CALLS:
            for _ in range(repeats):
                answer(call, fast)
        gc.collect()
        seen.append([*map(sys.getrefcount, kept)])
    assert max(abs(x - y) for x, y in zip(*seen, strict=True)) < 15, "a leak of one in a call is 20"


def test_ten_thousand_calls_leak_nothing(fast: runtime.Library) -> None:
    """Neither memory nor references, also in 900 failing calls."""
    f, pick, x, far, y = fast.affine, fast.pick, np.ones(2, "f4"), np.array(9), np.zeros(3)
    bound = fast.scale.bind(x=W)
    wrong = fast.scale.bind(x=W)
    wrong.use_entry(pick.pointer.address, (0,) * 5, None)  # type: ignore[attr-defined]

    def calls(count: int) -> tuple[int, ...]:
        for _ in range(count):
            f(X, W, 1.0), f(X, b=1.0, w=W), fast.scale(W, out=y), bound()
        for _ in range(300):
            for call in (lambda: pick(x, far), lambda: fast.scale(W, z=1), lambda: fast.scale(W, out=W)):
                with suppress(IndexError, TypeError, ValueError):
                    call()
                    pytest.fail("a wrong call must fail")
            wrong()
        gc.collect()
        kept = (X, W, y, bound.result, x, far, f, np.dtype("float64"), f._fast)
        return (*map(sys.getrefcount, kept), sys.getallocatedblocks())

    calls(1), calls(1)  # the runtime's slow path fills caches of Python
    grown = [10**9]
    for _ in range(3):  # what other code frees or fills meanwhile does not come again, a leak does
        before, after = calls(1), calls(10_000)
        found = [y - x for x, y in zip(before, after, strict=True)]
        grown = found if len(grown) == 1 else [min(pair, key=abs) for pair in zip(grown, found, strict=True)]
        if max(map(abs, grown)) < 150:
            break
    assert max(map(abs, grown)) < 150, grown


def test_objects_are_freed(built: tuple[Path, Path], extension: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch, "_module", extension)
    library = runtime.load(built[0])
    bound = library.scale.bind(x=W.copy())
    library.scale(W), bound()
    gone = [weakref.ref(x) for x in (bound, bound.result, library.scale, library)]
    del bound
    assert gone[0]() is None and gone[1]() is None, "no cycle keeps the buffers"
    del library
    gc.collect()
    assert [ref() for ref in gone] == [None] * 4


def test_threads_run_while_a_call_does(fast: runtime.Library) -> None:
    big, ones = np.ones((2000, 2000)), np.ones(2000)
    begun, ended = Event(), Event()

    def work() -> None:
        begun.set()
        for _ in range(20):
            fast.affine(big, ones, 1.0)
        ended.set()

    thread = Thread(target=work)
    thread.start()
    begun.wait()
    assert not ended.is_set(), "the interpreter's lock is free"
    thread.join()
    found: list[bool] = []
    threads = [
        Thread(target=lambda k=k: found.append(all(fast.scale(W * k)[2] == 200 * k for _ in range(300))))  # type: ignore[misc]
        for k in range(8)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == [True] * 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_calls_survive_a_fork(fast: runtime.Library) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0 if fast.scale(W).tolist() == [2, 20, 200] else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_memory_errors_and_interrupts(fast: runtime.Library, extension: Any) -> None:
    """An error while memory is allocated leads to the slow path, which reports it; an interrupt is raised."""
    found, known = fast.scale._fast, probe()
    assert isinstance(found, extension.Call) and known is not None

    def raising(error: BaseException) -> Any:
        def make(shape: Any, dtype: Any) -> Any:
            raise error

        plan = plan_of(fast.scale.spec, fast.scale._entries, fast.scale._context, known)
        native = ctypes.cast(fast.scale._entries.call_python, ctypes.c_void_p).value  # type: ignore[arg-type]
        return extension.Call(native, plan.value, plan, 0, ((np.dtype("f8"), 8, make, make, ((0, 0),)),))

    assert raising(MemoryError())((W,)) is None and raising(ValueError())((W,)) is None
    with pytest.raises(KeyboardInterrupt):
        raising(KeyboardInterrupt())((W,))
    for arguments in ((), (W, W), ([1.0],), (None,), (X[0, 0],)):
        assert found(arguments) is None
    with pytest.raises(TypeError):
        found([W])
    with pytest.raises(TypeError):
        found(inputs=(W,))


def test_wrong_use(fast: runtime.Library, extension: Any) -> None:
    for rules in ((1,), ((1, 2),), ((np.dtype("f8"), 8, len, len, ((0,),)),), ((np.dtype("f8"), 8, len, len, [1]),)):
        with pytest.raises(TypeError):
            extension.Call(1, 1, None, 0, rules)
    with pytest.raises(TypeError):
        fast.ramp.use_call(len, (), None, None)  # type: ignore[attr-defined]
    bound = fast.scale.bind(x=W)
    for entry, words, kind in ((0, (1,), ValueError), (1, (), ValueError), (1, (1,) * 17, ValueError)):
        with pytest.raises(kind, match="1 to 16 parameters"):
            bound.use_entry(entry, words, None)  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        bound.use_entry(1, ("x",), None)  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="_call_in_python"):
        extension.Function()()
    with pytest.raises(AttributeError, match="_call_in_python"):
        extension.Bound()()


def test_poisoned_calls_are_not_native(
    built: tuple[Path, Path], extension: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(switch, "_module", extension)
    monkeypatch.setattr("aotensor_runtime.arrays.poison._is_on", True)
    library = runtime.load(built[0])
    assert library.scale(W).tolist() == library.scale(W).tolist() == [2, 20, 200]
    assert not isinstance(library.scale._fast, extension.Call)


def test_the_switch(extension: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, value, expected in (
        (extension, "", "used"), (extension, "0", "used"), (extension, "1", "off"), (None, "1", "missing"),
    ):  # fmt: skip
        monkeypatch.setitem(sys.modules, "aotensor_runtime.extension._calls", module)
        monkeypatch.setattr(switch, "_calls", extension, raising=False)
        if module is None:
            monkeypatch.delattr(switch, "_calls")
        monkeypatch.setenv(switch.VARIABLE, value)
        loaded = run_path(switch.__file__)
        assert loaded["state"]() == expected and (loaded["calls"]() is None) == (expected != "used")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sparse arguments and results; and an array in column-major order."""
    A, x, Z = sp.csr_matrix("A", shape=("n", "p")), at.vector("x", shape=("p",)), at.matrix("Z", shape=("n", 3))
    functions = [
        aot.function([A, x], [A @ x, A.T], name="product"),
        aot.function([aot.In(Z, layout="F")], aot.Out(2 * Z, layout="F"), name="columns"),
    ]
    return aot.compile(functions, tmp_path_factory.mktemp("compiled"), name="both").library


def test_sparse_and_column_major(road: str, compiled: Path) -> None:
    library = runtime.load(compiled)
    a, v = ss.random(6, 4, 0.5, "csr", random_state=0), np.arange(4.0)
    for _ in range(2):
        y, transposed = library.product(a, v)
        np.testing.assert_allclose(y, a @ v)
        np.testing.assert_array_equal(transposed.toarray(), a.T.toarray())
    bound = library.product.bind(A=a, x=v)
    a.data *= 2
    np.testing.assert_allclose(bound()[0], a @ v)
    z = np.asfortranarray(X)
    columns = library.columns.bind(Z=z)
    for k in range(3):
        z[...] = X * k
        for found in (columns(), library.columns(Z=z), library.columns(X * k)):
            np.testing.assert_array_equal(found, 2 * k * X)
            assert found.flags.f_contiguous and not found.flags.c_contiguous


PROGRAM = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("aotensor_runtime.extension._calls", sys.argv[1])
module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
import gc, numpy as np, aotensor_runtime as runtime
assert runtime.extension.state() == "used"
for _ in range(3):
    lib = runtime.load(sys.argv[2])
    for k in range(50):
        w = np.arange(float(k))
        assert lib.scale(w).tolist() == lib.scale(x=w).tolist() == (2 * w).tolist()
        bound = lib.scale.bind(x=w)
        assert bound().tolist() == (2 * w).tolist()
        try:
            lib.pick(np.ones(2, "f4"), np.array(k + 2))
        except IndexError:
            pass
    del lib, bound
    gc.collect()
"""


@pytest.mark.level("ci", "a process with a slow allocator")
def test_the_debug_allocator_finds_nothing(built: tuple[Path, Path], extension: Any) -> None:
    environment = {**os.environ, "PYTHONMALLOC": "debug", "PYTHONFAULTHANDLER": "1"}
    command = [sys.executable, "-X", "dev", "-c", PROGRAM, extension.__file__, str(built[0])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
