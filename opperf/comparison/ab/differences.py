"""Where the results of one call of A and of one of B differ by more than their precision explains.

Results are in files, as the arms may have different environments, and are read a part at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from opperf.dtypes import kind_of
from opperf.instruments.times import BACKWARD
from opperf.model import Case, Difference, Tolerance
from opperf.model.declaring import OFF
from opperf.worker.protocol import AFTER, AGAIN, OTHER, TIMED, Observed, Value


class Precision(NamedTuple):
    """Tolerance of results of a dtype, as shares."""

    of_element: float
    of_largest: float
    """Of the largest element of the tensor: what is left of terms that cancel has their error."""
    of_all: float
    """Of the largest element of all outputs, or of all gradients: a gradient that is zero but for
    rounding, like that of a bias before a batch normalisation, has the error of the others."""


PRECISIONS: dict[str, Precision] = {
    "float64": Precision(1e-7, 1e-8, 1e-12),
    "float32": Precision(1e-4, 1e-5, 1e-6),
    "float16": Precision(4e-3, 2e-3, 1e-3),
    "bfloat16": Precision(3e-2, 2e-2, 8e-3),
    **dict.fromkeys(("float8_e4m3fn", "float8_e4m3fnuz"), Precision(0.5, 0.25, 0.13)),
    **dict.fromkeys(("float8_e5m2", "float8_e5m2fnuz"), Precision(1.0, 0.5, 0.25)),
}
"""By dtype, from the finest. In less than single precision, the error is four, two and one times
the distance of two numbers (2**-10 of float16, 2**-7 of bfloat16): sums are in single precision,
and inputs, steps and results are each rounded once. Of single precision, 1e-7, it is a thousand
times that, and a hundred and ten: sums of ten thousand terms in another order, fast exponentials
and the condition of matrices make it so. In double precision, 2e-16, series compute some functions
to 1e-8."""

REAL = {
    **{"complex128": "float64", "complex64": "float32", "complex32": "float16"},
    **{"float": "float64", "complex": "float64"},
}
"""Dtypes of the parts of complex numbers, and of Python's numbers."""


def coarsest(names: Iterable[str]) -> str | None:
    """Returns the floating-point dtype of the lowest precision; None without one."""
    found = [dtype for name in names if (dtype := REAL.get(name, name)) in PRECISIONS]
    return max(found, key=list(PRECISIONS).index, default=None)


def dtypes_of(case: Case) -> list[str]:
    """Returns the dtypes of a case's tensors and of its mixed precision."""
    names = [spec.dtype for _, spec in case.tensors()]
    return [*names, *([case.settings.autocast] if case.settings.autocast != OFF else [])]


def bounds(tolerance: Tolerance, dtype: str, largest: float, of_all: float) -> tuple[float, float]:
    """Returns the relative and the absolute error that elements of a precision may have; `largest`
    is the largest finite element of A's tensor, `of_all` that of its outputs or gradients."""
    usual = PRECISIONS[dtype]
    relative = usual.of_element if tolerance.rtol is None else tolerance.rtol
    absolute = usual.of_largest * largest + usual.of_all * of_all
    return relative, absolute if tolerance.atol is None else tolerance.atol


EXACT = Tolerance(rtol=0.0, atol=0.0)

PART = 1 << 22
"""Elements that are compared at once: 32 MiB in double precision."""

GRADIENT = "gradient of "
"""Beginning of the places of gradients."""

USUAL = "float32"
"""Precision of real results that no dtype decides, such as those of quantised tensors."""


class Side(NamedTuple):
    """The case of an arm, what it resulted in, and the folder of its files."""

    case: Case
    observed: Observed
    folder: Path

    def without(self, end: str) -> Side:
        """Returns the side without the values whose places have an end."""
        left = (value for value in self.observed.values if not value.place.endswith(end))
        return self._replace(observed=msgspec.structs.replace(self.observed, values=tuple(left)))

    def elements(self, value: Value) -> Any:
        """Returns the elements of a value in its file, of which those that are used are read."""
        return np.load(self.folder / value.file, mmap_mode="r", allow_pickle=False)


