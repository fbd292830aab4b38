"""The interfaces of other projects that `abi=` and `--abi` accept, by name."""

from __future__ import annotations

from typing import Final

NAMES: Final = ("bridgestan", "casadi", "ceres", "fmi", "ipopt", "sundials")
