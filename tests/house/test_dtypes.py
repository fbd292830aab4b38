"""A storage dtype is declared by its record: no other file needs to name it."""

from __future__ import annotations

import ast

from sources import ROOT, sources

from aotensor.core.dtypes import HALVES

TABLES = {
    "runtime/aotensor_runtime/arrays/dtypes.py": "the record",
    "cli/aotensor_cli/bindings/julia.py": "Julia has a type of float16",
    "src/aotensor/gradient/numeric.py": "PyTensor's steps",
}
"""The files that name a storage dtype → why. A dtype that is absent from the last two is refused."""


def test_storage_dtypes_are_named_in_one_table() -> None:
    named = {
        source.where
        for source in sources().values()
        if any(name in source.text for name in HALVES)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Constant) and node.value in HALVES
    }
    assert named == set(TABLES)


def test_the_module_for_javascript_names_no_storage_dtype() -> None:
    text = (ROOT / "src/aotensor/codegen/targets/web/loader.mjs").read_text(encoding="utf-8")
    assert not [name for name in HALVES if name in text]
