"""C of loops, branches and calls: values that a loop carries are variables, declared before the loop."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from aotensor.codegen.c_source.spelling import c_type, element_of, lanes_of
from aotensor.codegen.c_source.writer import Expr, Handler, Lanes, Writer
from aotensor.codegen.emit_state import SCALAR_FUNCTION_PREFIX
from aotensor.errors import InternalError
from aotensor.ir.upstream import ParallelOp, ReduceOp
from aotensor.passes.memory.plan_memory import LANE


def _call(w: Writer, op: func.CallOp) -> None:
    symbol = op.callee.root_reference.data
    given = w.flatten(op.arguments)
    text = f"{w.unit.symbols[symbol]}({', '.join(x.text for x in given)})"
    if not op.res:
        w.put(f"{text};")
        return
    (result,) = op.res
    if lanes_of(result.type) is not None:
        raise InternalError(f"C source: {symbol} is called on vectors")
    if symbol.startswith(SCALAR_FUNCTION_PREFIX):
        w.set(op, Expr(text, reads=any(x.reads for x in given)))
    elif result.first_use is None:
        w.put(f"(void){text};")
    else:
        name = w.name(w.hint(result))
        w.put(f"const {c_type(result.type)} {name} = {text};", name, f"(void){text};")
        w.values[result] = Expr(name, is_atom=True)


def _return(w: Writer, op: func.ReturnOp) -> None:
    values = w.flatten(op.arguments)
    if values:
        w.put(f"return {values[0].text};")


# --- variables -------------------------------------------------------------------------------------------------------


def _declare(
    w: Writer, values: Sequence[SSAValue], initial: Sequence[SSAValue] | None, hints: Sequence[str | None]
) -> list[list[str]]:
    """Declare C variables for values, with the initial values if given; return the names for each value."""
    found = []
    for k, ssa in enumerate(values):
        names = w.variables(ssa, hints[k])
        start = w.flatten([initial[k]]) if initial is not None else [None] * len(names)
        lanes = lanes_of(ssa.type)
        for name, kind, value in zip(names, _kinds(w, ssa), start, strict=True):
            if lanes is not None:
                w.put(f"{kind}{name}[{lanes}];", name)
                if value is not None:
                    w.put(f"memcpy({name}, {value.text}, sizeof {name});", name)
            else:
                w.put(f"{kind}{name};" if value is None else f"{kind}{name} = {value.text};", name)
        found.append(names)
    return found


def _kinds(w: Writer, ssa: SSAValue) -> list[str]:
    if lanes_of(ssa.type) is not None:
        return [f"{c_type(element_of(ssa.type))} "]
    return w.flat_types(ssa)


def _assign(w: Writer, targets: Sequence[Sequence[str]], values: Sequence[SSAValue]) -> None:
    """Assign values to C variables, all at once: targets may occur among the values."""
    pairs = [
        (name, value, lanes_of(ssa.type), kind)
        for names, ssa in zip(targets, values, strict=True)
        for name, value, kind in zip(names, w.flatten([ssa]), _kinds(w, ssa), strict=True)
    ]
    pairs = [pair for pair in pairs if pair[0] != pair[1].text]
    written: set[str] = set()
    late = []
    for name, value, _, _ in pairs:
        if written & set(re.findall(r"\w+", value.text)):
            late.append(name)
        written.add(name)
    if late:  # a later value reads a variable that an earlier one sets
        copies = []
        for name, value, lanes, kind in pairs:
            copy = w.name(f"next_{name}")
            if lanes is None:
                w.put(f"{kind if kind.endswith('*') else f'const {kind}'}{copy} = {value.text};", copy)
            else:
                w.put(f"{kind}{copy}[{lanes}];", copy)
                w.put(f"memcpy({copy}, {value.text}, sizeof {copy});", copy)
            copies.append((name, Expr(copy, is_atom=True), lanes, kind))
        pairs = copies
    for name, value, lanes, _ in pairs:
        w.put(f"{name} = {value.text};" if lanes is None else f"memcpy({name}, {value.text}, sizeof {name});", name)


def _bind(w: Writer, values: Sequence[SSAValue], names: Sequence[Sequence[str]]) -> None:
    for ssa, own in zip(values, names, strict=True):
        w.bind(ssa, own)


# --- branches and loops ----------------------------------------------------------------------------------------------


def _if(w: Writer, op: scf.IfOp) -> None:
    names = _declare(w, op.output, None, [None] * len(op.output))
    w.open(f"if ({w.expr(op.cond).text})")
    for region in (op.true_region, op.false_region):
        if not region.blocks:
            continue
        if region is op.false_region and not op.output and len(list(region.block.ops)) == 1:
            continue  # an empty side
        if region is op.false_region:
            w.close("} else {")
            w.depth += 1
        values = w.body(region.block)
        _assign(w, names, values)
    w.close()
    _bind(w, op.output, names)


def _for(w: Writer, op: scf.ForOp) -> None:
    block = op.body.block
    counter, *carried = block.args
    lower, upper, step = (w.atom(x).text for x in (op.lb, op.ub, op.step))
    hints = [arg.name_hint or result.name_hint for arg, result in zip(carried, op.res, strict=True)]
    names = _declare(
        w, carried, op.iter_args, [hint or _sum_hint(arg) for hint, arg in zip(hints, carried, strict=True)]
    )
    i = w.counter(counter.name_hint)
    w.values[counter] = Expr(i, is_atom=True)
    increment = f"++{i}" if step == "1" else f"{i} += {step}"
    w.open(f"for ({c_type(counter.type)} {i} = {lower}; {i} < {upper}; {increment})")
    _bind(w, carried, names)
    _assign(w, names, w.body(block))
    w.close()
    w.leave()
    _bind(w, op.res, names)


def _sum_hint(ssa: SSAValue) -> str | None:
    return None if isinstance(ssa.type, MemRefType) else "carried"


def _while(w: Writer, op: scf.WhileOp) -> None:
    """Write scf.while: the first region decides, and passes values to the second region or out of the loop."""
    before, after = op.before_region.block, op.after_region.block
    names = _declare(w, before.args, op.arguments, [x.name_hint for x in before.args])
    results = _declare(w, op.res, None, [None] * len(op.res))
    w.open("for (;;)")
    _bind(w, before.args, names)
    condition, *handed = w.body(before)
    decision = w.atom(condition)
    copies = _declare(w, after.args, handed, [None] * len(after.args)) if handed else []
    w.open(f"if ({_not(decision)})")
    for own, copy in zip(results, copies, strict=True):
        for name, value in zip(own, copy, strict=True):
            w.put(f"{name} = {value};", name)
    w.put("break;")
    w.close()
    _bind(w, after.args, copies)
    _assign(w, names, w.body(after))
    w.close()
    _bind(w, op.res, results)


def _not(value: Expr) -> str:
    return {"true": "false", "false": "true"}.get(value.text, f"!{value}")


def _parallel(w: Writer, op: ParallelOp) -> None:
    """Write scf.parallel as a sequential loop over its chunks, which all use the memory of lane 0."""
    (counter,) = op.body.block.args
    lower, upper, step = (w.atom(x).text for x in (op.lower, op.upper, op.step))
    i = w.name(counter.name_hint or "chunk")
    w.values[counter] = Expr(i, is_atom=True)
    w.open(f"for (int64_t {i} = {lower}; {i} < {upper}; {i} += {step})")
    for inner in op.body.block.ops:
        if LANE in inner.attributes:
            w.values[inner.results[0]] = Expr("0", is_atom=True)
        elif not isinstance(inner, ReduceOp):
            w.run([inner])
    w.close()


HANDLERS: Final[Mapping[type[Operation], Handler]] = {
    func.CallOp: _call,
    func.ReturnOp: _return,
    scf.IfOp: _if,
    scf.ForOp: _for,
    scf.WhileOp: _while,
    ParallelOp: _parallel,
}

__all__ = ["HANDLERS", "Lanes"]
