"""Function: what gets compiled, called, looked at and verified."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from aotensor.core.types import Array, TensorType
from aotensor.driver.cache import load_compiled
from aotensor.driver.naming import c_name
from aotensor.driver.prepare import prepare
from aotensor.errors import GraphTypeError, GraphValueError, MissingInputError, UnusedInputError
from aotensor.graph.op import is_disconnected, is_null
from aotensor.graph.text import graph_text
from aotensor.graph.variable import Constant, SharedVariable, Variable, as_tensor
from aotensor.graph.walk import evaluate_all, leaves, replace

if TYPE_CHECKING:
    from aotensor.driver.verify import Report
    from aotensor_runtime.library import LibraryFunction

Outputs: TypeAlias = Variable | Sequence[Any] | Mapping[str, Any] | None
Updates: TypeAlias = Mapping[SharedVariable, Any] | Iterable[tuple[SharedVariable, Any]] | None
Givens: TypeAlias = Mapping[Variable, Any] | Iterable[tuple[Variable, Any]] | None

STAGES = ("graph", "tensor", "tensor-opt", "loops", "llvm", "llvm-opt", "asm")


def function(
    inputs: Sequence[Variable],
    outputs: Outputs = None,
    *,
    name: str | None = None,
    updates: Updates = None,
    givens: Givens = None,
    on_unused_input: str = "raise",
    allow_input_downcast: bool | None = None,
) -> Function:
    """A function of symbolic inputs, compiled at its first call.

    outputs: a Variable gives a value, a list or tuple a list, a dict a dict, None updates only.
    updates: shared variable → its next value; all are computed from the old ones, results are those before the update.
    givens: variable → what takes its place.
    on_unused_input: "raise", "warn" or "ignore".
    allow_input_downcast: True lets float64 values into float32 inputs.

    Raises: UnusedInputError for an input that nothing needs or that is given twice, MissingInputError for a variable
    that is needed but is no input, GraphTypeError for shared inputs, updates of another type, and null or
    disconnected outputs.
    """
    return Function(inputs, outputs, name, updates, givens, on_unused_input, allow_input_downcast)


class Function:
    """Symbolic inputs and outputs under one name. Call it, look at it, verify it, or compile it with others."""

    def __init__(
        self,
        inputs: Sequence[Variable],
        outputs: Outputs,
        name: str | None,
        updates: Updates,
        givens: Givens,
        on_unused_input: str,
        allow_input_downcast: bool | None,
    ) -> None:
        if on_unused_input not in ("raise", "warn", "ignore"):
            raise GraphValueError(f"on_unused_input is 'raise', 'warn' or 'ignore', not {on_unused_input!r}")
        if name is not None and not (name.isidentifier() and name.isascii()):
            raise GraphValueError(f"function name {name!r} is no C identifier")
        self.name = name or "function"
        self.is_named = name is not None
        self.inputs = _checked_inputs(inputs)
        self.outputs = outputs
        self.allow_input_downcast = bool(allow_input_downcast)
        self.output_kind, named = _named_outputs(outputs)
        pairs = _checked_updates(updates)
        replacements = {_variable(k): as_tensor(v) for k, v in _pairs(givens)}
        targets = replace([*named.values(), *(new for _, new in pairs)], replacements)
        results, nexts = targets[: len(named)], targets[len(named) :]
        _check_values(named, results)
        self.shared = _find_leaves(self.name, self.inputs, [*targets], [s for s, _ in pairs])
        _check_unused(self.inputs, targets, on_unused_input)
        self._name_everything(named, results, pairs, nexts)
        self._state = {key: x for key, x in self.arguments.items() if isinstance(x, SharedVariable)}
        self._compiled: LibraryFunction | None = None

    def _name_everything(
        self,
        named: Mapping[str, Variable],
        results: Sequence[Variable],
        pairs: Sequence[tuple[SharedVariable, Variable]],
        nexts: Sequence[Variable],
    ) -> None:
        taken: dict[str, Variable] = {}
        for position, x in enumerate([*self.inputs, *self.shared]):
            taken[c_name(x.name or f"in{position}", taken, f"in{position}")] = x
        #: every input of the compiled function by name: the user's, then the shared variables
        self.arguments: dict[str, Variable] = dict(taken)
        names = {x: key for key, x in taken.items()}
        #: every output of the compiled function by name: the user's, then the next values of shared variables
        self.results: dict[str, Variable] = {}
        for key, value in zip(named, results, strict=True):
            self.results[c_name(key, {*taken, *self.results}, "out")] = value
        #: input name → output name of each updated shared variable
        self.updates: dict[str, str] = {}
        for (target, _), value in zip(pairs, nexts, strict=True):
            key = c_name(f"new_{names[target]}", {*taken, *self.results}, "new")
            self.results[key] = value
            self.updates[names[target]] = key
        #: output name → the user's key, for dicts
        self.keys = dict(zip(self.results, named, strict=False))

    @cached_property
    def prepared(self) -> dict[str, Variable]:
        """`results` in the form that is compiled."""
        return dict(zip(self.results, prepare(list(self.results.values()), list(self.arguments.values())), strict=True))

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Compiled values. The first call compiles, or finds the library in the cache.

        Raises: GraphTypeError and GraphValueError by argument name for values that do not fit.
        """
        compiled = self._compiled
        if compiled is None:
            compiled = self._compiled = load_compiled(self)
        for name, x in self._state.items():
            compiled.state.lend(name, x.get_value(borrow=True))
        result = compiled(*args, **kwargs)
        for name in self.updates:
            self._state[name].set_value(compiled.state.borrow(name), borrow=True)
        return self._renamed(result)

    def reference(self, *args: object, **kwargs: object) -> Any:
        """The same by the NumPy and SciPy reference."""
        values = dict(self.bind_arguments(args, kwargs))
        computed = evaluate_all(list(self.results.values()), values)
        by_name = dict(zip(self.results, computed, strict=True))
        for name, key in self.updates.items():
            self._state[name].set_value(by_name.pop(key))
        match self.output_kind:
            case "single":
                return _fresh(next(iter(by_name.values())))
            case "dict":
                return self._renamed({key: _fresh(x) for key, x in by_name.items()})
            case "list":
                return [_fresh(x) for x in by_name.values()]
            case _:
                return None

    def bind_arguments(self, args: Sequence[object], kwargs: Mapping[str, object]) -> list[tuple[Variable, Array]]:
        """Call arguments as arrays of the inputs' types.

        Raises: GraphTypeError for a wrong number, an unknown name, or a value that does not fit.
        """
        names = [key for key, x in self.arguments.items() if not isinstance(x, SharedVariable)]
        if len(args) > len(names):
            raise GraphTypeError(f"{self.name}: {len(names)} inputs are expected, {len(args)} were given")
        given = dict(zip(names, args, strict=False))
        for key, value in kwargs.items():
            if key not in names or key in given:
                raise GraphTypeError(f"{self.name}: {key} is {'given twice' if key in given else 'no input'}")
            given[key] = value
        missing = [key for key in names if key not in given]
        if missing:
            raise GraphTypeError(f"{self.name}: no value is given for {', '.join(missing)}")
        return [(self.arguments[key], self._filtered(key, given[key])) for key in names]

    def _filtered(self, key: str, value: object) -> Array:
        try:
            downcast = self.allow_input_downcast or None
            return self.arguments[key].tensor_type.filter(value, allow_downcast=downcast)
        except GraphTypeError as error:
            raise GraphTypeError(f"{self.name}: {key}: {error.diagnostic.title}", hint=error.diagnostic.hint) from error

    def ir(self, stage: str) -> str:
        """The text of a stage: graph, tensor, tensor-opt, loops, llvm, llvm-opt or asm.

        Raises: GraphValueError for another stage.
        """
        if stage not in STAGES:
            raise GraphValueError(f"stage {stage!r} is unknown", hint=f"one of {', '.join(STAGES)}")
        if stage == "graph":
            return graph_text(self.name, list(self.arguments.values()), self.results)
        text: str = _doors().stage_text([self], stage)
        return text

    def verify(self, samples: int = 8, seed: int = 0) -> Report:
        """Check the IR of every stage, compiled values against the reference, and gradients.

        The report is falsy when a check failed; `str(report)` is a table.
        """
        report: Report = _doors().verify_function(self, samples, seed)
        return report

    def _renamed(self, result: Any) -> Any:
        """Dict results under the user's own keys."""
        return {self.keys[key]: x for key, x in result.items()} if isinstance(result, dict) else result

    def __repr__(self) -> str:
        inputs = ", ".join(f"{key}: {x.type}" for key, x in self.arguments.items())
        outputs = ", ".join(f"{key}: {x.type}" for key, x in self.results.items())
        return f"<Function {self.name}({inputs}) -> {outputs}>"


