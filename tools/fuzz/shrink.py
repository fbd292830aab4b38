"""Smaller programs that fail in the same way, and the text of one for a reader."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from tools.fuzz.oracle import Matrix
from tools.fuzz.program import SECOND_ORDER, Input, Options, Program, Step, arguments, build, meanings, widened

SMALLER = (0, 1, 2, 3, 4, 5, 8, 9, 17)


def shrunk(program: Program, fails: Callable[[Program], bool], most: int = 200) -> Program:
    """The smallest program found that still fails.   most: calls of `fails`"""
    tries = 0
    is_changed = True
    while is_changed:
        is_changed = False
        for candidate in _smaller(program):
            if tries >= most:
                return program
            if not _is_sound(candidate):
                continue
            tries += 1
            if fails(candidate):
                program, is_changed = candidate, True
                break
    return program


def _is_sound(program: Program) -> bool:
    """Do aotensor and NumPy both accept the program?"""
    try:
        build(program)
        for sample in range(program.samples):
            known = meanings(program, {name: widened(x) for name, x in arguments(program, sample).items()})
            values = [known[name] for name in program.outputs]
            if not all(np.isfinite(x.dense if isinstance(x, Matrix) else x).all() for x in values):
                return False
    except Exception:
        return False
    return True


def _smaller(program: Program) -> Iterator[Program]:
    """Programs that are one step simpler, the much simpler ones first."""
    if program.samples > 1:
        for k in range(program.samples):
            yield replace(program, dims=tuple((name, (sizes[k],)) for name, sizes in program.dims))
    for name in program.outputs:
        if len(program.outputs) > 1:
            yield replace(program, outputs=(name,)).needed()
            yield replace(program, outputs=tuple(x for x in program.outputs if x != name)).needed()
    for want in program.wants:
        if len(program.wants) > 1:
            yield replace(program, wants=tuple(x for x in program.wants if x != want))
    if program.options != Options():
        yield replace(program, options=Options())
    for name in program.wrt:
        yield replace(program, wrt=tuple(x for x in program.wrt if x != name))
    for step in program.steps:
        yield from _without(program, step)
    for number, (name, sizes) in enumerate(program.dims):
        for size in SMALLER:
            if size < max(sizes):
                dims = list(program.dims)
                dims[number] = name, tuple(min(size, n) for n in sizes)
                yield replace(program, dims=tuple(dims))
    for k, x in enumerate(program.inputs):
        plain = re.sub(r"'[F2-]'\)", "'C')", x.value).replace("shuffled", "sorted").replace("repeated", "sorted")
        if plain != x.value:
            yield replace(program, inputs=(*program.inputs[:k], replace(x, value=plain), *program.inputs[k + 1 :]))


def _without(program: Program, step: Step) -> Iterator[Program]:
    """Programs in which a step is replaced by one of its operands, or by a new input."""
    steps = tuple(x for x in program.steps if x is not step)
    for other in step.uses:
        outputs = tuple(dict.fromkeys(other if x == step.name else x for x in program.outputs))
        yield replace(program, steps=tuple(_renamed(x, step.name, other) for x in steps), outputs=outputs).needed()
    if program.samples == 1:
        try:
            known = meanings(program, {name: widened(x) for name, x in arguments(program, 0).items()})[step.name]
        except Exception:
            return
        if isinstance(known, Matrix) or known.dtype.kind != "f":
            return
        dtype = program.float_name
        made = Input(
            step.name,
            f"at.tensor(dtype={dtype!r}, shape={(None,) * known.ndim})",
            f"v.floats(1, {known.shape}, {dtype!r})",
        )
        wrt = (*program.wrt, step.name) if program.wrt else ()
        yield replace(program, inputs=(*program.inputs, made), steps=steps, wrt=wrt).needed()


def _renamed(step: Step, old: str, new: str) -> Step:
    ours, meaning = (re.sub(rf"\b{old}\b", new, text) for text in (step.aot, step.meaning))
    return Step(step.name, ours, meaning, tuple(dict.fromkeys(new if x == old else x for x in step.uses)))


def program_text(program: Program) -> str:
    """A Python program that compiles the random program and prints both results, to be run from the root of the
    repository.
    """
    built = build(program)
    given = arguments(program, 0)
    known = meanings(program, {name: widened(x) for name, x in given.items()})
    slots = slot_texts(program, {name: known[name].shape for name in program.outputs})
    parameters = ", ".join([x.name for x in program.inputs] + list(built.slots))
    results = ", ".join(result_names(program, known))
    values = ", ".join([x.value for x in program.inputs] + [slots[name] for name in built.slots])
    options = ", ".join(f"{key}={value!r}" for key, value in asdict(program.options).items())
    lines = [
        "import tempfile",
        "from pathlib import Path",
        "import numpy as np",
        "import aotensor as aot, aotensor.sparse as sp, aotensor.tensor as at",
        "from aotensor.gradient import Lop, Rop",
        "from tools.fuzz import values as v",
        "from tools.fuzz.graph_worker import compiled_library",
        "from tools.fuzz.program import Options, second_order",
        "",
        *(f"{name} = {sizes[0]}" for name, sizes in program.dims if any(name in x.value for x in program.inputs)),
        *(f"{x.name} = {_declared(x.declared, program)}" for x in program.inputs),
        *(f"{step.name} = {step.aot}  # by NumPy: {step.meaning}" for step in program.steps),
        *derivative_lines(program, known),
        f"f = aot.function([{parameters}], [{results}], name='f', on_unused_input='ignore')",
        f"arguments = [{values}]",
        "print(f.reference(*arguments))",
        f"print(compiled_library([f], Options({options}), Path(tempfile.mkdtemp())).f(*arguments))",
    ]
    return "\n".join(lines)


def _declared(text: str, program: Program) -> str:
    """A declaration in which variables of dims are quoted as names, unless dims are static."""
    if program.options.is_static:
        return text
    for name, _ in program.dims:
        text = re.sub(rf"(?<=[(,\s]){name}(?=[,)])", repr(name), text)
    return text


def _smooth(program: Program, known: Mapping[str, Any]) -> list[str]:
    """Outputs that have a cotangent."""
    return [x for x in program.outputs if not isinstance(known[x], Matrix) and known[x].dtype.kind == "f"]


def derivative_lines(program: Program, known: Mapping[str, Any]) -> Iterator[str]:
    """Lines that define symbols of cotangents and tangents, and the requested derivatives."""
    smooth, wants = _smooth(program, known), program.wants
    if not (smooth and program.wrt):
        return
    ys, xs = (f"[{', '.join(names)}]" for names in (smooth, program.wrt))
    cts, ds = (f"[{', '.join(names)}]" for names in ([f"ct_{x}" for x in smooth], [f"d_{x}" for x in program.wrt]))
    shares = bool(SECOND_ORDER & {*wants})
    if "lop" in wants or "hvp" in wants or shares:
        yield from (f"ct_{x} = at.tensor('ct_{x}', dtype={x}.dtype, shape={x}.tensor_type.shape)" for x in smooth)
    if "lop" in wants or "hvp" in wants:
        yield f"pulled = Lop({ys}, {xs}, {cts}, disconnected_inputs='ignore')"
    if "rop" in wants or "hvp" in wants or shares:
        for x in program.wrt:
            declared = next(one.declared for one in program.inputs if one.name == x)
            yield f"d_{x} = {_declared(declared, program)}"
    if shares:
        known_names = (smooth, program.wrt, [f"ct_{x}" for x in smooth], [f"d_{x}" for x in program.wrt])
        maps = (
            f"dict(zip({names!r}, [{', '.join(symbols)}]))"
            for names, symbols in zip((smooth, program.wrt) * 2, known_names, strict=True)
        )
        yield f"more = second_order({wants!r}, {', '.join(maps)})"
    if "hvp" in wants:
        yield f"curved = Rop(pulled, {xs}, {ds}, disconnected_outputs='ignore')"
    if "rop" in wants:
        yield f"pushed = Rop({ys}, {xs}, {ds}, disconnected_outputs='ignore')"


def result_names(program: Program, known: Mapping[str, Any]) -> list[str]:
    """The names of the function's results."""
    if not (_smooth(program, known) and program.wrt):
        return list(program.outputs)
    found = list(program.outputs) if "values" in program.wants else []
    kinds = {"lop": "*pulled", "hvp": "*curved", "rop": "*pushed"}
    wanted = {*program.wants, *(["lop"] if "hvp" in program.wants else [])}
    shown = [want for want in ("lop", "hvp", "rop") if want in wanted]
    return found + (["*more.values()"] if SECOND_ORDER & {*program.wants} else []) + [kinds[want] for want in shown]


def slot_texts(program: Program, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, str]:
    """Values of cotangents and tangents as text."""
    cotangents = {
        f"ct_{name}": f"v.weights({1000 + k}, np.zeros({shapes[name]}))" for k, name in enumerate(program.outputs)
    }
    values = {x.name: x.value for x in program.inputs}
    tangents = {f"d_{name}": f"v.weights({2000 + k}, {values[name]})" for k, name in enumerate(program.wrt)}
    return cotangents | tangents
