"""`--train`, `--optimizer` and `--wrt`: functions that train the parameters of a model in place."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

import numpy as np

import aotensor.tensor as at
from aotensor import Function, function, grad, shared
from aotensor.core.dtypes import FLOATS, is_float
from aotensor.errors import AotensorError
from aotensor.graph.site import variables_at
from aotensor.graph.variable import SharedVariable, Variable
from aotensor_cli.options import Exit, Refusal, known_names_hint, similar

_DEFAULT_RULE: Final = "adam"


@dataclass(frozen=True)
class Training:
    """The parsed options of `--train`.

    loss: the name of an output or of a loss. output: what a loss is of; "" for the first one. rule: the optimiser. wrt:
    names or patterns of parameters.
    """

    loss: str
    output: str
    rule: at.training.Optimizer
    wrt: tuple[str, ...]


def wanted_training(train: str | None, optimizer: str | None, wrt: str | None) -> Training | None:
    """Parse `--train`, `--optimizer` and `--wrt`; None without `--train`.

    Raises: Refusal for an option without the others, and for text that cannot be parsed.
    """
    if train is None:
        for option, value in (("--optimizer", optimizer), ("--wrt", wrt)):
            if value is not None:
                raise Refusal(f"{option} needs --train", "add --train loss=NAME")
        return None
    key, equals, text = train.partition("=")
    loss, colon, output = text.partition(":")
    if key.strip() != "loss" or not equals or not loss.strip() or (colon and not output.strip()):
        raise Refusal(f"--train {train!r:.60} is not understood", "write --train loss=NAME or --train loss=mse")
    if wrt is None:
        raise Refusal("--train needs --wrt, the parameters to train", "write names or patterns, such as '*.weight'")
    names = tuple(name.strip() for name in wrt.split(","))
    if not all(names):
        raise Refusal(f"--wrt {wrt!r:.60} is not understood", "write names or patterns, such as '*.weight,*.bias'")
    return Training(loss.strip(), output.strip(), _rule(optimizer or _DEFAULT_RULE), names)


def _rule(text: str) -> at.training.Optimizer:
    """Parse an optimiser: `adam:learning_rate=0.01,b1=0.8`.   Raises: Refusal"""
    name, _, rest = text.partition(":")
    rules = {key: getattr(at.training, key) for key in at.training.__all__ if key.islower()}
    if name not in rules:
        raise Refusal(
            f"--optimizer {name!r:.60} is unknown", similar(name, rules) or f"known rules: {', '.join(rules)}"
        )
    known = inspect.signature(rules[name]).parameters
    given: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if key not in known:
            hint = similar(key, known) or f"its options are {', '.join(known)}"
            raise Refusal(f"--optimizer {name} has no option {key!r:.60}", hint)
        if not equals:
            raise Refusal(f"--optimizer {name}: the value of {key} is missing", f"write {key}=VALUE")
        given[key] = _value(name, key, value, isinstance(known[key].default, bool))
    if "learning_rate" not in given and known["learning_rate"].default is inspect.Parameter.empty:
        raise Refusal(f"--optimizer {name} needs a learning rate", f"write {name}:learning_rate=0.1")
    try:
        made: at.training.Optimizer = rules[name](**given)
    except AotensorError as error:
        raise Refusal(f"--optimizer {error.diagnostic.title}", error.diagnostic.hint) from error
    return made


def _value(rule: str, key: str, text: str, is_flag: bool) -> float | bool:
    if is_flag and text in ("true", "false"):
        return text == "true"
    try:
        if not is_flag:
            return float(text)
    except ValueError:
        pass
    expected = "true or false" if is_flag else "a number"
    raise Refusal(f"--optimizer {rule}: {key}={text:.60} is not {expected}")


def with_steps(functions: Sequence[Function], training: Training) -> list[Function]:
    """`<name>_step` and `<name>_start` for every function that has parameters of `training.wrt`.

    `<name>_step` returns the loss, before the step, of the other inputs (and of `target`, for a loss
    by name), and replaces parameters and the optimiser's state, which are shared variables. `<name>_start` returns
    their first values, under the same names.

    Raises: Refusal by option for patterns that match nothing, an unknown loss, and parameters that cannot be trained.
    """
    matched = [(f, _parameters(f, training.wrt)) for f in functions]
    for pattern in training.wrt:
        if not any(_matches(pattern, key, x) for f, _ in matched for key, x in f.arguments.items()):
            names = [x.name or key for f in functions for key, x in f.arguments.items() if x.dtype in FLOATS]
            hint = similar(pattern, names) or known_names_hint(list(dict.fromkeys(names)))
            raise Refusal(f"--wrt: no input or parameter matches {pattern!r}", hint)
    made: list[Function] = []
    for f, parameters in matched:
        if parameters:
            with variables_at(next(iter(f.results.values())).site):  # no line of the user's asks for a step
                made += _steps(f, parameters, training)
    return made


def _matches(pattern: str, key: str, x: Variable) -> bool:
    return any(name == pattern or fnmatchcase(name, pattern) for name in {key, x.name or key})


def _parameters(f: Function, patterns: Sequence[str]) -> dict[str, Variable]:
    """Name → argument of the arguments that match the patterns.

    A pattern with wildcards selects arguments of floats: shared variables, or inputs if no shared variable matches.
    """
    found = {key for key, x in f.arguments.items() if any(pattern in (key, x.name) for pattern in patterns)}
    for pattern in patterns:
        likely = {key for key, x in f.arguments.items() if x.dtype in FLOATS and _matches(pattern, key, x)}
        found |= {key for key in likely if key in f.state} or likely
    return {key: x for key, x in f.arguments.items() if key in found}


def _steps(f: Function, parameters: Mapping[str, Variable], training: Training) -> tuple[Function, Function]:
    updated = next((key for key in parameters if key in f.updates), None)
    if updated is not None:
        raise Refusal(f"--wrt: {f.name} itself updates {updated}", "leave it out of --wrt", Exit.PROGRAM)
    params, stand_ins = _as_shared(f, parameters)
    loss, targets = _loss(f, training)
    loss = at.reshape(loss, ())
    try:
        slopes = grad(loss, list(parameters.values()), disconnected_inputs="raise")
    except AotensorError as error:
        raise Refusal(f"--train: {f.name}: {error.diagnostic.title}", error.diagnostic.hint, Exit.PROGRAM) from error
    rule = training.rule
    try:
        symbols = rule.state(params)
    except AotensorError as error:
        raise Refusal(f"--wrt: {error.diagnostic.title}", error.diagnostic.hint, Exit.PROGRAM) from error
    first = {key: x.get_value() for key, x in params.items()}
    zeros = rule.initial(first)
    state = {
        key: shared(zeros[key], name=key.replace(".", "_"), shape=symbols[key].type.shape) for key in symbols
    }  # fmt: skip
    before = dict(zip(parameters, (params[key] for key in parameters), strict=True))
    after, kept = rule.update(before, dict(zip(parameters, slopes, strict=True)), state)
    updates = [(params[key], after[key]) for key in params] + [(state[key], kept[key]) for key in state]
    updates += [(x, f.results[f.updates[key]]) for key, x in f.state.items() if key in f.updates]
    inputs = [x for x in f.inputs if all(x is not p for p in parameters.values())]
    step = function(
        [*inputs, *targets], {"loss": loss}, updates=updates, givens=stand_ins, name=f"{f.name}_step",
        on_unused_input="ignore",
    )  # fmt: skip
    mine = {*params.values(), *state.values()}
    starts = {key: at.constant(x.get_value()) for key, x in step.state.items() if x in mine}
    return step, function([], starts, name=f"{f.name}_start")


def _as_shared(
    f: Function, parameters: Mapping[str, Variable]
) -> tuple[dict[str, SharedVariable], list[tuple[Variable, SharedVariable]]]:
    """Shared variables for the parameters, and the replacements of inputs by them; those of inputs begin at 0.

    Raises: Refusal for an input whose extents are not known.
    """
    params: dict[str, SharedVariable] = {}
    stand_ins: list[tuple[Variable, SharedVariable]] = []
    for key, x in parameters.items():
        if isinstance(x, SharedVariable):
            params[key] = x
            continue
        if x.dtype not in FLOATS:
            raise Refusal(f"--wrt: {key} of {f.name} is {x.type}, not float32 or float64", code=Exit.PROGRAM)
        if None in x.static_shape:
            hint = "give it a static shape, or make it a shared variable, which has a first value"
            raise Refusal(f"--wrt: {key} of {f.name} is {x.type}, whose extents are not known", hint, Exit.PROGRAM)
        extents = tuple(n for n in x.static_shape if n is not None)
        params[key] = shared(np.zeros(extents, x.dtype), name=x.name or key, shape=extents)
        stand_ins.append((x, params[key]))
    return params, stand_ins


def _loss(f: Function, training: Training) -> tuple[Variable, list[Variable]]:
    """The loss, and the input for its targets if it compares.   Raises: Refusal"""
    results = {f.keys.get(key, key): x for key, x in f.results.items() if key not in f.updates.values()}
    if training.loss in results and not training.output:
        cost = results[training.loss]
        if not is_float(cost.dtype) or any(n != 1 for n in cost.static_shape):
            title = f"--train: the output {training.loss} of {f.name} is {cost.type}, not a floating scalar"
            raise Refusal(title, f"compare it with targets: --train loss=mse:{training.loss}", Exit.PROGRAM)
        return cost, []
    if training.loss not in _LOSSES:
        title = f"--train: {f.name} has no output {training.loss!r}, and there is no loss of that name"
        close = similar(training.loss, [*results, *_LOSSES])
        known = f"outputs: {', '.join(results)}; losses: {', '.join(_LOSSES)}"
        raise Refusal(title, f"{close} {known}" if close else known)
    output = training.output or next(iter(results))
    if output not in results:
        title = f"--train: {f.name} has no output {output!r}"
        raise Refusal(title, similar(output, results) or f"its outputs are {', '.join(results)}")
    y = results[output]
    if not is_float(y.dtype):
        raise Refusal(f"--train: the output {output} of {f.name} is {y.type}, not floating", code=Exit.PROGRAM)
    taken, name = {*f.arguments, *results}, "target"
    while name in taken:
        name += "_"
    return _LOSSES[training.loss](y, name, output)


def _mean_of(each: Callable[[Variable, Variable], Variable]) -> Callable[..., tuple[Variable, list[Variable]]]:
    """The mean of an elementwise loss of the output and targets of its type."""

    def loss(y: Variable, name: str, _: str) -> tuple[Variable, list[Variable]]:
        target = at.tensor(name, dtype=y.dtype, shape=y.type.shape)
        return each(y, target).mean(), [target]

    return loss


def _cross_entropy(y: Variable, name: str, output: str) -> tuple[Variable, list[Variable]]:
    """mean(logsumexp(y) − y[target]) of logits, one row per example, and int64 classes."""
    if y.ndim != 2:
        title = f"--train: cross_entropy is of logits [examples, classes], and {output} is {y.type}"
        raise Refusal(title, code=Exit.PROGRAM)
    target = at.tensor(name, dtype="int64", shape=y.type.shape[:1])
    return (at.logsumexp(y, axis=1) - y[at.arange(y.shape[0]), target]).mean(), [target]


_LOSSES: Final[dict[str, Callable[[Variable, str, str], tuple[Variable, list[Variable]]]]] = {
    "mse": _mean_of(lambda y, t: (y - t) ** 2),
    "mae": _mean_of(lambda y, t: abs(y - t)),
    "cross_entropy": _cross_entropy,
    "binary_cross_entropy": _mean_of(lambda y, t: at.softplus(y) - t * y),
}
"""Losses by name: (output, name of the targets' input, name of the output) → the loss and its targets."""
