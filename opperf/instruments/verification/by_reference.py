"""The verification of a case by its canonical operation: its results are those of the operation's
reference in float64, of the very inputs that it was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from opperf.dtypes import DTYPES, kind_of
from opperf.errors import NoGradientError, UnsupportedError
from opperf.instruments.prepared import PreparedCase, reason_of
from opperf.instruments.verification.arrays import Array, Comparison, root_mean_square
from opperf.instruments.verification.counterpart import NUMBERS, Counterpart, places_of
from opperf.instruments.verification.expected import (
    Said,
    in_double,
    listed,
    of_numbers,
    operation_of,
    reduction_length,
)
from opperf.instruments.verification.judging import verification_of
from opperf.instruments.verification.nearness import (
    REORDERED,
    Allowed,
    Wanted,
    compare,
    passing_wrong,
    rounding_of,
)
from opperf.instruments.verification.slopes import compare_gradient
from opperf.instruments.verification.verifying import prepare_anew, with_settings
from opperf.model import EAGER, DType, Verification, VerificationCode
from opperf.operations.differentiation import MATRICES, way_of
from opperf.operations.uses import ANYTHING

MOST_TERMS = 2**30
"""Terms of all sums of a reference beyond which it is not computed: some seconds of NumPy."""

MOST_IN_WINDOWS = 2**25
"""The same of windows of an image, each of which the reference copies in float64."""

OF_PROPERTY = 16
"""Times the terms of a sum that the errors of a property's sides are of."""

CONSTANT = frozenset({"full", "full_like", "full_of_each", "ones_like", "zeros_like"})
"""Operations whose results are one number everywhere by what they are."""


def verify_by_reference(prepared: PreparedCase) -> Verification:
    """Returns the verification of a case that was measured. To be called in its scope."""
    try:
        said = operation_of(prepared.case, prepared.framework)
        return _Verifying(prepared, said).verification()
    except UnsupportedError as error:
        return Verification(code=VerificationCode.VERIFIER_SKIPPED, reason=str(error))
    except Exception as error:
        # A fault here must not cost the times.
        return Verification.not_run(reason_of(error, prepared.framework))