def find_differences(
    a: Side, b: Side, tolerance: Tolerance, names: Mapping[str, str]
) -> list[Difference]:
    """Returns where the results of B differ from those of A: outputs, arguments that a call wrote
    to, and gradients if both have them. `names` are the arguments of B that have another name in
    A."""
    with_gradients = not any(
        side.observed.without_gradients or BACKWARD.name not in side.case.passes for side in (a, b)
    )
    ours, theirs = (
        {
            renamed(value.place, other): value
            for value in side.observed.values
            if with_gradients or not value.place.startswith(GRADIENT)
        }
        for side, other in ((a, {}), (b, names))
    )
    largest = {False: 0.0, True: 0.0}
    for place, value in ours.items():
        kind = place.startswith(GRADIENT)
        largest[kind] = max(largest[kind], _largest(a, value))
    found = []
    for place in dict.fromkeys([*ours, *theirs]):
        one, other = ours.get(place), theirs.get(place)
        if one is None or other is None:
            found.append(Difference(place, f"in {'A' if other is None else 'B'} only"))
        else:
            of_all = largest[place.startswith(GRADIENT)]
            found += _compare(place, (a, one), (b, other), tolerance, of_all)
    return found


def is_partial(side: Side) -> bool:
    """Whether the files have a part of the elements only; of later calls they may."""
    return any(value.step > 1 for value in side.observed.values if not is_later(value.place))


LATER = (AGAIN, TIMED, AFTER, OTHER)
"""Ends of the name of a result of a call after the first."""


def is_later(place: str) -> bool:
    """Whether a place is that of a result of a call after the first."""
    return place.endswith(LATER)


def once(found: Iterable[Difference]) -> list[Difference]:
    """Returns differences without those of later calls at places that differ at an earlier one."""
    listed = list(found)
    places = {difference.place for difference in listed}
    return [each for each in listed if not places & _before(each.place)]


def _before(place: str) -> set[str]:
    """Returns where the same result of an earlier call is."""
    first = at_first(place)
    before = {first, place.removesuffix(OTHER)}
    return (before | {first + TIMED} if AFTER in place else before) - {place}


def at_first(place: str) -> str:
    """Returns the place of the same result of the first call."""
    for end in (OTHER, AFTER, TIMED, AGAIN):
        place = place.removesuffix(end)
    return place


def renamed(place: str, names: Mapping[str, str]) -> str:
    """Returns a place of B's results with the name that its argument has in A."""
    start = GRADIENT if place.startswith(GRADIENT) else ""
    for name, other in names.items():
        rest = place[len(start) :]
        if rest.startswith(name) and not rest[len(name) :][:1].isidentifier():
            return start + other + rest[len(name) :]
    return place


Held = tuple[Side, Value]
"""A value and the side whose it is."""


def _compare(
    place: str, ours: Held, theirs: Held, tolerance: Tolerance, of_all: float
) -> Iterator[Difference]:
    (a, one), (b, other) = ours, theirs
    if not (one.file and other.file):
        if (one.text, bool(one.file)) != (other.text, bool(other.file)):
            yield Difference(place, f"{_shown(one)} in A, {_shown(other)} in B")
        return
    if one.shape != other.shape:
        yield Difference(place, f"shape {one.shape} in A, {other.shape} in B")
        return
    texts = []
    if one.type != other.type and not (one.usual and other.usual):
        texts.append(f"{one.type} in A, {other.type} in B")
    if one.layout != other.layout:
        texts.append(f"{one.layout} in A, {other.layout} in B")
    if one.dtype != other.dtype and not _is_own(a.case, one.dtype, b.case, other.dtype):
        texts.append(f"{one.dtype} in A, {other.dtype} in B")
    errors = _Errors(ours, theirs, tolerance, of_all)
    share = errors.count / errors.compared if errors.count else 0.0
    if errors.count:
        texts.append(errors.text())
    elif texts:
        within = errors.tolerance_text(tolerance)
        errors = _Errors(ours, theirs, EXACT, 0.0)
        texts.append(f"{within}, {errors.largest()}" if errors.count else "with equal values")
    if texts:
        yield Difference(
            place, ", ".join(texts), errors.index, errors.absolute, errors.relative, share
        )


def _shown(value: Value) -> str:
    return value.text or f"{value.dtype} {value.shape}"


def _is_own(a: Case, one: str, b: Case, other: str) -> bool:
    set_apart = any(
        getattr(a.settings, name) != getattr(b.settings, name) for name in ("dtype", "autocast")
    )
    return set_apart and kind_of(one) is not None and kind_of(one) == kind_of(other)


