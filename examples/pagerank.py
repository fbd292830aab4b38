"""Which modules does the standard library lean on? PageRank of its import graph, and what each import is worth.

python examples/pagerank.py

An edge goes from a module to each one that it imports; the matrix of the random walk is sparse. Power iteration is a
`scan`, and the gradient goes back through all its steps: how much would the rank of a module rise if one import counted
a little more?
"""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path

import numpy as np
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at

STEPS = 30
DAMPING = 0.85

links = sp.csr_matrix("links", dtype="float64", shape=("n", "n"))
target = at.vector("target", dtype="float64", shape=("n",))

# the same matrix as a function of its stored values: what the gradient is taken by
weights, indices, indptr, shape = sp.csm_properties(links)
W = sp.abs(sp.CSR(weights, indices, indptr, shape))
outgoing = sp.sp_sum(W, axis=1)
walk = sp.row_scale(W, 1.0 / at.maximum(outgoing, 1e-12))
n = target.shape[0]
teleport = at.ones_like(target) / n
stays = at.eq(outgoing, 0.0)  # modules that import nothing jump anywhere


def step(rank: aot.Variable, walk: aot.Variable) -> aot.Variable:
    lost = (rank * stays).sum()
    return DAMPING * (sp.dot(walk.T, rank) + lost * teleport) + (1 - DAMPING) * teleport


ranks, _ = aot.scan(step, outputs_info=teleport, non_sequences=walk, n_steps=STEPS)
rank = ranks[-1]
score = (rank * target).sum()
pagerank = aot.function([links, target], {"rank": rank, "worth": aot.grad(score, weights)}, name="pagerank")


def imports() -> tuple[list[str], ss.csr_matrix]:
    """Top-level modules of the standard library, and who imports whom."""
    root = Path(sysconfig.get_path("stdlib"))
    paths = [p for p in sorted(root.iterdir()) if p.suffix == ".py" or (p / "__init__.py").exists()]
    paths = [p for p in paths if p.stem.isidentifier() and p.stem not in ("test", "idlelib", "lib2to3", "this")]
    names = [p.stem for p in paths]
    number = {name: k for k, name in enumerate(names)}
    edges: set[tuple[int, int]] = set()
    for path in paths:
        for source in [path] if path.suffix == ".py" else sorted(path.rglob("*.py")):
            for imported in _imported(source):
                if imported in number and imported != path.stem:
                    edges.add((number[path.stem], number[imported]))
    row, column = np.array(sorted(edges)).T
    return names, ss.csr_matrix((np.ones(len(row)), (row, column)), shape=(len(names), len(names)))


def _imported(source: Path) -> set[str]:
    try:
        tree = ast.parse(source.read_text(encoding="utf-8", errors="ignore"))
    except SyntaxError:
        return set()
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


def main() -> None:
    names, graph = imports()
    print(f"{len(names)} modules, {graph.nnz} imports")
    wanted = names.index("re")
    chosen = np.eye(len(names))[wanted]
    found = pagerank(graph, chosen)
    order = np.argsort(-found["rank"])
    print("ranks:", ", ".join(f"{names[k]} {found['rank'][k]:.4f}" for k in order[:8]))
    print(f"sum of ranks: {found['rank'].sum():.12f}")

    entries = graph.tocoo()
    best = np.argsort(-found["worth"])[:5]
    print(f"what lifts {names[wanted]} most, per unit of weight:")
    for k in best:
        print(f"  {names[entries.row[k]]} -> {names[entries.col[k]]}: {found['worth'][k]:+.4f}")

    heavier, k, h = graph.copy(), best[0], 1e-4
    heavier.data[k] += h
    after = pagerank(heavier, chosen)["rank"][wanted]
    print(f"derivative {found['worth'][k]:.6f}, by difference {(after - found['rank'][wanted]) / h:.6f}")


if __name__ == "__main__":
    main()
