"""Entries with SciPy's callback signatures: numbers are passed, a number is returned, other arguments are fixed.

They execute a bound call: `x` is the memory of its free inputs, consecutively; `value` is the memory of its result.
Implemented are those of `scipy.integrate` and of `scipy.ndimage.generic_filter`.
"""

from __future__ import annotations

from aotensor.codegen.entry.code import Code, status
from aotensor.codegen.entry.tables import Constants
from aotensor.codegen.llvm import Value, constant, f64, i32, i64, ir, pointer
from aotensor_runtime.abi import BoundCall, Status, ValueCall


def define_callbacks(constants: Constants, prefix: str) -> None:
    """Define aotensor_integrand and aotensor_filter."""
    _define_integrand(constants, f"{prefix}aotensor_integrand")
    _define_filter(constants, f"{prefix}aotensor_filter")


def _define_integrand(constants: Constants, name: str) -> None:
    """Define double aotensor_integrand(int32_t count, const double *x, void *call): nan if the call fails."""
    c = Code(constants.module, name, f64, [i32, pointer, pointer], exported=True)
    count, x, call = c.arguments
    done = _run(c, c.builder.sext(count, i64), x, call)
    c.ret_if(c.differs(done, status(Status.OK)), constant(f64, float("nan")))
    c.ret(c.builder.load(c.field(call, ValueCall, "value"), typ=f64))


def _define_filter(constants: Constants, name: str) -> None:
    """Define int32_t aotensor_filter(const double *x, int64_t count, double *value, void *call): 1, or 0 on failure."""
    c = Code(constants.module, name, i32, [pointer, i64, pointer, pointer], exported=True)
    x, count, value, call = c.arguments
    c.ret_if(c.differs(_run(c, count, x, call), status(Status.OK)), status(0))
    c.builder.store(c.builder.load(c.field(call, ValueCall, "value"), typ=f64), value)
    c.ret(status(1))


def _run(c: Code, count: Value, x: Value, call: Value) -> Value:
    """Run a bound call with `count` numbers x; return its status, or WRONG_EXTENT if the call needs another count."""
    done = c.slot(i32, status(Status.WRONG_EXTENT))
    with c.when(c.equal(count, c.field(call, ValueCall, "count"))):
        target = c.field(call, ValueCall, "x")
        with c.loop(count) as i:
            c.store_at(target, i, c.item(x, i, f64))
        bound = c.field_address(call, ValueCall, "call")
        kind = ir.FunctionType(i32, [pointer, pointer, pointer])
        arguments = [c.field(bound, BoundCall, field) for field in ("context", "inputs", "outputs")]
        done.set(c.call_field(bound, BoundCall, "entry", kind, arguments))
    return done.get()
