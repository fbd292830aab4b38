"""Rows of the case tables as programs, and the libraries that these are compiled in.

A program gives the values and derivatives of a row: all in one function, or some of them together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import ml_dtypes  # noqa: F401  (np.dtype("bfloat16"))
import numpy as np
from case import Case
from tiny_target import TINY
from tracing import Reached, again, reaching

import aotensor as aot
import aotensor_runtime as art
from aotensor.core.types import Array, TensorType
from aotensor.driver.recipe import Options, lower, make_library
from aotensor.errors import AotensorError
from aotensor.gradient import Lop, Rop
from aotensor.graph.variable import Variable
from aotensor.graph.walk import evaluate_all

_FUNCTIONS = 24
"""Functions per library: compiling shares what all need, and a row that fails takes the others along."""


@dataclass(frozen=True)
class RowProgram:
    """A row as a function of its inputs, ȳ and ẋ; it gives the outputs, every Jᵀ·ȳ, every J·ẋ, or some of them."""

    function: aot.Function
    arrays: Sequence[Array]

    def results(self, call: art.LibraryFunction) -> list[tuple[Array, Array]]:
        """(compiled, reference) of all results; those of one, two and three threads have the same bits."""
        found, *others = (call(*self.arrays, num_threads=count) for count in (1, 2, 3))
        for more in others:
            assert [x.tobytes() for x in more] == [x.tobytes() for x in found], "other bits on several threads"
        return list(zip(found, self.function.reference(*self.arrays), strict=True))


@dataclass
class CompiledRows:
    """Compiled programs of some rows, each library made when its first row is asked for."""

    libraries: Sequence[Sequence[Case]]
    folder: Path
    opt_level: int
    programs: Callable[[Case], Sequence[RowProgram]]
    _compiled: dict[str, list[tuple[RowProgram, art.LibraryFunction]]] = field(default_factory=dict)
    _reached: dict[str, Reached] = field(default_factory=dict)
    _broken: set[str] = field(default_factory=set)

    @staticmethod
    def compile_all(
        tables: Mapping[str, Sequence[Case]],
        folder: Path,
        opt_level: int,
        programs: Callable[[Case], Sequence[RowProgram]] = lambda case: [row_program(case)],
        rows: int = _FUNCTIONS,
    ) -> CompiledRows:
        """Libraries of rows that stand in one table together."""
        libraries = [table[k : k + rows] for table in tables.values() for k in range(0, len(table), rows)]
        return CompiledRows(libraries, folder, opt_level, programs)

    def results(self, case: Case) -> list[tuple[Array, Array]]:
        """(compiled, reference) of the outputs and the derivatives, of all programs of the row."""
        if case.id not in self._compiled:
            self._compile_neighbours(case)
        again(self._reached[case.id])
        return [pair for program, call in self._compiled[case.id] for pair in program.results(call)]

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
        programs = dict[str, Sequence[RowProgram]]()
        for case in cases:
            with reaching() as self._reached[case.id]:
                programs[case.id] = self.programs(case)
        functions = [program.function for several in programs.values() for program in several]
        path = self.folder / f"{name}.so"
        with reaching() as reached:
            lowered = lower(functions, Options(opt_level=self.opt_level, facts=TINY), texts=())
            path.write_bytes(make_library(lowered, name, is_shipped=False).shared())
        library = art.load(path)
        for id, several in programs.items():
            self._compiled[id] = [(program, getattr(library, program.function.name)) for program in several]
            self._reached[id].add(reached)


def _identifier(id: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in id)


@dataclass(frozen=True)
class _Parts:
    """What a row gives: y, Jᵀ·ȳ and J·ẋ, of the inputs, ȳ and ẋ with these arrays."""

    inputs: Sequence[Variable]
    arrays: Sequence[Array]
    values: Sequence[Variable]
    pulled: Sequence[Variable] = ()
    pushed: Sequence[Variable] = ()
    wrt: Sequence[Variable] = ()
    tangents: Sequence[Variable] = ()

    @staticmethod
    def from_case(case: Case) -> _Parts:
        arrays = case.draw(np.random.default_rng(7))
        variables = case.variables(arrays)
        outputs = case.outputs(variables)
        positions = case.differentiable(arrays)
        if not positions:
            return _Parts(variables, arrays, outputs)
        wrt = [variables[position] for position in positions]
        values = evaluate_all(outputs, dict(zip(variables, arrays, strict=True)))
        rng = np.random.default_rng(8)
        weights = [np.asarray(rng.uniform(0.5, 1.5, value.shape)) for value in values]
        directions = [np.asarray(rng.uniform(0.5, 1.5, arrays[position].shape)) for position in positions]
        cotangents, tangents = _like(outputs, "ct"), _like(wrt, "tangent")
        return _Parts(
            [*variables, *cotangents, *tangents],
            [*arrays, *weights, *directions],
            outputs,
            Lop(outputs, wrt, cotangents),
            Rop(outputs, wrt, tangents),
            wrt,
            tangents,
        )

    def curved(self) -> Sequence[Variable]:
        """The derivatives of Jᵀ·ȳ along ẋ, Hessian-vector products; none where a second derivative is refused."""
        try:
            return Rop(list(self.pulled), list(self.wrt), list(self.tangents))  # type: ignore[no-any-return]
        except AotensorError:
            return ()

    def program(self, name: str, results: Sequence[Variable]) -> RowProgram:
        return RowProgram(aot.function(self.inputs, list(results), name=name, on_unused_input="ignore"), self.arrays)


def row_program(case: Case, has_tangents: bool = True) -> RowProgram:
    """The program of a row, with values for its inputs. `has_tangents`: J·ẋ is one of its results."""
    parts = _Parts.from_case(case)
    pushed = parts.pushed if has_tangents else ()
    return parts.program(f"row_{_identifier(case.id)}", [*parts.values, *parts.pulled, *pushed])


def half_program(case: Case, dtype: str) -> RowProgram:
    """The values and Jᵀ·ȳ of a row whose inputs of float64 are of `dtype`, and ȳ, too."""
    arrays = [x.astype(dtype) if x.dtype == np.float64 else x for x in case.draw(np.random.default_rng(7))]
    variables = case.variables(arrays)
    outputs = case.outputs(variables)
    wrt = [variables[position] for position in case.differentiable(arrays)]
    values = evaluate_all(outputs, dict(zip(variables, arrays, strict=True)))
    rng = np.random.default_rng(8)
    cotangents = [Variable(TensorType(x.dtype, x.tensor_type.shape), name=f"ct{k}") for k, x in enumerate(outputs)]
    weights = [rng.uniform(0.5, 1.5, value.shape).astype(x.dtype) for x, value in zip(outputs, values, strict=True)]
    pulled = Lop(outputs, wrt, cotangents) if wrt else []
    name = f"{dtype}_{_identifier(case.id)}"
    given, inputs = ([*arrays, *weights], [*variables, *cotangents]) if wrt else (arrays, variables)
    return RowProgram(aot.function(inputs, [*outputs, *pulled], name=name, on_unused_input="ignore"), given)


def combined_programs(case: Case) -> list[RowProgram]:
    """Outputs of a row that share loops and storage: values and all derivatives, and derivatives in pairs."""
    parts = _Parts.from_case(case)
    if not parts.wrt:
        return []
    pulled, pushed, curved = parts.pulled, parts.pushed, parts.curved()
    together = {"all": [*parts.values, *pulled, *pushed, *curved], "derivatives": [*pulled, *pushed]}
    if curved:
        together |= {"pushed": [*pushed, *curved], "pulled": [*curved, *pulled]}
    return [parts.program(f"{name}_{_identifier(case.id)}", results) for name, results in together.items()]


def _like(xs: Sequence[Variable], name: str) -> list[Variable]:
    """float64 symbols with the dims of xs."""
    return [Variable(TensorType("float64", x.tensor_type.shape), name=f"{name}{k}") for k, x in enumerate(xs)]
