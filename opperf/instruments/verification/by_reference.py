"""The verification of a case by its canonical operation: its results are those of the operation's
reference in float64, of the very inputs that it was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opperf.dtypes import DTYPES, kind_of
from opperf.errors import NoGradientError, UnsupportedError
from opperf.instruments.call_results import CallResults, contents_of
from opperf.instruments.prepared import PreparedCase, reason_of
from opperf.instruments.verification.arrays import Array, Comparison
from opperf.instruments.verification.expected import (
    Arguments,
    Reference,
    Said,
    as_arrays,
    in_double,
    listed,
    operation_of,
    reduction_length,
)
from opperf.instruments.verification.judging import WEAKER, figures_of
from opperf.instruments.verification.nearness import (
    Allowed,
    Wanted,
    certainly_wrong,
    compare,
    rounding_of,
)
from opperf.instruments.verification.slopes import compare_gradient
from opperf.instruments.verification.verifying import prepare_anew
from opperf.model import DType, Verification, VerificationCode
from opperf.operations.differentiation import way_of
from opperf.operations.uses import ANYTHING

MOST_TERMS = 2**30
"""Terms of all sums of a reference beyond which it is not computed: some seconds of NumPy."""

MOST_IN_WINDOWS = 2**25
"""The same of windows of an image, each of which the reference copies in float64."""

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
    """One call of a case, and what its operation says of it."""

    def __init__(self, prepared: PreparedCase, said: Said) -> None:
        self._prepared, self._framework, self._said = prepared, prepared.framework, said
        self._case = prepared.case
        self._reference = Reference(said)
        made = prepare_anew(prepared, prepared.case)
        self._made = made
        named = {said.names[name]: value for name, value in made.arguments.items()}
        self._before: Arguments = {n: as_arrays(self._framework, v) for n, v in named.items()}
        self._results = CallResults(made, prepared.case.settings.seed)
        self._results.outputs()
        returned = [own for own in listed(self._results.take_returned()) if own is not None]
        self._found = [self._array(own) for own in returned]
        self._after = {said.names[name]: value for name, value in made.arguments.items()}
        self._double: Arguments = in_double(self._before)
        self._notes: list[str] = []

    def _array(self, value: Any) -> Array:
        held = contents_of(self._framework, value)
        if held is None:
            values = np.asarray(value)
            return Array(values.dtype.name, values.shape, values)
        return Array(held.dtype, held.shape, as_arrays(self._framework, value))

    def verification(self) -> Verification:
        """Returns the verification. Raises `UnsupportedError` where the case cannot be verified."""
        results = sum(found.size for found in self._found)
        terms = reduction_length(self._said.operation, self._before, results)
        self._check_work(terms * max(1, results))
        rounding = rounding_of(*self._dtypes(), *(f.dtype for f in self._found))
        self._allowed = Allowed(rounding, terms)
        if self._reference.is_property:
            return self._by_property()
        wanted = self._wanted()
        if isinstance(wanted, str):
            return _wrong("output", Comparison("exact", wanted))
        return self._of({own.place: self._compared(own) for own in wanted}, wanted)

    def _check_work(self, work: int) -> None:
        windows = self._said.operation.module == "windows"
        most = MOST_IN_WINDOWS if windows else MOST_TERMS
        if work > most:
            raise UnsupportedError(
                f"its reference in float64 would add some {work:.1g} terms, more than {most:.1g}; "
                "verify it at --size small"
            )

    def _dtypes(self) -> list[str]:
        """Returns the dtypes of floating numbers among the inputs, which may be named too."""
        held = (
            contents_of(self._framework, own)
            for value in self._made.arguments.values()
            for own in (value if isinstance(value, (list, tuple)) else [value])
        )
        found = [own.dtype for own in held if own is not None]
        return [dtype for dtype in found if kind_of(dtype) in ("float", "complex")]

    def _wanted(self) -> list[Wanted] | str:
        """Returns the results with what they have to be, or why they are not as many."""
        written = self._reference.results(self._double)
        expected = listed(written.output)
        if len(expected) != len(self._found):
            return f"there are {len(self._found)}, and the operation has {len(expected)}"
        several = [f"output[{number}]" for number in range(len(expected))]
        places = ["output"] if len(expected) == 1 else several
        pairs = list(zip(places, expected, self._found, strict=True))
        for name, value in written.arguments.items():
            found = [self._array(own) for own in listed(self._after[name])]
            pairs += [
                (f"{name} after the call", one, own)
                for one, own in zip(listed(value), found, strict=True)
            ]
        return [Wanted(place, one, own) for place, one, own in pairs if one is not ANYTHING]

    def _compared(self, wanted: Wanted) -> Comparison:
        reason = self._other_dtype(wanted)
        return Comparison("exact", reason) if reason else compare(wanted, self._allowed)

    def _other_dtype(self, wanted: Wanted) -> str:
        """Returns why a result has a dtype that the operation does not have; empty if it has."""
        found, kind = wanted.found.dtype, np.asarray(wanted.expected).dtype.kind
        inputs = {_real(dtype) for dtype in self._dtypes()}
        arguments = self._case.arguments.values()
        named = {v.name for v in arguments if isinstance(v, DType)} | {
            value for value in arguments if isinstance(value, str) and value in DTYPES
        }
        if kind_of(found) not in ("float", "complex"):
            is_other = kind in "fc" and bool(inputs) and not named
            return f"its dtype is {found}, and the operation's results are no integers" * is_other
        known = {_real(dtype) for dtype in named} or inputs
        if known and _real(found) not in known:
            return f"its dtype is {found}, and its inputs' {', '.join(sorted(known))}"
        return ""

    def _of(self, made: dict[str, Comparison], wanted: Sequence[Wanted]) -> Verification:
        if not _first_wrong(made):
            untold = self._untold(wanted)
            if untold:
                return Verification(
                    code=VerificationCode.UNDECIDABLE, compared=len(made), reason=untold
                )
            made |= self._gradients()
        return _verification(made, "; ".join(self._notes))

    def _untold(self, wanted: Sequence[Wanted]) -> str:
        """Returns which wrong result would pass; empty if none would."""
        if self._said.operation.name in CONSTANT:
            return ""
        whole = [each for each in wanted if each.found.is_exact or each.found.size < 2]
        for name, changed in certainly_wrong(wanted):
            same = all(
                np.array_equal(own.found.values, one.found.values, equal_nan=not own.found.is_exact)
                for own, one in zip(changed, wanted, strict=True)
            )
            is_right = same and (
                name in MAY_BE_RIGHT or (name != "zeros" and len(whole) == len(wanted))
            )
            if not is_right and not any(compare(each, self._allowed).reason for each in changed):
                return f"{name} in its place would pass as well"
        return ""

    def _by_property(self) -> Verification:
        reason = self._property_fails(self._found)
        if reason:
            return _wrong("output", Comparison("exact", reason))
        zeros = [found._replace(values=np.zeros_like(found.values)) for found in self._found]
        if not self._property_fails(zeros):
            reason = "zeros in its place would pass as well"
            return Verification(code=VerificationCode.UNDECIDABLE, reason=reason)
        reason = "results are not unique: judged by what they have to fulfil"
        return _verification({"output": Comparison("allclose")}, reason)

    def _property_fails(self, outputs: list[Array]) -> str:
        try:
            pairs = self._reference.pairs(self._double, [array.values for array in outputs])
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
        if way is None:
            self._notes.append("gradients are not verified: the operation has none")
            return {}
        try:
            found = dict(self._results.gradients())
        except NoGradientError as error:
            self._notes.append(f"gradients are not verified: {error}")
            return {}
        heads = self._heads()
        if heads is None:
            self._notes.append("gradients are not verified: of which results they are is not known")
            return {}
        made = {}
        for number, place in enumerate(self._made.differentiated_places):
            x, function = self._along(place, list(heads))
            name = f"gradient of {place}"
            value = found.get(name)
            gradient = np.zeros(x.shape) if value is None else in_double(self._array(value).values)
            if gradient.shape != x.shape:
                text = f"its shape is {gradient.shape}, and its input's {x.shape}"
                made[name] = Comparison("exact", text)
                continue
            checked = compare_gradient(
                gradient, x, function, list(heads.values()), way, self._allowed, number
            )
            made[name] = checked.comparison
            if checked.kinked:
                self._notes.append(
                    f"{name}: {checked.kinked} of {checked.directions} directions met a kink"
                )
        return made

    def _heads(self) -> dict[int, Any] | None:
        """Returns the gradients of results, by which of the results they are of; None if that is
        not known."""
        heads = [in_double(as_arrays(self._framework, head)) for head in self._results.heads]
        floating = [i for i, one in enumerate(self._found) if kind_of(one.dtype) == "float"]
        every = list(range(len(self._found)))
        places = next((p for p in (every, floating) if len(p) == len(heads)), None)
        if places is None and len(heads) == 1 and floating:
            places = floating[:1]
        if places is None:
            return None
        return {place: head for place, head in zip(places, heads, strict=True) if place in floating}

    def _along(self, place: str, outputs: Sequence[int]) -> Any:
        """Returns an input, and the function from it to the results of these numbers."""
        name, _, index = place.partition(".")
        name = self._said.names[name]
        whole = self._double[name]
        x = whole[int(index)] if index else whole

        def function(changed: Any) -> list[Any]:
            value = changed
            if index:
                value = [changed if i == int(index) else one for i, one in enumerate(whole)]
            made = listed(self._reference.results({**self._double, name: value}).output)
            return [made[number] for number in outputs]

        return x, function


MAY_BE_RIGHT = ("its elements in another order", "its first half")
"""Changes that leave some results as they should be."""


def _real(dtype: str) -> str:
    """Returns the dtype of the parts of a complex one."""
    return {"complex32": "float16", "complex64": "float32", "complex128": "float64"}.get(
        dtype, dtype
    )


def _first_wrong(made: Mapping[str, Comparison]) -> str:
    return next((name for name, one in made.items() if not one.is_equal), "")


def _wrong(place: str, comparison: Comparison) -> Verification:
    return _verification({place: comparison}, "")


def _verification(made: Mapping[str, Comparison], note: str) -> Verification:
    wrong = _first_wrong(made)
    mean, largest = figures_of([each.errors for each in made.values()])
    if not wrong:
        methods = [each.method for each in made.values()]
        return Verification(
            code=VerificationCode.PASS,
            method=max(methods, key=WEAKER.index, default=""),
            compared=len(made),
            mean_relative_error=mean,
            max_relative_error=largest,
            reason=note,
        )
    first = made[wrong]
    return Verification(
        code=VerificationCode.FAIL,
        method=first.method,
        compared=len(made),
        mean_relative_error=mean,
        max_relative_error=largest,
        failed=wrong,
        error=first.error,
        allowed=first.allowed,
        reason=first.reason,
    )
