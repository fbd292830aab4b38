"""Measure the overhead of a call of a small function: by the C extension of the runtime, and through ctypes.

    python benchmarks/calls.py

Each number is the least average of many short loops, without the time of an empty loop. Results go to
benchmarks/results.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter
from timeit import repeat

import numpy as np
import scipy.sparse as ss
from harness import machine
from native import compile_c

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
import aotensor_runtime
from aotensor_runtime import extension

HERE = Path(__file__).parent
ROADS = {"used": "the extension", "off": "ctypes"}


def compile_functions(folder: str) -> Path:
    """A library: a·b + c of 8 or n elements each, a·s + t of numbers, and a sparse product."""
    a, b, c = (at.vector(name, shape=(8,)) for name in "abc")
    x, y, z = (at.vector(name, shape=("n",)) for name in "xyz")
    s, t = at.scalar("s"), at.scalar("t")
    A = sp.csr_matrix("A", shape=("n", "p"))
    v = at.vector("v", shape=("p",))
    functions = [
        aot.function([a, b, c], a * b + c, name="constant"),
        aot.function([x, y, z], x * y + z, name="sized"),
        aot.function([x, y, z], [x * y + z, x - y], name="two"),
        aot.function([x, s, t], x * s + t, name="numbers"),
        aot.function([A, v], A @ v, name="product"),
    ]
    return aot.compile(functions, folder, name="calls").library


def nanoseconds(statement: str, **names: object) -> float:
    """Least average time of a statement, in ns."""
    return 1e9 * min(repeat(statement, globals=names, number=500, repeat=800)) / 500


def kernel_nanoseconds(address: int, loop: Callable[..., int]) -> float:
    """Least average time of the typed entry `constant`, called from C."""
    a, b, c, out = (np.ones(8) for _ in range(4))
    best, count = float("inf"), 1000
    for _ in range(1000):
        start = perf_counter()
        assert loop(ctypes.c_void_p(address), *(ctypes.c_void_p(x.ctypes.data) for x in (a, b, c, out)), count) == 0
        best = min(best, perf_counter() - start)
    return 1e9 * best / count


def measure(library: Path) -> dict[str, float]:
    """Kind of call → ns, without those of the loop."""
    lib = aotensor_runtime.load(library)
    a, b, c, out = (np.arange(8.0) for _ in range(4))
    A = ss.random(8, 8, 0.3, "csr", random_state=0)
    checked = aotensor_runtime.CheckedPattern(A)
    dense = {"a": a, "b": b, "c": c}
    rows = {
        "f(a, b, c)": nanoseconds("f(a, b, c)", f=lib.constant, **dense),
        "f(a=a, b=b, c=c)": nanoseconds("f(a=a, b=b, c=c)", f=lib.constant, **dense),
        "f(a, b, c), extents of run time": nanoseconds("f(a, b, c)", f=lib.sized, **dense),
        "f(a, b, c), two results": nanoseconds("f(a, b, c)", f=lib.two, **dense),
        "f(a, 2.0, 3.0)": nanoseconds("f(a, 2.0, 3.0)", f=lib.numbers, a=a),
        "f(a, b, c, out=out)": nanoseconds("f(a, b, c, out=out)", f=lib.constant, out=out, **dense),
        "f(A, b), A sparse": nanoseconds("f(A, b)", f=lib.product, A=A, b=b),
        "f(A, b), A a CheckedPattern": nanoseconds("f(A, b)", f=lib.product, A=checked, b=b),
        "f(A, b, out=out), A a CheckedPattern": nanoseconds("f(A, b, out=out)", f=lib.product, A=checked, b=b, out=out),
        "bound": nanoseconds("f()", f=lib.constant.bind(a=a, b=b, c=c)),
        "bound, extents of run time": nanoseconds("f()", f=lib.sized.bind(x=a, y=b, z=c)),
        "bound, sparse": nanoseconds("f()", f=lib.product.bind(A=A, v=b)),
    }
    empty = nanoseconds("pass")
    return {name: found - empty for name, found in rows.items()}


def measured_with(state: str, library: Path) -> Mapping[str, float]:
    """The same in a new process, by the extension ("used") or through ctypes ("off")."""
    environment = {**os.environ, extension.VARIABLE: "1" if state == "off" else "0"}
    command = [sys.executable, __file__, str(library), state]
    rows: dict[str, float] = json.loads(subprocess.check_output(command, env=environment))
    return rows


def main() -> None:
    library = compile_functions(tempfile.mkdtemp())
    roads = {name: measured_with(state, library) for state, name in ROADS.items()}
    loop = ctypes.CDLL(str(compile_c(HERE / "calls.c"))).loop
    kernel = kernel_nanoseconds(aotensor_runtime.load(library).constant.pointer.address, loop)
    empty = nanoseconds("f(a, b, c)", f=lambda a, b, c: None, a=1, b=2, c=3)
    lines = [
        f"Nanoseconds of a call of `a*b + c` of 8 elements, on {machine()}. Its kernel called from C: {kernel:.0f};",
        f"an empty function of Python: {empty:.0f}.", "", f"| call | {' | '.join(roads)} |", "|---|---:|---:|",
    ]  # fmt: skip
    lines += [f"| {kind} | {' | '.join(f'{rows[kind]:.0f}' for rows in roads.values())} |" for kind in roads["ctypes"]]
    print("\n".join(lines))
    (HERE / "results" / "calls.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        assert extension.state() == sys.argv[2], f"the extension is {extension.state()}"
        print(json.dumps(measure(Path(sys.argv[1]))))
    else:
        main()
