"""Which part of Python does this docstring come from? Sparse logistic regression on bags of words.

python examples/text_classification.py                 fit on three quarters of the docstrings, test on the rest

The corpus ships with Python: the docstrings of its standard library. Each is a row of a sparse matrix, with one column
per word; the label says whether its module has to do with the network. Loss and gradient are one pass over the rows.
"""

from __future__ import annotations

import ast
import re
import sysconfig
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as ss
from scipy.optimize import minimize

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at

NETWORK = {
    "asyncio", "email", "ftplib", "html", "http", "imaplib", "mailbox", "nntplib", "poplib", "smtplib", "socket",
    "socketserver", "ssl", "telnetlib", "urllib", "webbrowser", "wsgiref", "xmlrpc",
}  # fmt: skip
L2 = 1e-4

X = sp.csr_matrix("X", dtype="float64", shape=("n", "words"))
y = at.vector("y", dtype="float64", shape=("n",))
w = at.vector("w", dtype="float64", shape=("words",))
loss = at.softplus(-y * (X @ w)).mean() + 0.5 * L2 * (w**2).sum()
classifier = aot.function([X, y, w], {"loss": loss, "grad_w": aot.grad(loss, w)}, name="classifier")


def docstrings() -> Iterator[tuple[str, bool]]:
    """Every docstring of the standard library, and whether its module is about the network."""
    root = Path(sysconfig.get_path("stdlib"))
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if {"site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3"} & set(parts):
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8", errors="ignore"))
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text and len(text) > 40:
                    yield text, parts[0] in NETWORK


def bags_of_words(texts: list[str]) -> tuple[Any, list[str]]:
    """Rows of weights 1 + log(count), of length 1, for the words that occur in three texts at least."""
    counts = [Counter(re.findall(r"[a-z]{3,}", text.lower())) for text in texts]
    spread = Counter(word for bag in counts for word in bag)
    words = sorted(word for word, number in spread.items() if number >= 3)
    column = {word: k for k, word in enumerate(words)}
    rows = [
        (k, column[word], 1 + np.log(n)) for k, bag in enumerate(counts) for word, n in bag.items() if word in column
    ]
    row, col, value = (np.array(part) for part in zip(*rows, strict=True))
    matrix = ss.csr_matrix((value, (row, col)), shape=(len(texts), len(words)))
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return ss.csr_matrix(ss.diags(1 / np.maximum(lengths, 1e-9)) @ matrix), words


def main() -> None:
    texts, labels = zip(*docstrings(), strict=True)
    matrix, words = bags_of_words(list(texts))
    target = np.where(labels, 1.0, -1.0)
    order = np.random.default_rng(0).permutation(len(target))
    train, test = order[len(order) // 4 :], order[: len(order) // 4]
    print(f"{len(target)} docstrings, {target.clip(0).mean():.0%} about the network; {len(words)} words, "
          f"{matrix.nnz} counts")  # fmt: skip

    data, signs = matrix[train], target[train]
    start = perf_counter()

    def objective(weights: np.ndarray) -> tuple[float, np.ndarray]:
        value = classifier(data, signs, weights)
        return value["loss"], value["grad_w"]

    fit = minimize(objective, np.zeros(len(words)), jac=True, method="L-BFGS-B")
    print(f"loss {np.log(2):.3f} -> {fit.fun:.4f} after {fit.nfev} evaluations, {perf_counter() - start:.2f} s")
    for name, rows in (("train", train), ("test", test)):
        right = np.mean(np.sign(matrix[rows] @ fit.x) == target[rows])
        print(f"accuracy on {name}: {right:.3f}")
    ranked = np.argsort(fit.x)
    print("network:", ", ".join(words[k] for k in ranked[:-9:-1]))
    print("other:  ", ", ".join(words[k] for k in ranked[:8]))


if __name__ == "__main__":
    main()
