"""C source compiles without a warning, and computes the bits of the strict library."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
import scipy.sparse
from c_corpus import functions
from needs import path_of

import aotensor as aot
import aotensor.tensor as at
from aotensor.driver.build import Build
from aotensor.driver.recipe import Options
from aotensor.errors import UnsupportedError
from aotensor.sampling.samples import Sampler
from aotensor.verification.c_source import C_FLAGS, CEntry, check_c_source, compare_c, compile_c
from aotensor.verification.report import CheckSkipped
from aotensor.verification.typed_call import call_typed
from aotensor_runtime import Library
from aotensor_runtime.abi import Status

FUNCTIONS: Final = {f.name: f for f in functions()}
pytestmark = [pytest.mark.needs("cc"), pytest.mark.level("ci", "compiling the corpus twice takes 10 s")]


@dataclass(frozen=True)
class Compiled:
    """The functions as a library, and as C source that a compiler has made a library of."""

    build: Build
    library: Library
    c_library: Any
    folder: Path


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """All functions of the corpus."""
    folder = tmp_path_factory.mktemp("c_source")
    options = Options(fp="strict", opt_level=0, threads=False, cpu="generic")
    build = Build(list(FUNCTIONS.values()), "corpus", options)
    path = compile_c(build, folder, path_of("cc"), ["-O0"])
    return Compiled(build, Library(build.shared), ctypes.CDLL(str(path)), folder)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_bits_are_those_of_the_library(name: str, compiled: Compiled) -> None:
    f = FUNCTIONS[name]
    entry = CEntry.from_build(compiled.build, name, compiled.c_library)
    done = [
        entry.compare(compiled.library.functions[name], list(sample.arrays.values()))
        for sample in Sampler(f, 1).samples(9)
    ]
    assert any(done)


def test_refused_samples_are_refused_by_both(compiled: Compiled) -> None:
    """A pattern with an index outside of the matrix, a negative extent, no memory for an output."""
    entry = CEntry.from_build(compiled.build, "sparse_loss", compiled.c_library)
    A = scipy.sparse.csr_array(([1.0, 2.0], [0, 2], [0, 1, 2]), shape=(2, 3))
    A.indices[1] = 7
    assert call_typed(entry.spec, entry.address, [A, np.zeros(3)], [0.0, np.zeros(3)]) == (Status.BAD_INDEX, [])
    A.indices[1], A.indptr[1] = 2, 3
    assert call_typed(entry.spec, entry.address, [A, np.zeros(3)], [0.0, np.zeros(3)]) == (Status.BAD_STRUCTURE, [])
    double = scipy.sparse.csr_array(([1.0, 2.0], [1, 1], [0, 2]), shape=(1, 3))
    assert call_typed(entry.spec, entry.address, [double, np.zeros(3)], [0.0, np.zeros(3)])[0] == Status.NO_MEMORY
    logistic = compiled.c_library.logistic
    logistic.argtypes = [*[ctypes.c_int64] * 2, *[ctypes.c_void_p] * 6]
    assert logistic(-1, 2, *[None] * 6) == Status.NEGATIVE
    assert logistic(3, 2, *[None] * 6) == Status.NULL_POINTER
    assert logistic(1 << 62, 2, *[None] * 6) == Status.TOO_LARGE
    text = compiled.c_library.aotensor_status_message
    text.restype = ctypes.c_char_p
    assert text(int(Status.NEGATIVE)) == b"an extent is negative"


def test_text_is_readable(compiled: Compiled) -> None:
    """Names and lines of the model; exact functions of math.h only; no goto, no array of variable length."""
    text = (compiled.folder / "corpus.c").read_text()
    kernel = text[text.index("int32_t logistic_kernel(") :].partition("\n}\n")[0]
    assert "(const double *X, int64_t n, int64_t p, const double *y," in kernel
    assert re.search(r"/\* c_corpus\.py:\d+: loss = at\.softplus\(-y \* \(X @ w\)\)\.mean\(\) \*/", kernel)
    assert "X[j * p + k] * w[k]" in kernel
    assert not re.search(r"\b(goto|union|asm|setjmp)\b", text)
    assert not re.search(r"^\s+(double|float|u?int\d+_t|bool) \w+\[[a-z]", text, re.MULTILINE)
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    called = set(re.findall(r"\b([a-z]\w*)\(", code))
    assert called >= {"sqrt", "fabs", "fabsf", "floor"}
    assert not called & {"exp", "log", "pow", "sin", "cos", "tgamma", "lgamma", "erf", "log1p", "tanh"}


def test_what_has_no_c_is_refused_by_name() -> None:
    x, h = at.vector("x", dtype="float32", shape=("n",)), at.vector("h", dtype="float16", shape=("n",))
    halves = aot.function([h], h + 1, name="halves")
    inside = aot.function([x], (x.astype("float16") * 2).astype("float32"), name="inside")
    with pytest.raises(UnsupportedError, match="halves: h is float16, and C source has no half precision"):
        Build([halves], None, Options()).content("c")
    with pytest.raises(UnsupportedError, match=r"inside: f16 is used at test_c_source\.py:\d+, and C99 has no type"):
        Build([inside], None, Options()).content("c")


def test_names_of_the_model_meet_none_of_the_file(tmp_path: Path) -> None:
    names = ("extents", "floor", "aot_need", "x_status", "l", "AOTENSOR_OK")
    a, b, c, d, e, g = (at.vector(name, dtype="float64", shape=("status",)) for name in names)
    outputs = {"check": at.floor(a) + b * c - d, "malloc": (a * d + e * g).sum()}
    f = aot.function([a, b, c, d, e, g], outputs, name="clash")
    build = Build([f], None, Options(fp="strict", opt_level=0, threads=False, malloc=False))
    c_library = ctypes.CDLL(str(compile_c(build, tmp_path, path_of("cc"), ["-O0"])))
    assert compare_c(f, Library(build.shared), build, c_library, 4, 0) == "4 samples to the last bit"
    assert "malloc(" not in (tmp_path / "clash.c").read_text()


def test_python_writes_c(tmp_path: Path) -> None:
    x = at.vector("x", dtype="float64", shape=("n",))
    made = aot.compile(aot.function([x], at.exp(x), name="e"), tmp_path, emit="c", fp="strict")
    assert made.source == tmp_path / "e.c"
    assert set(made.files) == {tmp_path / "e.c", tmp_path / "e.h"}
    assert "bit for bit" in made.files[0].read_text()


@pytest.mark.level("ci", "gcc at -O0 shows the same by default")
@pytest.mark.parametrize(
    ("need", "flags"),
    [
        pytest.param("clang", ["-O1"], marks=pytest.mark.needs("clang")),
        pytest.param("cc", ["-O2"]),
        pytest.param("cc", ["-O0", "-fsanitize=undefined,float-cast-overflow", "-fno-sanitize-recover"]),
    ],
    ids=["clang", "gcc-2", "undefined"],
)
def test_other_compilers_agree(need: str, flags: Sequence[str], compiled: Compiled, tmp_path: Path) -> None:
    c_library = ctypes.CDLL(str(compile_c(compiled.build, tmp_path, path_of(need), flags)))
    for name, f in FUNCTIONS.items():
        entry = CEntry.from_build(compiled.build, name, c_library)
        for sample in Sampler(f, 2).samples(3):
            entry.compare(compiled.library.functions[name], list(sample.arrays.values()))
    assert FUNCTIONS


@pytest.mark.level("ci", "a compiler for other processors, which only shows that there are no warnings")
@pytest.mark.needs("arm-gcc")
@pytest.mark.parametrize("cpu", ["cortex-m4"])
def test_small_processors_have_no_warnings(cpu: str, compiled: Compiled) -> None:
    command = [path_of("arm-gcc"), f"-mcpu={cpu}", "-mthumb", *C_FLAGS, "-O1", "-c", "corpus.c", "-o", f"{cpu}.o"]
    done = subprocess.run(command, cwd=compiled.folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_verify_compares_c() -> None:
    x = at.vector("x", dtype="float64", shape=("n",))
    f = aot.function([x], at.log(x).sum(), name="logs")
    assert check_c_source(f, Build([f], None, Options(opt_level=0)), 4, 0) == "4 samples to the last bit"
    h = at.vector("h", dtype="float16", shape=("n",))
    halves = aot.function([h], h + 1, name="halves")
    with pytest.raises(CheckSkipped, match="has no half precision"):
        check_c_source(halves, Build([halves], None, Options()), 1, 0)
