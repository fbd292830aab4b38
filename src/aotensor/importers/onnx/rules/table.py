"""The table of operators: (domain, name) → its rule, a function of the node and its inputs.

A rule returns a tensor, or a sequence of them; it raises Unsuited for a form of the operator that it cannot translate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from aotensor.importers.base import entering

Rule = Callable[..., Any]

RULES: Final[dict[tuple[str, str], Rule]] = {}
"""Operators with a rule; those of the standard that are functions of others are taken apart instead."""

ML: Final = "ai.onnx.ml"
MICROSOFT: Final = "com.microsoft"
"""Operators of onnxruntime, of which onnx has no records: `contributed.py` has those of operators with a rule."""


def rule(*names: str, domain: str = "") -> Callable[[Rule], Rule]:
    """A decorator that registers a function as the rule of operators with these names."""
    return entering(RULES, lambda name: (domain, name), *names)


def row(function: Callable[..., Any]) -> Rule:
    """A rule that applies a function to the inputs and ignores attributes."""
    return lambda node, *inputs: function(*inputs)
