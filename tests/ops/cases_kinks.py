"""Derivatives at kinks, poles and the edges of domains, as documented: the same in both modes."""

from __future__ import annotations

import numpy as np
from case import INF, NAN, Case, kink

import aotensor.tensor as at

CASES: list[Case] = [
    kink("abs-at-0", at.abs, [[-1.0, 0.0, 2.0, NAN]], x0=[-1, 0, 1, NAN]),
    kink("sqrt-at-0", at.sqrt, [[0.0, 4.0, -1.0]], x0=[INF, 0.25, NAN]),
    kink("sqrt-of-square-at-0", lambda x: at.sqrt(at.sqr(x)), [[0.0]], x0=[NAN]),
    kink("cbrt-at-0", at.cbrt, [[0.0, 8.0]], x0=[INF, 1 / 12]),
    kink("log-outside", at.log, [[-1.0, 0.0, 2.0]], x0=[NAN, INF, 0.5]),
    kink("log2-outside", at.log2, [[-1.0, 0.0]], x0=[NAN, INF]),
    kink("log10-outside", at.log10, [[-1.0, 0.0]], x0=[NAN, INF]),
    kink("log1p-outside", at.log1p, [[-2.0, -1.0, 0.0]], x0=[NAN, INF, 1]),
    kink("arcsin-at-1", at.arcsin, [[-1.0, 0.0, 1.0, 2.0]], x0=[INF, 1, INF, NAN]),
    kink("arccos-at-1", at.arccos, [[-1.0, 0.0, 1.0, 2.0]], x0=[-INF, -1, -INF, NAN]),
    kink("arccosh-at-1", at.arccosh, [[1.0, 0.5, -2.0]], x0=[INF, NAN, NAN]),
    kink("arctanh-at-1", at.arctanh, [[1.0, 0.0, 2.0]], x0=[INF, 1, NAN]),
    kink("arctan2-at-0", at.arctan2, [[0.0], [0.0]], x0=[NAN], x1=[NAN]),
    kink("hypot-at-0", at.hypot, [[0.0, 3.0], [0.0, 4.0]], x0=[0, 0.6], x1=[0, 0.8]),
    kink("reciprocal-at-0", at.reciprocal, [[0.0]], x0=[-INF]),
    kink("maximum-ties", at.maximum, [[1.0, 2.0, 1.0, NAN, 1.0, NAN], [1.0, 1.0, 2.0, 1.0, NAN, NAN]],
          x0=[1, 1, 0, 1, 0, 1], x1=[0, 0, 1, 0, 1, 0]),
    kink("minimum-ties", at.minimum, [[1.0, 2.0, 1.0, NAN, 1.0, NAN], [1.0, 1.0, 2.0, 1.0, NAN, NAN]],
          x0=[1, 0, 1, 1, 0, 1], x1=[0, 1, 0, 0, 1, 0]),
    kink("relu-at-0", at.relu, [[-1.0, 0.0, 1.0]], x0=[0, 1, 1]),
    kink("maximum-0-first", lambda x: at.maximum(0, x), [[-1.0, 0.0, 1.0]], x0=[0, 0, 1]),
    kink("clip-at-bounds", at.clip, [[-2.0, -1.0, 0.0, 1.0, 2.0, NAN], [-1.0] * 6, [1.0] * 6],
          x0=[0, 1, 1, 1, 0, 0], x1=[1, 0, 0, 0, 0, 0], x2=[0, 0, 0, 0, 1, 0]),
    kink("clip-crossed", at.clip, [[0.0, 2.0, 5.0], [3.0] * 3, [1.0] * 3], x0=[0, 0, 0], x1=[0, 0, 0], x2=[1, 1, 1]),
    kink("switch-masks", lambda x: at.switch(x > 0, x, at.inf), [[-1.0, 0.0, 1.0]], x0=[0, 0, 1]),
    kink("switch-masks-log", lambda x: at.switch(x > 0, at.log(x), 0), [[-1.0, 1.0]], x0=[0, 1]),
    kink("pow-0-0", at.pow, [[0.0, 0.0, 0.0, 2.0, -2.0], [0.0, 1.0, 2.0, 0.0, 0.5]],
          x0=[0, 1, 0, 0, NAN], x1=[0, 0, 0, np.log(2), NAN]),
    kink("pow-literals", lambda x: [x**0, x**1, x**2, x**3, x**-1], [[2.0, -1.0]], x0=[16.75, 1]),
    kink("floor-derivative", at.floor, [[-1.5, 0.0, 2.5]], x0=[0, 0, 0]),
    kink("int_div-derivative", lambda x, y: x // y, [[5.0, -5.0], [2.0, 2.0]], x0=[0, 0], x1=[0, 0]),
    kink("mod-derivative", lambda x, y: x % y, [[5.0, -5.0], [2.0, 2.0]], x0=[1, 1], x1=[-2, 3]),
    kink("fmod-derivative", at.fmod, [[5.0, -5.0, 5.0], [2.0, 2.0, -3.0]], x0=[1, 1, 1], x1=[-2, 2, 1]),
    kink("trunc_div-derivative", at.trunc_div, [[5.0, -5.0], [2.0, 2.0]], x0=[0, 0], x1=[0, 0]),
    kink("sigmoid-far-out", at.sigmoid, [[-800.0, 0.0, 800.0]], x0=[0, 0.25, 0]),
    kink("softplus-far-out", at.softplus, [[-800.0, 0.0, 800.0]], x0=[0, 0.5, 1]),
    kink("log1mexp-at-0", at.log1mexp, [[0.0, 1.0]], x0=[-INF, NAN]),
    kink("logit-at-ends", at.logit, [[0.0, 1.0, 2.0]], x0=[INF, INF, NAN]),
    kink("logaddexp-infinite", at.logaddexp, [[-INF, 0.0, -INF, INF], [-INF, 0.0, 0.0, 0.0]],
          x0=[0.5, 0.5, 0, 1], x1=[0.5, 0.5, 1, 0]),
    kink("xlogy-at-0", at.xlogy, [[0.0, 0.0], [0.0, 2.0]], x0=[0, np.log(2)], x1=[0, 0]),
    kink("xlog1py-at-0", at.xlog1py, [[0.0, 0.0], [-1.0, 2.0]], x0=[0, np.log(3)], x1=[0, 0]),
    kink("cast-to-int", lambda x: at.cast(at.cast(x, "int32"), "float64") * 0.5, [[0.5, 2.0]], x0=[0, 0]),
    kink("eq-times-x", lambda x: at.eq(x, 1.0) * x, [[1.0, 2.0]], x0=[1, 0]),
    kink("second-of-first", lambda x, y: at.second(x, y), [[1.0, 2.0], [3.0, 4.0]], x0=[0, 0], x1=[1, 1]),
]  # fmt: skip
