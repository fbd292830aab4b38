"""Texts of StableHLO, as JAX exports them, without JAX: values as JAX has computed them, names, dims, derivatives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aotensor.errors import AotensorError, ArgumentValueError
from aotensor.importers.errors import NoCounterpart
from aotensor.importers.lax.rules import RULES
from aotensor.importers.stablehlo import from_stablehlo
from aotensor.importers.stablehlo.elementwise import CHLO, PLAIN

FOLDER = Path(__file__).parent / "stablehlo"
LESS_CLOSE = {
    "factorisations": (1e-10, "condition of the matrix"),
    "convolutions": (1e-11, "sums in another order"),
    "draws": (1e-13, "an inverse error function"),
    "transformer": (1e-5, "float32"),
    "transformer_gradient": (1e-5, "float32"),
    "embedded": (1e-5, "float32"),
}
COMPILED = ("perceptron_gradient", "predators", "pooled_gradient")
AGAIN = ("embedded", "shapes", "sorts", "scatters", "reductions", "gathers", "loops")
NAMES = sorted(path.stem for path in FOLDER.glob("*.mlir"))
SMALL = "func.func @main(%x: tensor<?x3xf64>, %y: tensor<3xf64>) -> tensor<f64> {{\n{}\n}}"


def stored(name: str, kind: str) -> list[Any]:
    """Inputs x, results y or gradients g of an export."""
    with np.load(FOLDER / f"{name}.npz") as file:
        return [file[f"{kind}{k}"] for k in range(len(file)) if f"{kind}{k}" in file]


def listed(found: Any) -> list[Any]:
    """Results in order."""
    return list(found.values()) if isinstance(found, dict) else found if isinstance(found, list) else [found]


def agree(name: str, found: list[Any], wanted: list[Any]) -> None:
    """Dtypes and shapes are equal, values to 1e-12, or as said above."""
    tolerance = LESS_CLOSE.get(name, (1e-12, ""))[0]
    for x, y in zip(found, wanted, strict=True):
        x = np.asarray(x)
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        finite = np.abs(y[np.isfinite(y)]).max(initial=1) if y.dtype.kind in "fc" else 0
        np.testing.assert_allclose(x, y, tolerance, tolerance * finite)


@pytest.mark.parametrize("name", NAMES)
def test_values(name: str) -> None:
    f = from_stablehlo(FOLDER / f"{name}.mlir")
    with np.errstate(all="ignore"):
        agree(name, listed(f.reference(*stored(name, "x"))), stored(name, "y"))


@pytest.mark.parametrize("name", [*COMPILED, *AGAIN])
def test_compiled_values(name: str) -> None:
    agree(name, listed(from_stablehlo(FOLDER / f"{name}.mlir")(*stored(name, "x"))), stored(name, "y"))


@pytest.mark.parametrize(
    ("name", "grad"), [("perceptron", "params"), ("transformer", ["params"]), ("predators", ["rates", "first"])]
)
def test_derivatives_are_those_of_jax(name: str, grad: Any) -> None:
    f = from_stablehlo(FOLDER / f"{name}.mlir", grad=grad)
    found = f.reference(*stored(name, "x"))
    agree(name, [x for key, x in found.items() if key.startswith("grad_")], stored(name, "g"))


def test_names_and_dims_are_those_of_jax() -> None:
    f = from_stablehlo(FOLDER / "perceptron.mlir", name="loss", grad="params_1")
    assert f.name == "loss"
    assert list(f.arguments) == ["params_0_b", "params_0_w", "params_1_b", "params_1_w", "x", "y"]
    assert f.arguments["x"].tensor_type.shape == ("n", 3)
    assert f.arguments["y"].tensor_type.shape == ("n", 2)
    assert list(f.keys.values()) == ["out", "grad_params_1_b", "grad_params_1_w"]
    shapes = from_stablehlo(FOLDER / "shapes.mlir")
    assert shapes.arguments["arg0"].tensor_type.shape == ("n", "m")
    names = ["best", "flat", "joined", "last", "max", "mean", "padded", "sorted", "steps", "sums_0", "sums_1", "y"]
    assert list(shapes.keys.values()) == names


@pytest.mark.parametrize("extents", [(1, 1), (4, 2)])
def test_one_function_for_all_extents(extents: tuple[int, int]) -> None:
    x, y = np.random.default_rng(0).normal(size=extents), np.ones(2 * extents[0])
    found = from_stablehlo(FOLDER / "shapes.mlir").reference(x, y)
    np.testing.assert_allclose(found["mean"], x.mean(0), 1e-12)
    np.testing.assert_allclose(found["sums_1"], np.cumsum(x.sum(1)) - x.sum(1), 1e-12, 1e-12)
    np.testing.assert_array_equal(found["padded"], np.pad(x[:, 0], 2))
    np.testing.assert_array_equal(found["steps"], np.arange(extents[0] // 2 + 1))


def test_no_rows() -> None:
    """JAX would refuse an extent of 0; the formulas work."""
    f = from_stablehlo(FOLDER / "perceptron.mlir", grad="params")
    found = f.reference(*stored("perceptron", "x")[:4], np.zeros((0, 3)), np.zeros((0, 2)))
    assert np.isnan(found["out"])


def test_extents_that_are_expressions_are_checked() -> None:
    f = from_stablehlo(FOLDER / "shapes.mlir")
    with pytest.raises((AotensorError, ArgumentValueError), match=r"args\[1\].shape\[0\] and the specification '2\*n'"):
        f.reference(np.ones((2, 3)), np.ones(5))


def test_extents_are_named_by_argument() -> None:
    text = SMALL.format(
        "%0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<?x3xf64>, tensor<3xf64>) -> "
        "tensor<?xf64>\n%c = stablehlo.constant dense<0.0> : tensor<f64>\n"
        "%1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [0] : "
        "(tensor<?xf64>, tensor<f64>) -> tensor<f64>\nreturn %1 : tensor<f64>"
    )
    f = from_stablehlo(text, shapes={"arg0": ("n", 3)}, grad="arg1")
    assert (f.name, f.arguments["arg0"].tensor_type.shape) == ("model", ("n", 3))
    found = f.reference(np.ones((4, 3)), np.arange(3.0))
    assert found["out"] == 12
    np.testing.assert_array_equal(found["grad_arg1"], [4, 4, 4])
    assert from_stablehlo(text).arguments["arg0"].tensor_type.shape == (None, 3)
    with pytest.raises(AotensorError, match="arg0 has extents"):
        from_stablehlo(text, shapes={"arg0": ("n", 4)})
    with pytest.raises(AotensorError, match="z is not an input"):
        from_stablehlo(text, shapes={"z": ("n",)})
    with pytest.raises(AotensorError, match="grad: 'z' is not an input"):
        from_stablehlo(text, grad="z")


def test_what_loops_leave_as_it_is_is_no_part_of_their_state() -> None:
    text = from_stablehlo(FOLDER / "predators.mlir").ir("graph")
    assert "float64[1, 2] = dimshuffle{pattern=(None, 0)}(%first)" in text
    assert "float64[1, 4]" not in text  # the rates, of which each step would have a copy


def test_windows_that_are_running_sums_are_that() -> None:
    text = from_stablehlo(FOLDER / "reductions.mlir").ir("graph")
    assert "cumsum" in text and "cumprod" in text


def test_every_operation_has_a_rule() -> None:
    """What a translation says is a primitive of lax, or one of the importer's own."""
    primitives = {step for step, _ in (*PLAIN.values(), *CHLO.values())}
    assert primitives <= set(RULES)


