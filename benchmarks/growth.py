"""Measure how compile time grows with the graph: processor seconds for value and gradient of programs of increasing
size.

    python benchmarks/growth.py [--cases cheap:1000,scalar:500] [--memory]

Each figure is of a process of its own that has compiled something small before, from symbols to something that can be
called. Nothing of the program itself is cached; the bodies of exp and tanh, which aotensor compiles once per machine,
are. JAX: jit(value_and_grad).lower().compile(). CasADi, for one element: C code by `cc -O1`, whose time is included.
With --memory, the largest resident MiB of each process instead.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time
from types import SimpleNamespace
from typing import Any, Final

SIZES: Final = {
    "cheap": (10, 100, 1000, 5000), "exp": (10, 100, 400), "scalar": (500, 2000, 8000),
    "sin": (250, 500, 1000, 2000, 4000), "sines": (50, 100, 200), "numbers": (125, 250, 500),
    "vectors": (75, 150, 300), "outputs": (500, 1000, 2000),
}  # fmt: skip
"""cheap: products and sums of vectors. exp: exp(-y*y) and tanh of vectors. scalar: numbers, with ten inputs. sin: a
chain of numbers, half of it sines. sines: sines of a vector. numbers, vectors: so many inputs, with their gradients.
outputs: so many sines of one number, without gradients."""
CONTENDERS: Final = ("aotensor", "JAX", "CasADi")
LONGEST: Final = 100.0
"""Seconds that a process may take; who took longer is not asked for longer programs of the kind."""
_NUMBERS: Final = ("scalar", "sin", "numbers", "outputs")


def inputs_of(kind: str, count: int) -> int:
    """The number of inputs of a program."""
    return {"scalar": 10, "numbers": count, "vectors": count}.get(kind, 1)


def program(kind: str, count: int, x: Sequence[Any], f: Any) -> list[Any]:
    """The outputs. x: the inputs. f: has exp, tanh, sin and sum"""
    y = x[0]
    match kind:
        case "scalar":
            values = list(x)
            for i in range(count):
                values.append(values[-1] * values[-3] + values[(i * 7) % len(values)])
            return [values[-1]]
        case "numbers":
            for a, b in zip(x[1:], x, strict=False):
                y = y + f.sin(a) * b
            return [y]
        case "vectors":
            return [sum(f.sum(f.sin(v) ** 2) for v in x)]
        case "outputs":
            return [f.sin(y * (k + 1.0)) for k in range(count)]
    for i in range(count):
        if kind == "exp":
            y = f.exp(-y * y) if i % 2 else f.tanh(y)
        elif kind == "sin":
            y = f.sin(y) if i % 2 else y * 1.01 + 0.1
        elif kind == "sines":
            y = f.sin(y)
        else:
            y = y * 1.01 + 0.5 if i % 2 else y * y - 0.3 * x[0] if i % 3 else y - 0.1 * y
    return [f.sum(y)]


def of_aotensor(kind: str, count: int) -> float:
    """Run aotensor up to the first call, which compiles."""
    import numpy as np

    import aotensor as aot
    import aotensor.tensor as at

    v = at.dvector("v")
    warm = at.tanh(at.exp(-v * v)) * os.getpid()  # in no cache
    aot.function([v], aot.grad(warm.sum(), v))(np.full(10, 0.5))
    start = process_time()
    shape = () if kind in _NUMBERS else ("n",)
    given: list[Any] = [at.tensor(f"x{k}", dtype="float64", shape=shape) for k in range(inputs_of(kind, count))]
    outputs = program(kind, count, given, at)
    gradients = [] if kind == "outputs" else aot.grad(outputs[0], given)
    aot.function(given, [*outputs, *gradients], name="chain")(*(np.full((10,) * len(shape), 0.5) for _ in given))
    return process_time() - start


def of_jax(kind: str, count: int) -> float:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    jax.jit(jnp.sin).lower(jnp.ones(3)).compile()
    start = process_time()
    given = [jnp.full(() if kind in _NUMBERS else 10, 0.5) for _ in range(inputs_of(kind, count))]
    if kind == "outputs":
        jax.jit(lambda x: program(kind, count, x, jnp)).lower(given).compile()
    else:
        jax.jit(jax.value_and_grad(lambda x: program(kind, count, x, jnp)[0])).lower(given).compile()
    return process_time() - start


def of_casadi(kind: str, count: int) -> float:
    import casadi as ca

    start, before = process_time(), os.times()
    x = [ca.SX.sym(f"x{k}") for k in range(inputs_of(kind, count))]
    y = program(kind, count, x, SimpleNamespace(exp=ca.exp, tanh=ca.tanh, sin=ca.sin, sum=lambda v: v))
    gradients = [] if kind == "outputs" else [ca.gradient(y[0], ca.vertcat(*x))]
    f = ca.Function("chain", x, [*y, *gradients])
    with tempfile.TemporaryDirectory() as folder:
        here = os.getcwd()
        os.chdir(folder)
        f.generate("chain.c")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "chain.c", "-o", "chain.so", "-lm"], check=True)
        os.chdir(here)
    after = os.times()
    own = after.children_user + after.children_system - before.children_user - before.children_system
    return process_time() - start + own


MEASURES: Final[dict[str, Callable[[str, int], float]]] = {"aotensor": of_aotensor, "JAX": of_jax, "CasADi": of_casadi}


def case(text: str) -> tuple[str, int]:
    """A program and its size.   Raises: ArgumentTypeError for another text than `cheap:1000`"""
    kind, _, count = text.partition(":")
    if kind not in SIZES or not count.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(SIZES)} with a size, as in cheap:1000")
    return kind, int(count)


def measured(contender: str, kind: str, count: int, cache: Path, is_memory: bool = False) -> str:
    """The measured seconds or MiB as text, or the reason why there are none."""
    command = [sys.executable, __file__, "--one", contender, kind, str(count)]
    environment = os.environ | {"AOTENSOR_CACHE_DIR": str(cache), "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LONGEST, env=environment, cwd=cache, check=False
        )
    except subprocess.TimeoutExpired:
        return f"> {LONGEST:.0f}"
    if done.returncode == 0:
        seconds, mebibytes = done.stdout.split()[-2:]
        return mebibytes if is_memory else f"{float(seconds):.2f}"
    if "ModuleNotFoundError" in done.stderr:
        return "not installed"
    print(f"{contender}, {count} {kind}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
    return "failed"


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        sys.setrecursionlimit(100_000)
        contender, kind, count = sys.argv[2:]
        seconds = MEASURES[contender](kind, int(count))
        print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=lambda text: [case(one) for one in text.split(",")], metavar="KIND:SIZE,...")
    parser.add_argument("--memory", action="store_true", help="resident MiB instead of seconds")
    asked = parser.parse_args()
    chosen = asked.cases or [(kind, n) for kind, sizes in SIZES.items() for n in sizes]
    print("| operations | " + " | ".join(CONTENDERS) + " | aotensor / JAX |")
    print("|---|" + "---|" * (len(CONTENDERS) + 1))
    with tempfile.TemporaryDirectory() as folder:
        measured("aotensor", "exp", 2, Path(folder))  # fills the cache of parts
        given_up: set[tuple[str, str]] = set()
        for kind, n in chosen:
            found = {
                one: "-" if (one, kind) in given_up else measured(one, kind, n, Path(folder), asked.memory)
                for one in CONTENDERS
            }
            given_up.update((one, kind) for one, text in found.items() if text.startswith(">"))
            try:
                ratio = f"{float(found['aotensor']) / float(found['JAX']):.2f}"
            except ValueError:
                ratio = ""
            print(f"| {n} {kind} | " + " | ".join(found.values()) + f" | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
