"""Every module, and every public function, class and method on top of it, says what it gives."""

from __future__ import annotations

import ast
from typing import Final

from sources import sources

MARKS: Final = ("TODO", "FIXME", "XXX")
Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def test_public_names_are_documented() -> None:
    missing = []
    for source in sources().values():
        if not source.text.strip():
            continue  # an empty __init__
        if not ast.get_docstring(source.tree):
            missing.append(f"{source.where}: the module")
        missing += [
            f"{source.where}:{node.lineno}: {node.name}"
            for node in source.tree.body
            if isinstance(node, Documented) and not node.name.startswith("_") and not ast.get_docstring(node)
        ]
    assert missing == []


def test_everything_is_annotated() -> None:
    """Every argument and every result."""
    missing = []
    functions = (
        (source, node)
        for source in sources().values()
        for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    for source, node in functions:
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


def test_work_is_finished() -> None:
    """Unfinished work is an issue, or a test in known_bugs."""
    marks = [(source.where, mark) for source in sources().values() for mark in MARKS if mark in source.text]
    assert marks == []
