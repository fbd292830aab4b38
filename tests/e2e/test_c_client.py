"""A C program links a library, reads real data, and finds the gradient right. No Python runs in it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from needs import path_of
from programs import EXAMPLES

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror"]


@pytest.fixture(scope="session")
def cc() -> str:
    return path_of("cc")


@pytest.fixture(scope="session")
def client(cc: str, logistic_folder: Path) -> Path:
    """The program, linked to the library."""
    program = logistic_folder / "client"
    source = EXAMPLES / "c_client" / "main.c"
    command = [cc, *STRICT, f"-I{logistic_folder}", str(source), "-o", str(program)]
    command += [f"-L{logistic_folder}", "-llogistic", "-lm", "-Wl,-rpath,$ORIGIN"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


def test_client_prints_loss_and_gradient(client: Path) -> None:
    data = EXAMPLES / "data" / "breast_cancer.csv"
    done = subprocess.run([str(client), str(data)], capture_output=True, text=True, env={}, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"loss at w = 0: {np.log(2):.12f}" in done.stdout
    table = np.loadtxt(data, delimiter=",", skiprows=1)
    labels = 2 * table[:, -1] - 1
    feature = (table[:, 0] - table[:, 0].mean()) / table[:, 0].std()
    assert f"gradient[0]: {-labels.mean() / 2:+.12f}" in done.stdout
    assert f"gradient[1]: {-(labels * feature).mean() / 2:+.12f}" in done.stdout
    assert done.stdout.endswith("ok\n")


def test_client_refuses_another_file(client: Path) -> None:
    done = subprocess.run([str(client), str(EXAMPLES / "logistic.py")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "not the table that was expected" in done.stderr


@pytest.mark.skipif(shutil.which("make") is None, reason="no make on the path")
def test_makefile_builds_and_runs(cc: str, logistic_folder: Path, tmp_path: Path) -> None:
    for name in ("liblogistic.so", "logistic.h"):
        shutil.copy(logistic_folder / name, tmp_path)
    command = ["make", "-C", str(EXAMPLES / "c_client"), f"BUILD={tmp_path}", f"CC={cc}", "run"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok" in done.stdout


@pytest.mark.skipif(shutil.which("make") is None, reason="no make on the path")
@pytest.mark.parametrize("library", ["openmp", "tbb"])
def test_loops_run_on_the_threads_of_the_program(cc: str, library: str, logistic_folder: Path, tmp_path: Path) -> None:
    probes = {"openmp": ("c", "#include <omp.h>\n", "-fopenmp"), "tbb": ("c++", "#include <oneapi/tbb.h>\n", "-ltbb")}
    language, text, flag = probes[library]
    command = [cc, "-x", language, "-E", "-", flag]
    if subprocess.run(command, input=text, capture_output=True, text=True).returncode != 0:
        pytest.skip(f"the C compiler has no {library}: Debian has it in {'libtbb-dev' if library == 'tbb' else 'gcc'}")
    for name in ("liblogistic.so", "logistic.h"):
        shutil.copy(logistic_folder / name, tmp_path)
    command = ["make", "--no-print-directory", "-C", str(EXAMPLES / "c_client"), f"BUILD={tmp_path}", f"CC={cc}"]
    command += [f"run-{library}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("ok\n")


def test_header_is_also_cpp(logistic_folder: Path, tmp_path: Path) -> None:
    compiler = path_of("c++")
    source = tmp_path / "use.cpp"
    source.write_text('#include "logistic.h"\nint main() { return logistic_workspace(3, 2) < 0; }\n')
    command = [compiler, "-std=c++11", "-Wall", "-Wextra", "-Werror", f"-I{logistic_folder}", "-c", str(source)]
    done = subprocess.run([*command, "-o", str(tmp_path / "use.o")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
