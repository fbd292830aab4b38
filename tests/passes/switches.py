"""Optimisations by how they are switched off, and what a program shows of each.

A row says: with the optimisation the text of one stage of a program has a property; without it, it has not. So a row
fails if the optimisation is gone, and if the property does not depend on it. No switch changes a private name: it is a
pass that does not run, an option of a pass or of the compiler, a fact of the machine, a rule less in a table, or a
program that the optimisation does not apply to.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pytest

import aotensor as aot
from aotensor.driver.recipe import Options, stage_text
from aotensor.graph.passes.pipeline import DEFAULT, Pipeline, pipeline_of
from aotensor.passes.target import Target

Holds: TypeAlias = Callable[[str], bool]
"""A property of the text of a stage, or of one kernel in it."""
Program: TypeAlias = Callable[[], aot.Function]

FACTS = Target()
OPTIONS = Options(target="x86_64-linux-gnu", cpu="icelake-server", facts=FACTS)
"""One machine for all rows, whatever the tests run on."""


@dataclass(frozen=True)
class Switch:
    """What turns an optimisation off, or shows a program that it does not apply to.

    about: the pass that does not run, or the rule that is gone. options: how to compile, from how a row compiles.
    program: the one to compile instead of the row's. rules: a table of rules, and the key of the one to leave out.
    """

    about: str = ""
    options: Callable[[Options], Options] = lambda options: options
    program: Program | None = None
    rules: tuple[dict[type, Any], type] | None = None


@dataclass(frozen=True)
class Row:
    """An optimisation: with it the text of `stage` has the property; without it, it has not.

    cores: are loops cut into chunks? What a row looks for is easier seen in whole ones.
    """

    name: str
    switch: Switch
    program: Program
    stage: str
    holds: Holds
    part: str = "kernel"
    cores: bool = False

    @property
    def options(self) -> Options:
        """How the program is compiled with the optimisation."""
        return OPTIONS if self.cores else replace(OPTIONS, pipeline=pipeline_of(None, ["parallelize"]))

    def shows(self) -> bool:
        """Has the text the property?"""
        return self._holds(self.program(), self.options)

    def shows_without(self) -> bool:
        """Has the text the property, in the state of the switch?"""
        program = self.switch.program or self.program
        with pytest.MonkeyPatch.context() as patch:
            if self.switch.rules is not None:
                patch.delitem(*self.switch.rules)
            return self._holds(program(), self.switch.options(self.options))

    def _holds(self, f: aot.Function, options: Options) -> bool:
        return self.holds(part_of(stage_text([f], self.stage, options), f"@{f.name}.{self.part}"))


def without_pass(name: str) -> Switch:
    """The pass does not run: `--disable-pass`."""

    def without(options: Options) -> Options:
        passes = (options.pipeline or DEFAULT).passes
        return replace(options, pipeline=Pipeline(tuple(one for one in passes if one.name != name)))

    return Switch(name, without)


def with_option(text: str) -> Switch:
    """A pass has an option, as `--passes` has it: "unroll-and-jam{by=4}"."""
    name = text.partition("{")[0]

    def chosen(options: Options) -> Options:
        names = [text if one.name == name else str(one) for one in (options.pipeline or DEFAULT).passes]
        return replace(options, pipeline=pipeline_of(",".join(names)))

    return Switch(options=chosen)


def on_machine(**facts: Any) -> Switch:
    """The machine has other facts."""
    return Switch(options=lambda options: replace(options, facts=replace(FACTS, **facts)))


def compiled(**given: Any) -> Switch:
    """The compiler has other options."""
    return Switch(options=lambda options: replace(options, **given))


def not_for(program: Program) -> Switch:
    """The optimisation does not apply to this program, so the property does not hold for it."""
    return Switch(program=program)


def without_rule(rules: dict[type, Any], key: type) -> Switch:
    """A table of rules has none for a key."""
    assert key in rules
    return Switch(key.__name__, rules=(rules, key))


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
