"""The checks of a function's derivatives, as rows and verdicts of a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import Final

import numpy as np

from aotensor.core.dtypes import is_float
from aotensor.core.types import Array
from aotensor.driver.build import Build
from aotensor.driver.definition import Definition
from aotensor.driver.recipe import Options
from aotensor.errors import AotensorError, UnsupportedError
from aotensor.graph.subgraph import TooLongError, at_most
from aotensor.sampling.dense_view import Arrays, DenseView
from aotensor.sampling.pairs import to_pairs
from aotensor.sampling.samples import Sample, Sampler, reference_values
from aotensor.verification.answers import Answers, answered
from aotensor.verification.child import Job
from aotensor.verification.derivatives.culprit import first_culprit, intended_change
from aotensor.verification.derivatives.measure import METHODS, Point, PointChecks
from aotensor.verification.derivatives.program import Compiled, Derivatives, Execution, Reference
from aotensor.verification.derivatives.verdict import Finding, Gradient, Judgement, Verdict, concluded
from aotensor.verification.limits import NO_LIMITS, Limits
from aotensor.verification.report import CheckFailed, CheckSkipped
from aotensor.verification.values import compare
from aotensor_runtime import Library, LibraryFunction
from aotensor_runtime.vectors import call_with_state

_DOMAINS: Final = ("normal", "unit")
_TOO_LONG: Final = "the loops of the reference need too many evaluations"


def gradient_jobs(answers: Answers, build: Build, rtol: float | None) -> list[Job]:
    """The checks of all derivatives of a function, compiled by `build`, with verdicts on each gradient."""
    checks = GradientChecks(answers.f, answers.seed, answers.limits)
    return [
        Job("gradients compiled", lambda: checks.compile(build, answers, rtol)),
        *(Job(f"gradients by {method}", partial(checks.row, method)) for method in METHODS),
        Job("verdicts on gradients", lambda: checks.gradients),
    ]


class GradientChecks:
    """All findings on derivatives of the floating outputs of f with respect to its floating inputs, at two points."""

    def __init__(self, f: Definition, seed: int, limits: Limits = NO_LIMITS) -> None:
        self._f, self._seed, self._limits = f, seed, limits
        self._view = DenseView.from_function(f)
        inputs = {key: x for key, x in self._view.arguments.items() if is_float(x.dtype)}
        outputs = {key: y for key, y in self._view.results.items() if is_float(y.dtype)}
        self._derivatives = Derivatives(outputs if inputs else {}, inputs)
        self._reference = Reference(self._derivatives)
        self._compiled: Compiled | None = None
        self._findings: dict[str, list[Finding]] = {}
        self._larger: dict[str, int] = {}
        self._is_long = False

    def compile(self, build: Build, answers: Answers, rtol: float | None) -> str:
        """Compile the derivatives, and compare them with the reference; later findings include the compiled ones.

        Raises: CheckFailed if they differ, CheckSkipped if there are none, or some op has no compiled derivative.
        """
        self._check_any()
        derivatives, self._larger = self._derivatives.within(self._limits.derivatives)
        if not derivatives.pulled:
            raise CheckSkipped(self._larger_text())
        f = derivatives.function(self._view.arguments, f"{self._f.name}_derivatives")
        is_verified = derivatives.operations <= self._limits.verified
        notes = [self._larger_text()] if self._larger else []
        notes += [] if is_verified else [f"IR of {derivatives.operations:,} operations is not verified"]
        # LLVM's passes would take most of the time, for a program that runs once
        options = Options(verify=is_verified, opt_level=0)
        try:
            derived = Library(Build([f], None, options).shared).functions[f.name]
        except UnsupportedError as error:
            raise CheckSkipped(error.diagnostic.title) from error
        called = Library(build.shared).functions[self._f.name]
        derive = partial(call_with_state, derived)
        self._compiled = Compiled(self._view, derivatives, partial(self._call, called), derive)
        chosen = answered(f, self._with_directions(f, derivatives, answers), self._limits)
        rng, long = np.random.default_rng(self._seed), sum(x.outcome is None for x in answers)
        try:
            text = compare(f, lambda arrays: derive(list(arrays.values())), chosen, rng, rtol, left_out=long)
        except CheckSkipped as skipped:
            raise CheckSkipped("; ".join([str(skipped), *notes])) from skipped
        return "; ".join([text, *notes])

    def _call(self, function: LibraryFunction, arrays: Sequence[Array]) -> list[Array]:
        """Call the function itself with arrays of its view."""
        return [to_pairs(x) for x in call_with_state(function, self._view.join_values(arrays))]

    def row(self, method: str) -> str:
        """Check all gradients by one method: one sentence on the result.   Raises: CheckFailed, CheckSkipped"""
        self._check_any()
        found = self._findings_of(method)
        wrong = [x for x in found if x.verdict is Verdict.WRONG]
        if wrong:
            raise CheckFailed(str(wrong[0]))
        left = "".join(f"; {key}: {reason}" for key, reason in self._derivatives.left.items())
        long = sum(not point.has_reference for point in self._points)
        left += f"; at {long} of {len(self._points)} points by compiled code only: {_TOO_LONG}" if long else ""
        if not found:
            raise CheckSkipped(left[2:] or self._no_check_reason(method))
        right = [x for x in found if x.verdict is Verdict.RIGHT]
        counts = f"{len(right)} of {len(found)} derivatives right"
        noisy = [x for x in found if x.verdict is Verdict.NOISY]
        text = counts + (f"; too noisy to tell: {noisy[0]}" if noisy else "") + left
        if not right:
            raise CheckSkipped(text)
        return text

    def _no_check_reason(self, method: str) -> str:
        if not self._points and self._is_long:
            return _TOO_LONG
        if not self._points or method != "complex step":
            return "no sample has finite values"
        point = self._points[0]
        if not point.has_reference:
            return _TOO_LONG
        for output, name in self._derivatives.pulled:
            try:
                self._reference.continued(output, point.values, self._derivatives.inputs[name], point.directions[name])
            except AotensorError as error:
                return error.diagnostic.title
        return "values are computed in float32"

    def _findings_of(self, method: str) -> list[Finding]:
        """The findings of one method at all points, by all executions, computed at the first request."""
        if method not in self._findings:
            found = [x for checks in self._at_points for x in checks.findings(method)]
            self._findings[method] = [self._adjusted(x) for x in found]
        return self._findings[method]

    @cached_property
    def _at_points(self) -> list[PointChecks]:
        found = []
        for point in self._points:
            executions: list[Execution] = [self._reference] if point.has_reference else []
            executions += [self._compiled] if self._compiled is not None else []
            found += [PointChecks(point, self._reference, execution) for execution in executions]
        return found

    def _larger_text(self) -> str:
        most, sizes = f"{self._limits.derivatives:,}", ", ".join(f"{key}: {n:,}" for key, n in self._larger.items())
        return f"derivatives of more than {most} operations are left out ({sizes})"

    @cached_property
    def gradients(self) -> list[Gradient]:
        """One verdict per pair of a floating output and a floating input that it depends on."""
        found = []
        for pair in self._derivatives.pulled:
            own = tuple(x for method in METHODS for x in self._findings_of(method) if (x.output, x.input) == pair)
            verdict, detail = concluded(own)
            if not own and pair[0] in self._larger:
                detail = f"left out: {self._larger[pair[0]]:,} operations, and {_TOO_LONG}"
            culprit = self._culprit if verdict is Verdict.WRONG else None
            found.append(Gradient(*pair, verdict, detail, own, culprit))
        return found

    def _check_any(self) -> None:
        if not self._derivatives.outputs:
            raise CheckSkipped("no floating output depends on a floating input")
        if not self._derivatives.pulled:
            reasons = [f"{key}: {reason}" for key, reason in self._derivatives.left.items()]
            raise CheckSkipped("; ".join(reasons) or "no output depends on an input")

    def _adjusted(self, x: Finding) -> Finding:
        """Accept a wrong finding if an op on the path changes gradients on purpose, and no op alone is wrong."""
        if x.verdict is not Verdict.WRONG:
            return x
        view = intended_change(self._derivatives.outputs[x.output], self._derivatives.inputs[x.input])
        if view is None or self._culprit is not None:
            return x
        assert view.owner is not None
        reason = f"{view.owner.op.name}, made at {view.site}, changes the gradient on purpose"
        return Finding(x.output, x.input, x.method, x.execution, Judgement(Verdict.NOISY, reason))

    @cached_property
    def _culprit(self) -> str | None:
        outputs, inputs = list(self._derivatives.outputs.values()), list(self._derivatives.inputs.values())
        points = [point for point in self._points if point.has_reference]
        found = (first_culprit(outputs, inputs, point.values, self._seed) for point in points)
        return next((text for text in found if text is not None), None)

    @cached_property
    def _points(self) -> list[Point]:
        """Small samples at which all floating outputs, or at least one, are finite."""
        sampler = Sampler(self._f, self._seed)
        points: list[Point] = []
        for domain in _DOMAINS:
            arrays = self._view.split(sampler.small(domain).arrays)
            values = {self._view.arguments[name]: x for name, x in arrays.items()}
            has_reference = True
            try:
                with at_most(self._limits.point):
                    outputs = self._floating_results(arrays)
            except TooLongError:
                has_reference, self._is_long = False, True
                outputs = None if self._compiled is None else self._compiled.values_at(values)
            if outputs and any(np.isfinite(y).all() for y in outputs.values()):
                seed = self._seed + len(points)
                points.append(Point.at(self._reference, values, outputs, seed, has_reference))
        return points

    def _floating_results(self, arrays: Arrays) -> dict[str, Array] | None:
        """Values of the floating outputs; None if the reference refuses the arguments."""
        try:
            return self._floating(reference_values(self._view, arrays))
        except (AotensorError, ValueError, IndexError):
            return None

    def _floating(self, results: Sequence[Array]) -> dict[str, Array]:
        found = dict(zip(self._view.results, results, strict=True))
        return {key: found[key] for key in self._derivatives.outputs}

    def _with_directions(self, f: Definition, d: Derivatives, answers: Answers) -> Iterator[Sample]:
        """Finite samples that have an answer, with random cotangents and tangents, for the derivatives `d`."""
        for number, answer in enumerate(answers):
            sample, arrays = answer.sample, answer.sample.arrays
            if not isinstance(answer.outcome, list):
                continue
            outputs = self._floating(answer.outcome)
            if not all(np.isfinite(x).all() for x in (*arrays.values(), *outputs.values())):
                continue
            values = {self._view.arguments[name]: x for name, x in arrays.items()}
            point = Point.at(self._reference, values, outputs, self._seed + number)
            extended = point.extended(d)
            order = [*self._view.arguments.values(), *d.cotangents.values(), *d.tangents.values()]
            yield Sample(sample.note, dict(zip(f.arguments, [extended[x] for x in order], strict=True)))
