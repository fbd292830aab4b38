"""aotensor against JAX, PyTorch, PyTensor, CasADi, NumPy and hand-written C, on one core and on two.

    python benchmarks/run.py [--cases logistic,mlp] [--cores 1 2] [--scale 0.1 1 10] [--seconds 1] [--compilations 3]

Every case runs in a process of its own for each number of cores, and checks the values before it measures. A row shows
the shortest time of many turns that the contenders take one after the other. With --compilations, compilations are
timed in fresh processes, too, which take turns. Results go to benchmarks/results; those of other cases stay.
Needs: pip install '.[bench]' and gcc; a contender that is missing is left out and named.

Most of the time goes to the compilers of PyTorch and PyTensor, which keep what they made. `--prepare` fills these
caches, and compares all values, on a machine that need not be quiet; then a row takes some ten seconds and
--seconds for each of its contenders. `--minutes 9` ends a run in time, and `--resume` goes on with it.
"""

from __future__ import annotations

import sys
import tempfile
from time import perf_counter
from typing import Any

from cases import CASES
from contenders import DENSE_PEERS, OURS
from harness import run_program
from running import Row, parser_of, run
from table import ALONE, Table

HEADER = """Microseconds per call for value and gradient ({machine}): the shortest of many turns that the
contenders take one after the other; on one core the time that the processor spends on the process, on two the clock's.
The values of all were compared first.

In brackets: how many times as long as aotensor. JAX, PyTorch, PyTensor and NumPy make new outputs at each call and are
compared with `lib.f(...)`, which does too. C and onnxruntime are called on fixed buffers, with arguments converted
beforehand, and compared with `bound`. C is compiled by `gcc -O3 -march=native -ffast-math -fopenmp`, with the same
fusion (`benchmarks/kernels.c`). So is the code that CasADi generates, which has threads where it is mapped over
samples. *torch compiled* is `torch.compile` of value and gradient together, for these shapes.

*Compile* is seconds from nothing to something that can be called: graph, gradient, code; for aotensor also link and
load, for CasADi gcc. Imports do not count. The parts that all libraries have in common were in the cache folder;
*first* is without them. *Process* is the whole process, with imports and the making of the inputs.

"""


def compile_seconds(case: str, names: list[str], core: int, rounds: int) -> dict[str, tuple[float, float]]:
    """Contender → shortest seconds of its compilation, and of the whole process. `first`: without anything cached."""
    best: dict[str, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds + 1):
            for name in names if number else ["aotensor"]:
                start = perf_counter()
                seconds = float(run_program("compiling.py", case, name, cores={core}, AOTENSOR_CACHE_DIR=folder))
                old = best.get(key := name if number else "first", (float("inf"), float("inf")))
                best[key] = min(old[0], seconds), min(old[1], perf_counter() - start)
    return best


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--compilations", type=int, default=0, help="of aotensor and JAX, per case; what is known stays"
    )
    arguments = parser.parse_args()

    def compiled(row: Row, cores: list[int], record: dict[str, Any]) -> None:
        if arguments.compilations and row.cores == 1 and row.scale == 1.0:
            names = [name for name in ALONE if name not in record["missing"]]
            record["compile"] = compile_seconds(row.case, names, cores[0], arguments.compilations)

    return run(Table("speed", CASES, (*OURS, "C", *DENSE_PEERS, "onnxruntime", "NumPy"), HEADER), arguments, compiled)


if __name__ == "__main__":
    sys.exit(main())
