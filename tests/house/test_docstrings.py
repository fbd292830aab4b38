"""Every module, and every public function, class and method on top of it, says what it gives."""

from __future__ import annotations

import ast

import pytest
from sources import Source, sources

ALL = pytest.mark.parametrize("source", sources().values(), ids=sources())
Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@ALL
def test_public_names_are_documented(source: Source) -> None:
    if not source.text.strip():
        return  # an empty __init__
    assert ast.get_docstring(source.tree), f"{source.where}: the module"
    missing = [
        f"{source.where}:{node.lineno}: {node.name}"
        for node in source.tree.body
        if isinstance(node, Documented) and not node.name.startswith("_") and not ast.get_docstring(node)
    ]
    assert missing == []


@ALL
def test_everything_is_annotated(source: Source) -> None:
    """Every argument and every result."""
    missing = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = [
                *node.args.posonlyargs,
                *node.args.args,
                *node.args.kwonlyargs,
                node.args.vararg,
                node.args.kwarg,
            ]
            bare = [a.arg for a in arguments if a is not None and a.annotation is None and a.arg not in ("self", "cls")]
            if bare or node.returns is None:
                missing.append(f"{source.where}:{node.lineno}: {node.name}({', '.join(bare)})")
    assert missing == []


@ALL
def test_work_is_finished(source: Source) -> None:
    """Unfinished work is an issue, or a test in known_bugs."""
    marks = [mark for mark in ("TODO", "FIXME", "XXX") if mark in source.text]
    assert marks == []
