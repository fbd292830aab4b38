"""Loops, branches, and calls."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np

from aotensor.importers.base import Unsuited
from aotensor.importers.stablehlo.elementwise import CHLO, plain
from aotensor.importers.stablehlo.linalg import lapack
from aotensor.importers.stablehlo.structure import Operation, Region, Value
from aotensor.importers.stablehlo.table import (
    Equation,
    Literal,
    Step,
    attribute,
    aval_of,
    axis_of,
    is_bool,
    operands,
)
from aotensor.importers.stablehlo.translate import Translator, target_of, writes

_TARGETS: Final = (
    "LAPACK's `potrf`, `getrf`, `geqrf`, `orgqr`, `gesdd`, `syevd`, `heevd`, `trsm` as JAX calls them; `Sharding`; "
    "`shape_assertion`; those of chlo"
)


@writes("while", note="a loop; one that counts has a gradient")
def _while(to: Translator, found: Operation, equations: list[Equation]) -> None:
    """Translate a while loop; values that a step does not change are captured by both regions instead of carried."""
    if len(found.regions) != 2:
        raise Unsuited(f"it has {len(found.regions)} regions, not 2: a condition and a body")
    condition, body = found.regions
    types = [x.aval for x in found.operands]
    rows = (condition.arguments, body.arguments, body.results, found.results)
    if any([x.aval for x in row] != types for row in rows):
        raise Unsuited("the types of its regions differ from the types of its operands")
    if [x.aval for x in condition.results] != [aval_of((), np.dtype(bool))]:
        raise Unsuited("its condition does not return one bool")
    state = []
    for k, x in enumerate(found.operands):
        if body.results[k] is body.arguments[k]:
            for value in (condition.arguments[k], body.arguments[k], found.results[k]):
                to.same(value, x)
        else:
            state.append(k)
    if not state:
        return
    tests, of_test = to.region(Region([condition.arguments[k] for k in state], condition.operations, condition.results))
    steps, of_step = to.region(
        Region([body.arguments[k] for k in state], body.operations, [body.results[k] for k in state])
    )
    params = {
        "cond_nconsts": len(of_test), "cond_jaxpr": tests, "body_nconsts": len(of_step), "body_jaxpr": steps,
    }  # fmt: skip
    carry = [found.operands[k] for k in state]
    to.emit(Step("while", [*of_test, *of_step, *carry], params), found, equations, [found.results[k] for k in state])


@writes("map", note="its body for each element")
def _map(to: Translator, found: Operation, equations: list[Equation]) -> None:
    if len(found.regions) != 1 or not found.operands or len(found.results) != 1:
        raise Unsuited(
            f"it has {len(found.operands)} operands, {len(found.regions)} regions and {len(found.results)} results; "
            "expected operands, 1 region and 1 result"
        )
    (region,), (result,) = found.regions, found.results
    shape = result.aval.shape
    if any(x.aval.shape != shape for x in found.operands):
        raise Unsuited("the shapes of its operands and of its result differ")
    given = [*found.operands, result]
    if [x.aval for x in (*region.arguments, *region.results)] != [aval_of((), x.aval.dtype) for x in given]:
        raise Unsuited("the types of its region do not match the dtypes of its operands and of its result")
    body, outer = to.region(region)
    step = Step("map", [*outer, *found.operands], {"body": body, "outer": len(outer)})
    to.emit(step, found, equations)


@writes("case", "if", note="only the chosen branch is computed")
def _case(to: Translator, found: Operation, equations: list[Equation]) -> None:
    (which,) = found.operands if len(found.operands) == 1 else (None,)
    is_pair = found.name == "stablehlo.if"
    if which is None or not found.regions or (is_pair and len(found.regions) != 2):
        expected = "2 regions" if is_pair else "at least 1 region"
        raise Unsuited(
            f"it has {len(found.operands)} operands and {len(found.regions)} regions, not 1 operand and {expected}"
        )
    if which.aval != (wanted := aval_of((), np.dtype(bool if is_pair else "int32"))):
        raise Unsuited(f"its operand has type {which.aval}, not {wanted}")
    regions = found.regions[::-1] if is_pair else found.regions
    for region in regions:
        if region.arguments or [x.aval for x in region.results] != [x.aval for x in found.results]:
            raise Unsuited("its regions have arguments, or return other types than those of its results")
    last = len(regions) - 1
    if isinstance(which, Literal) or last == 0:
        place = int(which.val) if isinstance(which, Literal) and last else 0
        chosen = regions[place if 0 <= place <= last else last]
        to.write(chosen.operations, equations)
        for x, result in zip(chosen.results, found.results, strict=True):
            to.same(result, to.found(x))
        return
    parts = [to.region(region) for region in regions]
    outer = list({id(x): x for _, captured in parts for x in captured}.values())
    for program, _ in parts:
        program.invars = outer
    if not is_pair:
        which = _bounded(to, found, equations, which, last)
    to.emit(Step("cond", [which, *outer], {"branches": [program for program, _ in parts]}), found, equations)


def _bounded(to: Translator, found: Operation, equations: list[Equation], which: Value, last: int) -> Value:
    """The index of a branch, from 0 to `last`: other numbers select the last branch."""
    made = to.made.get(id(which))
    if made is not None and (
        (made.primitive.name == "convert_element_type" and is_bool(made.invars[0]))
        or (made.primitive.name == "clamp" and isinstance(made.invars[0], Literal) and int(made.invars[0].val) >= 0)
    ):
        return which
    zero, end = (Literal(which.aval, val=np.asarray(n, "int32")) for n in (0, last))
    is_below = Value(aval_of((), np.dtype(bool)))
    to.emit(Step("lt", [which, zero]), found, equations, [is_below])
    return to.emit(Step("select_n", [is_below, which, end]), found, equations, [Value(which.aval)])[0]


@writes("optimization_barrier")
def _barrier(to: Translator, found: Operation, equations: list[Equation]) -> None:
    if [x.aval for x in found.operands] != [x.aval for x in found.results]:
        raise Unsuited("the types of its results differ from the types of its operands")
    for x, result in zip(found.operands, found.results, strict=True):
        to.same(result, x)


@writes("get_dimension_size")
def _extent(to: Translator, found: Operation, equations: list[Equation]) -> None:
    (x,) = operands(found, 1)
    axis = axis_of(found, "dim", "dimension", rank=x.aval.ndim)
    count = x.aval.shape[axis]
    if count is None:
        to.emit(Step("extent", [x], {"axis": axis}), found, equations)
    else:
        (result,) = found.results
        to.same(result, Literal(result.aval, val=np.asarray(count, result.aval.dtype)))


@writes("call", dialect="func", note="its function, in place")
def _call(to: Translator, found: Operation, equations: list[Equation]) -> None:
    name = found.words[0] if found.words else found.attributes.get("callee", "")
    to.call(name, found, equations)


@writes("composite", note="one of chlo that is known, or its decomposition")
def _composite(to: Translator, found: Operation, equations: list[Equation]) -> None:
    """Translate a composite: as a primitive if it corresponds to one, else by its decomposition."""
    name = str(found.words[0] if found.words else found.attributes.get("name", ""))
    try:
        if name.startswith("chlo.") and (known := CHLO.get(name.removeprefix("chlo."))) is not None:
            to.emit(plain(found, *known), found, equations)
            return
    except Unsuited:
        pass  # the decomposition is as good
    to.call(attribute(found, "decomposition"), found, equations)


@writes("custom_call", note=_TARGETS)
def _custom_call(to: Translator, found: Operation, equations: list[Equation]) -> None:
    """Translate a custom call with a known name; no external code is called."""
    target = target_of(found)
    if target in ("Sharding", "annotate_device_placement", "SPMDFullToShardShape"):
        _barrier(to, found, equations)
    elif target == "shape_assertion":
        _assertion(to, found, equations)
    elif target.startswith("mhlo.") and (known := CHLO.get(target.removeprefix("mhlo."))) is not None:
        to.emit(plain(found, *known), found, equations)
    elif (step := lapack(found, target)) is None:
        raise Unsuited
    elif step.primitive == "lapack orgqr":
        _orthogonal(to, step, found, equations)
    else:
        to.emit(step, found, equations)


def _assertion(to: Translator, found: Operation, equations: list[Equation]) -> None:
    """Translate JAX's assertions on extents: those on expressions of others become checks, those that an extent is not
    0 are dropped.
    """
    if found.results or not found.operands or not is_bool(found.operands[0]) or not to.is_outermost:
        raise Unsuited("it is supported only in the body of the main function, with a bool operand and no results")
    made = to.made.get(id(found.operands[0]))
    if made is not None and made.primitive.name == "ge" and isinstance(made.invars[1], Literal):
        return
    message = str(found.attributes.get("error_message", "")).split(" Using the following")[0]
    message = re.sub(r" \(= \{\d+\}\)", "", message)  # where JAX would put numbers
    to.emit(Step("check", found.operands, {"message": message}), found, equations)


def _orthogonal(to: Translator, step: Step, found: Operation, equations: list[Equation]) -> None:
    """Products of reflections computed by `geqrf`: the orthogonal factor of its matrix."""
    packed, scales = step.invars
    made = to.made.get(id(packed))
    while made is not None and made.primitive.name in ("slice", "pad") and _keeps_rows(made):
        made = to.made.get(id(made.invars[0]))
    if made is None or made.primitive.name != "lapack geqrf" or to.made.get(id(scales)) is not made:
        raise Unsuited("its reflectors are not the result of a geqrf earlier in the program")
    x: Any = made.invars[0]
    rows, columns = x.aval.shape[-2:]
    if found.results[0].aval.shape[-1] not in (min(rows, columns), rows):
        raise Unsuited(f"its result {found.results[0].aval} is neither the reduced nor the full factor of {x.aval}")
    is_full = found.results[0].aval.shape[-1] == rows
    to.emit(Step("lapack orgqr", [x], {"full_matrices": is_full}), found, equations)


def _keeps_rows(made: Equation) -> bool:
    """Does the operation only change columns?"""
    if made.primitive.name == "slice":
        starts, stops, steps = (made.params[k][:-1] for k in ("start_indices", "limit_indices", "strides"))
        is_whole = list(stops) == list(made.invars[0].aval.shape[:-1]) and made.params["start_indices"][-1] == 0
        return is_whole and not any(starts) and all(step == 1 for step in steps)
    widths = made.params["padding_config"]
    return all(tuple(one) == (0, 0, 0) for one in widths[:-1]) and widths[-1][0] == 0 == widths[-1][2]
