"""The runs of a verification: twice eager mode, once float64, and the mode under test; its
variants."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import numpy as np

from opperf.dtypes import is_floating, kind_of
from opperf.errors import NoGradientError
from opperf.frameworks import Framework
from opperf.frameworks.models import RunnableModel
from opperf.instruments.call_results import (
    CallResults,
    Leaf,
    contents_of,
    leaves,
    seed_all,
    step_of,
)
from opperf.instruments.prepared import Bound, PreparedCase, reason_of
from opperf.instruments.verification.arrays import Array
from opperf.instruments.verification.judging import (
    Results,
    differing_runs,
    is_far,
    judge,
    judge_eager,
)
from opperf.model import (
    EAGER,
    Argument,
    Case,
    DType,
    ModelTarget,
    Settings,
    SnippetTarget,
    TensorSpec,
    TraceTarget,
    Verification,
    VerificationCode,
)
from opperf.model.declaring import OFF
from opperf.rules.deviations import is_unwritten
from opperf.rules.engine import rules_module

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
        return Verification.not_run(reason_of(error, framework))


def _why_not(case: Case, framework: Framework) -> str:
    for kind, reason in WITHOUT_RESULTS.items():
        if isinstance(case.target, kind):
            return reason
    if EAGER not in framework.modes.names:
        return f"{framework.name} has no eager mode"
    listed = rules_module(framework.rules).NOT_FINITE
    if framework.naming.is_own(case.target) and is_unwritten(case, framework, listed):
        return "it returns memory that it does not write"
    return ""


class _Ended(Exception):
    def __init__(self, code: VerificationCode, reason: str) -> None:
        super().__init__(reason)
        self.verification = Verification(code=code, reason=reason)


class _Runs:
    """The runs of one case. The results of each are read before the next is made, so that of models
    no more than two are in memory at a time."""

    def __init__(self, prepared: PreparedCase) -> None:
        self._prepared, self._framework = prepared, prepared.framework
        self._case = prepared.case
        self._eager = with_settings(self._case, mode=EAGER)
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
        drawing = self._framework.modes.drawing_as_eager(mode)
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
                after = framework.processes.random_state(device)
                seed_all(framework, seed)
                self._draws = after is None or framework.processes.random_state(device) != after
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
            self._without_double = reason_of(error, framework)
            return results, {}
        if self._draws and is_far(results, double, partial(tolerance_of, self._case)):
            self._without_double = "there it draws other random numbers"
            return results, {}
        return results, double

    def _eager_failed(self, error: Exception) -> _Ended:
        return _Ended(VerificationCode.EAGER_FAILED, reason_of(error, self._framework))

    def _run_under_test(self) -> Results:
        """Returns the results of the case prepared anew, as calls may have changed what the one
        that was measured keeps, and its times are not to depend on the verification."""
        try:
            return results_of(prepare_anew(self._prepared, self._case))
        except Exception as error:
            reason = reason_of(error, self._framework)
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


def _model_tolerance(model: ModelTarget, settings: Settings) -> float:
    """Returns that of PyTorch's and PyTorch/XLA's runners for a model; 0 without one."""
    if settings.phase == "train" and settings.device.startswith("gpu"):
        return 8e-2 if model.name in EVEN_HIGHER else 1e-3
    return 1e-2 if model.suite == "torchbench" and settings.phase == "predict" else 0.0


def tolerance_of(case: Case, dtype: str) -> float:
    """Returns the tolerance of a result of this dtype: the largest that applies to it, to the mixed
    precision that it was computed in, and to the model."""
    autocast = case.settings.autocast
    found = [BY_DTYPE.get(dtype, TOLERANCE)]
    found += [BY_DTYPE.get(autocast, TOLERANCE)] if is_floating(autocast) else []
    if isinstance(case.target, ModelTarget):
        found.append(_model_tolerance(case.target, case.settings))
    return max(found)


DOUBLE = {"float": "float64", "complex": "complex128"}
"""Dtypes of double precision by the kind of a dtype."""


def double_case(case: Case) -> Case:
    """Returns the case in eager mode and in float64. Its arguments are those of `DoubleCase`."""
    return with_settings(case, mode=EAGER, dtype=DOUBLE["float"], autocast=OFF)


def with_settings(case: Case, **changed: Any) -> Case:
    """Returns a case with other settings."""
    settings = msgspec.structs.replace(case.settings, **changed)
    return msgspec.structs.replace(case, settings=settings)


class DoubleCase(PreparedCase):
    """A prepared operator, function or layer in float64, with inputs and weights as another case's
    dtype rounds them. To be made and used in the scope of its own case. Raises what the framework
    raises where it has no such arrays."""

    def __init__(self, case: Case, rounded: Case, framework: Framework, bound: Bound) -> None:
        self._rounded = rounded
        super().__init__(case, framework, bound)

    def _value(self, place: str, argument: Argument) -> Any:
        if isinstance(argument, DType) and kind_of(argument.name) in DOUBLE:
            return super()._value(place, DType(_double_of(argument.name)))
        if argument == self._rounded.settings.dtype and place == "dtype":
            return super()._value(place, _double_of(argument))
        return super()._value(place, argument)

    def _finished(self, tensor: Any, spec: TensorSpec, device: str) -> Any:
        if kind_of(spec.dtype) not in DOUBLE or spec.dtype in DOUBLE.values():
            return tensor
        fill = msgspec.structs.replace(spec.fill, dtype=spec.dtype)
        wide = msgspec.structs.replace(spec, dtype=_double_of(spec.dtype), fill=fill)
        return self.framework.arrays.copy_to_device(tensor, wide, device)

    def _placed(self, built: Any) -> Any:
        rounded = self.framework.objects.place_weights(built, self._rounded)
        return self.framework.objects.place_weights(rounded, self.case)


def _double_of(dtype: str) -> str:
    kind = kind_of(dtype)
    return DOUBLE[kind] if kind is not None else dtype


def prepare_anew(prepared: PreparedCase, case: Case) -> PreparedCase:
    """Returns another case of the target, in its scope, with the same random weights."""
    seed_all(prepared.framework, case.settings.seed)
    return PreparedCase(case, prepared.framework, prepared.bound.of(case))


def prepare_double(eager: PreparedCase) -> PreparedCase:
    """Returns a case of eager mode in float64, with inputs and weights rounded as there; a model is
    converted, and not used further. To be called in the scope of `double_case`."""
    framework, case = eager.framework, double_case(eager.case)
    if isinstance(eager.called, RunnableModel):
        model = eager.called.converted(case)
        return PreparedCase(case, framework, Bound(function=model))
    seed_all(framework, case.settings.seed)
    return DoubleCase(case, eager.case, framework, eager.bound.of(case))


def results_of(prepared: PreparedCase) -> Results:
    """Returns the arrays of one run: of a model those of its last step, else those of a call and
    its gradients. To be called in the case's scope."""
    framework, case = prepared.framework, prepared.case
    if isinstance(prepared.called, RunnableModel):
        prepared.called.reset()
        seed_all(framework, case.settings.seed)
        found = list(prepared.called.results(case.settings.verify_iterations).items())
        framework.synchronize(case.settings.device)
        return _read(framework, found)
    results = CallResults(prepared, case.settings.seed)
    read = _read(framework, results.outputs())
    if "backward" in case.passes:
        try:
            read |= _read(framework, results.gradients())
        except NoGradientError:
            # Not of these inputs, in any mode: else the other mode's are results that are missing.
            return read
    return read


def _read(framework: Framework, results: list[Leaf]) -> dict[str, Array]:
    found = [
        (place, held)
        for name, value in results
        for place, one in leaves(name, value)
        if (held := contents_of(framework, _as_array(one))) is not None
    ]
    step = step_of(held for _, held in found)
    return {place: Array(held.dtype, held.shape, held.numbers(step)) for place, held in found}


def _as_array(value: Any) -> Any:
    if isinstance(value, (bool, int, float, complex)):
        made = np.asarray(value)
        # An integer of more than 64 bits is an object, of which nothing is compared.
        return made if made.dtype.kind in "biufc" else value
    return value
