"""The functions of FMI 3.0 for each type of variables, and those for what a model does not have."""

from __future__ import annotations

from aotensor.codegen.abi.arrays import FLOAT
from aotensor.codegen.abi.fmi.instance import ERROR, done, refuse
from aotensor.codegen.abi.fmi.values import (
    BOOL,
    FLOAT32,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    get_values,
    set_values,
)
from aotensor.codegen.abi.language import Address, Int32, UInt32, set_word, text


def fmi3GetFloat32(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """Read variables of the type Float32."""
    return get_values(instance, text("fmi3GetFloat32"), references, count, values, size, FLOAT32)


def fmi3SetFloat32(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """Set inputs of the type Float32."""
    return set_values(instance, text("fmi3SetFloat32"), references, count, values, size, FLOAT32)


def fmi3GetFloat64(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """Read variables of the type Float64."""
    return get_values(instance, text("fmi3GetFloat64"), references, count, values, size, FLOAT)


def fmi3SetFloat64(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """Set inputs of the type Float64."""
    return set_values(instance, text("fmi3SetFloat64"), references, count, values, size, FLOAT)


def fmi3GetInt8(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """Read variables of the type Int8."""
    return get_values(instance, text("fmi3GetInt8"), references, count, values, size, INT8)


def fmi3SetInt8(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """Set inputs of the type Int8."""
    return set_values(instance, text("fmi3SetInt8"), references, count, values, size, INT8)


def fmi3GetUInt8(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """Read variables of the type UInt8."""
    return get_values(instance, text("fmi3GetUInt8"), references, count, values, size, UINT8)


def fmi3SetUInt8(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """Set inputs of the type UInt8."""
    return set_values(instance, text("fmi3SetUInt8"), references, count, values, size, UINT8)


def fmi3GetInt16(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """Read variables of the type Int16."""
    return get_values(instance, text("fmi3GetInt16"), references, count, values, size, INT16)


def fmi3SetInt16(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """Set inputs of the type Int16."""
    return set_values(instance, text("fmi3SetInt16"), references, count, values, size, INT16)


def fmi3GetUInt16(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """Read variables of the type UInt16."""
    return get_values(instance, text("fmi3GetUInt16"), references, count, values, size, UINT16)


def fmi3SetUInt16(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """Set inputs of the type UInt16."""
    return set_values(instance, text("fmi3SetUInt16"), references, count, values, size, UINT16)


def fmi3GetInt32(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """Read variables of the type Int32."""
    return get_values(instance, text("fmi3GetInt32"), references, count, values, size, INT32)


def fmi3SetInt32(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """Set inputs of the type Int32."""
    return set_values(instance, text("fmi3SetInt32"), references, count, values, size, INT32)


def fmi3GetUInt32(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """Read variables of the type UInt32."""
    return get_values(instance, text("fmi3GetUInt32"), references, count, values, size, UINT32)


def fmi3SetUInt32(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """Set inputs of the type UInt32."""
    return set_values(instance, text("fmi3SetUInt32"), references, count, values, size, UINT32)


def fmi3GetInt64(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """Read variables of the type Int64."""
    return get_values(instance, text("fmi3GetInt64"), references, count, values, size, INT64)


def fmi3SetInt64(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """Set inputs of the type Int64."""
    return set_values(instance, text("fmi3SetInt64"), references, count, values, size, INT64)


def fmi3GetUInt64(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """Read variables of the type UInt64."""
    return get_values(instance, text("fmi3GetUInt64"), references, count, values, size, UINT64)


def fmi3SetUInt64(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """Set inputs of the type UInt64."""
    return set_values(instance, text("fmi3SetUInt64"), references, count, values, size, UINT64)


def fmi3GetBoolean(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """Read variables of the type Boolean."""
    return get_values(instance, text("fmi3GetBoolean"), references, count, values, size, BOOL)


def fmi3SetBoolean(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """Set inputs of the type Boolean."""
    return set_values(instance, text("fmi3SetBoolean"), references, count, values, size, BOOL)


# --- what a model does not have --------------------------------------------------------------------------------------


def without(instance: Address, call: Address, count: int, reason: Address) -> int:
    """fmi3OK for none of something, else fmi3Error."""
    if instance == 0:
        return ERROR
    return done(instance) if count == 0 else refuse(instance, call, reason)


def fmi3GetString(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """There are no strings."""
    return without(instance, text("fmi3GetString"), count, text("there are no variables of the type String"))


def fmi3GetBinary(
    instance: Address, references: Address, count: int, sizes: Address, values: Address, size: int
) -> Int32:
    """There is no binary data."""
    return without(instance, text("fmi3GetBinary"), count, text("there are no variables of the type Binary"))


def fmi3GetClock(instance: Address, references: Address, count: int, values: Address) -> Int32:
    """There are no clocks."""
    return without(instance, text("fmi3GetClock"), count, text("there are no clocks"))


def fmi3SetString(instance: Address, references: Address, count: int, values: Address, size: int) -> Int32:
    """There are no strings."""
    return without(instance, text("fmi3SetString"), count, text("there are no variables of the type String"))


def fmi3SetBinary(
    instance: Address, references: Address, count: int, sizes: Address, values: Address, size: int
) -> Int32:
    """There is no binary data."""
    return without(instance, text("fmi3SetBinary"), count, text("there are no variables of the type Binary"))


def fmi3SetClock(instance: Address, references: Address, count: int, values: Address) -> Int32:
    """There are no clocks."""
    return without(instance, text("fmi3SetClock"), count, text("there are no clocks"))


def fmi3GetIntervalDecimal(
    instance: Address, references: Address, count: int, intervals: Address, qualifiers: Address
) -> Int32:
    """There are no clocks."""
    return without(instance, text("fmi3GetIntervalDecimal"), count, text("there are no clocks"))


def fmi3GetIntervalFraction(
    instance: Address, references: Address, count: int, counters: Address, resolutions: Address, qualifiers: Address
) -> Int32:
    """There are no clocks."""
    return without(instance, text("fmi3GetIntervalFraction"), count, text("there are no clocks"))


def fmi3GetShiftDecimal(instance: Address, references: Address, count: int, values: Address) -> Int32:
    """There are no clocks."""
    return without(instance, text("fmi3GetShiftDecimal"), count, text("there are no clocks"))


def fmi3SetIntervalDecimal(instance: Address, references: Address, count: int, values: Address) -> Int32:
    """There are no clocks."""
    return without(instance, text("fmi3SetIntervalDecimal"), count, text("there are no clocks"))


def fmi3SetShiftDecimal(instance: Address, references: Address, count: int, values: Address) -> Int32:
    """There are no clocks."""
    return without(instance, text("fmi3SetShiftDecimal"), count, text("there are no clocks"))


def fmi3GetShiftFraction(
    instance: Address, references: Address, count: int, counters: Address, resolutions: Address
) -> Int32:
    """There are no clocks."""
    return without(instance, text("fmi3GetShiftFraction"), count, text("there are no clocks"))


def fmi3SetIntervalFraction(
    instance: Address, references: Address, count: int, counters: Address, resolutions: Address
) -> Int32:
    """There are no clocks."""
    return without(instance, text("fmi3SetIntervalFraction"), count, text("there are no clocks"))


def fmi3SetShiftFraction(
    instance: Address, references: Address, count: int, counters: Address, resolutions: Address
) -> Int32:
    """There are no clocks."""
    return without(instance, text("fmi3SetShiftFraction"), count, text("there are no clocks"))


def fmi3SetContinuousStates(instance: Address, states: Address, count: int) -> Int32:
    """There are no continuous states."""
    return without(instance, text("fmi3SetContinuousStates"), count, text("there are no continuous states"))


def fmi3GetContinuousStateDerivatives(instance: Address, values: Address, count: int) -> Int32:
    """There are no continuous states."""
    return without(instance, text("fmi3GetContinuousStateDerivatives"), count, text("there are no continuous states"))


def fmi3GetContinuousStates(instance: Address, states: Address, count: int) -> Int32:
    """There are no continuous states."""
    return without(instance, text("fmi3GetContinuousStates"), count, text("there are no continuous states"))


def fmi3GetNominalsOfContinuousStates(instance: Address, nominals: Address, count: int) -> Int32:
    """There are no continuous states."""
    return without(instance, text("fmi3GetNominalsOfContinuousStates"), count, text("there are no continuous states"))


def fmi3GetEventIndicators(instance: Address, values: Address, count: int) -> Int32:
    """There are no event indicators."""
    return without(instance, text("fmi3GetEventIndicators"), count, text("there are no event indicators"))


def fmi3GetOutputDerivatives(
    instance: Address, references: Address, count: int, orders: Address, values: Address, size: int
) -> Int32:
    """There are no derivatives by the time."""
    return without(
        instance, text("fmi3GetOutputDerivatives"), count, text("there are no derivatives of outputs by the time")
    )


def fmi3GetNumberOfContinuousStates(instance: Address, number: Address) -> Int32:
    """0"""
    if number != 0:
        set_word(number, 0, 0)
    return done(instance)


def fmi3GetNumberOfEventIndicators(instance: Address, number: Address) -> Int32:
    """0"""
    if number != 0:
        set_word(number, 0, 0)
    return done(instance)


def fmi3EnterConfigurationMode(instance: Address) -> Int32:
    """There are no structural parameters."""
    return without(instance, text("fmi3EnterConfigurationMode"), 1, text("there are no structural parameters"))


def fmi3ExitConfigurationMode(instance: Address) -> Int32:
    """There are no structural parameters."""
    return without(instance, text("fmi3ExitConfigurationMode"), 1, text("there are no structural parameters"))


def fmi3GetNumberOfVariableDependencies(instance: Address, reference: UInt32, number: Address) -> Int32:
    """Dependencies of single elements are not known."""
    return without(
        instance, text("fmi3GetNumberOfVariableDependencies"), 1, text("dependencies of elements are not known")
    )


def fmi3GetVariableDependencies(
    instance: Address,
    reference: UInt32,
    elements: Address,
    independents: Address,
    of: Address,
    kinds: Address,
    count: int,
) -> Int32:
    """Dependencies of single elements are not known."""
    return without(instance, text("fmi3GetVariableDependencies"), 1, text("dependencies of elements are not known"))


def fmi3ActivateModelPartition(instance: Address, clock: UInt32, time: float) -> Int32:
    """There are no clocks."""
    return without(instance, text("fmi3ActivateModelPartition"), 1, text("there are no clocks"))
