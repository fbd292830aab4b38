"""NumPy's namespace of Fourier transforms, `at.fft`; calling it is `at.fft.fft`."""

from __future__ import annotations

from functools import update_wrapper
from typing import Any

from aotensor.graph.variable import Variable
from aotensor.ops.complex.fft import Length, fft, fft2, fftn, ifft, ifft2, ifftn, irfft, rfft
from aotensor.ops.complex.fft_frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from aotensor.ops.complex.fft_real import hfft, ihfft, irfft2, irfftn, rfft2, rfftn

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip


class FourierTransforms:
    """The functions of numpy.fft as attributes; a call is that of `fft`."""

    fft = staticmethod(fft)
    fft2 = staticmethod(fft2)
    fftfreq = staticmethod(fftfreq)
    fftn = staticmethod(fftn)
    fftshift = staticmethod(fftshift)
    hfft = staticmethod(hfft)
    ifft = staticmethod(ifft)
    ifft2 = staticmethod(ifft2)
    ifftn = staticmethod(ifftn)
    ifftshift = staticmethod(ifftshift)
    ihfft = staticmethod(ihfft)
    irfft = staticmethod(irfft)
    irfft2 = staticmethod(irfft2)
    irfftn = staticmethod(irfftn)
    rfft = staticmethod(rfft)
    rfft2 = staticmethod(rfft2)
    rfftfreq = staticmethod(rfftfreq)
    rfftn = staticmethod(rfftn)

    def __call__(self, x: Any, n: Length = None, axis: int = -1, norm: str | None = None) -> Variable:
        return fft(x, n, axis, norm)

    def __reduce__(self) -> str:
        return "FOURIER_TRANSFORMS"


FOURIER_TRANSFORMS = update_wrapper(FourierTransforms(), fft, assigned=("__name__", "__doc__"))
