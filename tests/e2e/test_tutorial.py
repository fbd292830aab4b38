"""Pages with programs are run: their blocks in order, in one process and folder; what they print is compared.

So are the lines that docs/languages.md shows for other languages, where no other test runs them as they are.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from programs import ROOT

from aotensor.codegen.machine import Machine
from aotensor_cli.main import group
from aotensor_runtime import Library, load

BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = {
    **dict.fromkeys(("tutorial", "extending", "kernels", "verify", "sparse", "schedules", "complex", "stages"), ()),
    "howto/cpp": ("c++", "cmake"),
    "howto/makefile": ("make", "cc"),
    "howto/c_source": ("cc",),
    "howto/ci": ("make",),
    "howto/scipy": (),
    "howto/solutions": (),
    "howto/training": (),
    "howto/fields": (),
    "howto/integrate": (),
    "howto/memory": (),
    "howto/frameworks": ("cc", "import jax", "import torch"),
    "howto/sklearn": ("import sklearn",),
    "howto/r": ("cc", "make"),
    "howto/rust": ("cc",),
    "howto/fortran": (),
    "howto/matlab": (),
    "howto/julia": (),
    "howto/pymc": ("import pymc",),
    "howto/bridgestan": ("import pymc", "import bridgestan"),
    "howto/casadi": ("import casadi",),
    "howto/ipopt": ("cc",),
    "howto/sundials": ("cc",),
    "howto/ceres": ("c++",),
    "howto/fmi": ("import fmpy",),
    "howto/browser": ("node",),
    "playground": (),
}
"""Page → programs and modules that it needs, beside those that are heavy."""

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """One fenced block: python is run, text is what the block before printed, console holds commands and answers."""

    page: str
    language: str
    file: str | None
    text: str
    line: int


def read_blocks(path: Path) -> list[Block]:
    text = path.read_text()
    return [Block(path.name, m[1], m[2], m[3], text[: m.start()].count("\n") + 1) for m in BLOCK.finditer(text)]


def check(block: Block, found: str, expected: str) -> None:
    agrees = doctest.OutputChecker().check_output(expected, found, FLAGS)
    assert agrees, f"{block.page}:{block.line}: expected\n{expected}\nfound\n{found}"


def run_commands(block: Block, environment: dict[str, str]) -> None:
    """Each `$ command` with the lines below it."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        code, printed, complaints = run_command(command, environment)
        assert code == 0, f"{block.page}:{block.line}: $ {command}\n{printed}{complaints}"
        check(block, printed, expected)


