"""The interpreter of nests against the references, after every pass, and without each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
import pytest
from corpus import CORPUS, EMPTY, EXTENTS, NEEDS_ELEMENTS, draw, expected
from tiny_target import TINY
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from aotensor.core.types import Array
from aotensor.errors import InternalError
from aotensor.ir.build import Program, build
from aotensor.ir.context import parse_module
from aotensor.ir.interpreter.interpret import interpret
from aotensor.ir.nest.verify import verify_nests
from aotensor.passes.pipeline import NEST, TENSOR_RECIPE, PassRunner, recipe

RECIPE = recipe(NEST, TINY)
OPTIONAL = [step.name for step in RECIPE if step.name != "lower-to-nest"]
SMALL: Mapping[str, int] = {"n": 5, "m": 4, "k": 3, "l": 3}
MIXED = ["logistic", "two_layers", "sparse_products"]


def check(module: ModuleOp, program: Program, extents: Mapping[str, int]) -> None:
    """The results of a module against the references, but for the rounding of sums in another order."""
    arrays = draw([x for _, x in program.inputs], extents)
    for x, y in zip(interpret(module, program.name, *arrays), expected(program, arrays), strict=True):
        found: Array = x.view(y.dtype) if y.dtype.kind == "u" else x
        rtol, atol = (2e-5, 2e-6) if y.dtype == np.float32 else (1e-12, 1e-12)
        np.testing.assert_allclose(found, y, rtol=rtol, atol=atol)


def lowered(make: Callable[[], Program]) -> tuple[Program, ModuleOp]:
    """A program, and a module of its own at tensor level, as nests are made of it."""
    program, module = _lowered(make)
    return program, module.clone()


@cache
def _lowered(make: Callable[[], Program]) -> tuple[Program, ModuleOp]:
    program = make()
    module, _ = build([program])
    PassRunner().run(module, TENSOR_RECIPE)
    return program, module


@pytest.mark.parametrize("make", CORPUS.values(), ids=CORPUS)
def test_agrees_with_the_references(make: Callable[[], Program]) -> None:
    """The schedule that loops are made of."""
    program, module = lowered(make)
    PassRunner(verify=True).run(module, RECIPE)
    check(module, program, SMALL)
    if program.name not in NEEDS_ELEMENTS:
        check(module, program, EMPTY)


@pytest.mark.parametrize("make", CORPUS.values(), ids=CORPUS)
def test_every_pass_agrees(make: Callable[[], Program]) -> None:
    program, module = lowered(make)
    for step in RECIPE:
        PassRunner(verify=True).run(module, [step])
        check(module, program, EXTENTS["usual"])


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("omitted", OPTIONAL)
def test_no_pass_changes_a_result(omitted: str, name: str) -> None:
    _check_without(omitted, CORPUS[name])


@pytest.mark.parametrize("make", [make for name, make in CORPUS.items() if name not in MIXED])
@pytest.mark.parametrize("omitted", OPTIONAL)
def test_no_pass_changes_a_result_of_the_corpus(omitted: str, make: Callable[[], Program]) -> None:
    _check_without(omitted, make)


def _check_without(omitted: str, make: Callable[[], Program]) -> None:
    program, module = lowered(make)
    PassRunner(verify=True).run(module, [step for step in RECIPE if step.name != omitted])
    check(module, program, SMALL)


# --- what the verifier refuses ----------------------------------------------------------------------------------------

HEAD = """
func.func @f(%x: tensor<?xf64>) -> tensor<?xf64> attributes {dims = [["n"]]} {
  %axis = arith.constant 0 : index
  %n = tensor.dim %x, %axis : tensor<?xf64>
  %one = arith.constant 1.0 : f64
  %two = arith.constant 2.0 : f64
"""
READ = """
  nest.for %i in %n {
    nest.do(%a = %y[%i] : tensor<?xf64>) -> (%b = %z[%i] : tensor<?xf64>) {
      nest.yield %a : f64
    }
  }
"""
WRITE = """
  nest.for %j in %n {
    nest.do(%c = %x[%j] : tensor<?xf64>) -> (%d = %y[%j] : tensor<?xf64>) {
      nest.yield %c : f64
    }
  }
"""
ENTRY = """
    nest.do(%c = %x[%i] : tensor<?xf64>) -> (%d = %y[%i] : tensor<?xf64>) {
      nest.yield %c : f64
    }
"""
DECLARED = "  %y = nest.value[%n] : tensor<?xf64>\n  %z = nest.value[%n] : tensor<?xf64>\n"


def nest(body: str) -> ModuleOp:
    """A module of one function whose result is %z."""
    return parse_module(HEAD + DECLARED + body + "  func.return %z : tensor<?xf64>\n}\n")


@pytest.mark.parametrize(
    "body",
    [
        WRITE + READ,
        "  nest.for %i in %n {" + ENTRY + READ.replace("  nest.for %i in %n {", "").rstrip().removesuffix("}") + "}\n",
    ],
    ids=["one-after-the-other", "together"],
)
def test_what_keeps_dependences_passes(body: str) -> None:
    module = nest(body)
    verify_nests(module)
    x = np.arange(4.0)
    np.testing.assert_array_equal(interpret(module, "f", x)[0], x)


BROKEN = {
    "read before it is written": (READ + WRITE, "y is read before it is written"),
    "nobody writes it": (READ, "y is read, but nothing writes it"),
    "read where another iteration writes": (
        "  nest.for %i in %n {"
        + ENTRY
        + """
    nest.for %k in %n {
      nest.do(%a = %y[%k] : tensor<?xf64>) -> (%b = %z[%k] : tensor<?xf64>) {
        nest.yield %a : f64
      }
    }
  }
