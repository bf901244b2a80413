"""The runs of a verification: twice eager mode, once float64, and the mode under test."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import msgspec

from opperf.dtypes import is_floating
from opperf.errors import OpperfError, one_line
from opperf.frameworks import Framework
from opperf.instruments.call_results import seed_all
from opperf.instruments.prepared import PreparedCase
from opperf.instruments.verification.judging import (
    Results,
    differing_runs,
    is_far,
    judge,
    judge_eager,
)
from opperf.instruments.verification.variants import (
    DOUBLE,
    EAGER,
    double_case,
    eager_case,
    prepare_anew,
    prepare_double,
    results_of,
)
from opperf.model import (
    Case,
    ModelTarget,
    Settings,
    SnippetTarget,
    TraceTarget,
    Verification,
    VerificationCode,
)
from opperf.rules.engine import rules_module
from opperf.rules.not_finite import is_unwritten

WITHOUT_RESULTS = {
    TraceTarget: "a replay keeps no results",
    SnippetTarget: "a snippet keeps no results",
}
"""Kinds of targets whose results nobody can read, with the reason."""


def verify(prepared: PreparedCase) -> Verification:
    """Returns the verification of a case that was measured. To be called in its scope."""
    framework = prepared.framework
    try:
        reason = _why_not(prepared.case, framework)
        if reason:
            raise _Ended(VerificationCode.VERIFIER_SKIPPED, reason)
        return _Runs(prepared).verification()
    except _Ended as ended:
        return ended.verification
    except Exception as error:
        # A fault here must not cost the times.
        return Verification.not_run(_reason(error, framework))


def _why_not(case: Case, framework: Framework) -> str:
    """Returns why a case cannot be verified; empty if it can."""
    for kind, reason in WITHOUT_RESULTS.items():
        if isinstance(case.target, kind):
            return reason
    if EAGER not in framework.modes:
        return f"{framework.name} has no eager mode"
    listed = rules_module(framework.rules).NOT_FINITE
    if framework.is_own(case.target) and is_unwritten(case, framework, listed):
        return "it returns memory that it does not write"
    return ""


def _reason(error: Exception, framework: Framework) -> str:
    text = str(error) if isinstance(error, OpperfError) else framework.refusal(error)
    return one_line(text or f"{type(error).__name__}: {error}")


class _Ended(Exception):
    """Ends a verification before results are compared."""

    def __init__(self, code: VerificationCode, reason: str) -> None:
        super().__init__(reason)
        self.verification = Verification(code=code, reason=reason)


class _Runs:
    """The runs of one case. The results of each are read before the next is made, so that of models
    no more than two are in memory at a time."""

    def __init__(self, prepared: PreparedCase) -> None:
        self._prepared, self._framework = prepared, prepared.framework
        self._case = prepared.case
        self._eager = eager_case(self._case)
        self._draws = False
        """Whether eager mode draws random numbers, or may, as nobody knows."""
        self._without_double = ""
        """Why there are no results in float64."""

    def verification(self) -> Verification:
        eager = self._run_eager()
        again, double = self._run_again()
        if not eager:
            reason = "it returns neither arrays nor numbers"
            raise _Ended(VerificationCode.VERIFIER_SKIPPED, reason)
        differing = differing_runs(eager, again)
        if differing is not None:
            return differing
        mode = self._case.settings.mode
        if mode == EAGER:
            return judge_eager(eager, double)
        judged = partial(
            judge, eager, double=double, tolerance_of=partial(tolerance_of, self._case)
        )
        found = judged(self._run_under_test())
        drawing = self._framework.drawing_as_eager(mode)
        if found.is_wrong and self._draws and drawing is not None:
            # A compiler may draw other numbers, which are no less right.
            with drawing:
                found = judged(self._run_under_test())
        if found.method == "cosine" and not found.is_wrong:
            reason = f"only by the cosine, without a run in float64: {self._without_double}"
            found = msgspec.structs.replace(found, reason=reason)
        return found

    def _run_eager(self) -> Results:
        framework, seed = self._framework, self._case.settings.seed
        device = self._case.settings.device
        try:
            with framework.scope(self._eager):
                results = results_of(prepare_anew(self._prepared, self._eager))
                after = framework.random_state(device)
                seed_all(framework, seed)
                self._draws = after is None or framework.random_state(device) != after
        except Exception as error:
            raise self._eager_failed(error) from error
        return results

    def _run_again(self) -> tuple[Results, Results]:
        """Returns the results of eager mode made anew, as what is built may differ, and those in
        float64; none if they cannot be had."""
        framework = self._framework
        try:
            with framework.scope(self._eager):
                made = prepare_anew(self._prepared, self._eager)
                results = results_of(made)
        except Exception as error:
            raise self._eager_failed(error) from error
        if self._case.settings.dtype in DOUBLE.values():
            return results, results
        try:
            with framework.scope(double_case(self._case)):
                double = results_of(prepare_double(made))
        except Exception as error:
            self._without_double = _reason(error, framework)
            return results, {}
        if self._draws and is_far(results, double, partial(tolerance_of, self._case)):
            self._without_double = "there it draws other random numbers"
            return results, {}
        return results, double

    def _eager_failed(self, error: Exception) -> _Ended:
        return _Ended(VerificationCode.EAGER_FAILED, _reason(error, self._framework))

    def _run_under_test(self) -> Results:
        """Returns the results of the case prepared anew, as calls may have changed what the one
        that was measured keeps, and its times are not to depend on the verification."""
        try:
            return results_of(prepare_anew(self._prepared, self._case))
        except Exception as error:
            reason = _reason(error, self._framework)
            raise _Ended(VerificationCode.EXCEPTION_RAISED, reason) from error


TOLERANCE = 1e-4
"""Of single precision, by default: a thousand roundings, as a sum of a million has."""

BY_DTYPE = {
    "float16": 1e-3,
    "bfloat16": 1e-2,
    **dict.fromkeys(("float8_e4m3fn", "float8_e4m3fnuz"), 0.125),
    **dict.fromkeys(("float8_e5m2", "float8_e5m2fnuz"), 0.25),
    "float64": 1e-7,
    "complex128": 1e-7,
}
"""Of dtypes of another precision: about one rounding of the short ones, as PyTorch's runner has it
for half precision; of double precision fewer than what single precision has."""

EVEN_HIGHER = frozenset(
    {"soft_actor_critic", "tacotron2", "yolov3", "squeezenet1_1", "shufflenet_v2_x1_0"}
)
"""Models of TorchBench whose gradients PyTorch's runner compares least strictly."""


