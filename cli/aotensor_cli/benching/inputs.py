"""Parse the sizes of `--sizes` and match them with the dims of functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from aotensor.api.cost.inputs import dims_of, hint_of_dims
from aotensor_cli.options import MOST_DIGITS, Refusal
from aotensor_runtime.manifest import FunctionSpec


def parse_sizes(text: str | None) -> dict[str, int]:
    """`n=1000,p=100` as a dict.   Raises: Refusal"""
    sizes: dict[str, int] = {}
    for part in (text or "").split(","):
        name, equals, value = part.strip().partition("=")
        if not part.strip() and not text:
            continue
        if not equals or not name or not value.isdecimal() or len(value) > MOST_DIGITS:
            raise Refusal(f"--sizes {text!r:.100} is not understood", "write n=1000,p=100")
        if sizes.setdefault(name, int(value)) != int(value):
            raise Refusal(f"--sizes {text!r:.100} gives {name} two extents", "leave out one of them")
    return sizes


def known_dims(specs: Iterable[FunctionSpec], wanted: Iterable[Mapping[str, int]]) -> dict[str, list[str]]:
    """Function → names of its dims.   Raises: Refusal for a size in `wanted` that none of the functions has"""
    dims = {spec.name: list(dims_of(spec, {})) for spec in specs}
    known = {name for names in dims.values() for name in names}
    for name in (name for one in wanted for name in one):
        if name not in known:
            raise Refusal(f"no function has a dim {name}", hint_of_dims(name, known))
    return dims
