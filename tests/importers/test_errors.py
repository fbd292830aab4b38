"""The error that lists operations without counterpart; no framework is needed for it."""

from __future__ import annotations

import pickle

from aotensor.errors import UnsupportedError
from aotensor.importers.errors import NoCounterpart, Untranslated


def test_operations_are_listed_once_with_their_places() -> None:
    eig = Untranslated("Eig", place="model.py:3")
    error = NoCounterpart("PyTensor", [eig, Untranslated("QR", "with pivots", "model.py:4"), eig])
    assert isinstance(error, UnsupportedError)
    assert str(error).splitlines() == [
        "PyTensor: 2 operations have no counterpart in aotensor",
        "  Eig   made at model.py:3   (2 times)",
        "  QR: with pivots   made at model.py:4",
        "hint: express them by other operations, or write an Op of your own for them",
    ]
    assert pickle.loads(pickle.dumps(error)).operations == error.operations


def test_long_lists_are_cut() -> None:
    error = NoCounterpart("JAX", [Untranslated(f"op{k}") for k in range(25)])
    assert str(error).splitlines()[-2] == "  and 5 more" and len(error.operations) == 25
