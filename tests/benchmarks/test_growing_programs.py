"""Programs of increasing size: aotensor's reference agrees with NumPy, and the table says what was measured."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import growth
import numpy as np
import pytest
import scipy.signal
import scipy.special
from growing.contenders import digest, symbols_and_functions
from growing.kind import Kind
from growth import KINDS, Figures

import aotensor as aot

SMALLEST = {"control": 8, "network": 4, "elements": 2}
WRITTEN = {name: kind for name, kind in KINDS.items() if not kind.is_imported}


def _convolved(x: Any, w: Any) -> Any:
    wide = np.pad(x[0], [(0, 0), (1, 1), (1, 1)])
    return np.stack([scipy.signal.correlate(wide, one, "valid")[0] for one in w])[None]


def _repeated(step: Any, state: Any, count: int) -> Any:
    for _ in range(count):
        state = step(state)
    return state


BY_NUMPY = SimpleNamespace(
    **{name: getattr(np, name) for name in dir(np) if not name.startswith("_")},
    **{name: getattr(scipy.special, name) for name in ("erf", "erfc", "gammaln", "digamma")},
    sigmoid=scipy.special.expit,
    softplus=lambda x: np.logaddexp(0.0, x),
    solve=np.linalg.solve,
    conv2d=_convolved,
    repeat_steps=_repeated,
)


@pytest.mark.parametrize("name", WRITTEN)
def test_aotensor_computes_what_numpy_does(name: str) -> None:
    kind = WRITTEN[name]
    size = SMALLEST.get(name, 3)
    values = kind.inputs(size)
    x, functions = symbols_and_functions(kind, values)
    f = aot.function(x, list(kind.outputs(x, functions, size)), name="f", on_unused_input="ignore")
    found = f.reference(*values)
    expected = [np.asarray(one) for one in kind.outputs(values, BY_NUMPY, size)]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert np.isfinite(digest(found))


def _figures(seconds: float, digest: float = 1.0) -> Figures:
    return Figures(seconds, 2 * seconds, 100, digest)


def test_rows_have_ratios_and_exponents() -> None:
    known: dict[str, list[growth.Outcome]] = {
        "first": [_figures(2.0), _figures(4.0)], "aotensor": [_figures(1.0), _figures(4.0)],
        "JAX": [_figures(2.0), _figures(2.0)], "CasADi": ["-", "> 100"],
    }  # fmt: skip
    kind = KINDS["sin"]
    cells = [cell.strip() for cell in growth._row("sin", kind.sizes[:2], known).split("|")[1:-1]]
    assert cells == [
        "",
        "500",
        "4.00",
        "4.00",
        "8.00",
        "2.00",
        "4.00",
        "> 100",
        "**2.00**",
        "**2.00**",
        "0.00",
        "100",
        "100",
    ]


def test_different_results_are_no_times() -> None:
    known: dict[str, list[growth.Outcome]] = {
        "first": [_figures(1.0)], "aotensor": [_figures(1.0)], "JAX": [_figures(1.0, 1.1)], "CasADi": ["-"],
    }  # fmt: skip
    assert "results differ" in growth._row("sin", (250,), known)


def test_unknown_kinds_are_named() -> None:
    with pytest.raises(growth.argparse.ArgumentTypeError, match=r"sines2: the kinds are cheap, exp"):
        growth._names("sin,sines2")


def test_sizes_grow() -> None:
    assert all(list(kind.sizes) == sorted(set(kind.sizes)) for kind in KINDS.values())
    assert all(isinstance(kind, Kind) and kind.title for kind in KINDS.values())
