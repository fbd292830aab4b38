"""Loops on several cores, as C programs see them: any threads, any order, any number of callers, the same bits."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from needs import path_of

import aotensor as aot
import aotensor.tensor as at
from aotensor.codegen.llvm import mark_function
from aotensor.codegen.machine import Machine
from aotensor.codegen.parts import core_part
from aotensor.codegen.targets.linkage import read_linkage
from aotensor.driver.recipe import Options, emit, lower
from aotensor_runtime.abi import HEADER
from aotensor_runtime.elf import ElfFile

HERE = Path(__file__).parent
STRICT = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-O1")


@pytest.fixture(scope="module")
def cc() -> str:
    return path_of("cc")


def model() -> aot.Function:
    """A loss and its gradient in one loop over the rows, and a loop over the columns."""
    X, w = at.matrix("X", shape=("n", "p")), at.vector("w", shape=("p",))
    loss = at.log(1 + at.exp(X @ w)).mean() + (w**2).sum()
    return aot.function([X, w], {"loss": loss, "grad": aot.grad(loss, w)}, name="model")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("model")
    aot.compile(model(), made)
    return made


def built(cc: str, folder: Path, source: str, program: str, *flags: str) -> Path:
    command = [cc, *STRICT, f"-I{folder}", str(HERE / source), "-o", str(folder / program), *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / program


def ran(*command: str | Path, **environment: str) -> str:
    done = subprocess.run(
        [str(x) for x in command], capture_output=True, text=True, env={**os.environ, **environment}, timeout=300
    )
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("threads", ["1", "2", "7"])
@pytest.mark.parametrize("what", ["orders", "callers", "fork", "few"])
def test_every_way_gives_the_same_bits(cc: str, folder: Path, what: str, threads: str) -> None:
    flags = ["-lmodel", f"-L{folder}", "-Wl,-rpath,$ORIGIN", "-lpthread", "-lm", "-rdynamic"]
    program = built(cc, folder, "client.c", f"{what}{threads}", *flags, *(["-DFEW"] if what == "few" else []))
    assert ran(program, what, AOTENSOR_NUM_THREADS=threads) == "ok\n"


def test_threads_end_with_their_library(cc: str, folder: Path) -> None:
    program = built(cc, folder, "unload.c", "unload", "-ldl")
    assert ran(program, folder / "libmodel.so", AOTENSOR_NUM_THREADS="4") == "4 threads at most\n"
    assert ran(program, folder / "libmodel.so", AOTENSOR_NUM_THREADS="1") == "1 threads at most\n"


def test_the_affinity_of_the_process_is_the_default(cc: str, folder: Path) -> None:
    program = built(cc, folder, "unload.c", "unload", "-ldl")
    taskset = shutil.which("taskset")
    if taskset is None:
        pytest.skip("no taskset on the path")
    one = sorted(os.sched_getaffinity(0))[0]
    environment = {key: x for key, x in os.environ.items() if key != "AOTENSOR_NUM_THREADS"}
    command = [taskset, "-c", str(one), str(program), str(folder / "libmodel.so")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.stdout == "1 threads at most\n"


def test_without_threads_there_are_none(folder: Path, tmp_path: Path) -> None:
    alone = aot.compile(model(), tmp_path, threads=False)
    symbols = {name: read_linkage(ElfFile((x / "libmodel.so").read_bytes())).undefined
               for name, x in (("with", folder), ("without", tmp_path))}  # fmt: skip
    assert [name for name in symbols["with"] if name.startswith("pthread_")]
    assert not [name for name in symbols["without"] if name.startswith(("pthread_", "sched_", "sig"))]
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((30000, 11)), rng.standard_normal(11)
    one, other = alone.load().model(X, w), aot.load(folder / "libmodel.so").model(X, w, num_threads=3)
    assert all(one[key].tobytes() == other[key].tobytes() for key in one)


def test_sums_by_group_give_the_same_bits(tmp_path: Path) -> None:
    """In chunks with groups of their own; negative numbers count from the end."""
    y, a, groups = at.vector("y", shape=("n",)), at.vector("a", shape=("k",)), at.lvector("g", shape=("n",))
    loss = ((y - a[groups]) ** 2).sum()
    library = aot.compile(aot.function([y, a, groups], [loss, aot.grad(loss, a)], name="by_group"), tmp_path).load()
    rng = np.random.default_rng(0)
    for n, k in ((30000, 3), (30000, 90), (100, 90), (0, 1)):
        values = rng.standard_normal(n), rng.standard_normal(k), rng.integers(-k, k, n)
        residuals = values[0] - values[1][values[2]]
        found = [library.by_group(*values, num_threads=count) for count in (1, 2, 3, 7)]
        assert all(x.tobytes() == y.tobytes() for one in found for x, y in zip(one, found[0], strict=True))
        np.testing.assert_allclose(found[0][0], residuals @ residuals, rtol=1e-12)
        expected = -2 * np.bincount(values[2] % k, residuals, k)
        np.testing.assert_allclose(found[0][1], expected, rtol=1e-11, atol=1e-11)


PRODUCTS = """
import sys
import numpy as np
import aotensor as aot

