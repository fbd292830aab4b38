"""Fourier transforms."""

from __future__ import annotations

from typing import Any

import aotensor.tensor as at
from aotensor.importers.check import checked
from aotensor.importers.pytensor.axes import along_axis
from aotensor.importers.pytensor.rules import Walk, integer_of, rule, unsupported


@rule("RFFTOp")
def rfft(walk: Walk, node: Any, x: Any, extents: Any) -> Any:
    """Real and imaginary parts along a new last axis, over all axes but the first."""
    *others, last = _lengths(walk, node, x.ndim - 1)
    found = at.rfft(x, last, axis=-1)
    for axis, n in enumerate(others, 1):
        found = at.fft(found, n, axis=axis)
    return at.stack([at.real(found), at.imag(found)], axis=-1)


@rule("IRFFTOp")
def irfft(walk: Walk, node: Any, x: Any, extents: Any) -> Any:
    """The inverse of the above times its lengths: PyTensor leaves the division to another op."""
    found = at.complex(x[..., 0], x[..., 1])
    *others, last = _lengths(walk, node, x.ndim - 2)
    for axis, n in enumerate(others, 1):
        found = at.ifft(found, n, axis=axis, norm="forward")
    return at.irfft(found, last, axis=-1, norm="forward")


def _lengths(walk: Walk, node: Any, rank: int) -> list[Any]:
    """Of each transform, numbers where they are known."""
    found = walk.extents(node.inputs[1])
    listed = found if isinstance(found, list) else [found[k] for k in range(rank)]
    if len(listed) != rank:
        raise unsupported(node, f"{len(listed)} lengths for {rank} axes")
    return [n if known is None else known for n, known in ((n, integer_of(n)) for n in listed)]


@rule("Fourier")
def fourier(walk: Walk, node: Any, x: Any, n: Any, axis: Any) -> Any:
    """The complex transform along one axis, cut or filled to a length; both may be computed."""
    length: Any = integer_of(n)
    if length is None:
        length = checked("the length of a transform is 1 or more", n, at.ge(n, 1))
    return along_axis(node, x, axis, lambda values, k: at.fft(at.cast(values, node.outputs[0].dtype), length, axis=k))
