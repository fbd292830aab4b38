"""A control problem with a learned policy, by aotensor in CasADi, CasADi's virtual machine and CasADi's C code.

The policy is a file of ONNX, which CasADi does not read: its graph is written by hand there, with the same weights.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import click
import numpy as np
from tools.interfaces.turns import machine, measured

import aotensor as aot

TESTS = Path(__file__).parents[2] / "tests"


def main() -> None:
    """Print a table in Markdown: microseconds of a call from CasADi."""
    sys.path[:0] = [str(TESTS / "importers"), str(TESTS / "interfaces")]
    problem = importlib.import_module("test_onnx_policies")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        f = problem.control(problem.policy(folder / "policy.onnx"))
        made = aot.compile(f, folder, abi="casadi")
        graph = problem.native(ca)
        contenders = {
            "this library": ca.external("guided", str(made.library)),
            "CasADi's virtual machine": graph,
            "CasADi's C code": _as_c(graph, folder),
        }
        click.echo(f"{machine()}\n")
        click.echo("| | " + " | ".join(contenders) + " |\n|---|" + "---:|" * len(contenders))
        for title, derive in _ROWS.items():
            calls = {name: _caller(derive(one)) for name, one in contenders.items()}
            click.echo(f"| {title} | " + " | ".join(map(str, measured(calls))) + " |")


_ROWS: dict[str, Callable[[Any], Any]] = {
    "cost and defects": lambda f: f,
    "Jacobian": lambda f: f.jacobian(),
    "Jacobian of the adjoint": lambda f: f.reverse(1).jacobian(),
}


def _as_c(graph: Any, folder: Path) -> Any:
    """A CasADi function with its derivatives, as C code compiled by gcc for this machine."""
    code = ca.CodeGenerator("own.c")
    for f in (graph, graph.jacobian(), graph.forward(1), graph.reverse(1), graph.reverse(1).jacobian()):
        code.add(f)
    code.generate(f"{folder}/")
    command = ["gcc", "-O3", "-march=native", "-shared", "-fPIC", "own.c", "-o", "own.so"]
    subprocess.run(command, cwd=folder, check=True)
    return ca.external(graph.name(), str(folder / "own.so"))


def _caller(f: Any) -> Callable[[int], None]:
    """A callable that evaluates a CasADi function on fixed memory."""
    rng = np.random.default_rng(0)
    buffer, call = f.buffer()
    arrays = [rng.normal(size=max(f.nnz_in(k), 1)) for k in range(f.n_in())]
    arrays += [np.zeros(max(f.nnz_out(k), 1)) for k in range(f.n_out())]
    for k, x in enumerate(arrays):
        if k < f.n_in():
            buffer.set_arg(k, memoryview(x))
        else:
            buffer.set_res(k - f.n_in(), memoryview(x))

    def run(count: int, alive: Any = (f, buffer, arrays)) -> None:
        for _ in range(count):
            call()

    return run
