"""Programs of CasADi that use an external function, or its own graph of the same."""

from __future__ import annotations

from typing import Any

import numpy as np


def iterates(ca: Any, f: Any, start: list[float], torques: int) -> np.ndarray:
    """All points of Ipopt for a control problem: f(states and torques, start) → cost, defects.

    The last `torques` variables have bounds, some of which are active.
    """
    points: list[np.ndarray] = []
    (n, m), p = (f.sparsity_in(0).numel(), f.sparsity_out(1).numel()), f.sparsity_in(1).numel()

    class Listener(ca.Callback):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.construct("listener", {})

        def get_n_in(self) -> int:
            return int(ca.nlpsol_n_out())

        def get_sparsity_in(self, k: int) -> Any:
            sizes = {"f": 1, "x": n, "lam_x": n, "g": m, "lam_g": m, "lam_p": p}
            return ca.Sparsity.dense(sizes[ca.nlpsol_out(k)])

        def eval(self, values: Any) -> list[int]:
            points.append(values[0].full().ravel())
            return [0]

    listener = Listener()
    w, parameters = ca.MX.sym("w", n), ca.MX.sym("start", p)
    cost, defects = f(w, parameters)
    options = {"ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": 0, "iteration_callback": listener}
    solver = ca.nlpsol("solver", "ipopt", {"x": w, "p": parameters, "f": cost, "g": defects}, options)
    bound = np.r_[np.full(n - torques, np.inf), np.full(torques, 20.0)]
    solver(x0=0, p=start, lbg=0, ubg=0, lbx=-bound, ubx=bound)
    assert solver.stats()["success"]
    return np.array(points)
