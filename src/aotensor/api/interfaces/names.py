"""The interfaces of other projects that a library may have, by name: what `abi=` and `--abi` take."""

from __future__ import annotations

from typing import Final

NAMES: Final = ("bridgestan", "casadi", "ceres", "fmi", "ipopt", "sundials")
