"""Every sparse program on entries in any order, some of them duplicates, against its formula on the dense matrix.

Value, gradients, forward derivatives and the gradients' own ones. The formulas are NumPy's, derived by the complex
step: no sparse code has a part in what is expected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement import dense as as_array
from unordered_rows import ENTRIES, TABLE, Row, Structure

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.driver.prepare import prepare
from aotensor.gradient import Lop, Rop, grad
from aotensor.graph.variable import Variable
from aotensor.graph.walk import evaluate_all

STEP = 1e-30
DATA = np.array([0.11, 0.23, 0.17, 0.29, 0.13, 0.19, 0.31, 0.07, 0.05, 0.37])
Program = tuple[list[Variable], list[Variable]]
ROWS = pytest.mark.parametrize("row", TABLE, ids=lambda row: row.id)


def structures(row: Row, entries: list[tuple[int, int]], format: str) -> list[Structure]:
    """Of the first matrix, and of those among the further operands."""
    others = [x for x in row.others if isinstance(x, list)]
    return [
        Structure.from_entries(format, entries, (3, 4)),
        *(Structure.from_entries(format, x, row.other_shape) for x in others),
    ]


def program(row: Row, found: Sequence[Structure], is_known: bool) -> Program:
    """Symbols and results: the value, J·ẋ, Jᵀ·ȳ for each operand, and the derivative of ⟨Jᵀ·ȳ, ẋ⟩ for each.

    The symbols are the indices and indptr of all matrices unless they are known, then data and dense operands, then
    their tangents, then the cotangent.
    """
    rest = iter(found)
    first = next(rest)
    steering: list[Variable] = []
    operands: list[Variable] = []

    def matrix(structure: Structure) -> Variable:
        vectors: list[Any] = [structure.indices, structure.indptr]
        if not is_known:
            vectors = [at.vector(dtype="int32") for _ in vectors]
            steering.extend(vectors)
        operands.append(at.vector(dtype="float64"))
        return sp.CSM(structure.format)(operands[-1], *vectors, structure.shape)  # type: ignore[no-any-return]

    def dense(value: Array) -> Variable:
        operands.append(at.tensor(dtype="float64", shape=value.shape))
        return operands[-1]

    y = row.program(matrix(first), *(matrix(next(rest)) if isinstance(x, list) else dense(x) for x in row.others))
    y = sp.dense_from_sparse(y) if y.is_sparse else y
    tangents = [Variable(x.type) for x in operands]
    weights = at.tensor(dtype="float64", shape=(None,) * y.ndim)
    options: Any = {"disconnected_outputs": "ignore"}
    pushed = Rop(y, operands, tangents, **options)
    pulled = Lop(y, operands, weights, disconnected_inputs="ignore")
    derivative = sum((term * tangent).sum() for term, tangent in zip(pulled, tangents, strict=True))
    second = grad(derivative, operands, disconnected_inputs="ignore")
    return [*steering, *operands, *tangents, weights], [y, pushed, *pulled, *second]


def drawn(row: Row, found: Sequence[Structure], rng: np.random.Generator) -> list[Array]:
    """Values for data and dense operands: a stored zero where the function takes one."""
    rest = iter(found)

    def data(structure: Structure) -> Array:
        values = DATA[: len(structure.places)].copy()
        values[2] = values[2] if row.positive else 0.0
        return values

    return [data(next(rest)), *(rng.permutation(data(next(rest))) if isinstance(x, list) else x for x in row.others)]


def expected(
    row: Row, found: Sequence[Structure], values: list[Array], tangents: list[Array], weights: Callable[[Any], Array]
) -> list[Array]:
    """The results by the formula: derivatives by the complex step, second ones by a difference of such."""
    stored = found[0].stored

    def at_point(operands: Sequence[Array]) -> Array:
        rest = iter(found)
        first, *others = operands
        dense = [
            next(rest).dense(first),
            *(
                next(rest).dense(value) if isinstance(kind, list) else value
                for value, kind in zip(others, row.others, strict=True)
            ),
        ]
        return np.asarray(row.formula(*dense, stored=stored))

    def pushed(operands: Sequence[Array], directions: Sequence[Array]) -> Array:
        return at_point([x + 1j * STEP * t for x, t in zip(operands, directions, strict=True)]).imag / STEP

    def pulled(operands: Sequence[Array]) -> list[Array]:
        results = []
        for position, x in enumerate(operands):
            derivatives = np.zeros(x.shape)
            for place in np.ndindex(x.shape):
                directions = [np.zeros(z.shape) for z in operands]
                directions[position][place] = 1
                derivatives[place] = np.sum(cotangent * pushed(operands, directions))
            results.append(derivatives)
        return results

    value = at_point(values)
    cotangent = weights(value)
    size = 1e-6
    sides = [pulled([x + sign * size * t for x, t in zip(values, tangents, strict=True)]) for sign in (1, -1)]
    second = [(a - b) / (2 * size) for a, b in zip(*sides, strict=True)]
    return [value.real, pushed(values, tangents), *pulled(values), *second]


@dataclass(frozen=True)
class Problem:
    """A row on a structure: operands and their tangents, the weights of the value, and what the formula gives."""

    found: list[Structure]
    values: list[Array]
    tangents: list[Array]
    weights: Array
    wanted: list[Array]


@cache
def problem(id: str, format: str, name: str) -> Problem:
    """The row of this id on the structure `name`; the formula takes longer than most programs."""
    row = next(row for row in TABLE if row.id == id)
    rng = np.random.default_rng(5)
    found = structures(row, ENTRIES[name], format)
    values = drawn(row, found, rng)
    tangents = [rng.uniform(0.5, 1.5, x.shape) for x in values]
    wanted = expected(row, found, values, tangents, lambda y: np.arange(1.0, 1.0 + y.size).reshape(y.shape))
    weights = np.arange(1.0, 1.0 + wanted[0].size).reshape(wanted[0].shape)
    return Problem(found, values, tangents, weights, wanted)


def check(row: Row, format: str, name: str, run: Callable[[list[Structure], list[Array]], list[Any]]) -> None:
    """What `run` makes of the structure `name` is what the formula gives; it may leave out results."""
    given = problem(row.id, format, name)
    results = run(given.found, [*given.values, *given.tangents, given.weights])
    count = len(given.values)
    labels = ["value", "forward", *(f"gradient {k}" for k in range(count)), *(f"second {k}" for k in range(count))]
    for label, result, exact in zip(labels, results, given.wanted, strict=False):
        if result is None:
            continue
        result = as_array(result)
        rtol = max(row.rtol, 1e-7 if label.startswith("second") else 0.0)
        size = max(1.0, float(np.abs(exact).max(initial=0)))
        np.testing.assert_allclose(result, exact, rtol=rtol, atol=rtol * size, err_msg=f"{name} {format} {label}")


def steering(found: Sequence[Structure]) -> list[Array]:
    """The vectors of the patterns, as `program` asks for them."""
    return [vector for structure in found for vector in (structure.indices, structure.indptr)]


def reference(outputs: list[Variable], inputs: list[Variable]) -> list[Variable]:
    """Op by op, on SciPy's matrices."""
    return outputs


