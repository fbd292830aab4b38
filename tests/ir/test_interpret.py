"""The interpreter of tensor IR against the references, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from corpus import CORPUS, EMPTY, EXTENTS, NEEDS_ELEMENTS, draw, expected

import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.errors import GraphTypeError, GraphValueError, InternalError
from aotensor.ir.build import Program, build
from aotensor.ir.context import parse_module
from aotensor.ir.dialect import AOT, LinesOp
from aotensor.ir.dialect_control import ScanOp
from aotensor.ir.interpreter.interpret import interpret
from aotensor.passes.emit.lower_lines import ALONG_LINES
from aotensor.passes.pipeline import TENSOR_RECIPE, PassRunner
from aotensor.passes.scans.tile_scan_batch import tile_scan_batch
from aotensor.passes.target import Target

PROGRAMS = pytest.mark.parametrize("make", CORPUS.values(), ids=CORPUS)
SIZES: dict[str, Mapping[str, int]] = {**EXTENTS, "empty": EMPTY}


def check_results(found: Sequence[Array], wanted: Sequence[Array]) -> None:
    """Equal integers; floats but for the rounding of sums in another order."""
    assert len(found) == len(wanted)
    for x, y in zip(found, wanted, strict=True):
        if y.dtype.kind == "u":
            x = x.view(y.dtype)
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        rtol, atol = (1e-12, 1e-13) if y.dtype == np.float64 else (2e-6, 1e-6) if y.dtype == np.float32 else (0, 0)
        scale = np.abs(y).max(initial=1, where=np.isfinite(y)) if y.dtype.kind == "f" else 1  # of what cancels
        np.testing.assert_allclose(x, y, rtol=rtol, atol=atol * scale)


@pytest.mark.parametrize("size", SIZES)
@PROGRAMS
def test_agrees_with_the_references(make: Callable[[], Program], size: str) -> None:
    """As imported, and after the passes at tensor level."""
    program = make()
    if size == "empty" and program.name in NEEDS_ELEMENTS:
        pytest.skip("refuses an empty input")
    arrays = draw([x for _, x in program.inputs], SIZES[size])
    wanted = expected(program, arrays)
    module, _ = build([program])
    check_results(interpret(module, program.name, *arrays), wanted)
    PassRunner(verify=True).run(module, TENSOR_RECIPE)
    check_results(interpret(module, program.name, *arrays), wanted)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -0.0, 1e300])
def test_special_values(value: float) -> None:
    x = np.array([1.0, value, -2.0, value])
    for name in (
        "chain_and_sum",
        "one_value_twice",
        "chain_gradient",
        "running_sums",
        "softmax_rows",
        "argmax_of_rows",
    ):
        program = CORPUS[name]()
        (_, symbol), *_ = program.inputs
        arrays = [x if symbol.ndim == 1 else np.stack([x, x[::-1]])]
        module, _ = build([program])
        check_results(interpret(module, name, *arrays), expected(program, arrays))


def test_layouts_do_not_matter() -> None:
    program = CORPUS["transposes"]()
    x, y = draw([v for _, v in program.inputs], EXTENTS["usual"])
    module, _ = build([program])
    wanted = interpret(module, "transposes", x, y)
    for other in (np.asfortranarray(x), x[::-1][::-1]):
        check_results(interpret(module, "transposes", other, y), wanted)


def test_a_failing_check_is_an_error_with_its_numbers() -> None:
    x, y = at.vector("x"), at.vector("y")
    module, _ = build([Program("f", (("x", x), ("y", y)), (("z", x + y),))])
    with pytest.raises(GraphValueError, match=r"x \+ y at .*: y_0 = 3 and x_0 = 2"):
        interpret(module, "f", np.ones(2), np.ones(3))


def test_named_dims_must_agree() -> None:
    program = CORPUS["many_operands"]()
    module, _ = build([program])
    arrays = [np.ones(4)] * 8 + [np.ones(5)]
    with pytest.raises(GraphValueError, match="dim n is 4 and 5"):
        interpret(module, program.name, *arrays)


@pytest.mark.parametrize(
    ("arrays", "error", "message"),
    [
        ([np.ones(3, "float32")], GraphTypeError, "float32 of rank 1, expected tensor<\\?xf64>"),
        ([np.ones((3, 3))], GraphTypeError, "float64 of rank 2"),
        ([], GraphTypeError, "expected 1 arguments, found 0"),
    ],
    ids=["dtype", "rank", "count"],
)
def test_arguments_that_do_not_fit(arrays: list[Array], error: type[Exception], message: str) -> None:
    module, _ = build([CORPUS["chain_and_sum"]()])
    with pytest.raises(error, match=message):
        interpret(module, "chain_and_sum", *arrays)


def test_a_static_extent_is_checked() -> None:
    program = CORPUS["static_small"]()
    module, _ = build([program])
    with pytest.raises(GraphValueError, match=r"argument 1 has shape \(4,\), expected tensor<3xf64>"):
        interpret(module, program.name, np.ones((3, 3)), np.ones(4))


GATHER = """
func.func @f(%x: tensor<?xf64>, %i: index) -> tensor<2xf64> attributes {dims = [["n"], []]} {
  %e = tensor.empty() : tensor<2xf64>
  %r = linalg.generic
    {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e : tensor<2xf64>) {
  ^bb0(%o: f64):
    %k = linalg.index 0 : index
    %j = arith.addi %k, %i : index
    %v = tensor.extract %x[%j] : tensor<?xf64>
    linalg.yield %v : f64
  } -> tensor<2xf64>
  func.return %r : tensor<2xf64>
}
"""


def test_reads_outside_of_a_tensor_are_our_bug() -> None:
    module, x = parse_module(GATHER), np.arange(5.0)
    np.testing.assert_array_equal(interpret(module, "f", x, np.int64(3))[0], [3.0, 4.0])
    for start in (-1, 4):
        with pytest.raises(InternalError, match="on an axis of 5"):
            interpret(module, "f", x, np.int64(start))


DISAGREEMENT = """
func.func @f(%x: tensor<?xf64>, %y: tensor<?xf64>) -> tensor<?xf64> attributes {dims = [["n"], ["m"]]} {
  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : tensor<?xf64>
  %e = tensor.empty(%n) : tensor<?xf64>
  %r = linalg.generic
    {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
    ins(%y : tensor<?xf64>) outs(%e : tensor<?xf64>) {
  ^bb0(%a: f64, %o: f64):
    linalg.yield %a : f64
  } -> tensor<?xf64>
  func.return %r : tensor<?xf64>
}
"""


def test_operands_must_agree_about_every_dim() -> None:
    with pytest.raises(InternalError, match="dim d0 is 3 and 2"):
        interpret(parse_module(DISAGREEMENT), "f", np.ones(2), np.ones(3))


@pytest.mark.parametrize(
    ("op", "x", "y", "result"),
    [
        ("divsi", -7, 2, -3), ("divui", -7, 2, 124), ("remsi", -7, 2, -1), ("remui", -7, 2, 1),
        ("floordivsi", -7, 2, -4), ("ceildivsi", -7, 2, -3),
        ("minsi", -1, 1, -1), ("minui", -1, 1, 1), ("maxsi", -1, 1, 1), ("maxui", -1, 1, -1),
        ("shli", 3, 2, 12), ("shrsi", -8, 1, -4), ("shrui", -8, 1, 124), ("addi", 127, 1, -128), ("muli", 100, 3, 44),
    ],
)  # fmt: skip
def test_the_operation_says_the_sign(op: str, x: int, y: int, result: int) -> None:
    text = f"""
func.func @f(%x: i8, %y: i8) -> i8 attributes {{dims = [[], []]}} {{
  %z = arith.{op} %x, %y : i8
  func.return %z : i8
}}"""
    assert interpret(parse_module(text), "f", np.int8(x), np.int8(y))[0] == result


@pytest.mark.parametrize(
    ("predicate", "results"),
    [
        ("oeq", "010"), ("une", "101"), ("olt", "100"), ("ule", "111"), ("ogt", "000"), ("uno", "001"), ("ord", "110"),
    ],
)  # fmt: skip
def test_comparisons_of_floats(predicate: str, results: str) -> None:
    """1 < 2, 2 = 2, nan ? 2."""
    text = f"""
func.func @f(%x: f64, %y: f64) -> i1 attributes {{dims = [[], []]}} {{
  %z = arith.cmpf {predicate}, %x, %y : f64
  func.return %z : i1
}}"""
    module = parse_module(text)
    for x, wanted in zip((1.0, 2.0, np.nan), results, strict=True):
        assert interpret(module, "f", np.float64(x), np.float64(2.0))[0] == (wanted == "1")


def test_what_is_missing_is_said() -> None:
    module = parse_module(GATHER)
    with pytest.raises(InternalError, match="no function @g"):
        interpret(module, "g", np.ones(2), np.int64(0))
    text = "func.func @f(%x: f64) -> f64 { %y = func.call @aot.nothing.f64(%x) : (f64) -> f64\n func.return %y : f64 }"
    with pytest.raises(InternalError, match=r"no scalar function @aot\.nothing\.f64"):
        interpret(parse_module(text), "f", np.float64(1))


@pytest.mark.parametrize(
    ("name", "shapes"),
    [("loop", [(500, 16, 64), (1, 16, 64), (64, 64), (16, 64)]), ("unknown", [(40, 5000), (1, 5000)])],
)
def test_chunks_of_rows(name: str, shapes: list[tuple[int, ...]]) -> None:
    """A loop over steps that goes by chunks of rows gives what it gives for all rows at once."""
    module = parse_module((Path(__file__).parents[1] / "passes" / "tile_scan_batch.mlir").read_text())
    rng, dtype = np.random.default_rng(0), "float32" if name == "loop" else "float64"
    arrays = [(0.1 * rng.normal(size=shape)).astype(dtype) for shape in shapes]
    wanted = interpret(module, name, *arrays)
    tile_scan_batch(module, Target(chunk_work=1000))
    assert any(isinstance(op, ScanOp) and op.chunk is not None for op in module.walk())
    check_results(interpret(module, name, *arrays), wanted)


def test_operations_on_lines_have_a_meaning_and_a_lowering() -> None:
    lines = [op for op in AOT.operations if issubclass(op, LinesOp)]
    assert lines and all(op.reference is not LinesOp.reference and op in ALONG_LINES for op in lines)
