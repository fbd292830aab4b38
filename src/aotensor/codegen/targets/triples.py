"""The targets for which libraries and archives can be compiled.

Imports the standard library only: the command line reads this module alone (`aotensor_cli/commands/names.py`).
"""

from __future__ import annotations

from typing import Final

TARGETS: Final = (
    "x86_64-linux-gnu", "x86_64-linux-musl", "aarch64-linux-gnu", "aarch64-linux-musl", "riscv64-linux-gnu",
    "riscv64-linux-musl", "x86_64-windows-gnu", "x86_64-macos", "arm64-macos", "wasm32-wasi",
)  # fmt: skip
"""The targets that libraries are made for."""

BARE: Final = (
    "thumbv7em-none-eabihf", "thumbv6m-none-eabi", "riscv32-unknown-elf", "riscv64-unknown-elf", "aarch64-none-elf",
)  # fmt: skip
"""Bare-metal targets that freestanding archives are made for."""
