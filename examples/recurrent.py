"""A recurrent network that learns the Zen of Python by heart, character by character.

    python examples/recurrent.py

`characters` gives the loss of a batch of texts and its gradient: a loop over time, and one backwards. `advance` is one
step of the same network: a character and a state in, probabilities of the next character and the next state out. A
program that writes text needs no more than that.
"""

from __future__ import annotations

import codecs
import io
from contextlib import redirect_stdout
from time import perf_counter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

import aotensor as aot
import aotensor.tensor as at
from aotensor.tensor import Variable

Array: TypeAlias = NDArray[np.float32]
Codes: TypeAlias = NDArray[np.int64]


def read_text() -> str:
    """What `import this` prints, which it holds in ROT13."""
    with redirect_stdout(io.StringIO()):
        import this

    return codecs.decode(this.s, "rot13")


TEXT = read_text()
ALPHABET = sorted(set(TEXT))
HIDDEN, SYMBOLS = 64, len(ALPHABET)
STEPS, BATCH, LENGTH = 400, 16, 40
RATE, DECAY, DECAY_SQUARES = 1e-2, 0.9, 0.99  # of Adam

# two gates and the candidate for the state stand side by side in 3 HIDDEN columns; E has a row for each character
SHAPES = {"E": (SYMBOLS, 3 * HIDDEN), "U": (HIDDEN, 3 * HIDDEN), "V": (HIDDEN, SYMBOLS), "b": (SYMBOLS,)}
parameters = [at.tensor(name, dtype="float32", shape=shape) for name, shape in SHAPES.items()]
E, U, V, b = parameters


def gated_unit(x: Variable, h: Variable) -> Variable:
    """The next state of a GRU, from the row of E for the character.   x: (..., 3 HIDDEN), h: (..., HIDDEN)"""
    update, reset, candidate = (slice(k * HIDDEN, (k + 1) * HIDDEN) for k in range(3))
    product = h @ U
    gate = at.sigmoid(x[..., update] + product[..., update])
    fresh = at.tanh(x[..., candidate] + at.sigmoid(x[..., reset] + product[..., reset]) * product[..., candidate])
    return gate * h + (1 - gate) * fresh


texts = at.matrix("texts", dtype="int64", shape=("time", "batch"))
targets = at.matrix("targets", dtype="int64", shape=("time", "batch"))
start = at.zeros((texts.shape[1], HIDDEN), dtype="float32")
states, _ = aot.scan(gated_unit, sequences=E[texts], outputs_info=start)
log_p = at.log_softmax(states @ V + b, axis=2)
loss = -at.take_along_axis(log_p, targets[:, :, None], axis=2).mean()
derivatives = dict(zip([f"grad_{v.name}" for v in parameters], aot.grad(loss, parameters), strict=True))
characters = aot.function([texts, targets, *parameters], {"loss": loss, **derivatives}, name="characters")

symbol = at.scalar("symbol", dtype="int64")
state = at.vector("state", dtype="float32", shape=(HIDDEN,))
after = gated_unit(E[symbol], state)
advance = aot.function(
    [symbol, state, *parameters], {"p": at.softmax(after @ V + b), "next_state": after}, name="advance"
)


def windows(codes: Codes, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Random pieces of the text, and the character after each of theirs.   (LENGTH, BATCH) twice"""
    first = rng.integers(0, len(codes) - LENGTH, BATCH)
    places = first + np.arange(LENGTH)[:, None]
    return codes[places], codes[places + 1]


def train(values: list[Array], codes: Codes, rng: np.random.Generator) -> float:
    """Change the parameters in place by Adam, and return the seconds that the compiled function took."""
    means, squares = ([np.zeros_like(value) for value in values] for _ in range(2))
    seconds = 0.0
    for t in range(1, STEPS + 1):
        batch = windows(codes, rng)
        begin = perf_counter()
        result = characters(*batch, *values)
        seconds += perf_counter() - begin
        rate = RATE * (1 - DECAY_SQUARES**t) ** 0.5 / (1 - DECAY**t)
        for value, name, mean, square in zip(values, derivatives, means, squares, strict=True):
            mean += (1 - DECAY) * (result[name] - mean)
            square += (1 - DECAY_SQUARES) * (result[name] ** 2 - square)
            value -= rate * mean / (np.sqrt(square) + 1e-8)
        if t % 100 == 0:
            print(f"step {t}: loss of the batch {result['loss']:.4f}")
    return seconds


def write(values: list[Array], text: str, length: int, rng: np.random.Generator) -> str:
    """Read the text, and go on with it: each character is drawn from what the network expects after the last one."""
    memory = np.zeros(HIDDEN, "float32")
    for place in range(length - 1):
        result = advance(ALPHABET.index(text[place]), memory, *values)
        memory = result["next_state"]
        if place + 1 == len(text):
            p = result["p"].astype("float64")  # `choice` wants a sum of 1 more exactly than float32 has it
            text += rng.choice(ALPHABET, p=p / p.sum())
    return text


def main() -> None:
    codes = np.array([ALPHABET.index(character) for character in TEXT])
    rng = np.random.default_rng(0)
    values = [rng.normal(0, shape[0] ** -0.5, shape).astype("float32") for shape in SHAPES.values()]
    whole = codes[:-1, None], codes[1:, None]
    print(f"the Zen of Python: {len(TEXT)} characters, {SYMBOLS} different ones; a GRU with {HIDDEN} states")

    start = perf_counter()
    before = characters(*whole, *values)["loss"]
    print(f"first call, compiles or finds the library in the cache: {perf_counter() - start:.2f} s")
    seconds = train(values, codes, rng)
    after = characters(*whole, *values)["loss"]
    print(f"loss before: {before:.4f}, after: {after:.4f} nats per character of the whole text")
    print(f"loss and gradient of {BATCH} texts of {LENGTH} characters: {1e3 * seconds / STEPS:.2f} ms")
    print(write(values, "Now is", 160, rng))


if __name__ == "__main__":
    main()
