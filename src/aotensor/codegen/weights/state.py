"""The state of weights in a library: the variable with their address, and the function that fills it in."""

from __future__ import annotations

from typing import Final

from aotensor.codegen.entry.names import OwnSymbols, maps_files
from aotensor.codegen.llvm import Function, Module, Value, function, i32, ir, opaque, pointer
from aotensor_runtime.abi import Status
from aotensor_runtime.manifest import Manifest

BASE: Final = "weights.base"
"""The variable that holds the address of the data."""
READY: Final = "weights.ready"


def declare_base(module: Module) -> Value:
    """The variable that holds the address of the data, which the library's main module defines."""
    if BASE not in module.globals:
        opaque(ir.GlobalVariable(module, pointer, BASE))
    return module.globals[BASE]


def missing_weights(manifest: Manifest) -> dict[int, str]:
    """The texts of the statuses for missing and for wrong weights; empty for a library without a file of weights."""
    spec, own = manifest.weights, OwnSymbols.from_manifest(manifest)
    if spec is None:
        return {}
    missing, where = "are not in memory", f"call {own.set_weights} first"
    if maps_files(manifest.target):
        missing, where = "are not there or cannot be read", f"{own.weights} lists the places that were searched"
    return {
        int(
            Status.NO_WEIGHTS
        ): f"{manifest.name}: the weights {spec.file} {missing}: expected {spec.expectation}; {where}",
        int(Status.WRONG_WEIGHTS): f"{manifest.name}: the file or memory found is not {spec.file}: expected "
        f"{spec.expectation}; the message of the context says which it is",
    }


def declare_ready(module: Module) -> Function:
    """Declare the function that makes sure that the weights are there."""
    return function(module, READY, i32, [pointer])
