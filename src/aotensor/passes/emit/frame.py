"""What stands for the values of the nest level at one point of the loops that are made."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import SSAValue


@dataclass(frozen=True)
class Lanes:
    """Iterations that go together as the lanes of vectors.

    counter: of the loop, which stands for the first lane. mask: the lanes that take part, None for all.
    """

    counter: SSAValue
    count: int
    mask: SSAValue | None = None


@dataclass(eq=False)
class Frame:
    """One iteration of the loops around: counters and scalars, and the numbers that registers hold.

    Iterations that are jammed together have a frame each. A register, as a buffer, belongs to the frame that declares
    it; those of the frames around are shared, so that one iteration goes on where the other one has stopped.
    """

    around: Frame | None = None
    values: dict[SSAValue, SSAValue] = field(default_factory=dict)
    registers: dict[SSAValue, SSAValue | None] = field(default_factory=dict)
    lanes: Lanes | None = None
    buffers: dict[SSAValue, SSAValue] = field(default_factory=dict)
    """Memory of values that are declared here."""
    vectors: dict[tuple[SSAValue, int], SSAValue] = field(default_factory=dict)
    """Numbers that were made vectors of equal lanes here."""

    def inside(self, values: dict[SSAValue, SSAValue], lanes: Lanes | None = None) -> Frame:
        """A frame for what stands in a loop."""
        return Frame(self, values, {}, lanes or self.lanes)

    def value(self, x: SSAValue) -> SSAValue:
        """What stands for a scalar or a counter."""
        frame: Frame | None = self
        while frame is not None:
            found = frame.values.get(x)
            if found is not None:
                return found
            frame = frame.around
        raise KeyError(x)

    def buffer(self, x: SSAValue) -> SSAValue | None:
        """The memory of a value that is declared in this frame or one around; None for any other one."""
        frame: Frame | None = self
        while frame is not None:
            found = frame.buffers.get(x)
            if found is not None:
                return found
            frame = frame.around
        return None

    def holder(self, x: SSAValue) -> Frame:
        """The frame that holds a register."""
        frame: Frame | None = self
        while frame is not None:
            if x in frame.registers:
                return frame
            frame = frame.around
        raise KeyError(x)
