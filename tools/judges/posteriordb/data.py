"""The data of posteriordb and CmdStan's numbers, from the folder of judges."""

from __future__ import annotations

import gzip
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


class Data:
    """Values by name, as attributes; lists are arrays."""

    def __init__(self, values: dict[str, Any]) -> None:
        for name, x in values.items():
            setattr(self, name, np.array(x) if isinstance(x, list) else x)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the data has no {name}; it has {', '.join(vars(self))}")

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


@dataclass(frozen=True)
class Recorded:
    """CmdStan's result for a model. point: unconstrained; gradient: of the log density there, of the same length"""

    model: str
    data: str
    point: np.ndarray[Any, Any]
    gradient: np.ndarray[Any, Any]


def recorded(folder: Path) -> dict[str, Recorded]:
    """CmdStan's recorded results by name of the model."""
    with gzip.open(folder / "stanli" / "corpus-refs.json.gz", "rt", encoding="utf-8") as file:
        found = json.load(file)
    made = {}
    for name, one in sorted(found.items()):
        if one.get("data") is None:
            continue
        gradient = np.array([float(x) for x in one["values"][1:]])
        made[name] = Recorded(name, one["data"], point(len(gradient), one["point"]), gradient)
    return made


def point(n: int, kind: int) -> np.ndarray[Any, Any]:
    """The points at which the numbers are recorded.   → (n,)"""
    i = np.arange(n)
    return [0.1 + 0.05 * (i % 7) - 0.15 * (i % 3), 0.02 * ((i % 5) - 2.0), np.zeros(n)][kind]


def text_of(folder: Path, name: str) -> str:
    """The JSON text of a data set.   Raises: FileNotFoundError where the folder lacks it"""
    with zipfile.ZipFile(folder / "posteriordb" / "data" / f"{name}.json.zip") as file:
        return file.read(file.namelist()[0]).decode()


def load(folder: Path, name: str) -> Data:
    """A data set.   Raises: FileNotFoundError where the folder lacks it"""
    return Data(json.loads(text_of(folder, name)))