def _largest(side: Side, value: Value) -> float:
    """Returns the largest finite magnitude of a value's elements; 0 without one."""
    if not value.file:
        return 0.0
    elements, found = side.elements(value), 0.0
    for start in range(0, len(elements), PART):
        part = np.abs(_wide(elements[start : start + PART]))
        found = max(found, float(np.max(part, where=np.isfinite(part), initial=0.0)))
    return found


def _wide(elements: Any) -> Any:
    return elements.astype("complex128" if elements.dtype.kind == "c" else "float64")


class _Errors:
    """The errors of the elements of B's value, which has the shape of A's."""

    def __init__(self, ours: Held, theirs: Held, tolerance: Tolerance, of_all: float) -> None:
        (a, one), (b, other) = ours, theirs
        self._shape = one.shape
        # Large tensors of dtypes of different sizes have different elements in the files.
        self._step = math.lcm(one.step, other.step)
        left = a.elements(one)[:: self._step // one.step]
        right = b.elements(other)[:: self._step // other.step]
        self._bounds = (0.0, 0.0)
        self._precision = ""
        if {left.dtype.kind, right.dtype.kind} & set("fc"):
            dtypes = [one.dtype, other.dtype, *dtypes_of(a.case), *dtypes_of(b.case)]
            self._precision = coarsest(dtypes) or USUAL
            self._bounds = bounds(tolerance, self._precision, _largest(a, one), of_all)
        self.compared = len(left)
        self.count = 0
        self.index: tuple[int, ...] | None = None
        self.absolute: float | None = None
        self.relative: float | None = None
        self._values: tuple[Any, Any] = (None, None)
        for start in range(0, self.compared, PART):
            self._add(start, left[start : start + PART], right[start : start + PART])

    def _add(self, start: int, one: Any, other: Any) -> None:
        a, b = _wide(one), _wide(other)
        with np.errstate(invalid="ignore", over="ignore"):
            error = np.abs(b - a)
            relative, absolute = self._bounds
            if one.dtype.kind in "fc" or other.dtype.kind in "fc":
                differs = ~((a == b) | (np.isnan(a) & np.isnan(b)))
                differs &= ~(np.isfinite(error) & (error <= absolute + relative * np.abs(a)))
            else:
                # Integers of 64 bits are not exact in double precision.
                differs = one != other
        if not differs.any():
            return
        self.count += int(differs.sum())
        # What is a finite number in one arm only is worse than any error.
        lost = differs & ~np.isfinite(error)
        if lost.any():
            if self.index is None or self.absolute is not None:
                self._keep(start, int(np.argmax(lost)), a, b, None)
        elif self.index is None or self.absolute is not None:
            place = int(np.argmax(np.where(differs, error, -1.0)))
            if self.absolute is None or float(error[place]) > self.absolute:
                self._keep(start, place, a, b, float(error[place]))

    def _keep(self, start: int, place: int, a: Any, b: Any, error: float | None) -> None:
        """Keeps an element as the one with the largest error."""
        flat = (start + place) * self._step
        self.index = tuple(int(number) for number in np.unravel_index(flat, self._shape or (1,)))
        self.index = self.index if self._shape else ()
        self._values = a[place].item(), b[place].item()
        size = abs(self._values[0])
        self.absolute = error
        self.relative = error / size if error is not None and size else None

    def tolerance_text(self, tolerance: Tolerance) -> str:
        """Returns within what the elements are equal, where none differs."""
        if tolerance != Tolerance() or not self._precision:
            return "equal within the tolerance"
        return f"equal within {self._precision}'s tolerance"

    def largest(self) -> str:
        """Returns the largest error, or the first element that is finite in one arm only."""
        one, other = (f"{value:.6g}" for value in self._values)
        where = f" at {list(self.index)}" if self.index else ""
        parts = f"{one} in A and {other} in B{where}"
        if self.absolute is not None:
            share = "" if self.relative is None else f" ({self.relative:.2g} of A's)"
            parts = f"largest error {self.absolute:.3g}{share}: {parts}"
        return parts

    def text(self) -> str:
        parts = self.largest()
        if self.compared == 1:
            return parts
        relative, absolute = self._bounds
        allowed = f" beyond {relative:.2g} of A's and {absolute:.2g}" if any(self._bounds) else ""
        return f"{parts}; {self.count} of {self.compared} elements differ{allowed}"
