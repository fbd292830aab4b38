"""Wheels for Windows and macOS: what is inside and what pip makes of their tags; a Python for Windows calls the one.

What calls it is made by `tools/windows_python.py`. Nothing here runs macOS: of its wheels, bytes and tags are compared.
"""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import pytest
from needs import path_of
from packaged import Package, run, succeed
from packaging.tags import mac_platforms
from packaging.utils import parse_wheel_filename
from test_wheels import CALLS

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor_cli.packaging.tags import Platform, wheel_tag

pytestmark = pytest.mark.needs("zig")

LIBRARIES: Final = {
    "x86_64-windows-gnu": ("model.dll", "py3-none-win_amd64"),
    "arm64-macos": ("libmodel.dylib", "py3-none-macosx_13_0_arm64"),
    "x86_64-apple-macosx10.15": ("libmodel.dylib", "py3-none-macosx_10_15_x86_64"),
}
VARIABLE: Final = "AOTENSOR_WINDOWS_PYTHON"
Windows: TypeAlias = Callable[..., str]
"""A program run by the Python for Windows, in a folder with packages: what it prints."""


def functions() -> list[aot.Function]:
    """Those that `CALLS` calls."""
    X, y = at.matrix("X", dtype="float64", shape=("n", "p")), at.vector("y", dtype="float64", shape=("n",))
    w, i = at.vector("w", dtype="float64", shape=("p",)), at.scalar("i", dtype="int64")
    loss = ((X @ w - y) ** 2).sum()
    return [
        aot.function([X, y, w], {"loss": loss, "grad_w": aot.grad(loss, w)}, name="squares"),
        aot.function([y, i], y[i], name="pick"),
        aot.function([y], [2 * y, at.exp(y).sum(), y > 0], name="several"),
    ]