def _doors() -> Any:
    """What loads xDSL and LLVM, at the first compile and not at `import aotensor`."""
    from aotensor.driver import compiled

    return compiled


# --- checks of what the user gave ----------------------------------------------------------------------------------


def _pairs(items: Mapping[Any, Any] | Iterable[tuple[Any, Any]] | None) -> list[tuple[Any, Any]]:
    if items is None:
        return []
    return list(items.items()) if isinstance(items, Mapping) else [tuple(pair) for pair in items]


def _variable(x: object) -> Variable:
    if not isinstance(x, Variable):
        raise GraphTypeError(f"expected a symbolic variable, found {type(x).__name__} {x!r:.60}")
    return x


def _checked_inputs(inputs: Sequence[Variable]) -> list[Variable]:
    if isinstance(inputs, Variable) or not isinstance(inputs, Sequence):
        raise GraphTypeError("inputs is a list of variables", hint="write function([x], ...)")
    for x in map(_variable, inputs):
        if isinstance(x, SharedVariable):
            raise GraphTypeError(
                f"the shared variable {x} cannot be an input", lines=[x.describe()], hint="use givens to replace it"
            )
        if isinstance(x, Constant):
            raise GraphTypeError(f"the constant {x} cannot be an input", lines=[x.describe()])
    doubles = [x for position, x in enumerate(inputs) if x in inputs[:position]]
    if doubles:
        raise UnusedInputError(f"input {doubles[0]} is given twice", lines=[doubles[0].describe()])
    return list(inputs)


