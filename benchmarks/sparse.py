"""aotensor's sparse products and gradients against C, MKL, SciPy, PyTorch, PyTensor and JAX, on one core and on two.

    python benchmarks/sparse.py [--cases spmv-random,sddmm] [--cores 1 2] [--scale 0.1 1 10] [--seconds 1]

Every case runs in a process of its own for each number of cores, checks the values before it measures, and measures
as benchmarks/run.py does, with the same options. Results go to benchmarks/results; those of other cases stay.
Needs: pip install '.[bench]' and gcc; a contender that is missing is left out and named.
"""

from __future__ import annotations

import sys

from cases import SPARSE_CASES
from contenders import OURS, SPARSE_PEERS
from running import parser_of, run
from table import Table

HEADER = """Microseconds per call ({machine}): the shortest of many turns that the contenders take one after
the other. The values of all were compared first. float64, int32 indices.

In brackets: how many times as long as aotensor. MKL (through `sparse_dot_mkl`), SciPy, PyTorch, PyTensor and JAX (BCOO)
make new outputs at each call and are compared with `lib.f(...)`, which does too, and looks at every index first: nobody
else checks that a matrix is one. `checked` is the same call with a `CheckedPattern`, whose indices it does not look at,
and shows what the look costs. C is called on fixed buffers, with arguments converted beforehand and a copy of the
pattern of its own, and compared with `bound`, which is checked once and has such a copy, too; it is compiled by
`gcc -O3 -march=native -ffast-math -fopenmp`, with the obvious fusions (`benchmarks/kernels_sparse.c`). CasADi's
generated code is compiled and compared so, too. SciPy uses one core, the others all that they are given. One core: time
that the processor spends on the process; two: time on the clock.

"""


def main() -> int:
    compiled = ("torch", "torch compiled", "PyTensor Numba", "PyTensor C", "JAX", "CasADi")
    columns = (*OURS, "C", "MKL", "SciPy", "single calls", *compiled)
    assert set(SPARSE_PEERS) <= set(columns)
    return run(Table("sparse", SPARSE_CASES, columns, HEADER), parser_of(__doc__).parse_args())


if __name__ == "__main__":
    sys.exit(main())
