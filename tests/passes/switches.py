"""Optimisations by how they are switched off, and what a program shows of each.

A row says: with the optimisation the text of one stage of a program has a property, without it it has not. So a row
fails if the optimisation is gone, and if the property does not depend on it.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pytest
from xdsl.dialects.builtin import ModuleOp

import aotensor as aot
from aotensor.driver.recipe import Options, stage_text
from aotensor.graph.passes.pipeline import Pipeline, pipeline_of
from aotensor.passes.pipeline import Pass, PassRunner
from aotensor.passes.target import Target

Holds: TypeAlias = Callable[[str], bool]
"""A property of the text of a stage, or of one kernel in it."""

OPTIONS = Options(target="x86_64-linux-gnu", cpu="icelake-server", facts=Target())
"""One machine for all rows, whatever the tests run on."""


@dataclass(frozen=True)
class Switch:
    """What turns an optimisation off.

    about: the pass, or the symbols in the sources (`module:name`), that it concerns.
    """

    about: tuple[str, ...]
    off: Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Row:
    """An optimisation: with it the text of `stage` has the property, without it it has not.

    program: makes a function, in the state of the switch. cores: are loops cut into chunks? What a row looks for is
    easier seen in whole ones.
    """

    name: str
    switch: Switch
    program: Callable[[], aot.Function]
    stage: str
    holds: Holds
    part: str = "kernel"
    cores: bool = False

    @property
    def options(self) -> Options:
        return OPTIONS if self.cores else replace(OPTIONS, pipeline=pipeline_of(None, ["parallelize"]))

    def shows(self) -> bool:
        """Has the text the property?"""
        f = self.program()
        return self.holds(part_of(stage_text([f], self.stage, self.options), f"@{f.name}.{self.part}"))


def without_pass(name: str) -> Switch:
    """The pass does not run, on graphs or on modules."""
    run, at = PassRunner.run, Pipeline.at

    def some(self: PassRunner, module: ModuleOp, passes: Sequence[Pass]) -> None:
        run(self, module, [step for step in passes if step.name != name])

    def off(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(PassRunner, "run", some)
        patch.setattr(Pipeline, "at", lambda self, level: [one for one in at(self, level) if one.name != name])

    return Switch((name,), off)


def replaced(symbol: str, value: object) -> Switch:
    """`module:name` or `module:Class.name` is something else."""
    module, _, name = symbol.partition(":")

    def off(patch: pytest.MonkeyPatch) -> None:
        *owners, last = name.split(".")
        target: Any = importlib.import_module(module)
        for owner in owners:
            target = getattr(target, owner)
        patch.setattr(target, last, value)

    return Switch((symbol,), off)


def without_rule(symbol: str, key: Any, value: object = None) -> Switch:
    """A table of rules, `module:name`, has another one for a key; None: it has none."""
    module, _, name = symbol.partition(":")

    def off(patch: pytest.MonkeyPatch) -> None:
        table = dict(getattr(importlib.import_module(module), name))
        if value is None:
            del table[key]
        else:
            table[key] = value
        patch.setattr(importlib.import_module(module), name, table)

    return Switch((f"{symbol}[{key.__name__}]",), off)


def never(*_: object, **__: object) -> bool:
    """In place of a condition."""
    return False


def one(*_: object, **__: object) -> int:
    """In place of a number of things that are done together."""
    return 1


def nothing(*_: object, **__: object) -> None:
    """In place of what would do something."""


def part_of(text: str, symbol: str) -> str:
    """One function of a stage's text; all of it where it is called otherwise."""
    start = text.find(symbol)
    if start < 0:
        return text
    end = text.find("\n  func.func", start)
    return text[start:end] if end > 0 else text[start:]


def has(pattern: str, times: int | None = None) -> Holds:
    """The pattern is there; or as often as that."""
    if times is None:
        return lambda text: re.search(pattern, text) is not None
    return lambda text: len(re.findall(pattern, text)) == times


def lacks(pattern: str) -> Holds:
    """The pattern is not there."""
    return lambda text: re.search(pattern, text) is None


def body(holds: Holds) -> Holds:
    """The property of the first body of a loop or branch, which is a function of its own."""

    def check(text: str) -> bool:
        found = re.search(r"func\.func private @f\.\w+\(.*?func\.return", text, re.DOTALL)
        return found is not None and holds(found.group())

    return check
