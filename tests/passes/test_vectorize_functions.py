"""Functions with parameters for blocks of elements: the bits of single elements, whatever the neighbours."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special
from loaded import address_of, loaded
from parametric_cases import PARAMETRIC
from scalar_math_harness import Array, Library, loop
from xdsl.dialects.builtin import StringAttr

import aotensor as aot
import aotensor.tensor as at
from aotensor.codegen.emit import emit_module
from aotensor.codegen.machine import Machine
from aotensor.driver.recipe import Options, lower
from aotensor.graph.passes.pipeline import DEFAULT
from aotensor.ir.context import parse_module
from aotensor.passes.functions.block_function import LONGEST, define_block_function
from aotensor.passes.scalar_math.table import define_length

LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
WITHOUT = str(DEFAULT).replace(",vectorize-functions", "")
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 5e-324, 1e-20, 1e5, 1e300, np.inf, -np.inf, np.nan)


def members(name: str) -> list[str]:
    """A function, and one of its derivatives if it has any."""
    orders = [x for x in PARAMETRIC[name].bounds if sum(x) == 1][:1]
    return ["_".join([name, *map(str, x)]) for x in ((), *orders)]


def special_points(count: int) -> list[Array]:
    """Combinations of special values, drawn at random."""
    rng = np.random.default_rng(5)
    return [rng.choice(SPECIAL, 300) for _ in range(count)]


@pytest.mark.parametrize("name", PARAMETRIC)
def test_lanes_have_the_bits_of_single_elements(name: str, rng: np.random.Generator) -> None:
    """On a processor without fused multiply-add, whose results do not depend on what LLVM contracts."""
    names = members(name)
    single, block = (Library(names, cpu="generic", has_blocks=has_blocks) for has_blocks in (False, True))
    drawn = PARAMETRIC[name].draw(rng, 300)
    points = [np.concatenate(pair) for pair in zip(drawn, special_points(len(drawn)), strict=True)]
    for one in names:
        for dtype in ("float64", "float32"):
            with np.errstate(over="ignore", under="ignore"):
                operands = [x.astype(dtype) for x in points]
            np.testing.assert_array_equal(single(one, *operands), block(one, *operands), err_msg=one)


def gamma_points(n: int, seed: int = 0) -> tuple[Array, Array]:
    """Points of all regimes of the incomplete gamma functions, near and far from x = a."""
    rng = np.random.default_rng(seed)
    a = 10.0 ** rng.uniform(-2, 3.3, n)
    return a, np.abs(a + rng.normal(size=n) * 3.0 * np.sqrt(a))


def steps_of_series(a: float, x: float) -> int:
    """The terms of Σ xᵏ/(a + 1)ₖ until one is negligible."""
    k, term, total = 0, 1.0, 1.0
    while term > total * 2.0**-54:
        k += 1
        term *= x / (a + k)
        total += term
    return k


def steps_of_fraction(a: float, x: float) -> int:
    """The quotients of the fraction of Q until one changes nothing, by Lentz's method."""
    b = x + 1.0 - a
    c, d = 1e300, 1.0 / b
    for k in range(1, 1000):
        b += 2.0
        d, c = 1.0 / (k * (a - k) * d + b), b + k * (a - k) / c
        if abs(c * d - 1.0) < 2.0**-52:
            return k
    raise AssertionError("converges for x > a")


def lengths(name: str, *operands: Array) -> Array:
    """The lengths by which a function's elements are sorted, as numbers of 16 buckets."""
    text = re.sub(r"func.func private .*\n", "", loop(name, "float64")).replace(f"@aot.{name}.f64", f"@{name}.length")
    module = parse_module(text, "lengths")
    length = define_length(f"aot.{name}.f64", 16)
    assert length is not None
    length.properties["sym_name"] = StringAttr(f"{name}.length")
    module.body.block.add_op(length)
    machine, result = Machine.parse(), np.empty_like(operands[0])
    optimised = machine.optimise(emit_module(module, machine, exported={f"{name}_float64"}))
    address = address_of(loaded(optimised, machine, [f"{name}_float64"]), f"{name}_float64")
    pairs = [item for array in (*operands, result) for item in (array.ctypes.data, array.size)]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p, ctypes.c_int64] * (len(pairs) // 2))(address)(*pairs)
    return result


def test_lengths_grow_with_trip_counts() -> None:
    """Vectors of elements sorted by length take far fewer steps than unsorted ones, and any operand has a length."""
    rng = np.random.default_rng(2)
    a, x = rng.uniform(0.3, 30, 2000), rng.uniform(1.1, 40, 2000)
    for is_low, steps in ((x <= a, steps_of_series), (x > a, steps_of_fraction)):
        count = np.array([steps(*point) for point in zip(a[is_low], x[is_low], strict=True)])[:512]
        order = np.argsort(lengths("gammainc", a[is_low], x[is_low])[:512], kind="stable")
        unsorted, by_length = (t.reshape(-1, 16).max(axis=1).mean() for t in (count, count[order]))
        assert by_length < 0.8 * unsorted
    for name, count in (("gammainc", 2), ("betainc", 3), ("jv", 2)):
        found = lengths(name, *special_points(count))
        assert np.all((found >= 0) & (found < 16))


def test_elements_are_sorted_by_length() -> None:
    """Four regimes of 16 buckets each, and one number more; without lengths the regimes alone."""
    for name, count in (("gammainc", 65), ("gammal", None)):
        text = str(define_block_function(f"aot.{name}.f64", 16, has_tables=False))
        sizes = {int(n) for n in re.findall(r"memref\.alloca\(\).*memref<(\d+)xi64>", text)}
        assert count in sizes if count else not {n for n in sizes if n > 16} - {LONGEST, LONGEST + 16}


@cache
def of_vectors() -> Any:
    a, x = at.dvectors("a", "x")
    return aot.function([a, x], at.gammainc(a, x), name="f")


@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 15, 16, 17, 40, LONGEST - 1, LONGEST, LONGEST + 1, 2 * LONGEST + 3])
def test_an_element_does_not_depend_on_its_neighbours(n: int) -> None:
    a, x = gamma_points(n)
    found, order = of_vectors()(a, x), np.random.default_rng(1).permutation(n)
    np.testing.assert_array_equal(of_vectors()(a[order], x[order]), found[order])
    for start in range(0, n, 97):
        np.testing.assert_array_equal(
            of_vectors()(a[start : start + 3], x[start : start + 3]), found[start : start + 3]
        )
    np.testing.assert_allclose(found, scipy.special.gammainc(a, x), rtol=1e-12)