""",
        "y is read in a loop over .* in which it is not complete",
    ),
}


STACK = """
func.func @f(%x: tensor<?xf64>) -> tensor<3x?xf64> attributes {dims = [["n"]]} {
  %axis = arith.constant 0 : index
  %three = arith.constant 3 : index
  %n = tensor.dim %x, %axis : tensor<?xf64>
  %y = nest.value[%n] : tensor<3x?xf64>
  %z = nest.value[%n] : tensor<3x?xf64>
  nest.for %i in %n {
    nest.do(%a = %x[%i] : tensor<?xf64>) -> (%b = %y[0, %i] : tensor<3x?xf64>, %c = %y[1, %i] : tensor<3x?xf64>) {
      nest.yield %a, %a : f64, f64
    }
  }
  LAST
  nest.for %k in %three {
    nest.for %j in %n {
      nest.do(%e = %y[%k, %j] : tensor<3x?xf64>) -> (%f = %z[%k, %j] : tensor<3x?xf64>) {
        nest.yield %e : f64
      }
    }
  }
  func.return %z : tensor<3x?xf64>
}
"""
LAST_ROW = """
  nest.for %l in %n {
    nest.do(%g = %x[%l] : tensor<?xf64>) -> (%h = %y[2, %l] : tensor<3x?xf64>) {
      nest.yield %g : f64
    }
  }
"""


def test_rows_that_nobody_writes_are_named() -> None:
    verify_nests(parse_module(STACK.replace("LAST", LAST_ROW)))
    verify_nests(parse_module(STACK.replace("LAST", "").replace("%y[%k, %j]", "%y[1, %j]")))
    with pytest.raises(VerifyException, match="%y is read at 2 along axis 0, where nothing writes it"):
        verify_nests(parse_module(STACK.replace("LAST", "")))


@pytest.mark.parametrize(("body", "what"), BROKEN.values(), ids=BROKEN)
def test_a_broken_dependence_is_named(body: str, what: str) -> None:
    with pytest.raises(VerifyException, match=what):
        verify_nests(nest(body))


CHUNKS = """
func.func @f(%x: tensor<?xf64>, %indptr: tensor<?xi32>) -> tensor<?xf64> attributes {dims = [["n"], [""]]} {
  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : tensor<?xf64>
  %s = arith.constant 4 : index
  %one = arith.constant 1 : index
  %y = nest.value[%n] : tensor<?xf64>
  %z = nest.value[%n] : tensor<?xf64>
  nest.for %c in %n step %s cores {
    %b = arith.addi %c, %s : index
    %e = arith.minsi %b, %n : index
    %low = nest.balance %c of %n by %s group %one in %indptr : tensor<?xi32>
    %high = nest.balance %e of %n by %s group %one in %indptr : tensor<?xi32>
    nest.for %i = WRITTEN {
      nest.do(%a = %x[%i] : tensor<?xf64>) -> (%d = %y[%i] : tensor<?xf64>) {
        nest.yield %a : f64
      }
    }
    nest.for %k = READ {
      nest.do(%a = %y[%k] : tensor<?xf64>) -> (%d = %z[%k] : tensor<?xf64>) {
        nest.yield %a : f64
      }
    }
  }
  func.return %z : tensor<?xf64>
}
"""


@pytest.mark.parametrize("written", ["%low to %high", "%c to %e"])
@pytest.mark.parametrize("read", ["%low to %high", "%c to %e"])
def test_loops_of_one_chunk_are_divided_alike(written: str, read: str) -> None:
    """What one chunk has written is not all that it reads, if `nest.balance` has moved only one of the loops."""
    module = parse_module(CHUNKS.replace("WRITTEN", written).replace("READ", read))
    if written == read:
        verify_nests(module)
    else:
        with pytest.raises(VerifyException, match="%y is read in a loop over %c in which it is not complete"):
            verify_nests(module)


def test_a_pass_that_breaks_a_dependence_is_named() -> None:
    module = nest(READ + WRITE)
    with pytest.raises(InternalError, match="pass vectorize left invalid IR"):
        PassRunner(verify=True).run(module, [step for step in RECIPE if step.name == "vectorize"])


def test_lanes_that_are_apart_in_memory_are_named() -> None:
    """A vector along the rows of a matrix would read along its columns."""
    module = parse_module("""
func.func @f(%x: tensor<?x8xf64>, %i: index) attributes {dims = [["n", ""]]} {
  %eight = arith.constant 8 : index
  %z = nest.value : tensor<8xf64>
  nest.for %k in %eight lanes 8 {
    nest.do() -> (%d = %z[%k] : tensor<8xf64>) {
      %c = tensor.extract %x[%k, %i] : tensor<?x8xf64>
      nest.yield %c : f64
    }
  }
  func.return
}
""")
    with pytest.raises(VerifyException, match="%x has no vectors along %k"):
        verify_nests(module)
