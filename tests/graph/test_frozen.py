"""Frozen dataclasses that are completed late: everything is as `dataclasses` has it."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Barrier
from typing import Any, ClassVar

import pytest

import aotensor
from aotensor.core.frozen import frozen_dataclass


class Root:
    kind: ClassVar[str] = "root"


def classes(decorate: Any) -> tuple[type, type, type]:
    """A base, one with more fields and an `__eq__` of its own, and one that nobody decorates."""

    @decorate
    class Base(Root):
        axis: int
        name: str = "x"
        parts: tuple[int, ...] = field(default_factory=tuple)

    @decorate
    class Derived(Base):
        scale: float = field(default=2.0, compare=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "total", self.axis + self.scale)

    class Plain(Derived):
        def __repr__(self) -> str:
            return f"plain {self.axis}"

    return Base, Derived, Plain


def told(x: Any) -> tuple[Any, ...]:
    """What can be seen of an object, its class and its fields."""
    fields = [(f.name, f.type, f.default, f.compare) for f in dataclasses.fields(x)]
    return repr(x), hash(x), fields, type(x).__match_args__, vars(x), str(inspect.signature(type(x)))


@pytest.mark.parametrize("k", range(3))
def test_it_is_a_frozen_dataclass(k: int) -> None:
    ours, theirs = classes(frozen_dataclass)[k], classes(dataclass(frozen=True))[k]
    for args, kwargs in [((1,), {}), ((1, "y"), {"parts": (3,)}), ((), {"axis": 4})]:
        assert told(ours(*args, **kwargs)) == told(theirs(*args, **kwargs))
    assert told(dataclasses.replace(ours(1), axis=5)) == told(theirs(5))
    assert ours(1) == ours(1) and ours(1) != ours(2) and ours(1) != theirs(1) and len({ours(1), ours(1)}) == 1
    for wrong in ({}, {"axis": 1, "other": 2}):
        with pytest.raises(TypeError) as of_theirs:
            theirs(**wrong)
        with pytest.raises(TypeError, match=r"axis|other") as of_ours:
            ours(**wrong)
        assert str(of_ours.value).rpartition(".")[2] == str(of_theirs.value).rpartition(".")[2]


@pytest.mark.parametrize("decorate", [frozen_dataclass, dataclass(frozen=True)])
def test_nothing_can_be_set(decorate: Any) -> None:
    x = classes(decorate)[0](1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'axis'"):
        x.axis = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'axis'"):
        del x.axis
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'other'"):
        x.other = 2


def test_methods_are_made_for_the_first_object_or_for_the_fields() -> None:
    for first in (lambda c: c(1), dataclasses.fields, dataclasses.is_dataclass, lambda c: c.__match_args__):
        base, derived, _ = classes(frozen_dataclass)
        assert "call" in vars(base)["__init__"].__qualname__
        first(derived)
        assert "call" not in vars(base)["__init__"].__qualname__ + vars(derived)["__init__"].__qualname__


def test_a_dataclass_of_the_library_may_derive_from_it() -> None:
    base, *_ = classes(frozen_dataclass)
    derived = dataclass(frozen=True, eq=False)(type("D", (base,), {"__annotations__": {"more": int}, "more": 7}))
    assert derived(1).more == 7 and derived(1).parts == () and derived(1) == derived(1)


@frozen_dataclass
class Stored:
    x: int


def test_an_object_that_no_call_made_is_complete() -> None:
    """As pickle makes it in a process that has none yet."""
    made = object.__new__(Stored)
    vars(made)["x"] = 3
    assert hash(made) == hash(pickle.loads(pickle.dumps(made))) and made == Stored(3) and repr(made) == "Stored(x=3)"


def test_threads_make_the_first_object_at_the_same_time() -> None:
    for _ in range(20):
        derived, barrier = classes(frozen_dataclass)[1], Barrier(8)

        def make(k: int, derived: Any = derived, barrier: Barrier = barrier) -> Any:
            barrier.wait()
            return derived(1, parts=(k % 2,))

        with ThreadPoolExecutor(8) as pool:
            assert len(set(pool.map(make, range(8)))) == 2


def test_ops_and_what_they_are_made_of_are_completed_late() -> None:
    """Each class that `dataclasses` completes at its definition costs every `import aotensor` 0.4 ms."""
    root = Path(aotensor.__file__).parent
    folders = [root / name for name in ("densities", "gradient", "graph", "ops", "solutions", "sparse")]
    files = [path for folder in folders for path in folder.rglob("*.py")]
    early = [path.name for path in files if "\n@dataclass(frozen=True)\n" in path.read_text(encoding="utf-8")]
    assert len(files) > 200 and early == []