class _Verifying:
    """The verification of a call by its counterpart."""

    def __init__(self, prepared: PreparedCase, said: Said) -> None:
        self._prepared, self._framework, self._said = prepared, prepared.framework, said
        self._case = prepared.case
        self._own = Counterpart(prepared, said)
        self._more: dict[str, Allowed] = {}
        """For some results, more than all are allowed."""
        self._notes: list[str] = []

    def verification(self) -> Verification:
        """Returns the verification. Raises `UnsupportedError` where the case cannot be verified."""
        results = sum(found.size for found in self._own.found)
        terms = reduction_length(self._said.operation, self._own.before, results)
        self._work = terms * max(1, results)
        self._check_work()
        dtypes = [*self._own.dtypes(), *(found.dtype for found in self._own.found)]
        # Indices beside values in double precision are no reason to allow those more.
        rounding = rounding_of(*(dtype for dtype in dtypes if kind_of(dtype) in NUMBERS))
        # Properties are of products of the outputs, whose errors add up.
        factor = OF_PROPERTY if self._own.reference.is_property else 1
        self._allowed = Allowed(rounding, terms * factor)
        if self._own.reference.is_property:
            return self._by_property()
        wanted = self._own.wanted()
        count = len(listed(self._own.written.output))
        if count != len(self._own.found):
            text = f"there are {len(self._own.found)}, and the operation has {count}"
            return verification_of({"output": Comparison("exact", text)})
        return self._of({own.place: self._compared(own) for own in wanted}, wanted)

    @property
    def _most(self) -> int:
        windows = self._said.operation.module == "windows"
        return MOST_IN_WINDOWS if windows else MOST_TERMS

    def _check_work(self) -> None:
        if self._work > self._most:
            raise UnsupportedError(
                f"its reference in float64 would add some {self._work:.1g} terms, more than "
                f"{self._most:.1g}; verify it at --size small"
            )

    def _compared(self, wanted: Wanted) -> Comparison:
        """Returns how a result compares: by its dtype's rounding alone, else with how the inputs'
        rounding changes it, else beside what the framework's own eager mode computes."""
        reason = self._other_dtype(wanted)
        if reason:
            return Comparison("exact", reason)
        found = compare(wanted, self._allowed)
        for explain in (self._sensitivity, self._own_error):
            if found.is_equal or not found.allowed:
                break
            more = explain(wanted)
            if more:
                allowed = self._allowed_of(wanted.place)._replace(**more)
                self._more[wanted.place] = allowed
                found = compare(wanted, allowed)
        return found

    def _allowed_of(self, place: str) -> Allowed:
        return self._more.get(place, self._allowed)

    def _sensitivity(self, wanted: Wanted) -> dict[str, Any]:
        """Returns how much a result changes with one rounding of the inputs; nothing if changed
        inputs are outside of the domain."""
        draw = np.random.default_rng(0)
        largest: Any = 0.0
        for _ in range(2):
            try:
                made = self._own.reference.results(
                    _moved(self._own.double, self._allowed.rounding, draw)
                )
            except Exception:
                # Densities refuse shares whose sum is no longer one.
                return {}
            value = next(value for place, value in places_of(made) if place == wanted.place)
            with np.errstate(all="ignore"):
                change = np.abs(value - np.asarray(wanted.expected)) / self._allowed.rounding
            largest = np.maximum(largest, np.where(np.isfinite(change), change, 0.0))
        return {"sensitivity": largest}

    def _own_error(self, wanted: Wanted) -> dict[str, Any]:
        """Returns the root mean square error of eager mode; nothing if this is eager mode."""
        if self._case.settings.mode == EAGER:
            return {}
        case = with_settings(self._case, mode=EAGER)
        with self._framework.scope(case):
            eager = Counterpart(prepare_anew(self._prepared, case), self._said)
            own = {each.place: each.found for each in eager.wanted()}.get(wanted.place)
        expected = np.asarray(wanted.expected)
        if own is None or own.shape != expected.shape:
            return {}
        finite = np.isfinite(expected) & np.isfinite(own.values)
        off = root_mean_square((own.values - expected)[finite])
        most = MOST_OWN * self._allowed.unit * root_mean_square(expected[finite])
        return {"own": min(off, most)}

    def _other_dtype(self, wanted: Wanted) -> str:
        """Returns why a result has a dtype that the operation does not have; empty if it has."""
        found, kind = wanted.found.dtype, np.asarray(wanted.expected).dtype.kind
        inputs = {_real(dtype) for dtype in self._own.dtypes()}
        arguments = self._case.arguments.values()
        named = {v.name for v in arguments if isinstance(v, DType)} | {
            value for value in arguments if isinstance(value, str) and value in DTYPES
        }
        if kind_of(found) not in NUMBERS:
            is_other = kind in "fc" and bool(inputs) and not named
            return f"its dtype is {found}, and the operation's results are no integers" * is_other
        known = {_real(dtype) for dtype in named} | inputs
        difference = self._said.difference
        if difference is not None and found in difference.dtypes:
            self._notes.append(f"known difference: {difference.text}")
            return ""
        if known and _real(found) not in {*known, self._case.settings.autocast}:
            return f"its dtype is {found}, and its inputs' {', '.join(sorted(known))}"
        return ""

    def _of(self, made: dict[str, Comparison], wanted: Sequence[Wanted]) -> Verification:
        if all(each.is_equal for each in made.values()):
            passing = ""
            if self._said.operation.name not in CONSTANT:
                found = [each.found for each in wanted]
                passing = passing_wrong(found, partial(self._pass, wanted))
            if passing:
                return _undecidable(passing, len(made))
            made |= self._gradients()
        return verification_of(made, "; ".join(self._notes))

    def _pass(self, wanted: Sequence[Wanted], arrays: list[Array]) -> bool:
        return all(
            compare(each._replace(found=array), self._allowed_of(each.place)).is_equal
            for each, array in zip(wanted, arrays, strict=True)
        )

    def _by_property(self) -> Verification:
        reason = self._property_fails(self._own.found)
        if reason:
            return verification_of({"output": Comparison("exact", reason)})
        # Draws are as random in any order.
        passing = passing_wrong(
            self._own.found, lambda arrays: not self._property_fails(arrays), (REORDERED,)
        )
        if passing:
            return _undecidable(passing)
        self._notes.append("results are not unique: judged by what they have to fulfil")
        if "backward" in self._case.passes:
            self._notes.append("gradients are not verified: they differ with the results")
        return verification_of({"output": Comparison("allclose")}, "; ".join(self._notes))

    def _property_fails(self, outputs: list[Array]) -> str:
        try:
            pairs = self._own.reference.pairs(self._own.double, [array.values for array in outputs])
        except UnsupportedError:
            raise
        except Exception as error:
            # Some results have no such property at all, such as zeros.
            return f"{type(error).__name__}: {error}"
        dtype = max((found.dtype for found in outputs), key=rounding_of)
        for found, expected in pairs:
            values = np.asarray(found)
            own = Array(dtype, values.shape, values)
            if reason := compare(Wanted("", expected, own), self._allowed).reason:
                return reason
        return ""

    def _gradients(self) -> Mapping[str, Comparison]:
        if "backward" not in self._case.passes:
            return {}
        way = way_of(self._said.operation)
        difference = self._said.difference
        if difference is not None and difference.of_gradient:
            self._notes.append(f"known difference: {difference.text}")
            return {}
        if way is None:
            self._notes.append("gradients are not verified: the operation has none")
            return {}
        if self._work > self._most // FOR_SLOPES:
            self._notes.append("gradients are not verified at this size; use --size small")
            return {}
        try:
            found = dict(self._own.results.gradients())
        except NoGradientError as error:
            self._notes.append(f"gradients are not verified: {error}")
            return {}
        heads = self._own.heads()
        if heads is None:
            self._notes.append("gradients are not verified: of which results they are is not known")
            return {}
        outputs = listed(self._own.written.output)
        if any(outputs[number] is ANYTHING for number in heads):
            self._notes.append("gradients are not verified: they are of what no reference says too")
            return {}
        made = {}
        places = self._own.made.differentiated_places
        if len(places) > MOST_INPUTS:
            self._notes.append(f"gradients of {MOST_INPUTS} of {len(places)} inputs are verified")
        shape = MATRICES.get(self._said.operation.name, "")
        turn = np.conj if self._framework.gradients.conjugated else np.asarray
        weights = [turn(head) for head in heads.values()]
        for number, place in enumerate(places[:MOST_INPUTS]):
            x, function = self._own.along(place, list(heads))
            name = f"gradient of {place}"
            value = found.get(name)
            gradient = (
                np.zeros(x.shape) if value is None else in_double(self._own.array(value).values)
            )
            if gradient.shape != x.shape:
                text = f"its shape is {gradient.shape}, and its input's {x.shape}"
                made[name] = Comparison("exact", text)
                continue
            checked = compare_gradient(
                turn(gradient), x, function, weights, way, self._allowed, number, shape
            )
            untold = checked.kinked + checked.blind
            if checked.comparison.is_equal and untold == checked.directions:
                self._notes.append(f"{name} is not verified: no direction tells a wrong one")
                continue
            made[name] = checked.comparison
            if checked.kinked:
                self._notes.append(
                    f"{name}: {checked.kinked} of {checked.directions} directions met a kink"
                )
        return made


FOR_SLOPES = 8
"""Part of the most work of a reference with which it is computed for slopes, some tens of times."""

MOST_INPUTS = 8
"""Inputs of a call whose gradients are verified: a list of tensors may have hundreds."""

MOST_OWN = 2.0**10
"""Roundings that eager mode may be off to count: beyond, it is wrong itself."""


def _moved(value: Any, rounding: float, draw: np.random.Generator) -> Any:
    """Returns inputs with each number changed by one rounding, up or down."""

    def move(array: Any) -> Any:
        return array * (1 + rounding * draw.choice([-1.0, 1.0], array.shape))

    return of_numbers(move, value)


def _real(dtype: str) -> str:
    """Returns the dtype of the parts of a complex one."""
    return {"complex32": "float16", "complex64": "float32", "complex128": "float64"}.get(
        dtype, dtype
    )


def _undecidable(passing: str, compared: int = 0) -> Verification:
    text = f"{passing} in its place would pass as well"
    return Verification(code=VerificationCode.UNDECIDABLE, compared=compared, reason=text)