def prepared(outputs: list[Variable], inputs: list[Variable]) -> list[Variable]:
    """As it is compiled: rewritten, and said in ops on vectors; these by their references."""
    return list(prepare(outputs, inputs))


@pytest.mark.parametrize(
    ("form", "is_known"),
    [(reference, True), (prepared, True), (prepared, False)],
    ids=["reference", "prepared", "prepared-input"],
)
@pytest.mark.shows("sparse/0-unsorted", "sparse/0-duplicates", "sparse/0-pushforward", "sparse/0-second-order")
@ROWS
def test_program_is_the_dense_formula(row: Row, form: Callable[..., list[Variable]], is_known: bool) -> None:
    """A program serves all structures, unless it knows one."""

    def made(found: list[Structure]) -> Program:
        inputs, outputs = program(row, found, is_known)
        return inputs, form(outputs, inputs)

    for format in row.formats:
        general = None if is_known else made(structures(row, ENTRIES["sorted"], format))
        for name in ENTRIES:

            def run(found: list[Structure], values: list[Array], general: Program | None = general) -> list[Any]:
                inputs, outputs = general or made(found)
                return evaluate_all(
                    outputs, dict(zip(inputs, [*([] if is_known else steering(found)), *values], strict=True))
                )

            check(row, format, name, run)


COMPILED = (
    "structured_exp", "add_s_s", "mul_s_s", "mul_s_v", "dot-matrix", "structured_dot-sparse", "true_dot-transposed",
    "sampling_dot", "get_item_list", "sp_sum-structured-0", "max-1", "two-uses",
)  # fmt: skip


@pytest.mark.shows("sparse/0-unsorted", "sparse/0-duplicates")
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_library_is_the_dense_formula(format: str, tmp_path: Path) -> None:
    """Values and gradients of some rows; one function serves all structures, whose vectors are inputs."""
    rows = [row for row in TABLE if row.id in COMPILED]
    functions = []
    for position, row in enumerate(rows):
        inputs, outputs = program(row, structures(row, ENTRIES["sorted"], format), is_known=False)
        read = [outputs[0], *outputs[2 : 3 + len(row.others)]]
        functions.append(aot.function(inputs, read, on_unused_input="ignore", name=f"row{position}"))
    library = aot.compile(functions, tmp_path, name="unordered", opt_level=0).load()
    assert len(rows) == len(COMPILED)
    for position, row in enumerate(rows):
        for name in ENTRIES:

            def run(found: list[Structure], values: list[Array], name: str = f"row{position}") -> list[Any]:
                value, *derivatives = getattr(library, name)(*steering(found), *values)
                return [value, None, *derivatives]

            check(row, format, name, run)
