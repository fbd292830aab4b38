"""Model files: what is found in them, and one clear error for whatever is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Call

from aotensor_cli.model import load_model
from aotensor_cli.reading.library import split_name

HEAD = "import aotensor as aot, aotensor.tensor as at\nx = at.vector('x')\n"

BAD_MODELS = {
    "syntax": ("x = (1,\n", 3, "{}:1: syntax error: '(' was never closed", None),
    "empty": (
        "",
        3,
        "{}: there is no Function at the top level of the file",
        "define one with f = aotensor.function([x], y); an NLP, a model of PyMC and a function of PyTensor count",
    ),
    "raises": ("\n\n1 / 0\n", 3, "{}:3: ZeroDivisionError: division by zero", None),
    "import": ("import no_such_module\n", 3, "{}:1: ModuleNotFoundError: No module named 'no_such_module'", None),
    "exits": ("import sys\nsys.exit(3)\n", 3, "{}: the model ends the process with exit(3)", None),
    "null": ("x = 1\0\n", 3, "{}: syntax error: source code string cannot contain null bytes", None),
    "type": (
        HEAD + "y = at.matrix('y', dtype='datetime64[s]')\n",
        3,
        "{}:3: dtype datetime64[s] is not supported",
        None,
    ),
    "unused": (
        HEAD + "f = aot.function([x], 1.0)\n",
        3,
        "{}:3: input x is not needed",
        "pass on_unused_input='ignore' to keep it",
    ),
    "names": (
        HEAD + "f = aot.function([x], x + 1, name='a')\ng = aot.function([x], x, name='a')\n",
        3,
        "two functions have the name a",
        "name them: function(..., name=...); of an ONNX model, its file",
    ),
    "taken": (
        HEAD + "exp = aot.function([x], at.exp(x))\n",
        3,
        "function name 'exp' is reserved by C or its library",
        "give the function another name, or use a prefix",
    ),
}


@pytest.mark.parametrize("name", BAD_MODELS)
def test_bad_models(call: Call, tmp_path: Path, name: str) -> None:
    source, code, title, hint = BAD_MODELS[name]
    path = tmp_path / "model.py"
    path.write_text(source)
    answer = call("compile", path, "-o", tmp_path / "out")
    assert answer.out == ""
    lines = answer.err.splitlines()
    assert lines[0] == f"error: {title.format(path)}"
    assert code == answer.code
    if hint is not None:
        assert lines[1] == f"hint: {hint}"
    assert len(lines) <= 2
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["compile", "inspect", "verify"])
@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("none.py", "there is no such file"),
        ("none.py:f", "there is no such file"),
        ("", "this is a folder, not a file"),
    ],
)
def test_unreadable_models(call: Call, tmp_path: Path, command: str, name: str, title: str) -> None:
    answer = call(command, tmp_path / name)
    assert answer.code == 2
    assert answer.err.startswith(f"error: {tmp_path / name.removesuffix(':f')}: {title}")


def test_unknown_function_is_named_with_those_that_are_there(call: Call, model: Path) -> None:
    answer = call("inspect", f"{model}:soup")
    assert answer.code == 2
    assert answer.err.splitlines()[-2:] == [
        f"error: {model}: there is no Function soup",
        "hint: it has logistic, doubled",
    ]


def test_error_in_an_imported_module_names_that_module(call: Call, tmp_path: Path) -> None:
    (tmp_path / "broken_part.py").write_text("def f(:\n")
    (tmp_path / "model.py").write_text("import broken_part\n")
    answer = call("compile", tmp_path / "model.py")
    assert answer.code == 3
    assert answer.err.splitlines()[0] == f"error: {tmp_path / 'broken_part.py'}:1: syntax error: invalid syntax"


def test_functions_come_in_order_each_once(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(HEAD + "b = aot.function([x], x + 1)\na = aot.function([x], x, name='own')\nc = b\nN = __name__\n")
    model = load_model(str(path))
    assert [f.name for f in model.functions] == ["b", "own"]
    assert [f.name for f in load_model(f"{path}:a").functions] == ["own"]
    assert [f.name for f in load_model(f"{path}:own").functions] == ["own"]


def test_main_block_is_not_run(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(HEAD + "f = aot.function([x], x + 1)\nif __name__ == '__main__':\n    raise SystemExit(1)\n")
    assert len(load_model(str(path)).functions) == 1


def test_colon_in_a_path(tmp_path: Path) -> None:
    path = tmp_path / "a:b"
    path.write_text("")
    assert split_name(str(path)) == (path, None)
    assert split_name("m.py:f") == (Path("m.py"), "f")