class Row(NamedTuple):
    """A tolerance of models in single precision."""

    tolerance: float
    fits: Callable[[ModelTarget, Settings], bool]


def _trains_on_gpu(settings: Settings) -> bool:
    return settings.phase == "train" and settings.device.startswith("gpu")


OF_MODELS = (
    Row(
        8e-2,
        lambda model, settings: _trains_on_gpu(settings) and model.name in EVEN_HIGHER,
    ),
    Row(1e-3, lambda model, settings: _trains_on_gpu(settings)),
    Row(
        1e-2,
        lambda model, settings: model.suite == "torchbench" and settings.phase == "predict",
    ),
)
"""Those of PyTorch's and PyTorch/XLA's runners; the first that fits counts."""


def tolerance_of(case: Case, dtype: str) -> float:
    """Returns the tolerance of a result of this dtype: the largest that applies to it, to the mixed
    precision that it was computed in, and to the model."""
    autocast = case.settings.autocast
    found = [BY_DTYPE.get(dtype, TOLERANCE)]
    found += [BY_DTYPE.get(autocast, TOLERANCE)] if is_floating(autocast) else []
    target = case.target
    if isinstance(target, ModelTarget):
        found += [row.tolerance for row in OF_MODELS if row.fits(target, case.settings)][:1]
    return max(found)
