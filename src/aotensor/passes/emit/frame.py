"""The state of emission: that of a kernel, and frames, maps from values of the nest level to emitted values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from aotensor.passes.target import Target


@dataclass(frozen=True)
class KernelState:
    """State that all functions of one kernel share: the module, the called functions, the buffer for error details.

    context: the `aotensor_context` of the call, for library kernels. target: properties of the machine. numbers: yields
    unique numbers.
    """

    module: ModuleOp
    called: Mapping[str, func.FuncOp]
    detail: SSAValue
    context: SSAValue
    target: Target
    numbers: Iterator[int] = field(default_factory=count)


@dataclass(frozen=True)
class Lanes:
    """Iterations that run as the lanes of vectors.

    counter: the loop's counter, which equals the index of the first lane. mask: the active lanes, None for all.
    """

    counter: SSAValue
    count: int
    mask: SSAValue | None = None


@dataclass(eq=False)
class Frame:
    """The environment of one iteration: counters, scalars, and the numbers that registers hold.

    Jammed iterations have a frame each. A register or buffer belongs to the frame that declares it; enclosing frames
    are shared, so that an iteration continues with the values of the previous one.
    """

    parent: Frame | None = None
    values: dict[SSAValue, SSAValue] = field(default_factory=dict)
    registers: dict[SSAValue, SSAValue | None] = field(default_factory=dict)
    lanes: Lanes | None = None
    buffers: dict[SSAValue, SSAValue] = field(default_factory=dict)
    """Memory of values that are declared in this frame."""
    vectors: dict[tuple[SSAValue, int], SSAValue] = field(default_factory=dict)
    """Scalars that were broadcast to vectors in this frame."""

    def inside(self, values: dict[SSAValue, SSAValue], lanes: Lanes | None = None) -> Frame:
        """Return a new frame for the body of a loop."""
        return Frame(self, values, {}, lanes or self.lanes)

    def value(self, x: SSAValue) -> SSAValue:
        """The emitted value of a scalar or a counter. Raises: KeyError if it has no emitted value in this frame."""
        frame: Frame | None = self
        while frame is not None:
            found = frame.values.get(x)
            if found is not None:
                return found
            frame = frame.parent
        raise KeyError(x)

    def buffer(self, x: SSAValue) -> SSAValue | None:
        """The buffer of a value that is declared in this frame or an enclosing one; None for any other value."""
        frame: Frame | None = self
        while frame is not None:
            found = frame.buffers.get(x)
            if found is not None:
                return found
            frame = frame.parent
        return None

    def holder_of(self, x: SSAValue) -> Frame:
        """The frame that holds the value of a register. Raises: KeyError if no frame does."""
        frame: Frame | None = self
        while frame is not None:
            if x in frame.registers:
                return frame
            frame = frame.parent
        raise KeyError(x)