def _named_outputs(outputs: Outputs) -> tuple[str, dict[str, Variable]]:
    if outputs is None:
        return "none", {}
    if isinstance(outputs, Mapping):
        for key in outputs:
            if not isinstance(key, str):
                raise GraphTypeError(f"output key {key!r} is no str")
        return "dict", {key: as_tensor(x) for key, x in outputs.items()}
    if isinstance(outputs, list | tuple):
        return "list", {f"out{position}": as_tensor(x) for position, x in enumerate(outputs)}
    return "single", {"out": as_tensor(outputs)}


def _checked_updates(updates: Updates) -> list[tuple[SharedVariable, Variable]]:
    pairs: list[tuple[SharedVariable, Variable]] = []
    for target, value in _pairs(updates):
        if not isinstance(target, SharedVariable):
            raise GraphTypeError(f"only shared variables can be updated, not {target!r:.60}")
        if any(target is old for old, _ in pairs):
            raise GraphValueError(f"the shared variable {target} is updated twice")
        new = as_tensor(value)
        if new.dtype != target.dtype or new.ndim != target.ndim:
            raise GraphTypeError(
                f"the update of {target} has another type",
                lines=[target.describe(), new.describe()],
                hint=f"cast it to {target.dtype}" if new.ndim == target.ndim else None,
            )
        pairs.append((target, new))
    return pairs


def _check_values(named: Mapping[str, Variable], results: Sequence[Variable]) -> None:
    for key, x in zip(named, results, strict=True):
        if is_null(x):
            raise GraphTypeError(f"output {key} has no value: {x.type.why_null}", lines=[x.describe()])
        if is_disconnected(x):
            raise GraphTypeError(f"output {key} has no value: it is a disconnected gradient", lines=[x.describe()])
        assert isinstance(x.type, TensorType)


def _find_leaves(
    name: str, inputs: Sequence[Variable], targets: Sequence[Variable], updated: Sequence[SharedVariable]
) -> list[SharedVariable]:
    """Shared variables that are read or updated, in order of use."""
    found: dict[SharedVariable, None] = {}
    for x in leaves(targets, stop=inputs):
        if isinstance(x, SharedVariable):
            found[x] = None
        elif not isinstance(x, Constant) and x not in inputs:
            raise MissingInputError(
                f"{name}: {x} is needed but is no input", lines=[x.describe()], hint="add it to inputs, or to givens"
            )
    for x in updated:
        found[x] = None
    return list(found)


def _check_unused(inputs: Sequence[Variable], targets: Sequence[Variable], policy: str) -> None:
    used = set(leaves(targets, stop=inputs))
    for x in inputs:
        if x in used or policy == "ignore":
            continue
        if policy == "raise":
            raise UnusedInputError(
                f"input {x} is not needed", lines=[x.describe()], hint="pass on_unused_input='ignore' to keep it"
            )
        warnings.warn(f"input {x} is not needed", UserWarning, stacklevel=4)


def _fresh(x: Array) -> Array:
    return np.array(x)
