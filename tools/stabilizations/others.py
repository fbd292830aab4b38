"""Stabilising rewrites of PyTensor and stable functions of JAX, and the rows of our table that correspond to them."""

from __future__ import annotations

from typing import Final

import mpmath as mp
from tools.stabilizations.cases import FAR, LOG_SUM, Case, lines, log_sum, of_lines, sigmoid, softmax_of

import aotensor.tensor as at

PYTENSOR: Final[dict[str, tuple[str, ...]]] = {
    "local_exp_log": ("log(exp(x))", "exp(log(x))"),
    "local_sqrt_sqr": ("√(x²)",),
    "local_mul_exp_to_exp_add": ("exp(x) exp(-x)", "exp(10x)/exp(9x + 1)"),
    "local_log_add_exp": ("log(exp(x) + exp(2x))",),
    "local_log_sum_exp": ("log(Σ exp(x))", "log(mean(exp(x)))"),
    "local_log_erfc": ("log(erfc(x))",),
    "local_grad_log_erfc_neg": ("exp(-x²)/erfc(x)",),
    "local_one_minus_erf": ("1 - erf(x)",),
    "local_one_plus_erf": ("erf(x) + 1",),
    "local_erf_minus_one": ("erf(x) - 1",),
    "local_one_minus_erfc": ("1 - erfc(x)",),
    "local_exp_over_1_plus_exp": ("exp(x)/(1 + exp(x))", "1/(1 + exp(-x))"),
    "local_reciprocal_1_plus_exp": ("(1 + exp(-x))⁻¹",),
    "local_sigm_times_exp": ("exp(x) sigmoid(-x)",),
    "local_log1p_plusminus_exp": ("log1p(exp(x))", "log(1 + exp(x))", "log(1 - exp(x))"),
    "logmexpm1_to_log1mexp": ("log(-expm1(x))",),
    "logdiffexp_to_log1mexpdiff": ("log(exp(x) - exp(x/2))",),
    "logsigm_to_softplus": ("log(sigmoid(x))",),
    "log1msigm_to_softplus": ("log(1 - sigmoid(x))",),
    "log1p_neg_sigmoid": ("log1p(-sigmoid(x))",),
    "local_logit_sigmoid": ("logit(sigmoid(x))",),
    "local_log_kv": ("log(kv(1.5, x))",),
    "local_log_prod_to_sum_log": ("log(Π exp(x))", "log(abs(Π x))"),
    "slogdet_specialization": ("log(abs(det(x A)))", "log(det(x A))"),
    "local_logsoftmax": ("log(softmax(x))", "log(softmax(x)[1])", "log(softmax(x)[…, i])"),
    "softmax_simplifier": ("exp(x)/Σ exp(x)",),
}
"""Rewrites of PyTensor 3.0 that make a formula stable → rows of the table."""

_FAR = (-30.0, 30.0)
JAX: Final[dict[str, tuple[str, Case]]] = {
    "jax.numpy.logaddexp": (
        "logaddexp(x, 2x)", Case(lambda x: at.logaddexp(x, 2 * x), lambda x: log_sum([x, 2 * x]), (-800.0, 3.0), ()),
    ),
    "jax.nn.logsumexp": ("logsumexp(x)", Case(lambda x: at.logsumexp(lines(x), axis=1), LOG_SUM, FAR, ())),
    "jax.nn.softmax": (
        "softmax(x)[0]",
        Case(lambda x: at.softmax(lines(x), axis=1)[:, 0], of_lines(lambda t: softmax_of(t, 0)), (-20.0, 3.0), ()),
    ),
    "jax.nn.log_softmax": (
        "log_softmax(x)[1]",
        Case(lambda x: at.log_softmax(lines(x), axis=1)[:, 1], of_lines(lambda t: t[1] - log_sum(t)), FAR, ()),
    ),
    "jax.nn.sigmoid": ("sigmoid(x)", Case(at.sigmoid, sigmoid, _FAR, ())),
    "jax.nn.softplus": ("softplus(x)", Case(at.softplus, lambda x: mp.log(1 + mp.exp(x)), _FAR, ())),
    "jax.nn.log_sigmoid": (
        "-softplus(-x)", Case(lambda x: -at.softplus(-x), lambda x: mp.log(sigmoid(x)), _FAR, ())
    ),
    "jax.nn.silu": ("x sigmoid(x)", Case(lambda x: x * at.sigmoid(x), lambda x: x * sigmoid(x), _FAR, ())),
    "jax.numpy.expm1": ("expm1(x)", Case(at.expm1, mp.expm1, (-40.0, 1e-12), ())),
    "jax.numpy.log1p": ("log1p(x)", Case(at.log1p, mp.log1p, (1e-12, 1e300), ())),
    "jax.scipy.special.logit": ("logit(x)", Case(at.logit, lambda x: mp.log(x / (1 - x)), (1e-12, 0.5001), ())),
    "jax.scipy.special.xlogy": ("xlogy(x, x)", Case(lambda x: at.xlogy(x, x), lambda x: x * mp.log(x), (1e-200,), ())),
    "jax.scipy.special.xlog1py": (
        "xlog1py(x, x)", Case(lambda x: at.xlog1py(x, x), lambda x: x * mp.log1p(x), (1e-12, 1e200), ())
    ),
    "jax.scipy.special.entr": ("-xlogx(x)", Case(lambda x: -at.xlogx(x), lambda x: -x * mp.log(x), (1e-200,), ())),
    "jax.scipy.special.rel_entr": (
        "xlogy(x, x/2)", Case(lambda x: at.xlogy(x, x / 2), lambda x: x * mp.log(x / 2), (1e-200,), ())
    ),
    "jax.scipy.special.kl_div": (
        "xlogy(x, x/2) - x + 2",
        Case(lambda x: at.xlogy(x, x / 2) - x + 2, lambda x: x * mp.log(x / 2) - x + 2, (1e-6, 5.0), ()),
    ),
    "jax.scipy.special.log_ndtr": (
        "log_ndtr(x)", Case(at.log_ndtr, lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2), (-30.0, 5.0), ())
    ),
}  # fmt: skip
"""Functions of JAX with a stable formula → ours, as it is written, and a row."""
