"""aotensor: symbolic tensor programs and their gradients, compiled ahead of time.

import aotensor as aot
import aotensor.tensor as at

X, y, w = at.matrix("X", shape=("n", "p")), at.vector("y", shape=("n",)), at.vector("w", shape=("p",))
loss = at.softplus(-y * (X @ w)).mean()
f = aot.function([X, y, w], {"loss": loss, "grad_w": aot.grad(loss, w)}, name="logistic")
aot.compile(f, "build")        # build/liblogistic.so, build/logistic.h
"""

from __future__ import annotations

import typing as _typing
from typing import Any as _Any

from aotensor import assembly as _assembly  # noqa: F401  (the layers find each other)
from aotensor import errors
from aotensor.api.function import Function, function
from aotensor.api.library import compile, load
from aotensor.api.nlp import NLP, nlp
from aotensor.config import config
from aotensor.densities.parameter import Parameter
from aotensor.driver.signature import In, Out
from aotensor.gradient import grad, subgraph_grad
from aotensor.gradient.composite import OpFromGraph
from aotensor.graph.op import Op
from aotensor.graph.substitute import clone_replace, graph_replace
from aotensor.graph.variable import shared
from aotensor.ops.scan.checkpoints import scan_checkpoints
from aotensor.ops.scan.folds import foldl, foldr, map, reduce
from aotensor.ops.scan.frontend import scan
from aotensor.ops.scan.ifelse import ifelse
from aotensor.ops.scan.step import until
from aotensor.pictures.tree import dprint

if _typing.TYPE_CHECKING:
    from aotensor.splitting.rounds import Rounds, split

__all__ = [
    "NLP",
    "Function",
    "In",
    "Op",
    "OpFromGraph",
    "Out",
    "Parameter",
    "Rounds",
    "clone_replace",
    "compile",
    "config",
    "dprint",
    "errors",
    "foldl",
    "foldr",
    "function",
    "grad",
    "graph_replace",
    "ifelse",
    "load",
    "load_ipython_extension",
    "map",
    "nlp",
    "reduce",
    "scan",
    "scan_checkpoints",
    "shared",
    "split",
    "subgraph_grad",
    "until",
]


def __getattr__(name: str) -> _Any:
    """Look up names whose modules load when they are first used: few programs split a function."""
    if name in ("Rounds", "split"):
        from aotensor.splitting import rounds

        return getattr(rounds, name)
    raise AttributeError(f"module 'aotensor' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: _Any) -> None:
    """Registers the magic `%%aotensor`, which verifies the functions of a cell: called by `%load_ext aotensor`."""
    from aotensor.api.magic import register

    register(shell)