def run_command(command: str, environment: dict[str, str]) -> tuple[int, str, str]:
    """Exit code, output and errors; what only shows something runs here, where the compiler is loaded."""
    if re.fullmatch(r"aotensor inspect [\w .,:/=-]+", command):
        found = CliRunner().invoke(group, command.split()[1:])
        return found.exit_code, found.stdout, found.stderr
    done = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def environment(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A folder to work in, and an `aotensor` on the path that is the one under test."""
    programs = tmp_path / "programs"
    programs.mkdir()
    program = programs / "aotensor"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m aotensor_cli "$@"\n')
    program.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr(sys, "path", [*sys.path])
    sys.path_importer_cache.pop(".", None)  # a page may import its files from here
    monkeypatch.setenv("AOTENSOR_CACHE_DIR", str(cache))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path}


def skip_without(needs: tuple[str, ...]) -> None:
    """Skip the page if a program, or a module written as `import x`, is not here."""
    for need in needs:
        _, _, module = need.partition("import ")
        if module and importlib.util.find_spec(module) is None:
            pytest.skip(f"there is no {module}")
        elif not module and shutil.which(need) is None:
            pytest.skip(f"there is no {need}")


HEAVY = {
    "howto/sundials": ("sundials",),
    "howto/ceres": ("ceres",),
    "howto/ipopt": ("ipopt",),
    "howto/r": ("R",),
    "howto/rust": ("cargo",),
    "howto/fortran": ("gfortran",),
    "howto/matlab": ("octave",),
    "howto/browser": ("zig",),
    "playground": ("zig",),
}


@pytest.mark.parametrize("page", [pytest.param(page, marks=pytest.mark.needs(*HEAVY.get(page, ()))) for page in PAGES])
def test_page(page: str, environment: dict[str, str]) -> None:
    skip_without(PAGES[page])
    if page == "schedules" and not Machine.host().facts.has_masks:
        pytest.skip("this machine has no vectors under masks, which the page asks for")
    names: dict[str, Any] = {"__name__": page}
    printed = ""
    for block in read_blocks(ROOT / "docs" / f"{page}.md"):
        if block.file is not None:
            Path(block.file).parent.mkdir(exist_ok=True)
            Path(block.file).write_text(block.text)
        elif block.language == "python":
            output = io.StringIO()
            code = compile("\n" * block.line + block.text, block.page, "exec")
            with contextlib.redirect_stdout(output):
                exec(code, names)
            printed = output.getvalue()
        elif block.language == "text":
            check(block, printed, block.text)
        elif block.language == "console":
            run_commands(block, environment)


def lines_by_language() -> dict[str, str]:
    """What docs/languages.md shows for each language; of two in one language the last."""
    text = (ROOT / "docs" / "languages.md").read_text()
    return {m[1]: m[3] for m in BLOCK.finditer(text[: text.index("\n## Programs of other")])}


def block_of(page: str, file: str) -> str:
    return next(block.text for block in read_blocks(ROOT / "docs" / f"{page}.md") if block.file == file)


@pytest.fixture
def logistic(environment: dict[str, str]) -> Iterator[Library]:
    """The model of README, its static library in the folder `build`, and what this machine makes of it."""
    model = next(block for block in read_blocks(ROOT / "README.md") if block.language == "python").text
    Path("model.py").write_text(model[: model.index("\n\nprint(")] + "\n")
    made = "aotensor compile model.py -o build --emit lib --emit static --emit header --cpu generic"
    assert run_command(made, environment)[0] == 0
    yield load("build/liblogistic.so")


def data() -> tuple[Any, Any, Any]:
    """X, y and w of three rows and two columns, of which no sum is rounded."""
    return np.array([[1.0, 2], [3, -1], [0.5, 4]]), np.array([1.0, -1, 1]), np.array([0.25, -0.5])


def test_lines_for_r(logistic: Library, environment: dict[str, str]) -> None:
    """The three lines of the page, with the file of C of docs/howto/r.md: the minimum that SciPy finds."""
    skip_without(PAGES["howto/r"])
    Path("logistic_r.c").write_text(block_of("howto/r", "logistic_r.c"))
    lines = lines_by_language()["r"]
    assert run_command(lines.split("# ", 1)[1].partition("\n")[0], environment)[0] == 0
    X, y, _ = data()
    given = f"X <- matrix(c({','.join(map(str, X.T.ravel()))}), 3)\ny <- c({','.join(map(str, y))})\n"
    last = lines.rstrip().rpartition("\n")
    Path("fit.R").write_text(f"{given}{last[0]}\nfit <- {last[2]}\ncat(fit$convergence, fit$value)\n")
    code, printed, complaints = run_command("Rscript fit.R", environment)
    assert code == 0, complaints
    converged, value = printed.split()
    assert converged == "0" and 0 < float(value) < float(logistic.logistic(X, y, np.zeros(2))["loss"])


def test_lines_for_rust(logistic: Library, environment: dict[str, str]) -> None:
    """The three lines of the page, in a program that prints the loss and its gradient."""
    skip_without(PAGES["howto/rust"])
    link, declared, called = lines_by_language()["rust"].splitlines()
    folder = Path("build").resolve()
    Path("src").mkdir()
    Path("Cargo.toml").write_text(block_of("howto/rust", "Cargo.toml"))
    search = f'println!("cargo:rustc-link-search=native={folder}");'
    Path("build.rs").write_text(f'fn main() {{\n{search}\n{link}\nprintln!("cargo:rustc-link-lib=m");\n}}\n')
    X, y, w = data()
    rows = "\n".join(f"let {name} = vec!{x.ravel().tolist()};" for name, x in (("X", X), ("y", y), ("w", w)))
    body = f"{rows}\nlet (n, p, mut loss, mut grad_w) = (3, 2, 0.0, vec![0.0; 2]);\n{called}"
    start = "#![allow(non_snake_case)]\nuse std::{ffi::c_void, ptr::null_mut};\n"
    shown = 'println!("{status} {loss} {} {}", grad_w[0], grad_w[1]);'
    Path("src/main.rs").write_text(f"{start}{declared}\nfn main() {{\n{body}\n{shown}\n}}\n")
    code, printed, complaints = run_command("cargo run --quiet --offline", environment)
    assert code == 0, complaints
    expected = logistic.logistic(X, y, w)
    np.testing.assert_allclose([*map(float, printed.split())], [0, expected["loss"], *expected["grad_w"]], rtol=1e-15)


@pytest.mark.parametrize("framework", ["jax", "torch"])
def test_lines_for_frameworks(framework: str, logistic: Library) -> None:
    """The lines of the page for JAX; PyTorch by the other import: the library's gradient."""
    skip_without(("cc", f"import {framework}"))
    module = importlib.import_module(framework)
    X, y, w = data()
    names: dict[str, Any] = {"lib": logistic, framework: module, "X_data": X, "y_data": y}
    imported, _, rest = lines_by_language()["python"].partition("\n\n")
    wanted = logistic.logistic(X, y, w)["grad_w"]
    if framework == "jax":
        module.config.update("jax_enable_x64", True)
        exec(imported, names)
        found = eval(rest.strip(), names)(w)
    else:
        exec(imported.partition("#")[0].replace("frameworks.jax", "frameworks.torch"), names)
        point = module.tensor(w, requires_grad=True)
        loss = names["operator"](logistic.logistic)(module.tensor(X), module.tensor(y), point)
        loss.backward()
        found = point.grad.numpy()
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-15)


def test_lines_for_other_machines(environment: dict[str, str]) -> None:
    """Every command for other machines."""
    skip_without(("import ziglang",))
    model = next(block for block in read_blocks(ROOT / "README.md") if block.language == "python").text
    Path("model.py").write_text(model[: model.index("\n\nprint(")] + "\n")
    for line in lines_by_language()["sh"].splitlines():
        code, _, complaints = run_command(line.partition("#")[0].strip(), environment)
        assert code == 0, complaints
    assert Path("build/logistic.dll").is_file() and Path("build/liblogistic.a").is_file()
