"""The libraries of a problem: its solutions and gradients by `solve_ivp`, and the user functions of CVODES."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

from tools.judges.integrate.problem import Problem

import aotensor as aot
import aotensor.tensor as at

METHODS: Final = {False: ("Tsit5", "DOP853"), True: ("Rodas5P", "Rodas4")}
"""Our methods for problems that are not stiff, and for those that are."""
MAX_STEPS: Final = 100_000


def solutions(problem: Problem) -> list[aot.Function]:
    """solve0 and solve1: y0, p, rtol, atol → y at the end, success, steps, by each of the methods for such problems;
    and slope0, the gradient of Σ weights·y in p by the first one.
    """
    y0, p = at.vector("y0", shape=(len(problem.start),)), at.vector("p", shape=(len(problem.parameters),))
    rtol, atol = at.scalars("rtol", "atol", dtype="float64")
    made = []
    for k, method in enumerate(METHODS[problem.is_stiff]):
        found = at.integrate.solve_ivp(
            lambda t, y: problem.rates(t, y, p), (0.0, problem.end), y0, t_eval=[problem.end], method=method,
            rtol=rtol, atol=atol, max_steps=MAX_STEPS,
        )  # fmt: skip
        y, inputs = found.y[:, 0], [y0, p, rtol, atol]
        made.append(aot.function(inputs, {"y": y, "success": found.success, "steps": found.steps}, name=f"solve{k}"))
        if k == 0:
            slope = aot.grad((y * problem.weights()).sum(), p)
            made.append(aot.function(inputs, {"slope": slope}, name="slope0"))
    return made


def rates(problem: Problem) -> aot.Function:
    """The right-hand side, for abi="sundials"."""
    t, y = at.scalar("t"), at.vector("y", shape=(len(problem.start),))
    p = at.vector("p", shape=(len(problem.parameters),))
    return aot.function([t, y, p], at.stack(problem.rates(t, y, p)), name="rates", on_unused_input="ignore")


def compiled(problem: Problem, folder: Path) -> None:
    """Compile the libraries, and the program `speed` that times them, into `folder`.

    Raises: subprocess.CalledProcessError if there is no C compiler, or no libsundials-dev.
    """
    aot.compile(rates(problem), folder, name="user", abi="sundials", threads=False)
    aot.compile(solutions(problem), folder, name="ours", threads=False)
    arrays = {"START": problem.start, "P": problem.parameters, "WEIGHTS": problem.weights().tolist()}
    lines = [f"static const double {name}[] = {{{', '.join(map(repr, x))}}};" for name, x in arrays.items()]
    lines += [f"#define END {problem.end!r}", f"#define SCALE {problem.scale!r}"]
    needs_lapack = "context->blas must have" in (folder / "ours.h").read_text(encoding="utf-8")
    lines += [f"#define MAX_STEPS {MAX_STEPS}", f"#define NEEDS_LAPACK {int(needs_lapack)}"]
    (folder / "data.h").write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = ["cc", "-std=gnu11", "-O2", "-Wall", f"-I{folder}", str(Path(__file__).with_name("speed.c"))]
    command += [f"-L{folder}", "-lours", "-luser", f"-Wl,-rpath,{folder}"]
    command += [f"-lsundials_{name}" for name in _LIBRARIES]
    command += [*(["-llapack", "-lblas"] if needs_lapack else []), "-lm", "-Werror", "-o", str(folder / "speed")]
    subprocess.run(command, check=True)


_LIBRARIES: Final = ("cvodes", "nvecserial", "sunmatrixdense", "sunlinsoldense", "sunnonlinsolfixedpoint")


def run(folder: Path, *arguments: str, may_crash: bool = False) -> list[list[str]]:
    """The words of each line that the program prints; complaints of CVODES about failed runs are left out.

    Raises: subprocess.CalledProcessError if it fails, unless it `may_crash`: then the lines are those until then.
    """
    command = [str(folder / "speed"), *arguments]
    made = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=not may_crash)
    return [line.split() for line in made.stdout.splitlines()]
