"""Names beyond ASCII, and names that are macros of C: functions compile, and so do their headers."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from needs import path_of

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.c_names import is_of_c_library
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.ir.context import parse_module
from aotensor.ir.text import text_of
from aotensor_runtime.typed.parameters import is_reserved

needs_cc = pytest.mark.needs("cc")
HEADERS = (
    "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdbool"
    " stddef stdint stdio stdlib string time uchar wchar wctype"
)
INCLUDES = "".join(f"#include <{name}.h>\n" for name in HEADERS.split())


def test_dims_and_variables_beyond_ascii(tmp_path: Path) -> None:
    θ, a = at.vector("θ", shape=("α",)), at.matrix("Ä", shape=("β", "α"))
    states = aot.scan(lambda ρ, σ: at.tanh(σ + ρ), [a], [θ], return_updates=False)
    f = aot.function([θ, a], {"λ": a @ θ, "states": states, "slope": aot.grad((a @ θ).sum(), θ)}, name="f")
    given = np.arange(3.0), np.arange(6.0).reshape(2, 3)
    for mine, exact in zip(f(*given).values(), f.reference(*given).values(), strict=True):
        np.testing.assert_allclose(mine, exact, rtol=1e-14)
    np.testing.assert_allclose(f(*given)["λ"], given[1] @ given[0], rtol=1e-14)
    with pytest.raises(ValueError, match="α"):
        f(np.arange(4.0), given[1])
    for stage in ("tensor", "tensor-opt", "nest", "loops"):
        assert text_of(parse_module(f.ir(stage))) == text_of(parse_module(text_of(parse_module(f.ir(stage)))))
    report = f.verify(samples=2)
    assert report, str(report)


@needs_cc
@pytest.mark.parametrize(("language", "standard"), [("c", "c99"), ("c", "c17"), ("c++", "c++17")])
def test_every_macro_of_the_standard_headers_is_reserved(language: str, standard: str) -> None:
    """The preprocessor lists the macros; those with parameters, and names that begin with `_`, are left out."""
    done = subprocess.run(
        [path_of("cc"), "-x", language, f"-std={standard}", "-dM", "-E", "-"],
        input=INCLUDES, capture_output=True, text=True, check=True,
    )  # fmt: skip
    names = {line.split()[1] for line in done.stdout.splitlines()}
    macros = {name for name in names if "(" not in name and not name.startswith("_")}
    assert len(macros) > 200
    assert {name for name in macros if not is_reserved(name)} == set()
    usual = (
        "X",
        "N",
        "X_0",
        "x_i",
        "LSTM",
        "ELBO",
        "SIGMA",
        "LOSS",
        "W1",
        "A_nnz",
        "grad_W",
        "L_x",
        "M_inv",
        "INT",
        "M",
    )
    assert not any(map(is_reserved, usual))
    assert not is_reserved("M_PI_")


@needs_cc
def test_every_function_of_the_standard_headers_is_refused() -> None:
    """With what Linux adds to ISO C; functions that begin with `_`, and macros with parameters, are left out."""
    command = [path_of("cc"), "-x", "c", "-std=gnu17", "-E", "-P", "-"]
    text = INCLUDES + "#include <unistd.h>\n#include <pthread.h>\n"
    found = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    declared = set(re.findall(r"\b([a-z]\w*)\s*\([^;{}]*\)\s*(?:__attribute__[^;]*)?;", found))
    types = set(re.findall(r"\btypedef [\w ]+ (u?int\d+_t|size_t|ptrdiff_t|double_t);", found))
    assert len(declared) > 500
    assert {name for name in declared | types if not is_of_c_library(name) and not is_reserved(name)} == set()
    usual = ("loss", "logistic", "step", "total", "stress", "isotonic", "energy", "fit", "signal_to_noise", "memory")
    assert not any(is_of_c_library(name) or is_reserved(name) for name in usual)


@needs_cc
def test_headers_of_functions_with_such_names(tmp_path: Path) -> None:
    names = (
        "I",
        "NAN",
        "M_PI",
        "INFINITY",
        "complex",
        "EOF",
        "errno",
        "INT_MAX",
        "SIGINT",
        "isnan",
        "FLT_EPSILON",
        "typeof",
        "__LINE__",
        "_Bool",
        "int64_t",
        "S_IRUSR",
    )
    functions = []
    for number, name in enumerate(names):
        x = at.vector(name, shape=(name,))
        functions.append(aot.function([x], {name: at.exp(x) * x.sum()}, name=f"f{number}"))
    artifact = aot.compile(functions, tmp_path, name="names")
    for language, standard in (("c", "c99"), ("c++", "c++17")):
        for first, second in ((INCLUDES, '#include "names.h"\n'), ('#include "names.h"\n', INCLUDES)):
            command = [
                path_of("cc"),
                "-x",
                language,
                f"-std={standard}",
                "-Wall",
                "-Werror",
                f"-I{tmp_path}",
                "-fsyntax-only",
                "-",
            ]
            done = subprocess.run(command, input=first + second, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
    library = artifact.load()
    np.testing.assert_allclose(library["f2"](M_PI=[1.0, 2.0])["M_PI"], 3 * np.exp([1.0, 2.0]), rtol=1e-14)


@pytest.mark.parametrize(
    "name", ["I", "NAN", "M_PI", "complex", "EINVAL", "SIGTERM", "fmaf", "pthread_create", "random", "__f"]
)
def test_functions_with_such_names_are_refused(name: str, tmp_path: Path) -> None:
    x = at.vector("x")
    with pytest.raises(GraphValueError, match=f"function name '{name}' is reserved by C"):
        aot.compile(aot.function([x], x, name=name), tmp_path)
    assert aot.compile(aot.function([x], x, name=name), tmp_path, prefix="my_").library.exists()


@pytest.mark.parametrize("name", ["_fict_", "int", "__x", "class", "in[0]", "α2"])
@pytest.mark.parametrize("mode", ["compiled", "FAST_COMPILE", "DEBUG_MODE"])
def test_arguments_are_passed_by_the_names_of_their_variables(name: str, mode: str) -> None:
    x, y = at.vector(name), at.vector("y")
    f = aot.function([x, y], x * y, name="f", mode=None if mode == "compiled" else mode)
    wanted = [3.0, 8.0]
    np.testing.assert_array_equal(f(**{name: [1.0, 2.0]}, y=[3.0, 4.0]), wanted)
    np.testing.assert_array_equal(f.reference(y=[3.0, 4.0], **{name: [1.0, 2.0]}), wanted)
    own = f.names[x]
    np.testing.assert_array_equal(f(**{own: [1.0, 2.0]}, y=[3.0, 4.0]), wanted)
    with pytest.raises(GraphTypeError, match=re.escape(f"f: {own} is given twice, also as {name!r}")):
        f(**{own: [1.0, 2.0], name: [1.0, 2.0]}, y=[3.0, 4.0])
