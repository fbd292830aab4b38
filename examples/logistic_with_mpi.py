"""Logistic regression over ranks of MPI: each rank has its own rows, and `MPI.Op` merges their partial results.

    python examples/logistic_with_mpi.py make                          compiles the rounds
    mpiexec -n 4 python examples/logistic_with_mpi.py fit --rows 200000
    mpiexec -n 4 python examples/logistic_with_mpi.py fit --compare    with all rows on one rank, too

`fit` needs aotensor_runtime, NumPy, SciPy and mpi4py (`pip install 'aotensor[mpi]'`, where there is no MPI) alone. It
knows the protocol of rounds and nothing of this function: the section `rounds` of the library says what is called when.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

COLUMNS = 20
_DRAWN = 24
"""Numbers that are drawn for a row."""


def make(folder: Path) -> None:
    """Compile loss and gradient in rounds."""
    import aotensor as aot
    import aotensor.tensor as at

    X, y = at.matrix("X", dtype="float64", shape=("n", "p")), at.vector("y", dtype="float64", shape=("n",))
    w = at.vector("w", dtype="float64", shape=("p",))
    loss = at.softplus(-y * (X @ w)).mean() + 1e-3 * (w**2).sum()
    f = aot.function([X, y, w], {"loss": loss, "grad_w": aot.grad(loss, w)}, name="logistic")
    aot.split(f, over="n").compile(folder)


def rows_of(start: int, stop: int) -> dict[str, Any]:
    """Rows with a fixed seed, whoever has them: each is drawn from its own number."""
    truth = np.random.default_rng(0).normal(size=COLUMNS)
    bits = np.random.Philox(key=7)
    bits.advance(start * _DRAWN // 4)  # which makes four numbers at a time
    uniform = np.random.Generator(bits).random((stop - start, _DRAWN))
    X = np.sqrt(12) * (uniform[:, 1 : COLUMNS + 1] - 0.5)
    return {"X": X, "y": np.where(uniform[:, 0] < 1 / (1 + np.exp(-X @ truth)), 1.0, -1.0)}


class Ranks:
    """A split function on the rows of every rank: each computes one chunk, all get the results."""

    def __init__(self, comm: Any, library: Path, **rows: Any) -> None:
        from aotensor_runtime import load
        from aotensor_runtime.rounds import open_rounds

        split = open_rounds(load(library))
        self.comm, self.library, self.protocol, self.rows = comm, split.library, split.protocol, rows
        axes = {name: axis for name, axis in self.protocol.inputs.items() if axis is not None}
        counts = comm.allgather(next(rows[name].shape[axis] for name, axis in axes.items()))
        self.first_row, self.total = np.int64(sum(counts[: comm.rank])), np.int64(sum(counts))

    def __call__(self, **inputs: Any) -> dict[str, Any]:
        """Outputs of the whole function that have no rows, on every rank."""
        known: dict[str, Any] = {**inputs, self.protocol.total: self.total, self.protocol.first_row: self.first_row}
        if self.protocol.start is not None:
            known |= self._call(self.protocol.start, known)
        for each in self.protocol.rounds:
            found = self._call(each.map, {**known, **self.rows})
            if each.merge is not None:
                known |= self._merged(each.merge, {name: found[name] for name in each.partials})
            if each.finish is not None:
                known |= self._call(each.finish, known)
        return {key: known[name] for name, key in self.protocol.outputs.items() if name in known}

    def _call(self, name: str, known: Mapping[str, Any]) -> dict[str, Any]:
        function = self.library[name]
        return function(**{x.name: known[x.name] for x in function.spec.arguments if x.default is None})

    def _merged(self, merge: str, mine: Mapping[str, Any]) -> dict[str, Any]:
        """Partials of all ranks: an operation of MPI on their bytes, associative, in the order of ranks."""
        from mpi4py import MPI

        kinds = np.dtype([(name, np.asarray(x).dtype, np.shape(x)) for name, x in mine.items()])

        def operation(a: Any, b: Any, datatype: Any) -> None:
            for x, y in zip(np.frombuffer(a, kinds), np.frombuffer(b, kinds), strict=True):
                given = {f"{side}_{name}": z[name] for side, z in (("a", x), ("b", y)) for name in mine}
                for name, value in self._call(merge, given).items():
                    y[name] = value

        packed, result = np.zeros(1, kinds), np.zeros(1, kinds)
        for name, x in mine.items():
            packed[name] = x
        one = MPI.BYTE.Create_contiguous(kinds.itemsize).Commit()
        op = MPI.Op.Create(operation, commute=False)
        try:
            self.comm.Allreduce([packed, 1, one], [result, 1, one], op)
        finally:
            op.Free()
            one.Free()
        return {name: result[name][0] for name in mine}


def fit(folder: Path, rows: int, compare: bool) -> None:
    """Every rank minimises over w, and takes the same steps, as all see the same sums."""
    from mpi4py import MPI
    from scipy.optimize import minimize

    comm = MPI.COMM_WORLD
    cuts = [rows * k // comm.size for k in range(comm.size + 1)]

    def fitted(f: Callable[..., dict[str, Any]]) -> Any:
        def loss(w: Any) -> tuple[float, Any]:
            found = f(w=w)
            return float(found["loss"]), found["grad_w"]

        return minimize(loss, np.zeros(COLUMNS), jac=True, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-9})

    library = folder / "liblogistic.so"
    found = fitted(Ranks(comm, library, **rows_of(cuts[comm.rank], cuts[comm.rank + 1])))
    if comm.rank:
        return
    print(f"{comm.size} ranks: loss {found.fun:.6f} after {found.nfev} evaluations")
    if compare:
        inside = fitted(Ranks(MPI.COMM_SELF, library, **rows_of(0, rows)))
        print(f"largest difference to the weights of one rank: {np.abs(found.x - inside.x).max():.1e}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["make", "fit"])
    parser.add_argument("--folder", type=Path, default=Path("rounds"))
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--compare", action="store_true")
    given = parser.parse_args()
    if given.step == "make":
        make(given.folder)
    else:
        fit(given.folder, given.rows, given.compare)


if __name__ == "__main__":
    main()