def more() -> list[aot.Function]:
    """What goes other ways through the runtime: state, sizes that are values, sparse, BLAS, LAPACK, threads."""
    A, B = at.matrix("A", dtype="float64", shape=("n", "n")), at.matrix("B", dtype="float64", shape=("n", "n"))
    b, first = at.vector("b", dtype="float64", shape=("n",)), at.scalar("first", dtype="int64")
    C = at.matrix("C", dtype="float64", shape=("k", "m"))
    S, count = sp.csr_matrix("S", dtype="float64", shape=("n", "m")), aot.shared(0.0, name="count")
    return [
        aot.function([A, B], A @ B, name="product"),
        aot.function([A, b], at.linalg.solve(A, b), name="solution"),
        aot.function([b, first], b[first:], name="rest"),
        aot.function([b], b.sum() + count, updates={count: count + 1}, name="counting"),
        aot.function([S], sp.dense_from_sparse(S), name="dense"),
        aot.function([C], at.log1p(at.exp(C)).sum(axis=1), name="rows"),
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Libraries by target, and those of this machine; `strict`, so the bits are the same."""
    made = tmp_path_factory.mktemp("elsewhere")
    for target in LIBRARIES:
        aot.compile(functions(), made / target, name="model", target=target, cpu="generic", fp="strict")
    aot.compile(
        more(), made / "x86_64-windows-gnu", name="more", target="x86_64-windows-gnu", cpu="generic", fp="strict"
    )
    aot.compile(more(), made / "here", name="more", cpu="generic", fp="strict")
    return made


@pytest.mark.parametrize("target", LIBRARIES)
def test_a_wheel(target: str, folder: Path, package: Package, tmp_path: Path) -> None:
    """Names, tags and digests as pip reads them; the library as it was compiled; the same bytes again."""
    file, tag = LIBRARIES[target]
    answer = package(folder / target / file, "--version", "1.2", "--emit", "wheel", "-o", tmp_path)
    path = tmp_path / f"model-1.2-{tag}.whl"
    assert (answer.code, answer.out, answer.err) == (0, f"{path}\n", "")
    first = path.read_bytes()
    assert package(folder / target / file, "--version", "1.2", "--emit", "wheel", "-o", tmp_path).code == 0
    assert path.read_bytes() == first
    assert [str(found) for found in parse_wheel_filename(path.name)[3]] == [tag]
    with zipfile.ZipFile(path) as archive:
        info = "model-1.2.dist-info"
        inside = ["model/__init__.py", f"model/{file}", "model/py.typed"]
        assert archive.namelist() == inside + [
            f"{info}/{x}" for x in ("METADATA", "WHEEL", "licenses/LICENSE", "RECORD")
        ]
        assert archive.read(f"model/{file}") == (folder / target / file).read_bytes()
        assert f"_Path(__file__).parent / '{file}'" in archive.read("model/__init__.py").decode()
        about = archive.read(f"{info}/WHEEL").decode().splitlines()
        assert f"Tag: {tag}" in about and "Root-Is-Purelib: false" in about
        for line in archive.read(f"{info}/RECORD").decode().splitlines()[:-1]:
            name, digest, size = line.split(",")
            content = archive.read(name)
            found = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert (digest, size) == (f"sha256={found}", str(len(content)))


@pytest.mark.parametrize(
    ("target", "platform", "fits"),
    [
        ("x86_64-windows-gnu", "win_amd64", True),
        ("x86_64-windows-gnu", "win_arm64", False),
        ("arm64-macos", "macosx_14_0_arm64", True),
        ("arm64-macos", "macosx_12_0_arm64", False),
        ("arm64-macos", "macosx_14_0_x86_64", False),
        ("x86_64-apple-macosx10.15", "macosx_11_0_x86_64", True),
        ("x86_64-apple-macosx10.15", "manylinux_2_34_x86_64", False),
    ],
)
def test_pip_installs_it_where_it_runs(
    target: str, platform: str, fits: bool, folder: Path, package: Package, tmp_path: Path
) -> None:
    pytest.importorskip("pip", reason="pip is not installed")
    library = folder / target / LIBRARIES[target][0]
    assert package(library, "--emit", "wheel", "-o", tmp_path / "dist").code == 0
    pip = [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--only-binary=:all:"]
    there = [f"--platform={platform}", f"--target={tmp_path / 'there'}", f"--find-links={tmp_path / 'dist'}"]
    answer = run(*pip, *there, "model", PIP_CONFIG_FILE="/dev/null")
    assert (answer.code == 0) == fits == (tmp_path / "there" / "model" / library.name).exists(), answer.err


@pytest.mark.parametrize(
    ("platform", "oldest", "tag"),
    [
        (Platform("x86_64", "ucrt"), [], "win_amd64"),
        (Platform("aarch64", "ucrt"), [], "win_arm64"),
        (Platform("arm64", "libSystem"), [(13, 0), (11, 0)], "macosx_13_0_arm64"),
        (Platform("arm64", "libSystem"), [(13, 3)], "macosx_13_0_arm64"),
        (Platform("arm64", "libSystem"), [(10, 15)], "macosx_11_0_arm64"),
        (Platform("x86_64", "libSystem"), [(10, 15), (10, 13)], "macosx_10_15_x86_64"),
        (Platform("x86_64", "libSystem"), [(10, 4)], "macosx_10_9_x86_64"),
    ],
)
def test_tags(platform: Platform, oldest: list[tuple[int, int]], tag: str) -> None:
    assert wheel_tag(platform, [], oldest) == tag
    if "macosx" in tag:
        assert tag in mac_platforms((15, 0), platform.machine), "which pip on macOS 15 takes"


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Windows]:
    """The Python for Windows, under wine, with a folder for temporary files of its own."""
    wine, python = path_of("wine"), Path(os.environ.get(VARIABLE, "/nowhere")) / "python.exe"
    if not python.is_file():
        pytest.skip(f"no Python for Windows: python tools/windows_python.py FOLDER, {VARIABLE}=FOLDER")
    prefix = tmp_path_factory.mktemp("wine")
    quiet = {"WINEDEBUG": "-all", "WINEPREFIX": str(prefix), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "error"}

    def call(*arguments: object, site: Path, scipy: bool = False, **variables: str) -> str:
        paths = [site, python.parent / "numpy", *([python.parent / "scipy"] if scipy else [])]
        environment = {**quiet, "PYTHONPATH": ";".join(map(seen, paths)), **variables}
        return succeed(wine, python, *arguments, cwd=prefix, **environment).replace("\r\n", "\n")

    yield call
    server = Path(wine).with_name("wineserver")
    if server.exists():  # it writes the prefix, whose folder goes
        subprocess.run([server, "-w"], env=os.environ | quiet, check=False, timeout=60)


def seen(path: Path) -> str:
    """A path as wine shows it to programs."""
    return "Z:" + str(path).replace("/", "\\")


@pytest.fixture(scope="module")
def site(folder: Path, windows: Windows, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip of that Python has installed the runtime and the package."""
    from aotensor_cli.main import run as command

    dist, site = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("site")
    made = ["package", str(folder / "x86_64-windows-gnu" / "model.dll"), "--version", "1.2", "--with-runtime"]
    assert command([*made, "-o", str(dist)]) == 0
    pip = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-cache-dir", "--no-warn-script-location"]
    links = ["--find-links", seen(dist), "--target", seen(site), "--disable-pip-version-check"]
    windows(*pip, *links, "model", "aotensor-runtime", site=site, PYTHONWARNINGS="default")
    return site


def test_windows_calls_it(windows: Windows, site: Path, tmp_path: Path) -> None:
    """What CALLS asks of the wheel for Linux; and the ways into a library are those of Linux, none that is slower."""
    assert windows("-c", CALLS, site=site).split() == []
    (tmp_path / "ways.py").write_text(WAYS)
    assert windows(seen(tmp_path / "ways.py"), site=site) == "fits\n"


WAYS = """
import ctypes, os, pickle, pathlib
import numpy as np, model, aotensor_runtime
from aotensor_runtime import fast
from aotensor_runtime.arrays.layout import probe
from aotensor_runtime.arrays.memory import WORKSPACE
from aotensor_runtime.systems import here
from aotensor_runtime.machine import this_machine
from aotensor_runtime.threads import default_threads

assert str(this_machine()) == "Windows on x86-64" and here.NAME == "Windows"
assert "avx" in this_machine().flags.present or this_machine().flags.absent, "NumPy tells of the processor"
assert 1 <= default_threads() == min(here.processors(), 64) <= os.cpu_count()
assert here.memory_bytes() > 1 << 28 and WORKSPACE.limit >= 1 << 28
assert probe() is not None and fast._interpreter() is not None
library = model.libraries["model"]
path = library.path
bound = library.several.bind(y=np.ones(3))
assert bound._run.__name__ == "run_bound" and abs(bound()[1] - 3 * np.e) < 1e-14
assert library.pick.pointer.function(3, (ctypes.c_double * 3)(4, 5, 6), ctypes.c_int64(1), ctypes.c_double(), None) == 0
for change in (lambda: path.write_bytes(b""), path.unlink):
    try:
        change()
    except PermissionError:
        continue
    raise AssertionError("a file that is loaded stays as it is")
assert pickle.loads(pickle.dumps(library)).pick([1.0, 2.0], 1) == 2
print("fits")
"""

ELSEWHERE = """
import os, pathlib, sys, tempfile, time
import numpy as np, aotensor_runtime as r
{before}
more = r.load({library!r})
rng = np.random.default_rng(0)
A, b = np.arange(1600.0).reshape(40, 40) % 7 + 40 * np.eye(40), np.arange(40.0)
results = [more.product(A, A.T), more.solution(A, b) if {scipy} else b, more.rest(b, 7)]
results += [more.counting(b), more.counting(b)]
results += [more.rows(np.tile(A / 40, (500, 1)), num_threads=k) for k in (1, 2)]
if {scipy}:
    import scipy.sparse
    results.append(more.dense(scipy.sparse.csr_matrix(A * (A > 40))))
else:
    try:
        more.solution(A, b)
    except r.LibraryError as error:
        assert "install scipy" in str(error), error
print(*(np.asarray(x).tobytes().hex() for x in results), sep="\\n")
"""
"""Calls of `more`."""
ONLY_POINTERS = """
import types, scipy
for name in ("linalg", "sparse.linalg"):
    made = types.ModuleType(f"scipy.{name}")
    made.__path__ = [os.path.join(os.path.dirname(scipy.__file__), *name.split("."))]
    made.__getattr__ = lambda name: object
    sys.modules[made.__name__] = made
from aotensor_runtime.blas import blas_table
assert all(getattr(blas_table(), name) for name, _ in blas_table()._fields_)
"""
"""Some modules of these packages need `crealf`, which the C library of wine 8 lacks; none that is used here does."""


@pytest.mark.parametrize("scipy", [False, True])
def test_windows_gives_the_numbers_of_here(
    scipy: bool, windows: Windows, site: Path, folder: Path, tmp_path: Path
) -> None:
    """The same bits where no BLAS is called; with SciPy's, products and solutions agree within rounding."""
    library = seen(folder / "x86_64-windows-gnu" / "more.dll")
    program = tmp_path / "calls.py"
    program.write_text(ELSEWHERE.format(before=ONLY_POINTERS if scipy else "", library=library, scipy=scipy))
    there = windows(seen(program), site=site, scipy=scipy).split()
    program.write_text(ELSEWHERE.format(before="", library=str(folder / "here" / "libmore.so"), scipy=True))
    here = succeed(sys.executable, program, PYTHONPATH=os.pathsep.join(sys.path)).split()
    if not scipy:
        assert there[2:] == here[2:-1] and there[5] == there[6]
        return
    assert len(there) == len(here) and there[2:] == here[2:]
    for mine, other in zip(here[:2], there[:2], strict=True):
        values = [np.frombuffer(bytes.fromhex(text)) for text in (mine, other)]
        np.testing.assert_allclose(values[1], values[0], rtol=1e-12)


LEFT = """
import pathlib, sys, tempfile, os, time
import aotensor_runtime as r
data = pathlib.Path({library!r}).read_bytes()
own = pathlib.Path(tempfile.gettempdir())
for name, age in (("old", 7200), ("new", 0)):
    (own / f"aotensor-loaded-{{name}}").mkdir(exist_ok=True)
    os.utime(own / f"aotensor-loaded-{{name}}", (time.time() - age,) * 2)
library = r.Library(data)
assert library.rest([1.0, 2.0], 1).tolist() == [2]
left = sorted(own.glob("aotensor-loaded-*/*.dll"))
assert len(left) == 1 and left[0].read_bytes() == data and left[0].name == "libmore.dll"
assert not (own / "aotensor-loaded-old").exists() and (own / "aotensor-loaded-new").exists()
for path, said in {wrong!r}:
    try:
        r.load(path)
    except r.LibraryError as error:
        assert said in str(error), str(error)
    else:
        raise AssertionError(path)
print("fits")
"""


def test_windows_loads_bytes_and_refuses_others(windows: Windows, site: Path, folder: Path, tmp_path: Path) -> None:
    """From a copy, of which old ones are swept; what is for other systems, and no library, is said in a sentence."""
    program, broken = tmp_path / "loads.py", tmp_path / "broken.dll"
    own = folder / "x86_64-windows-gnu" / "more.dll"
    broken.write_bytes(own.read_bytes()[:-400] + bytes(400))
    fitting = "this machine is Windows on x86-64; compile for it: aotensor compile MODEL --target x86_64-windows-gnu"
    wrong = [
        (
            seen(folder / "here" / "libmore.so"),
            f"the library is for Linux on x86-64, not for this machine\nhint: {fitting}",
        ),
        (seen(folder / "arm64-macos" / "libmodel.dylib"), "the library is for macOS on AArch64, not for this machine"),
        (seen(broken), "broken.dll: "),
        (seen(tmp_path / "none.dll"), "there is no such file"),
        (seen(tmp_path), "cannot be read"),
    ]
    program.write_text(LEFT.format(library=seen(own), wrong=wrong))
    (tmp_path / "temporary").mkdir()
    assert (
        windows(seen(program), site=site, TEMP=seen(tmp_path / "temporary"), TMP=seen(tmp_path / "temporary"))
        == "fits\n"
    )


ROUNDS = """
import numpy as np, aotensor_runtime as r
from aotensor_runtime.errors import ArgumentValueError
from aotensor_runtime.rounds import Processes, Serial, Threads, open_rounds
if __name__ == "__main__":
    split = open_rounds(r.load({library!r}))
    X, w = np.arange(6000.0).reshape(2000, 3) % 11 / 10, np.array([0.5, -1, 2])
    np.save("X.npy", X)
    engines = [Serial(), Threads(2), Processes(2)]
    found = [split(engine, X=given, w=w) for engine in engines for given in (X, "X.npy")]
    [engine.close() for engine in engines[1:]]
    assert len({{x.tobytes() for x in found}}) == 1 and abs(found[0] - np.exp(X @ w).sum()) < 1e-9 * found[0]
    try:
        Processes(62)
    except ArgumentValueError as error:
        print(error)
"""


def test_windows_has_rounds(windows: Windows, site: Path, tmp_path: Path) -> None:
    """On threads and on processes, which get the library as bytes; of files, too."""
    X, w = at.matrix("X", dtype="float64", shape=("n", "p")), at.vector("w", dtype="float64", shape=("p",))
    rounds = aot.split(aot.function([X, w], at.exp(X @ w).sum(), name="total"), over="n")
    rounds.compile(tmp_path, target="x86_64-windows-gnu", cpu="generic")
    program = tmp_path / "rounds.py"
    program.write_text(ROUNDS.format(library=seen(tmp_path / "total.dll")))
    said = windows(seen(program), site=site)
    assert said == "an engine of processes must have at most 61 workers, not 62\n"
