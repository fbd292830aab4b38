"""The functions of FMI 3.0 for each type of variables, and those for features that models lack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from aotensor.codegen.abi.fmi.instance import ERROR, done, refuse
from aotensor.codegen.abi.fmi.values import get_values, set_values
from aotensor.codegen.abi.fmi.variables import TYPES
from aotensor.codegen.abi.language import Address, Int32, UInt32, set_word, text
from aotensor_runtime.abi import DTYPE_CODES

CALL: str = ""
DTYPE: int = 0
REASON: str = ""
"""The name of a variant, the type of its variables, and what a model does not have."""

_NO_CLOCKS: Final = "there are no clocks"
_NO_STATES: Final = "there are no continuous states"
_MISSING: Final = {
    "no_text": {f"{verb}String": "there are no variables of the type String" for verb in ("Get", "Set")},
    "no_bytes": {f"{verb}Binary": "there are no variables of the type Binary" for verb in ("Get", "Set")},
    "no_clock": dict.fromkeys(
        ("GetClock", "SetClock", "GetShiftDecimal", "SetIntervalDecimal", "SetShiftDecimal"), _NO_CLOCKS
    ),
    "no_clocks": dict.fromkeys(
        ("GetIntervalDecimal", "GetShiftFraction", "SetIntervalFraction", "SetShiftFraction"), _NO_CLOCKS
    ),
    "no_interval": {"GetIntervalFraction": _NO_CLOCKS},
    "no_state": {
        "SetContinuousStates": _NO_STATES,
        "GetContinuousStateDerivatives": _NO_STATES,
        "GetContinuousStates": _NO_STATES,
        "GetNominalsOfContinuousStates": _NO_STATES,
        "GetEventIndicators": "there are no event indicators",
    },
    "no_derivatives": {"GetOutputDerivatives": "there are no derivatives of outputs by the time"},
    "none_of": {"GetNumberOfContinuousStates": "", "GetNumberOfEventIndicators": ""},
    "no_mode": dict.fromkeys(("EnterConfigurationMode", "ExitConfigurationMode"), "there are no structural parameters"),
    "no_number": {"GetNumberOfVariableDependencies": "dependencies of elements are not known"},
    "no_elements": {"GetVariableDependencies": "dependencies of elements are not known"},
    "no_partition": {"ActivateModelPartition": _NO_CLOCKS},
}
"""Function below → what follows `fmi3` in the names of those that it is, and why."""

VARIANTS: Final[Mapping[str, tuple[str, Mapping[str, int | str]]]] = {
    **{
        f"fmi3{verb}{kind}": (function, {"CALL": f"fmi3{verb}{kind}", "DTYPE": DTYPE_CODES[dtype]})
        for dtype, kind in TYPES.items()
        for verb, function in (("Get", "get_typed"), ("Set", "set_typed"))
    },
    **{
        f"fmi3{name}": (function, {"CALL": f"fmi3{name}", "REASON": reason})
        for function, names in _MISSING.items()
        for name, reason in names.items()
    },
}


def get_typed(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """Read variables of one type."""
    return get_values(instance, text(CALL), references, count, values, size, DTYPE)


def set_typed(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """Set inputs of one type."""
    return set_values(instance, text(CALL), references, count, values, size, DTYPE)


# --- what a model does not have --------------------------------------------------------------------------------------


def without(instance: Address, call: Address, count: int, reason: Address) -> int:
    """Return fmi3OK if count is 0, else log `reason` and return fmi3Error: the model lacks a feature."""
    if instance == 0:
        return ERROR
    return done(instance) if count == 0 else refuse(instance, call, reason)


def no_text(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """There are no strings."""
    return without(instance, text(CALL), count, text(REASON))


def no_bytes(instance: Address, references: Address, count: int, sizes: Address, values: Address, size: int) -> Int32:
    """There is no binary data."""
    return without(instance, text(CALL), count, text(REASON))


def no_clock(instance: Address, references: Address, count: int, values: Address) -> Int32:
    """There are no clocks."""
    return without(instance, text(CALL), count, text(REASON))


def no_clocks(instance: Address, references: Address, count: int, values: Address, others: Address) -> Int32:
    """There are no clocks."""
    return without(instance, text(CALL), count, text(REASON))


def no_interval(
    instance: Address, references: Address, count: int, counters: Address, resolutions: Address, qualifiers: Address
) -> Int32:
    """There are no clocks."""
    return without(instance, text(CALL), count, text(REASON))


def no_state(instance: Address, values: Address, count: int) -> Int32:
    """There are no continuous states, and no event indicators."""
    return without(instance, text(CALL), count, text(REASON))


def no_derivatives(
    instance: Address, references: Address, count: int, orders: Address, values: Address, size: int
) -> Int32:
    """There are no derivatives by the time."""
    return without(instance, text(CALL), count, text(REASON))


def none_of(instance: Address, number: Address) -> Int32:
    """0"""
    if number != 0:
        set_word(number, 0, 0)
    return done(instance)


def no_mode(instance: Address) -> Int32:
    """There are no structural parameters."""
    return without(instance, text(CALL), 1, text(REASON))


def no_number(instance: Address, reference: UInt32, number: Address) -> Int32:
    """Dependencies of single elements are not known."""
    return without(instance, text(CALL), 1, text(REASON))


def no_elements(
    instance: Address,
    reference: UInt32,
    elements: Address,
    independents: Address,
    of: Address,
    kinds: Address,
    count: int,
) -> Int32:
    """Dependencies of single elements are not known."""
    return without(instance, text(CALL), 1, text(REASON))


def no_partition(instance: Address, clock: UInt32, time: float) -> Int32:
    """There are no clocks."""
    return without(instance, text(CALL), 1, text(REASON))
