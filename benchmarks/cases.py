"""The models by name, in the order of the table."""

from __future__ import annotations

from collections.abc import Callable

from case_arm import Arm
from case_chain import Chain
from case_logistic import HessianVector, Logistic
from case_mixture import Mixture
from case_mlp import Mlp
from case_process import Process
from case_recurrent import Lstm, Rnn
from contenders import Model

CASES: dict[str, Callable[[], Model]] = {
    "logistic": Logistic,
    "chain-1e6-float64": lambda: Chain(1_000_000, "float64"),
    "chain-1e6-float32": lambda: Chain(1_000_000, "float32"),
    "chain-1e3-float64": lambda: Chain(1_000, "float64"),
    "chain-1e3-float32": lambda: Chain(1_000, "float32"),
    "mlp": Mlp,
    "lstm": Lstm,
    "rnn": Rnn,
    "hessian-vector": HessianVector,
    "process": Process,
    "mixture": Mixture,
    "arm": Arm,
}
