"""Tables of options of NumPy's functions that are renamed, ignored or missing here, and of replaced functions."""

from __future__ import annotations

from typing import Final

PARAMETERS: Final = {"where.x": "ift", "where.y": "iff"}
"""Options under another name here."""

IGNORED: Final = frozenset({"device", "kind", "optimize", "stable", "subok"})
"""Options that do not change the result here: sorting is always stable, copies have one kind."""

OPTION_HINTS: Final = {
    "dtype": "convert the result: .astype(dtype)",
    "initial": "join it to the operand, or combine it with the result",
    "out": "leave it out: the result is a new symbol",
    "where": "use switch(where, f(x), y), or f(switch(where, x, y))",
}
"""Replacements for options that symbols lack."""

_IN_PLACE: Final = "symbols do not change: set_subtensor and inc_subtensor give a changed copy"
_FILES: Final = "save values: those of x.eval({...}), or what a call of a Function gives"

HINTS: Final = {
    "add.at": "use x[indices].inc(values), which counts every index",
    "append": "use concatenate",
    "array": "use as_tensor",
    "array_equal": "use eq(x, y).all()",
    "asarray": "use as_tensor",
    "block": "use concatenate along one axis after the other",
    "copyto": _IN_PLACE,
    "cumulative_prod": "use cumprod",
    "cumulative_sum": "use cumsum",
    "fill_diagonal": "symbols do not change: fill_diagonal of aotensor.tensor gives a changed copy",
    "gradient": "use diff, or grad for a derivative",
    "linalg.cond": "use the singular values: s = svd(x, compute_uv=False); s[0] / s[-1]",
    "linalg.matrix_norm": "use norm(x, axis=(-2, -1))",
    "linalg.vector_norm": "use norm(x, axis=...)",
    "nansum": "use switch(isnan(x), 0, x).sum()",
    "nanmean": "use switch(isnan(x), 0, x).sum() / invert(isnan(x)).sum()",
    "place": _IN_PLACE,
    "put": _IN_PLACE,
    "put_along_axis": _IN_PLACE,
    "putmask": _IN_PLACE,
    "resize": "use reshape, or tile",
    "save": _FILES,
    "savetxt": _FILES,
    "savez": _FILES,
    "savez_compressed": _FILES,
    "vander": "use x[:, None] ** arange(n)",
}
"""Replacements for functions that symbols lack."""
