"""How compile time grows with the graph: processor seconds for value and gradient of longer and longer programs.

    python benchmarks/growth.py [--cases cheap:1000,scalar:500]

Each figure is of a process of its own that has compiled something small before, from symbols to something that can be
called. Nothing of the program itself is cached; the bodies of exp and tanh, which aotensor compiles once per machine,
are. JAX: jit(value_and_grad).lower().compile(). CasADi, for one element: C code by `cc -O1`, whose time is included.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any, Final

SIZES: Final = {"cheap": (10, 100, 1000, 5000), "exp": (10, 100, 400), "scalar": (500, 2000, 8000)}
"""cheap: products and sums of vectors. exp: exp(-y*y) and tanh of vectors. scalar: numbers, with ten inputs."""
CONTENDERS: Final = ("aotensor", "JAX", "CasADi")
LONGEST: Final = 100.0
"""Seconds that a process may take; who took longer is not asked for longer programs of the kind."""


def program(kind: str, count: int, x: Any, exp: Callable[[Any], Any], tanh: Callable[[Any], Any]) -> Any:
    """The last value of a chain. x: a vector, or a list of numbers"""
    if kind == "scalar":
        values = list(x)
        for i in range(count):
            values.append(values[-1] * values[-3] + values[(i * 7) % len(values)])
        return values[-1]
    y = x
    for i in range(count):
        if kind == "exp":
            y = exp(-y * y) if i % 2 else tanh(y)
        else:
            y = y * 1.01 + 0.5 if i % 2 else y * y - 0.3 * x if i % 3 else y - 0.1 * y
    return y


def of_aotensor(kind: str, count: int) -> float:
    """Up to the first call, which compiles."""
    import numpy as np

    import aotensor as aot
    import aotensor.tensor as at

    values = [np.full(10, 0.5)] if kind != "scalar" else [np.full((), 0.5)] * 10
    v = at.dvector("v")
    warm = at.tanh(at.exp(-v * v)) * os.getpid()  # in no cache
    aot.function([v], aot.grad(warm.sum(), v))(np.full(10, 0.5))
    start = process_time()
    given: list[Any] = [at.dscalar(f"x{k}") for k in range(10)] if kind == "scalar" else [at.dvector("x")]
    y = program(kind, count, given if kind == "scalar" else given[0], at.exp, at.tanh).sum()
    aot.function(given, [y, *aot.grad(y, given)], name="chain")(*values)
    return process_time() - start


def of_jax(kind: str, count: int) -> float:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    jax.jit(jnp.sin).lower(jnp.ones(3)).compile()
    start = process_time()
    given = jnp.full(10, 0.5)

    def cost(x: Any) -> Any:
        rows = [x[k] for k in range(10)] if kind == "scalar" else x
        return jnp.sum(program(kind, count, rows, jnp.exp, jnp.tanh))

    jax.jit(jax.value_and_grad(cost)).lower(given).compile()
    return process_time() - start


def of_casadi(kind: str, count: int) -> float:
    import casadi as ca

    start, before = process_time(), os.times()
    x = ca.SX.sym("x", 10 if kind == "scalar" else 1)
    y = program(kind, count, [x[k] for k in range(10)] if kind == "scalar" else x, ca.exp, ca.tanh)
    f = ca.Function("chain", [x], [y, ca.gradient(y, x)])
    with tempfile.TemporaryDirectory() as folder:
        here = os.getcwd()
        os.chdir(folder)
        f.generate("chain.c")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "chain.c", "-o", "chain.so", "-lm"], check=True)
        os.chdir(here)
    after = os.times()
    own = after.children_user + after.children_system - before.children_user - before.children_system
    return process_time() - start + own


MEASURES: Final = {"aotensor": of_aotensor, "JAX": of_jax, "CasADi": of_casadi}


def case(text: str) -> tuple[str, int]:
    """A program and its size.   Raises: ArgumentTypeError for another text than `cheap:1000`"""
    kind, _, count = text.partition(":")
    if kind not in SIZES or not count.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(SIZES)} with a size, as in cheap:1000")
    return kind, int(count)


def measured(contender: str, kind: str, count: int, cache: Path) -> str:
    """The seconds as text, or why there are none."""
    command = [sys.executable, __file__, "--one", contender, kind, str(count)]
    environment = os.environ | {"AOTENSOR_CACHE_DIR": str(cache), "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LONGEST, env=environment, cwd=cache, check=False
        )
    except subprocess.TimeoutExpired:
        return f"> {LONGEST:.0f}"
    if done.returncode == 0:
        return f"{float(done.stdout.split()[-1]):.2f}"
    if "ModuleNotFoundError" in done.stderr:
        return "not installed"
    print(f"{contender}, {count} {kind}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
    return "failed"


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        sys.setrecursionlimit(100_000)
        contender, kind, count = sys.argv[2:]
        print(MEASURES[contender](kind, int(count)))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=lambda text: [case(one) for one in text.split(",")], metavar="KIND:SIZE,...")
    chosen = parser.parse_args().cases or [(kind, n) for kind, sizes in SIZES.items() for n in sizes]
    print("| operations | " + " | ".join(CONTENDERS) + " | aotensor / JAX |")
    print("|---|" + "---|" * (len(CONTENDERS) + 1))
    with tempfile.TemporaryDirectory() as folder:
        measured("aotensor", "exp", 2, Path(folder))  # fills the cache of parts
        given_up: set[tuple[str, str]] = set()
        for kind, n in chosen:
            found = {
                one: "-" if (one, kind) in given_up else measured(one, kind, n, Path(folder)) for one in CONTENDERS
            }
            given_up.update((one, kind) for one, text in found.items() if text.startswith(">"))
            try:
                ratio = f"{float(found['aotensor']) / float(found['JAX']):.2f}"
            except ValueError:
                ratio = ""
            print(f"| {n} {kind} | " + " | ".join(found.values()) + f" | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
