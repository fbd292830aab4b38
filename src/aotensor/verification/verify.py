"""Verify a function at every level."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from aotensor.driver.build import Build
from aotensor.driver.definition import Definition
from aotensor.driver.recipe import Options
from aotensor.errors import GraphValueError
from aotensor.verification.answers import Answers
from aotensor.verification.c_source import check_c_source
from aotensor.verification.child import Job, run_checks
from aotensor.verification.compilation import check_bytes, check_header, check_stages, check_symbols, check_texts
from aotensor.verification.derivatives.check import gradient_jobs
from aotensor.verification.limits import LIMITS, MOST_SAMPLES, Limits
from aotensor.verification.report import Report
from aotensor.verification.threads import check_threads
from aotensor.verification.values import check_compiled, check_interpreted
from aotensor_runtime.arrays.poison import poisoned


@poisoned()
def verify_function(
    f: Definition,
    samples: int,
    seed: int,
    rtol: float | None = None,
    gradients: bool = True,
    begin: Callable[[str], None] = lambda check: None,
    with_cc: bool = False,
    limits: Limits = LIMITS,
) -> Report:
    """Check one function: IR, values, gradients, header, symbols, bytes. Calls run on poisoned memory.

    Checks run in a child process, so that a crash counts as a failed check.

    samples: random arguments per comparison, the first ones small, of extents 1 and 0, and larger.
    rtol: relative to the largest magnitude of an output; by default as `agreement.RTOL` says, and wider where
    the function is ill-conditioned. begin: called with the name of each check when it starts. with_cc: compile C source
    with the system's compiler, and compare its bits with those of a library with `fp="strict"`. limits: largest work of
    a check; what is left out for them is in its detail.

    Raises: GraphValueError for a negative seed, and a number of samples that is negative or above `MOST_SAMPLES`.
    """
    if seed < 0 or not 0 <= samples <= MOST_SAMPLES:
        fault = "seed is negative" if seed < 0 else f"samples is {samples}, expected 0 to {MOST_SAMPLES}"
        raise GraphValueError(f"verify: {fault}")
    report = Report(f.name)
    build = Build([f], None, Options(verify=True))
    answers = Answers(f, samples, seed, limits)
    jobs = [
        Job("IR at every stage", lambda: check_stages(build), is_needed=True),
        Job("IR as text", lambda: check_texts(build)),
        *(
            Job(f"{stage} against reference", partial(check_interpreted, answers, build, stage, rtol))
            for stage in ("tensor", "tensor-opt")
        ),
        Job("compiled against reference", lambda: check_compiled(answers, build, rtol)),
        Job("threads", lambda: check_threads(answers, build, rtol)),
        *(gradient_jobs(answers, build, rtol) if gradients else ()),
        Job("header compiles", lambda: check_header(build)),
        Job("symbols", lambda: check_symbols(build.shared, build.library.manifest)),
        Job("same bytes again", lambda: check_bytes(build)),
        *([Job("C source", lambda: check_c_source(f, build, samples, seed))] if with_cc else ()),
    ]
    run_checks(report, jobs, begin)
    return report
