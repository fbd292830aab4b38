"""Every model of the benchmarks, small: what aotensor, C and NumPy make of it is the same."""

from __future__ import annotations

import importlib
import shutil
from typing import Any

import numpy as np
import pytest
from cases import CASES, SPARSE_CASES
from contenders import Comparison, Model, arrays_of
from native import SHARED, load_kernels

import aotensor as aot

ALL = CASES | SPARSE_CASES
SMALL = 0.01


@pytest.fixture(scope="session", autouse=True)
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The C files are compiled once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SHARED, str(tmp_path_factory.mktemp("kernels")))
        yield


@pytest.mark.parametrize("name", ALL)
def test_all_compute_the_same(name: str) -> None:
    importlib.import_module("aotensor.tensor")
    importlib.import_module("aotensor.sparse")
    model = ALL[name].make(SMALL)
    c = Comparison(model, arrays_of(model.reference()))
    found = model.aotensor(aot).reference(*model.values.values())
    c.add("aotensor", lambda: found, lambda result: list(result.values()))
    library = load_kernels(model.kernels) if shutil.which("gcc") else None
    by_hand = model.c(library) if library is not None else None
    if by_hand is not None:
        call, results = by_hand
        c.add("C", call, lambda _: results)
    by_numpy = model.numpy()
    if by_numpy is not None:
        c.add(model.plain, by_numpy, list)
    c.check()
    assert model.plain not in c.missing


@pytest.mark.parametrize("name", ALL)
def test_models_are_written_for_their_peers(name: str) -> None:
    model = ALL[name].make(SMALL)
    methods = {"JAX": "jax", "torch": "torch", "PyTensor C": "pytensor"}
    wanted = [method for peer, method in methods.items() if peer in model.peers and peer not in model.without]
    missing = [method for method in wanted if getattr(type(model), method) is getattr(Model, method)]
    assert missing == []


def test_titles_tell_cases_apart() -> None:
    titles = [case.make(SMALL).title for case in ALL.values()]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize("name", ["logistic", "process", "stencil", "spmv-power-law", "bundle-adjustment"])
def test_sizes_grow_with_the_scale(name: str) -> None:
    sizes = [
        sum(x.nnz if hasattr(x, "nnz") else x.size for x in ALL[name].make(scale).values.values())
        for scale in (SMALL, 10 * SMALL)
    ]
    assert 3 < sizes[1] / sizes[0] < 15


def test_kernels_leave_small_numbers_to_others() -> None:
    """Code that gcc links for -ffast-math would flush them to zero in the whole process."""
    if load_kernels("kernels.c") is None:
        pytest.skip("no C compiler")
    assert (np.array([1e-310]) * 1.0)[0] > 0
