"""Texts that are damaged, made up, or of what has no counterpart: one error with the line and the operation."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest

from aotensor.errors import AotensorError
from aotensor.importers.stablehlo import DamagedText, NoCounterpart, from_stablehlo
from aotensor_cli.main import run

FOLDER = Path(__file__).parent / "stablehlo"


def body(*lines: str, x: str = "2x3xf32", y: str = "") -> str:
    """A function of %x that returns %y."""
    inner = "".join(f"    {line}\n" for line in lines)
    head = f"module @m {{\n  func.func @main(%x: tensor<{x}>) -> tensor<{y or x}> {{\n"
    return f"{head}{inner}    return %y : tensor<{y or x}>\n  }}\n}}\n"


DAMAGED = {
    "undefined": (body("%y = stablehlo.add %x, %z : tensor<2x3xf32>"), ":3: %z is used before it is defined"),
    "later": (
        body("%y = stablehlo.abs %z : tensor<2x3xf32>", "%z = stablehlo.abs %x : tensor<2x3xf32>"),
        ":3: %z is used",
    ),
    "twice": (
        body("%y = stablehlo.abs %x : tensor<2x3xf32>", "%y = stablehlo.abs %x : tensor<2x3xf32>"),
        ":4: %y is defined twice",
    ),
    "types": (body("%y = stablehlo.abs %x : tensor<3xf32>"), ":3: the operands of stablehlo.abs have other types"),
    "cut": (body("%y = stablehlo.abs %x : tensor<2x3xf32>")[:90], "found the end of the text"),
    "results": (body("%y:2 = stablehlo.abs %x : tensor<2x3xf32>"), "but 2 names are assigned"),
    "elements": (
        body("%y = stablehlo.constant dense<[1.0, 2.0]> : tensor<2x3xf32>"),
        "the constant has 2 elements for extents [2, 3]",
    ),
    "bytes": (body('%y = stablehlo.constant dense<"0x0102"> : tensor<2x3xf32>'), "be read as elements of float32: "),
    "digits": (body('%y = stablehlo.constant dense<"0xQQ"> : tensor<2x3xf32>'), ":3: expected dense<...>"),
    "numbers": (body("%y = stablehlo.constant dense<[a]> : tensor<2x3xf32>"), ":3: '[a]' cannot be read as elements"),
    "large": (body("%y = stablehlo.abs %x : tensor<2x3xf32>", x="99999999999999999999xf32"), "the extent 9999999"),
    "nested": ("func.func @main() { %y = stablehlo.abs " + "(" * 500, "brackets are nested more than"),
    "declared": (
        body("%y = stablehlo.abs %x : tensor<2x3xf32>").replace("-> tensor<2x3xf32>", "-> tensor<3xf32>"),
        "returns other types than it declares",
    ),
    "two": (
        body("%y = stablehlo.abs %x : tensor<2x3xf32>").replace("}\n}", "}\nfunc.func @main() {}\n}"),
        "two functions",
    ),
    "none": ("module @m {}  // func.func", "it has no function"),
}  # fmt: skip

ABS = "%y = stablehlo.abs %x : tensor<2x3xf32>"
REFUSED = {
    "unknown": (body("%y = stablehlo.rng_bits %x : tensor<2x3xf32>"), "stablehlo.rng_bits at "),
    "custom": (
        body("%y = stablehlo.custom_call @my_kernel(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>"),
        "stablehlo.custom_call @my_kernel at ",
    ),
    "callback": (
        body('%y = "stablehlo.custom_call"(%x) {call_target_name = "xla_python_cpu_callback"} : (tensor<2x3xf32>) -> '
             "tensor<2x3xf32>"),
        "stablehlo.custom_call @xla_python_cpu_callback",
    ),
    "dtype": (body("%y = stablehlo.abs %x : tensor<2xf8E4M3FN>", x="2xf8E4M3FN"), "the input arg0 has dtype f8E4M3FN"),
    "inner dtype": (
        body("%z = stablehlo.convert %x : (tensor<2x3xf32>) -> tensor<2x3xi4>", ABS),
        "stablehlo.convert: its result has dtype i4",
    ),
    "broadcast": (
        body("%y = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<4x3xf32>", y="4x3xf32"),
        "extents [2, 3] cannot be broadcast to [4, 3]",
    ),
    "axis": (
        body("%y = stablehlo.transpose %x, dims = [0, 7] : (tensor<2x3xf32>) -> tensor<2x3xf32>"),
        "it names axis 7 of a tensor of rank 2",
    ),
    "slice": (
        body("%y = stablehlo.slice %x [0:2, 0:9] : (tensor<2x3xf32>) -> tensor<2x9xf32>", y="2x9xf32"),
        "its range 0:9:1 does not fit an axis of extent 3",
    ),
    "product": (
        body("%y = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<2x3xf32>) -> "
             "tensor<2x3xf32>"),
        "extents of float32[2, 3] and float32[2, 3] differ",
    ),
    "told": (body("%y = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>"),
             ":3: stablehlo.transpose: its result has type float32[3, 2], but the text declares float32[2, 3]"),
    "recursion": (
        body("%y = call @main(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>"), "the function @main calls itself",
    ),
    "no function": (body("%y = call @f(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>"), "there is no function @f"),
    "unknown extent": (
        body("%y = stablehlo.reshape %x : (tensor<?xf32>) -> tensor<?x1xf32>", x="?xf32", y="?x1xf32"),
        "stablehlo.reshape: its result has unknown extents (?), which need dynamic_reshape",
    ),
    "attribute": (
        body('%y = "stablehlo.concatenate"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>'),
        "attribute dimension is missing",
    ),
    "order": (
        body('%y = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({', "^bb0(%a: tensor<f32>, %b: tensor<f32>):",
             "%c = stablehlo.abs %a : tensor<f32>",
             "%d = stablehlo.compare LT, %c, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>",
             "stablehlo.return %d : tensor<i1>", "}) : (tensor<2x3xf32>) -> tensor<2x3xf32>"),
        "its comparator is not the ascending or descending order",
    ),
    "entry": ("func.func @f(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }", "there is no function @main"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_texts(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text, message = DAMAGED[name]
    path = tmp_path / "model.mlir"
    path.write_text(text)
    with pytest.raises(DamagedText) as caught:
        from_stablehlo(path)
    assert message in str(caught.value)
    assert run(["inspect", str(path), "--stage", "graph"]) == 2
    first = capfd.readouterr().err.splitlines()[0]
    assert first.startswith("error: model.mlir") and message in first


@pytest.mark.parametrize("name", REFUSED)
def test_refused_texts(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text, message = REFUSED[name]
    path = tmp_path / "model.mlir"
    path.write_text(text)
    with pytest.raises(AotensorError) as caught:
        from_stablehlo(path)
    assert message.removesuffix(" at ") in str(caught.value)
    assert run(["compile", str(path)]) == 3
    assert message in capfd.readouterr().err.splitlines()[0]


def test_all_without_counterpart_are_in_one_error() -> None:
    lines = ["%a = stablehlo.rng %x : tensor<2x3xf32>", "%y = stablehlo.wish %a : tensor<2x3xf32>"]
    with pytest.raises(NoCounterpart) as caught:
        from_stablehlo(body(*lines))
    assert [(x.name, x.place) for x in caught.value.operations] == [
        ("stablehlo.rng", "stablehlo:3"),
        ("stablehlo.wish", "stablehlo:4"),
    ]


def test_functions_that_call_each_other_many_times_are_refused() -> None:
    """Sixty functions, each of which calls the next twice."""
    text = "func.func @main(%x: tensor<f32>) -> tensor<f32> { %y = call @f0(%x) : (tensor<f32>) -> tensor<f32>\n"
    text += "return %y : tensor<f32> }\n"
    call = "call @f{}(%{}) : (tensor<f32>) -> tensor<f32>\n"
    for k in range(60):
        inner = (
            f"%a = {call.format(k + 1, 'x')}%y = {call.format(k + 1, 'a')}"
            if k < 59
            else "%y = stablehlo.abs %x : tensor<f32>\n"
        )
        text += f"func.func @f{k}(%x: tensor<f32>) -> tensor<f32> {{\n{inner}return %y : tensor<f32> }}\n"
    with pytest.raises(AotensorError, match="operations, including those of the functions that it calls"):
        from_stablehlo(text)


def test_a_large_constant_takes_no_memory() -> None:
    lines = ["%c = stablehlo.constant dense<1.0> : tensor<1000000x1000000xf32>",
             "%y = stablehlo.slice %c [0:2, 0:3] : (tensor<1000000x1000000xf32>) -> tensor<2x3xf32>"]  # fmt: skip
    f = from_stablehlo(body(*lines))
    assert "1000000" in f.ir("graph")


def test_other_files_are_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.mlir"
    for content, message in ((b"ML\xefRbytecode", "this is bytecode of MLIR"), (b"func.func \xff", "not text in UTF-8"),
                             (b"builtin.module {}\n", "this is MLIR, neither a model nor a library")):  # fmt: skip
        path.write_bytes(content)
        assert run(["compile", str(path)]) == 2
        assert message in capfd.readouterr().err
    with pytest.raises(DamagedText, match=r"give a file as pathlib.Path|is not a text of StableHLO"):
        from_stablehlo("model.mlir")


@pytest.mark.parametrize("name", ["loops", "shapes", "pools", "sorts", "embedded", "gathers"])
def test_damaged_characters_are_refused_or_read(name: str) -> None:
    """No exception of Python or of NumPy comes out of a text."""
    rng = np.random.default_rng(7)
    text = (FOLDER / f"{name}.mlir").read_text()
    marks = np.array(list("0123456789x<>[](){}%#:=,\"'-?@ abif"))
    for _ in range(12):
        damaged = list(text)
        for place in rng.integers(len(text), size=3):
            damaged[place] = str(rng.choice(marks))
        with contextlib.suppress(AotensorError), np.errstate(all="ignore"):
            from_stablehlo("".join(damaged) + "\n// func.func")
    for length in rng.integers(len(text), size=8):
        with pytest.raises(DamagedText):
            from_stablehlo(text[: int(length)] + "\n// func.func")
