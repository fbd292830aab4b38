"""`at.fft` against `numpy.fft`: the same names, values, norms and axes."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.gradient import grad, verify_grad

MADE = np.random.default_rng(7).normal(size=(2, 3, 6, 5))
R, Z = MADE[0], MADE[0] + 1j * MADE[1]
CALLS: list[tuple[str, bool, dict[str, Any]]] = [
    ("fft", True, {"norm": "ortho"}),
    ("ifft", True, {"n": 7, "axis": 0}),
    ("fft2", True, {}),
    ("ifft2", True, {"s": (4, 6)}),
    ("fftn", True, {}),
    ("ifftn", True, {"norm": "forward"}),
    ("rfft", False, {"axis": 1}),
    ("irfft", True, {"n": 9}),
    ("rfft2", False, {"s": (7, 4)}),
    ("irfft2", True, {"axes": (0, 1), "norm": "ortho"}),
    ("rfftn", False, {"norm": "forward"}),
    ("rfftn", False, {"s": (4, 8), "axes": (2, 0)}),
    ("irfftn", True, {"s": (4, 5), "axes": (-2, -1)}),
    ("irfftn", True, {}),
    ("hfft", True, {"norm": "forward"}),
    ("hfft", True, {"n": 7, "norm": "ortho"}),
    ("ihfft", False, {"axis": 1}),
    ("fftshift", False, {}),
    ("fftshift", True, {"axes": 1}),
    ("ifftshift", False, {"axes": (0, 2)}),
]


@pytest.mark.shows("tensor/12-fft")
@pytest.mark.parametrize("is_static", [True, False])
def test_functions_are_those_of_numpy(is_static: bool) -> None:
    shape = R.shape if is_static else (None, None, None)
    r, z = at.tensor("r", shape=shape), at.tensor("z", dtype="complex128", shape=shape)
    calls = CALLS if is_static else [call for call in CALLS if "s" in call[2] or "shift" in call[0]]
    outputs = {f"out{k}": getattr(at.fft, name)(z if of_z else r, **o) for k, (name, of_z, o) in enumerate(calls)}
    f = aot.function([r, z], outputs, name="transforms")
    found, reference = f(R, Z), f.reference(R, Z)
    for k, (name, of_z, options) in enumerate(calls):
        options = options | ({"axes": (-2, -1)} if "s" in options and "axes" not in options else {})
        wanted = getattr(np.fft, name)(Z if of_z else R, **options)
        for values in (found[f"out{k}"], reference[f"out{k}"]):
            assert (values.dtype, values.shape) == (wanted.dtype, wanted.shape), name
            np.testing.assert_allclose(values, wanted, rtol=0, atol=3e-14, err_msg=name)


def test_frequencies_are_those_of_numpy() -> None:
    n, lengths = at.lscalar("n"), (1, 2, 7, 8)
    f = aot.function([n], [at.fft.fftfreq(n, 0.5), at.fft.rfftfreq(n), at.fft.fftshift(at.fft.fftfreq(n))])
    for k in lengths:
        wanted = [np.fft.fftfreq(k, 0.5), np.fft.rfftfreq(k), np.fft.fftshift(np.fft.fftfreq(k))]
        for found in (f(k), f.reference(k), [x.eval({n: k}) for x in f.outputs]):
            for value, expected in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(value, expected)
        np.testing.assert_array_equal(at.fft.fftfreq(k).eval(), np.fft.fftfreq(k))
        assert at.fft.rfftfreq(k).type.shape == (k // 2 + 1,)


def test_the_namespace_is_complete_and_still_a_function() -> None:
    names = {name for name in dir(np.fft) if callable(getattr(np.fft, name)) and name not in ("PytestTester", "test")}
    assert names <= set(dir(at.fft))
    z = at.zvector("z")
    assert at.fft(z, n=3).type == at.fft.fft(z, n=3).type
    assert pickle.loads(pickle.dumps(at.fft)) is at.fft
    assert at.fft.__name__ == "fft" and "exp" in str(at.fft.__doc__)


def test_derivatives() -> None:
    verify_grad(lambda x: at.real(at.fft.hfft(at.fft.ihfft(at.fft.fftshift(x)) * 1j)), [R[0]])
    verify_grad(lambda x: at.fft.irfftn(at.fft.rfftn(x) ** 2, s=(4, 7)), [R[0]])
    x = at.matrix("x", shape=R[0].shape)
    back = at.fft.irfftn(at.fft.rfftn(x), s=R[0].shape)
    np.testing.assert_allclose(grad((back * back).sum(), x).eval({x: R[0]}), 2 * R[0], rtol=1e-12)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda x: at.fft.hfft(x, norm="unit"), "hfft: norm='unit'"),
        (lambda x: at.fft.rfftn(x[0, 0, 0]), "rfftn: expected at least one axis"),
        (lambda x: at.fft.rfft2(x, axes=(0,)), "rfft2: expected two axes, found 1"),
        (lambda x: at.fft.irfftn(x, s=(2,), axes=(0, 1)), "irfftn: 1 lengths for 2 axes"),
        (lambda x: at.fft.fftfreq(0), "fftfreq: the length must be at least 1, found 0"),
        (lambda x: at.fft.rfftfreq(2.5), "rfftfreq: n must be an int"),
        (lambda x: at.fft.fftshift(x, axes=3), "axis 3 is out of range"),
    ],
)
def test_wrong_arguments_are_named(build: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        build(at.tensor3("x"))