@pytest.mark.parametrize("cpu", LEVELS)
@pytest.mark.parametrize("opt_level", [0, 3])
def test_levels_of_machines_and_of_llvm(cpu: str, opt_level: int, tmp_path: Path) -> None:
    a, x = at.dvectors("a", "x")
    f = aot.function([a, x], at.gammaincc(a, x), name="f")
    points = [np.concatenate(pair) for pair in zip(gamma_points(300), special_points(2), strict=True)]
    found = aot.compile(f, tmp_path / "f", cpu=cpu, opt_level=opt_level).load().f(*points)
    with np.errstate(all="ignore"):
        wanted = f.reference(*points)
    np.testing.assert_allclose(found, wanted, rtol=3e-12, atol=1e-310)


def test_strict_has_the_same_bits_on_every_machine(tmp_path: Path) -> None:
    a, x = at.dvectors("a", "x")
    f, points = aot.function([a, x], at.gammainc(a, x), name="f"), gamma_points(600)
    found = [aot.compile(f, tmp_path / cpu, cpu=cpu, fp="strict").load().f(*points) for cpu in LEVELS[::2]]
    np.testing.assert_array_equal(*found)


def test_loops_around_the_calls() -> None:
    """Sums, calls that need one another, operands that other functions compute, rows that are not adjacent."""
    a, x, m = at.dvector("a"), at.dvector("x"), at.dmatrix("m")
    outputs = {
        "total": at.gammainc(a, x).sum(),
        "nested": at.gammainc(at.gammaincc(a, x) + 1.0, at.exp(-x) * 3.0),
        "shared": at.gammainc(a, x) * at.gammaincc(a, 2.0 * x) + a,
        "rows": at.gammainc(m[:, ::2].T, 0.7),
        "chosen": at.switch(x > 1.0, at.gammainc(a, x), at.jv(a, x)),
        "single": at.gammainc(at.cast(a, "float32"), at.cast(x, "float32")),
    }
    f = aot.function([a, x, m], outputs, name="f")
    given = [*np.random.default_rng(0).uniform(0.1, 9.0, (2, 300)), np.random.default_rng(1).uniform(0.1, 2.0, (20, 9))]
    found, wanted = f(*given), f.reference(*given)
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-6 if name == "single" else 1e-11, err_msg=name)
    kernels = f.ir("llvm")
    assert len(re.findall(r'call void @"aot\.gammainc\.f64\.block"', kernels)) >= 4


def remarks(f: aot.Function) -> list[tuple[str, str]]:
    found = lower([f], Options(), texts=()).remarks
    return [(x.kind, x.message) for x in found if x.pass_name == "vectorize-functions"]


def test_loops_that_stay() -> None:
    x, y = at.dvector("x"), at.vector("y", dtype="float64", shape=(5,))
    ((kind, message),) = remarks(aot.function([y], at.gammainc(y, 2.0), name="f"))
    assert kind == "missed" and "the loop has 5 iterations" in message
    states = aot.scan(lambda old: at.gammainc(old + 1.0, 2.0), outputs_info=x[0], n_steps=20, return_updates=False)
    assert all(kind == "missed" for kind, _ in remarks(aot.function([x], states, name="f")))


def test_without_the_pass_elements_are_computed_one_by_one() -> None:
    a, x = at.dvectors("a", "x")
    f = aot.function([a, x], at.gammainc(a, x), name="f", passes=WITHOUT)
    assert "block" not in f.ir("llvm") and "block" in of_vectors().ir("llvm")
    given = gamma_points(500)
    np.testing.assert_allclose(f(*given), of_vectors()(*given), rtol=1e-14)


@pytest.mark.parametrize("cpu", LEVELS)
def test_it_leaves_valid_ir(cpu: str) -> None:
    a, x = at.dvectors("a", "x")
    f = aot.function([a, x], at.gammainc(a, x), name="f")
    lowered = lower([f], Options(cpu=cpu, verify=True), texts=())
    assert len(re.findall(r"call @aot\.\w+\.f64\.block", str(lowered.module))) == 1
