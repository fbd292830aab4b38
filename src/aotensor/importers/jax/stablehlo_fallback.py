"""Translate primitives without a rule through JAX's own lowering to StableHLO, whose operations have rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

import aotensor.tensor as at
from aotensor.extension import Site
from aotensor.importers.jax.keys import is_key, words
from aotensor.importers.jax.sites import site_of
from aotensor.importers.stablehlo.importer import Importer
from aotensor.importers.stablehlo.reader import read_module
from aotensor.importers.stablehlo.table import Program
from aotensor.importers.stablehlo.text import DamagedText
from aotensor.importers.stablehlo.translate import Translator


class _Lowered(Importer):
    """An importer that assigns the primitive's source line to all nodes."""

    def __init__(self, name: str, site: Site | None) -> None:
        super().__init__(name)
        self._site = site

    def site(self, equation: Any) -> Site | None:
        return self._site


def program_of(equation: Any) -> Program | None:
    """The program that JAX lowers a primitive to, on CPUs; None if there is no lowering, or it cannot be translated."""
    avals = [x.aval for x in (*equation.invars, *equation.outvars)]
    if equation.effects or not all(isinstance(n, int | np.integer) for aval in avals for n in aval.shape):
        return None

    def call(*inputs: Any) -> list[Any]:
        given = [
            jax.random.wrap_key_data(x) if is_key(var.aval) else x
            for x, var in zip(inputs, equation.invars, strict=True)
        ]
        found = equation.primitive.bind(*given, **equation.params)
        listed = found if equation.primitive.multiple_results else [found]
        return [jax.random.key_data(x) if is_key(x.aval) else x for x in listed]

    specs = [words(x.aval) if is_key(x.aval) else jax.ShapeDtypeStruct(x.aval.shape, x.aval.dtype)
             for x in equation.invars]  # fmt: skip
    name = equation.primitive.name
    try:
        text = jax.export.export(jax.jit(call, keep_unused=True), platforms=["cpu"])(*specs).mlir_module()
        module = read_module(text, name)
    except (NotImplementedError, TypeError, ValueError, KeyError, DamagedText):  # it has no lowering alone
        return None
    translator = Translator(module, name)
    program = translator.function("main")
    return None if translator.missing else program


def run_lowered(equation: Any, inputs: Sequence[at.Variable]) -> list[at.Variable]:
    """The outputs of a primitive, by the program that `program_of` returns for it."""
    program = program_of(equation)
    assert program is not None, equation
    return _Lowered(equation.primitive.name, site_of(equation)).run(program, inputs)
