"""A case in eager mode and in float64, and the results of its runs."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from opperf.dtypes import kind_of
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
from opperf.instruments.prepared import Bound, PreparedCase
from opperf.instruments.verification.arrays import Array
from opperf.instruments.verification.judging import Results
from opperf.model import Argument, Case, DType, TensorSpec
from opperf.model.declaring import OFF

EAGER = "eager"

DOUBLE = {"float": "float64", "complex": "complex128"}
"""Dtypes of double precision by the kind of a dtype."""


def eager_case(case: Case) -> Case:
    """Returns the case in eager mode."""
    return _with_settings(case, mode=EAGER)


def double_case(case: Case) -> Case:
    """Returns the case in eager mode and in float64. Its arguments are those of `DoubleCase`."""
    return _with_settings(case, mode=EAGER, dtype=DOUBLE["float"], autocast=OFF)


def _with_settings(case: Case, **changed: Any) -> Case:
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
        return self.framework.copy_to_device(tensor, wide, device)

    def _placed(self, built: Any) -> Any:
        rounded = self.framework.place_weights(built, self._rounded)
        return self.framework.place_weights(rounded, self.case)


def _double_of(dtype: str) -> str:
    kind = kind_of(dtype)
    return DOUBLE[kind] if kind is not None else dtype


def prepare_anew(prepared: PreparedCase, case: Case) -> PreparedCase:
    """Returns another case of the same target, prepared anew, with the same random weights. To be
    called in its scope."""
    seed_all(prepared.framework, case.settings.seed)
    return PreparedCase(case, prepared.framework, prepared.bound_for(case))


def prepare_double(eager: PreparedCase) -> PreparedCase:
    """Returns a case of eager mode in float64, with inputs and weights rounded as there; a model is
    converted, and not used further. To be called in the scope of `double_case`."""
    framework, case = eager.framework, double_case(eager.case)
    if isinstance(eager.called, RunnableModel):
        model = eager.called.converted(case)
        return PreparedCase(case, framework, Bound(function=model))
    seed_all(framework, case.settings.seed)
    return DoubleCase(case, eager.case, framework, eager.bound_for(case))


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
    """Returns the arrays and numbers among results."""
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
