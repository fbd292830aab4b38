"""Registration of passes: `@ir_pass(...)` in the module of a pass is its only declaration.

    @ir_pass("strip-mine", level="nest", topic="loops",
        options={"elements": Option(1, 1 << 20, "…", ("block_elements",))})
    def strip_mine(module: ModuleOp, target: Target) -> None:

`passes/pipeline.py` has the order. `python docs/build.py` writes the table of names and options
(`graph/passes/table.py`) and the tables of docs/ir.md from the declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, Final, Literal, TypeAlias, TypeVar

from xdsl.dialects.builtin import ModuleOp

from aotensor.graph.passes.steps import Option as Option
from aotensor.graph.passes.steps import Step, Topic, description_of
from aotensor.graph.passes.table import Level
from aotensor.ir.forms import LOOP_FORM, NEST_FORM, TENSOR_FORM, Form
from aotensor.passes.target import Target

_FORMS: Final[Mapping[Level, Form]] = {"tensor": TENSOR_FORM, "nest": NEST_FORM, "loops": LOOP_FORM}
_DECLARED: Final[dict[Callable[..., None], Declaration]] = {}

Omission: TypeAlias = Literal["checks", "no-vectors", "no-heap", "scalar", "unoptimised"]
"""A kind of compilation that omits passes: one that checks accesses, and so looks at one element at a time; for small
processors; without allocation, and so without threads; of loops over elements, for C source; at `-O 0`.
"""

F = TypeVar("F", bound=Callable[..., None])


@dataclass(frozen=True)
class Pass:
    """A named transformation of a module, with the form that it requires and the form that it produces."""

    name: str
    run: Callable[[ModuleOp], None]
    needs: Form
    gives: Form


@dataclass(frozen=True)
class Declaration:
    """A pass as declared: its entry in the table, its function, and the forms of its input and output.

    has_target: is the target an argument of the function? options_of: another pass whose options apply to this one,
    too. unless: the kinds of compilations that omit it.
    """

    step: Step
    function: Callable[..., None]
    has_target: bool
    needs: Form
    gives: Form
    options_of: str = ""
    unless: tuple[Omission, ...] = ()

    def bound(self, target: Target, options: Mapping[str, Mapping[str, int]]) -> Pass:
        """The pass for a target.   options: pass → its options; those with facts override properties of the target"""
        known = self.step if not self.options_of else next(
            x.step for x in _DECLARED.values() if x.step.name == self.options_of
        )  # fmt: skip
        facts: dict[str, Any] = {}
        arguments: dict[str, Any] = {}
        for name, value in options.get(known.name, {}).items():
            if known.options[name].facts:
                facts.update(dict.fromkeys(known.options[name].facts, value))
            else:
                arguments[name.replace("-", "_")] = value
        if self.has_target:
            arguments["target"] = replace(target, **facts)
        return Pass(self.step.name, lambda module: self.function(module, **arguments), self.needs, self.gives)


def ir_pass(
    name: str,
    *,
    level: Level,
    topic: Topic,
    reference: str = "",
    needed: str = "",
    former: str = "",
    options: Mapping[str, Option] | None = None,
    options_of: str = "",
    unless: tuple[Omission, ...] = (),
    needs: Form | None = None,
    gives: Form | None = None,
) -> Callable[[F], F]:
    """Decorator of the function of a pass over the IR: (module), or (module, target) for one with a target.

    The first paragraph of its docstring is the description in docs/ir.md. name, level, topic, reference, needed,
    former, options: as in `Step`; an option without facts is an argument of the function. options_of, unless:
    as in `Declaration`. needs, gives: forms, if they are not the form of the level.
    """

    def register(function: F) -> F:
        described = description_of(function)
        step = Step(name, level, topic, needed, options or {}, level == "tensor", former, described, reference)
        has_target = "target" in signature(function).parameters
        _DECLARED[function] = Declaration(
            step, function, has_target, needs or _FORMS[level], gives or _FORMS[level], options_of, unless
        )
        return function

    return register


def declaration(function: Callable[..., None]) -> Declaration:
    """The declaration of a pass by its function."""
    return _DECLARED[function]
