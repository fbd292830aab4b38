"""Draw a random program: each candidate step is applied to aotensor's symbols and to the oracle's values of every
sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from tools.fuzz import values
from tools.fuzz.oracle import Matrix
from tools.fuzz.program import AOT_NAMES, NUMPY_NAMES, Input, Options, Program, Step, declared_dims, run_text, widened
from tools.fuzz.rules import BINARY, KINKED, REDUCING, SMOOTH, Rule
from tools.fuzz.rules_arrays import ALGEBRA, LOOPS, MOVING, NEIGHBOURS, PRODUCTS, READING
from tools.fuzz.rules_extremes import EXTREMES
from tools.fuzz.rules_signals import SIGNALS, SPARSE_SOLVES
from tools.fuzz.rules_sparse import SPARSE, TO_DENSE

from aotensor.errors import AotensorError

SIZES: Final = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65)
"""Around what loops are unrolled, jammed, blocked and vectorised by."""
LARGEST: Final = 12_000  # elements of a value
LOUDEST: Final = 30.0
SAMPLES: Final = 3

FAMILIES: Final[dict[str, tuple[Sequence[Rule], float]]] = {
    "smooth": (SMOOTH, 3.0), "kinked": (KINKED, 0.7), "binary": (BINARY, 3.0), "reducing": (REDUCING, 2.5),
    "moving": (MOVING, 1.2), "reading": (READING, 1.2), "products": (PRODUCTS, 1.6), "algebra": (ALGEBRA, 0.4),
    "loops": (LOOPS, 0.6), "sparse": (SPARSE, 1.5), "to dense": (TO_DENSE, 2.0),
    "signals": (SIGNALS, 1.5), "extremes": (EXTREMES, 0.8), "sparse solves": (SPARSE_SOLVES, 0.6),
}  # fmt: skip


SMALL: Final[dict[str, tuple[Sequence[Rule], float]]] = {
    "neighbours": (NEIGHBOURS, 6.0), "smooth": (SMOOTH, 2.0), "binary": (BINARY, 2.0), "moving": (MOVING, 0.7),
    "reading": (READING, 0.7), "reducing": (REDUCING, 0.5), "products": (PRODUCTS, 0.4),
}  # fmt: skip
"""Of programs whose second derivatives are compared at every level."""


@dataclass
class Value:
    """A value under construction.   kind: f, i, b or s;  samples: by the oracle"""

    name: str
    kind: str
    samples: list[Any]

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        return [x.shape for x in self.samples]


@dataclass
class Draft:
    """A program under construction."""

    seed: int
    rng: np.random.Generator = field(init=False)
    dtype: str = field(init=False)
    dims: dict[str, tuple[int, ...]] = field(default_factory=dict)
    inputs: list[Input] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    symbols: dict[str, Any] = field(default_factory=lambda: dict(AOT_NAMES))
    refusals: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.dtype = "float32" if self.rng.random() < 0.1 else "float64"

    # --- inputs ----------------------------------------------------------------------------------------------------

    def draw_vectors(self) -> None:
        """Vectors of one or two dims of 1 to 40, which programs name by variables, and sometimes a small matrix."""
        self.dtype = "float64"
        for name in "nm"[: int(self.rng.integers(1, 3))]:
            self.dims[name] = (int(self.rng.integers(1, 41)),) * SAMPLES
        self.symbols |= declared_dims(self.dims.items(), is_static=True)
        shapes = [[str(self.rng.choice(list(self.dims)))] for _ in range(int(self.rng.integers(1, 3)))]
        if self.rng.random() < 0.15:
            shapes.append([*shapes[0], str(self.rng.choice(list(self.dims)))])
        for number, names in enumerate(shapes):
            text = f"v.floats({self._number()}, {_tuple(names)})"
            self._add_input(f"x{number}", "f", f"at.tensor(dtype='float64', shape={_tuple(names)})", text)

    def draw_inputs(self) -> None:
        """Draw some dims, and inputs with these dims."""
        count = int(self.rng.integers(1, 4))
        can_be_empty = self.rng.random() < 0.2
        for name in "nmk"[:count]:
            sizes = [int(self.rng.choice(SIZES)) for _ in range(SAMPLES)]
            if can_be_empty:
                sizes[-1] = 0
            if self.rng.random() < 0.3:
                sizes = sizes[:1] * SAMPLES
            self.dims[name] = tuple(sizes)
        for number in range(int(self.rng.integers(1, 4))):
            self._draw_dense(f"x{number}")
        if self.rng.random() < 0.35:
            for number in range(int(self.rng.integers(1, 3))):
                self._draw_sparse(f"A{number}")
        if self.rng.random() < 0.35:
            self._draw_positions("p0")
        if self.rng.random() < 0.2:
            self._draw_plain("b0", "bool", "bits")
        if self.rng.random() < 0.2:
            self._draw_plain("i0", str(self.rng.choice(["int64", "int32", "int8"])), "integers")

    def _dims(self, least: int, most: int) -> list[str]:
        rank = int(self.rng.choice([0, 1, 2, 3], p=[0.1, 0.35, 0.45, 0.1]))
        return [str(x) for x in self.rng.choice(list(self.dims), min(max(rank, least), most))]

    def _declared(self, names: Sequence[str]) -> str:
        """Declare dims as numbers (if they are equal in all samples), as names, or as unknown."""
        items = []
        for name in names:
            sizes = self.dims[name]
            style = self.rng.random()
            if len(set(sizes)) == 1 and style < 0.7:
                items.append(str(sizes[0]))
            else:
                items.append(repr(name) if style < 0.85 else "None")
        return _tuple(items)

    def _largest(self, names: Sequence[str]) -> int:
        return max(int(np.prod([self.dims[name][k] for name in names])) for k in range(SAMPLES))

    def _add_input(self, name: str, kind: str, declared: str, text: str) -> None:
        self.inputs.append(Input(name, declared, text))
        self.symbols[name] = run_text(declared, self.symbols)
        self.symbols[name].name = name
        known = [{"v": values, **{dim: sizes[k] for dim, sizes in self.dims.items()}} for k in range(SAMPLES)]
        self.values.append(Value(name, kind, [widened(run_text(text, names)) for names in known]))

    def _number(self) -> int:
        return int(self.rng.integers(1000))

    def _draw_dense(self, name: str) -> None:
        names = self._dims(0, 3)
        while self._largest(names) > LARGEST:
            names = names[1:]
        layout = str(self.rng.choice(["C", "C", "C", "F", "-", "2"]))
        text = f"v.floats({self._number()}, {_tuple(names)}, {self.dtype!r}, {layout!r})"
        self._add_input(name, "f", f"at.tensor(dtype={self.dtype!r}, shape={self._declared(names)})", text)

    def _draw_plain(self, name: str, dtype: str, maker: str) -> None:
        names = self._dims(1, 2)
        given = f", {dtype!r}" if maker == "integers" else ""
        text = f"v.{maker}({self._number()}, {_tuple(names)}{given})"
        kind = "b" if dtype == "bool" else "i"
        self._add_input(name, kind, f"at.tensor(dtype={dtype!r}, shape={self._declared(names)})", text)

    def _draw_positions(self, name: str) -> None:
        """Draw an input of indices into one dim, whose length is another dim."""
        count, into = (str(x) for x in self.rng.choice(list(self.dims), 2))
        dtype = str(self.rng.choice(["int64", "int32", "int8"]))
        text = f"v.positions({self._number()}, {count} if {into} else 0, {into}, {dtype!r})"
        declared = self._declared([count]) if all(self.dims[into]) else "(None,)"
        self._add_input(name, "i", f"at.tensor(dtype={dtype!r}, shape={declared})", text)

    def _draw_sparse(self, name: str) -> None:
        names = [str(x) for x in self.rng.choice(list(self.dims), 2)]
        format = str(self.rng.choice(["csr", "csc"]))
        order = str(self.rng.choice(["sorted", "sorted", "shuffled", "repeated"]))
        density = float(self.rng.choice([0.0, 0.1, 0.3, 0.9]))
        text = f"v.matrix({self._number()}, {_tuple(names)}, {density}, {format!r}, {self.dtype!r}, {order!r})"
        declared = f"sp.{format}_matrix(dtype={self.dtype!r}, shape={self._declared(names)})"
        self._add_input(name, "s", declared, text)

    # --- steps -----------------------------------------------------------------------------------------------------

    def draw_steps(self, count: int, families: Mapping[str, tuple[Sequence[Rule], float]] = FAMILIES) -> None:
        """Draw up to `count` steps of the given families."""
        has_sparse = any(x.kind == "s" for x in self.values)
        known = {
            name: x for name, x in families.items() if has_sparse or name not in ("sparse", "to dense", "sparse solves")
        }
        shares = np.array([share for _, share in known.values()])
        for _ in range(8 * count):
            rules, _ = known[str(self.rng.choice(list(known), p=shares / shares.sum()))]
            self._try(rules[int(self.rng.integers(len(rules)))])
            if len(self.steps) >= count:
                break

    def _try(self, rule: Rule) -> None:
        for _ in range(4):
            operands = self._operands(rule)
            if operands is not None and all(rule.fits(*shapes) for shapes in _by_sample(operands)):
                break
        else:
            return
        first = [x.shapes[0] for x in operands]
        try:
            parameters = rule.parameters(self.rng, *first)
        except ValueError:
            return
        names = [x.name for x in operands]
        meaning, ours = rule.numpy.format(*names, **parameters), rule.aot.format(*names, **parameters)
        samples = []
        for k in range(SAMPLES):
            arrays = [x.samples[k] for x in operands]
            known = {**NUMPY_NAMES, **dict(zip(names, arrays, strict=True))}
            try:
                with np.errstate(all="ignore"):
                    if not rule.guard(*arrays):
                        return
                    samples.append(_checked(run_text(meaning, known)))
            except (ValueError, IndexError, ZeroDivisionError, OverflowError):
                return
        kinds = {_kind_of(x) for x in samples}
        if len(kinds) > 1 or len({len(x.shape) for x in samples}) > 1:
            return
        name = f"v{len(self.steps)}"
        try:
            symbol = run_text(ours, self.symbols)
        except AotensorError as error:
            self.refusals.append(f"{rule.aot}: {error}".partition("\n")[0])
            return
        if symbol.ndim != len(samples[0].shape):
            raise AssertionError(f"{ours}: rank {symbol.ndim}, {len(samples[0].shape)} in NumPy")
        self.symbols[name] = symbol
        self.steps.append(Step(name, ours, meaning, tuple(dict.fromkeys(names))))
        self.values.append(Value(name, kinds.pop(), samples))

    def _operands(self, rule: Rule) -> list[Value] | None:
        found = []
        for kind in rule.kinds:
            fitting = [x for x in self.values if x.kind == kind]
            if not fitting:
                return None
            recent = self.rng.random() < 0.5
            found.append(
                fitting[-1 - int(self.rng.integers(min(3, len(fitting))))]
                if recent
                else fitting[int(self.rng.integers(len(fitting)))]
            )
        return found

    # --- the whole -------------------------------------------------------------------------------------------------

    def program(self) -> Program:
        """The finished program, with outputs chosen among the last values."""
        made = [x for x in self.values if x.name.startswith("v")] or self.values[:1]
        count = min(len(made), int(self.rng.choice([1, 2, 3], p=[0.4, 0.35, 0.25])))
        picked = {made[-1].name, *(made[int(self.rng.integers(len(made)))].name for _ in range(count - 1))}
        outputs = tuple(x.name for x in self.values if x.name in picked)
        wrt = tuple(x.name for x in self.values if x.kind in "fs" and not x.name.startswith("v"))
        sets = [("values",), ("values", "lop"), ("lop",), ("values", "lop", "hvp"), ("rop",), ("values", "rop", "lop"),
                ("values", "lop", "rop", "hvp")]  # fmt: skip
        wants = sets[int(self.rng.choice(len(sets), p=[0.2, 0.3, 0.1, 0.1, 0.1, 0.15, 0.05]))]
        return Program(
            self.seed, tuple(self.dims.items()), tuple(self.inputs), tuple(self.steps), outputs, wrt, wants
        ).needed()


def _tuple(items: Sequence[str]) -> str:
    return f"({', '.join(items)}{',' * (len(items) == 1)})"


def _by_sample(operands: Sequence[Value]) -> list[tuple[tuple[int, ...], ...]]:
    return list(zip(*(x.shapes for x in operands), strict=True))


def _kind_of(x: Any) -> str:
    if isinstance(x, Matrix):
        return "s"
    return {"f": "f", "i": "i", "u": "i", "b": "b"}[x.dtype.kind]


def _checked(x: Any) -> Any:
    """Check that a value is finite, not too large and not too sensitive.   Raises: ValueError"""
    array = x.dense if isinstance(x, Matrix) else np.asarray(x)
    if array.size > LARGEST or (array.dtype.kind == "f" and array.size and not np.abs(array).max() < LOUDEST):
        raise ValueError
    return x if isinstance(x, Matrix) else array


def drawn_small(seed: int) -> Program:
    """The random program of a seed on vectors of 1 to 40 elements, with derivatives that share values."""
    draft = Draft(seed)
    draft.draw_vectors()
    draft.draw_steps(int(draft.rng.integers(2, 7)), SMALL)
    wants = [("values", "lop"), ("stack",), ("shared",), ("values", "lop", "hvp"), ("hessian",), ("jacobian", "rop"),
             ("values", "lop", "rop", "stack", "hessian")]  # fmt: skip
    picked = wants[int(draft.rng.choice(len(wants), p=[0.1, 0.2, 0.3, 0.1, 0.15, 0.1, 0.05]))]
    program = draft.program()
    dims = tuple((name, sizes[:1]) for name, sizes in program.dims)
    count = 1 if draft.rng.random() < 0.8 else len(program.wrt)
    return replace(program, dims=dims, wrt=program.wrt[-count:], wants=picked)


def drawn(seed: int, options: Options | None = None) -> Program:
    """The random program of a seed."""
    draft = Draft(seed)
    draft.draw_inputs()
    draft.draw_steps(int(draft.rng.integers(2, 18)))
    return replace(draft.program(), options=options or Options())
