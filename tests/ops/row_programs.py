"""Rows of the case tables as programs, and the libraries that these are compiled in.

A program gives the values and both derivatives of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from case import Case

import aotensor as aot
from aotensor.core.types import Array, TensorType
from aotensor.gradient import Lop, Rop
from aotensor.graph.variable import Variable
from aotensor.graph.walk import evaluate_all

_ROWS = 24
"""Rows per library: compiling shares what all functions need, and a row that fails takes the others along."""


@dataclass(frozen=True)
class RowProgram:
    """A row as a function of its inputs, ȳ and ẋ; it gives the outputs, every Jᵀ·ȳ and every J·ẋ."""

    function: aot.Function
    arrays: Sequence[Array]


@dataclass
class CompiledRows:
    """Compiled programs of some rows, each library made when its first row is asked for."""

    libraries: Sequence[Sequence[Case]]
    folder: Path
    _compiled: dict[str, tuple[RowProgram, Callable[..., list[Array]]]] = field(default_factory=dict)
    _broken: set[str] = field(default_factory=set)

    @staticmethod
    def of(tables: Mapping[str, Sequence[Case]], folder: Path) -> CompiledRows:
        """Libraries of rows that stand in one table together."""
        libraries = [table[k : k + _ROWS] for table in tables.values() for k in range(0, len(table), _ROWS)]
        return CompiledRows(libraries, folder)

    def results(self, case: Case) -> list[tuple[Array, Array]]:
        """(compiled, reference) of the outputs and the derivatives."""
        if case.id not in self._compiled:
            self._compile_neighbours(case)
        program, call = self._compiled[case.id]
        return list(zip(call(*program.arrays), program.function.reference(*program.arrays), strict=True))

    def _compile_neighbours(self, case: Case) -> None:
        """The library that the row is in; the row alone if another one breaks that."""
        neighbours = next(library for library in self.libraries if any(one.id == case.id for one in library))
        if neighbours[0].id not in self._broken:
            try:
                self._compile(neighbours)
            except Exception:  # the row that is to blame raises it again, alone
                self._broken.add(neighbours[0].id)
        if case.id not in self._compiled:
            self._compile([case])

    def _compile(self, cases: Sequence[Case]) -> None:
        name = f"rows_{_identifier(cases[0].id)}_{len(cases)}"
        programs = {case.id: row_program(case) for case in cases}
        functions = [program.function for program in programs.values()]
        library = aot.compile(functions, self.folder / name, name=name, opt_level=1).load()
        for id, program in programs.items():
            self._compiled[id] = program, getattr(library, program.function.name)


def _identifier(id: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in id)


def row_program(case: Case) -> RowProgram:
    """The program of a row, with values for its inputs."""
    arrays = case.draw(np.random.default_rng(7))
    variables = case.variables(arrays)
    outputs = case.outputs(variables)
    positions = case.differentiable(arrays)
    results = list(outputs)
    if positions:
        wrt = [variables[position] for position in positions]
        values = evaluate_all(outputs, dict(zip(variables, arrays, strict=True)))
        rng = np.random.default_rng(8)
        weights = [np.asarray(rng.uniform(0.5, 1.5, value.shape)) for value in values]
        directions = [np.asarray(rng.uniform(0.5, 1.5, arrays[position].shape)) for position in positions]
        cotangents, tangents = _like(outputs, "ct"), _like(wrt, "tangent")
        results += [*Lop(outputs, wrt, cotangents), *Rop(outputs, wrt, tangents)]
        variables, arrays = [*variables, *cotangents, *tangents], [*arrays, *weights, *directions]
    name = f"row_{_identifier(case.id)}"
    return RowProgram(aot.function(variables, results, name=name, on_unused_input="ignore"), arrays)


def _like(xs: Sequence[Variable], name: str) -> list[Variable]:
    """float64 symbols with the dims of xs."""
    return [Variable(TensorType("float64", x.tensor_type.shape), name=f"{name}{k}") for k, x in enumerate(xs)]
