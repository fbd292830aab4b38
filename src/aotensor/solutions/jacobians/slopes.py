"""The Jacobian ∂F/∂x of a solver: dense, sparse by colouring, or known by its products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.gradient.jacobians import jacobian
from aotensor.gradient.sparsity.structure import structure_of
from aotensor.graph.coercion import check_choice
from aotensor.graph.sparse_type import scipy_sparse
from aotensor.graph.variable import Variable

MATRICES: Final = ("dense", "sparse")
KINDS: Final = (*MATRICES, "matrix-free")


@dataclass(frozen=True, eq=False)
class Slopes:
    """How the Jacobian of a solver is computed and stored.

    kind: "dense"; "sparse", by colouring, as a CSR matrix of a constant pattern; "matrix-free", by products with
    vectors. pattern: of a sparse one, a bool CSR matrix, or None for the pattern of the graph.
    """

    kind: str = "dense"
    pattern: Any = None

    def of(self, output: Variable, x: Variable, has_diagonal: bool = False) -> Variable:
        """∂output[i]/∂x[j], (n, n); without entries if the output does not depend on x.

        has_diagonal: a sparse Jacobian stores all elements of the diagonal.
        """
        if self.kind == "dense":
            return slopes(output, x)
        pattern = self.pattern
        if has_diagonal:
            found = structure_of(output, x) if pattern is None else pattern
            pattern = (found + scipy_sparse().identity(found.shape[0], dtype=bool, format="csr")).tocsr()
            pattern.sort_indices()
        return jacobian(output, x, disconnected_inputs="ignore", sparse=True, pattern=pattern)  # type: ignore[no-any-return]

    def of_normal_equations(self) -> Slopes:
        """The same for Jᵀ·r, whose Jacobian has at most the pattern of Jᵀ·J."""
        if self.pattern is None:
            return self
        square = (self.pattern.T.astype("int64") @ self.pattern.astype("int64")).astype(bool).tocsr()
        square.sort_indices()
        return Slopes(self.kind, square)


def slopes(output: Variable, x: Variable) -> Variable:
    """The dense Jacobian ∂output[i]/∂x[j]; zeros if the output does not depend on x."""
    return jacobian(output, x, disconnected_inputs="ignore")  # type: ignore[no-any-return]


def chosen_slopes(
    name: str,
    start: str,
    x: Variable,
    kind: str | None,
    jac_sparsity: Any,
    kinds: Sequence[str] = KINDS,
    output: Variable | None = None,
) -> Slopes:
    """The Jacobian that a user chose.   kind: None is "sparse" with jac_sparsity, else "dense"

    start: what the user calls x, a vector. kinds: that the solver has. output: a vector, by default as long as x.

    Raises: GraphTypeError, GraphValueError for another kind, a pattern that is not a SciPy matrix of the Jacobian's
    shape or is given with a dense Jacobian, and for a sparse Jacobian of unknown extents.
    """
    if kind is None:
        kind = "dense" if jac_sparsity is None else "sparse"
    check_choice(f"{name}: jacobian", kind, kinds)
    if kind != "sparse":
        if jac_sparsity is not None:
            raise GraphValueError(f'{name}: jac_sparsity needs jacobian="sparse", not {kind!r}')
        return Slopes(kind)
    (rows,), (columns,) = (x if output is None else output).static_shape, x.static_shape
    if rows is None or columns is None:
        raise GraphValueError(
            f"{name}: a sparse Jacobian needs the extents of {start if columns is None else 'fun'}",
            lines=[x.describe() if output is None else output.describe()],
            hint="give it shape=(numbers): the pattern is a part of the library",
        )
    return Slopes(kind, None if jac_sparsity is None else _pattern(name, jac_sparsity, (rows, columns)))


def _pattern(name: str, given: Any, shape: tuple[int, int]) -> Any:
    """A pattern as a bool CSR matrix.   Raises: GraphTypeError, GraphValueError"""
    if not scipy_sparse().issparse(given):
        raise GraphTypeError(f"{name}: jac_sparsity must be a SciPy sparse matrix, not {type(given).__name__}")
    if given.shape != shape:
        raise GraphValueError(f"{name}: jac_sparsity must have the shape {shape}, not {given.shape}")
    found = given.tocsr().astype(bool)
    found.data[:] = True
    found.sum_duplicates()
    return found