f, alone = (aot.load(path).products for path in sys.argv[1:])
rng = np.random.default_rng(0)
for m, n, k in ((300, 200, 500), (70, 900, 300), (1, 1, 1), (0, 5, 3), (5, 0, 300), (9, 7, 0), (801, 33, 200)):
    A, B = rng.standard_normal((m, k)).astype("float32"), rng.standard_normal((k, n))
    expected, *others = (f(A, B, A, num_threads=count) for count in (1, 2, 3, 7))
    for other in (*others, alone(A, B, A)):
        assert all(other[key].tobytes() == expected[key].tobytes() for key in expected), (m, n, k)
    assert np.allclose(expected["C"], A @ B) and np.allclose(expected["D"], A @ A.T, rtol=1e-3, atol=1e-3)
"""


@pytest.mark.unlimited("the promise of equal bits", "ci")
def test_products_give_the_same_bits(tmp_path: Path) -> None:
    """Those that are cut, on any number of threads and in a library without threads."""
    A, B, F = at.matrix("A", dtype="float32"), at.matrix("B", dtype="float64"), at.matrix("F", dtype="float32")
    f = aot.function([A, B, F], {"C": A.astype("float64") @ B, "D": A @ F.T}, name="products")
    assert any("parallelized the tiles of" in str(remark) for remark in f.remarks())
    paths = [tmp_path / name for name in ("with", "without")]
    for path, threads in zip(paths, (True, False), strict=True):
        aot.compile(f, path, threads=threads)
    symbols = [read_linkage(ElfFile((path / "libproducts.so").read_bytes())).undefined for path in paths]
    assert "pthread_create" in symbols[0]
    assert not [name for name in symbols[1] if name.startswith(("pthread_", "sched_", "sig"))]
    ran(sys.executable, "-c", PRODUCTS, *(path / "libproducts.so" for path in paths))


LIMITS = """
import os, pickle, sys
import numpy as np
import aotensor as aot

def threads():
    return len(os.listdir("/proc/self/task")) - before

f = aot.load(sys.argv[1]).model
X, w = np.ones((300000, 11)), np.ones(11)
before = len(os.listdir("/proc/self/task"))
three, one = f.with_threads(3), f.with_threads(1)
again = pickle.loads(pickle.dumps(one))
assert f.with_threads(3) is three and one.with_threads(None) is f and f.with_threads(None) is f
for call, count in ((one, 0), (again, 0), (f, 1), (three, 2)):
    call(X, w)
    assert threads() == count, (call, threads(), count)
"""


def test_a_limit_is_that_of_the_call_alone(folder: Path) -> None:
    """Threads that are there beside the caller's after calls with a limit of 1, without one, and with 3."""
    settings = {"AOTENSOR_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"}
    ran(sys.executable, "-c", LIMITS, folder / "libmodel.so", **settings)


def body(module: Any, name: str) -> str:
    return str(next(function for function in module.functions if function.name == name))


def test_threads_are_told_that_a_call_has_ended() -> None:
    """After the kernel, so that they sleep; without a pool there is nobody to tell."""
    machine = Machine.parse(None, "generic", None, 1)
    after = body(core_part("", True).make(machine), "entry.run").partition("call i32 %")[2]
    assert 'call void @"entry.rest"(i64 0)' in after
    assert "entry.rest" not in str(core_part("", False).make(machine))


def test_threads_wait_awake_only_where_there_may_be_another_loop() -> None:
    """Longer if `eager` is above 0: it is 0 after a call, and -1 where LAPACK has threads of its own."""
    text = body(core_part("", True).make(Machine.parse(None, "generic", None, 1)), "entry.worker")
    assert re.search(r"icmp slt i64 0, %\S+\n\s*%\S+ = select\s+i1 %\S+, i64 131072, i64 16384", text)


@pytest.mark.parametrize("has_loops", [True, False])
def test_threads_sleep_where_lapack_has_its_own(has_loops: bool) -> None:
    """Before each call of the caller's function, in a library that has a pool."""
    x = at.matrix("x", dtype="float64", shape=("n", "n"))
    f = aot.function(
        [x], at.linalg.cholesky(at.exp(x) if has_loops else x), name="f", disable_passes=["parallelize"][has_loops:]
    )
    text = str(emit(lower([f], Options(), texts=())))
    call = text[text.index('define internal i32 @"aot_lapack_potrf.f64"') :]
    assert ('call void @"entry.rest"(i64 -1)' in call) == has_loops