def test_jax_is_not_needed() -> None:
    """A text is read, compiled and called in a process that cannot import JAX."""
    code = (
        "import sys; sys.modules['jax'] = None; sys.modules['jaxlib'] = None; from pathlib import Path\n"
        "from aotensor.importers.stablehlo import from_stablehlo\n"
        f"f = from_stablehlo(Path({str(FOLDER / 'perceptron.mlir')!r}), grad='params')\n"
        "print(f.name, 'onnx' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["perceptron", "False"]


def test_integers_to_negative_powers() -> None:
    text = """func.func @main(%x: tensor<7xi32>, %y: tensor<7xi32>) -> tensor<7xi32> {
      %z = stablehlo.power %x, %y : tensor<7xi32>
      return %z : tensor<7xi32>
    }"""
    x, y = np.array([-1, -1, -3, 1, -3, 0, 2], "int32"), np.array([-1, -2, -3, -3, 3, 2, 0], "int32")
    f = from_stablehlo(text)
    np.testing.assert_array_equal(f.reference(x, y), [-1, 1, 0, 1, -27, 0, 1])
    np.testing.assert_array_equal(f(x, y), [-1, 1, 0, 1, -27, 0, 1])


_MAP = """
func.func @main(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %c: tensor<f32>) -> tensor<2x3xf32> {
  %0 = "stablehlo.map"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %k = stablehlo.constant dense<2.0> : tensor<f32>
    %p = stablehlo.compare GT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %q = "stablehlo.if"(%p) ({
      %m = stablehlo.multiply %x, %k : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }, {
      %m = stablehlo.add %y, %c : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    stablehlo.return %q : tensor<f32>
  }) {dimensions = array<i64: 0, 1>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
"""


def test_map_computes_its_body_for_each_element() -> None:
    """With a branch in it and a value from around; of scalars too, and where it gives the same for all."""
    a, b = np.random.default_rng(2).normal(size=(2, 2, 3)).astype("float32")
    c = np.float32(5)
    assert np.array_equal(from_stablehlo(_MAP)(a, b, c), np.where(a > b, a * 2, b + c))
    scalars = _MAP.replace("2x3x", "").replace("array<i64: 0, 1>", "array<i64>")
    assert from_stablehlo(scalars)(np.float32(1), np.float32(0), c) == 2
    same = _MAP.replace("stablehlo.return %q", "stablehlo.return %k")
    assert np.array_equal(from_stablehlo(same)(a, b, c), np.full((2, 3), 2, "float32"))
    with pytest.raises(NoCounterpart, match="the shapes of its operands and of its result differ"):
        from_stablehlo(
            _MAP.replace("%b: tensor<2x3xf32>", "%b: tensor<3x2xf32>").replace(
                "(tensor<2x3xf32>, tensor<2x3xf32>)", "(tensor<2x3xf32>, tensor<3x2xf32>)"
            )
        )