def test_the_pool_under_thread_sanitizer(cc: str, tmp_path: Path) -> None:
    """The code of the pool itself, instrumented; the driver is C."""
    opt, llc = shutil.which("opt-22"), shutil.which("llc-22")
    if opt is None or llc is None:
        pytest.skip("no opt-22 and llc-22: Debian has them in llvm-22, `.ci/run` installs it")
    module = core_part("", True).make(Machine.parse(None, "generic", None, 1))
    for function in module.functions:
        if function.blocks:
            mark_function(function, "sanitize_thread")
            if function.name == "entry.parallel":
                function.linkage = "external"
    (tmp_path / "core.ll").write_text(str(module))
    (tmp_path / "aotensor.h").write_text(HEADER.read_text())
    passes = "--passes=module(tsan-module),function(tsan)"
    steps = [
        [opt, passes, "core.ll", "-o", "core.bc"],
        [llc, "-O1", "-relocation-model=pic", "-filetype=obj", "core.bc", "-o", "core.o"],
        [cc, "-fsanitize=thread", "-g", "-O1", "-I.", str(HERE / "pool.c"), "core.o", "-o", "pool", "-lpthread"],
    ]
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, cwd=tmp_path)
        if done.returncode != 0 and "tsan" in done.stderr and step[0] == cc:
            pytest.skip(f"{cc} has no ThreadSanitizer: {done.stderr.splitlines()[-1]}")
        assert done.returncode == 0, f"{' '.join(step)}\n{done.stderr}"
    done = subprocess.run(["setarch", "-R", "./pool"] if shutil.which("setarch") else ["./pool"], capture_output=True,
                          text=True, cwd=tmp_path, timeout=300)  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr[-4000:]


SPARSE_PRODUCTS = """
import sys
import numpy as np
import scipy.sparse
import aotensor as aot

f, alone = (aot.load(path).product for path in sys.argv[1:])
rng = np.random.default_rng(0)
sizes = (9000, 700, 800), (9001, 301, 0), (1, 9, 7), (0, 5, 3), (5, 0, 3), (4, 3, 1)
for n, k, m in sizes:
    A, B = (scipy.sparse.csr_matrix(rng.standard_normal(shape) * (rng.random(shape) < (0.03 if n > 1000 else 0.6)))
            for shape in ((n, k), (k, m)))
    expected = A @ B
    one, *others = (f(A, B, num_threads=count) for count in (1, 2, 3, 7))
    for other in (*others, alone(A, B)):
        for part in ("data", "indices", "indptr"):
            assert getattr(other, part).tobytes() == getattr(one, part).tobytes(), (n, k, m, part)
    assert (one.indptr == expected.indptr).all() and abs(one - expected).sum() < 1e-9 * (1 + abs(expected).sum())
"""


def test_sparse_products_give_the_same_bits(tmp_path: Path) -> None:
    """Rows are counted and filled in chunks."""
    A, B = (aot.sparse.csr_matrix(name, dtype="float64", shape=dims)
            for name, dims in (("A", ("n", "k")), ("B", ("k", "m"))))  # fmt: skip
    f = aot.function([A, B], aot.sparse.true_dot(A, B), name="product")
    rows = [x for x in map(str, f.remarks()) if "over its lines or rows" in x]
    assert len(rows) == 1 and "2 alike" in rows[0]
    assert "scf.parallel" in f.ir("loops").split("func.func @product.extents(")[1].split("func.func")[0]
    paths = [tmp_path / name for name in ("with", "without")]
    for path, threads in zip(paths, (True, False), strict=True):
        aot.compile(f, path, threads=threads)
    ran(sys.executable, "-c", SPARSE_PRODUCTS, *(path / "libproduct.so" for path in paths))


def test_sums_of_each_element_of_a_small_batch(tmp_path: Path) -> None:
    """The sum over `n` runs inside of the batch: a chunk of it would have a private copy of all batches."""
    x, g = at.tensor3("x", shape=(8, "n", 8)), at.tensor3("g", shape=(8, "n", 8))
    f = aot.function([x, g], at.einsum("bni,bnj->bij", x, g), name="f")
    library = aot.compile(f, tmp_path, opt_level=1, check=True).load()
    for n in (0, 1, 4000):
        a, b = (np.random.default_rng(k).normal(size=(8, n, 8)) for k in (1, 2))
        one, two = (library.f(a, b, num_threads=count) for count in (1, 2))
        assert one.tobytes() == two.tobytes()
        np.testing.assert_allclose(one, np.einsum("bni,bnj->bij", a, b), rtol=1e-10, atol=1e-10)
