"""What is wrong with a case's inputs, outputs and gradients, from their numbers alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

DOES_NOT_RUN = "does not run"
NOT_FINITE = "not finite"
CONSTANT = "constant output"
EMPTY = "empty output"
MASK = "one-sided mask"
ZERO_GRADIENT = "zero gradient"
WITHOUT_IMAGINARY_PART = "without imaginary part"
INTEGERS = "meaningless integers"
SHARED_WHY = "shared why"
CONSTANT_INPUT = "constant input"
SORTED_INPUT = "sorted input"
NOT_CAUSAL = "mask that is not causal"
EQUAL_EXTENTS = "contraction of equal extents"
OTHER_NUMBERS = "other numbers than why says"
SAME_CALL = "same call"
RESIZED = "contiguous resize"

OF_ROWS = frozenset({SHARED_WHY, EQUAL_EXTENTS, OTHER_NUMBERS, SAME_CALL, RESIZED})
"""Kinds that are found without a run."""

POSITIONS = ("index", "indices", "label", "segment", "target", "token")
"""Beginnings of the words in the names of arguments that hold positions."""

POINTERS = ("ccol", "crow")
"""Words of the names of those that hold where a part of others begins, and where the last ends."""


class Finding(NamedTuple):
    """One thing that is wrong with a case."""

    kind: str
    place: str
    """Of the tensor; empty of what no tensor is wrong about."""
    text: str
    """What, as one line."""

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.kind, self.place, self.text)))


class Values(NamedTuple):
    """The numbers of one tensor."""

    place: str
    """`output[0]`, `x after the call`, `gradient of x`, or the argument's name."""
    numbers: Any
    """As a NumPy array of one axis."""

    @property
    def kind(self) -> str:
        """Returns NumPy's letter for the kind of its dtype."""
        return str(self.numbers.dtype.kind)


def is_constant(numbers: Any) -> bool:
    """Returns whether there are several elements and all are equal; NaN equals nothing."""
    return bool(numbers.size > 1 and (numbers == numbers[0]).all())


def not_finite(values: Values) -> Iterator[Finding]:
    """Yields a finding of NaN and infinite numbers, with their counts."""
    if values.kind not in "fc":
        return
    strange = values.numbers[~np.isfinite(values.numbers)]
    nan = int(np.isnan(strange).sum())
    counts = {"NaN": nan, "infinite": strange.size - nan}
    text = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    if text:
        yield Finding(NOT_FINITE, values.place, f"{text} of {values.numbers.size}")


def judge_outputs(outputs: Iterable[Values]) -> Iterator[Finding]:
    """Yields what is wrong with the tensors that a call returns or writes to."""
    every = list(outputs)
    if every and not any(one.numbers.size for one in every):
        yield Finding(EMPTY, every[0].place, "no element")
    for one in every:
        yield from not_finite(one)
        if is_constant(one.numbers):
            kind = MASK if one.kind == "b" else CONSTANT
            yield Finding(kind, one.place, f"{one.numbers.size} times {one.numbers[0]}")
        yield from without_imaginary_part(one)


def judge_gradients(gradients: Iterable[Values]) -> Iterator[Finding]:
    """Yields what is wrong with gradients."""
    for one in gradients:
        yield from not_finite(one)
        if one.numbers.size and not one.numbers.any():
            yield Finding(ZERO_GRADIENT, one.place, f"{one.numbers.size} zeros")
        else:
            yield from without_imaginary_part(one)


def without_imaginary_part(values: Values) -> Iterator[Finding]:
    """Yields a finding of complex numbers that are all real."""
    if values.kind == "c" and values.numbers.size and not values.numbers.imag.any():
        text = f"{values.numbers.size} real numbers"
        yield Finding(WITHOUT_IMAGINARY_PART, values.place, text)


def judge_integers(inputs: Iterable[Values], limits: Mapping[str, int]) -> Iterator[Finding]:
    """Yields what is wrong with the integers among a call's inputs; `limits` has, for those that
    hold positions, the number of what they may point to."""
    for one in inputs:
        if one.kind not in "iub" or one.numbers.size < 2:
            continue
        if is_constant(one.numbers):
            yield Finding(INTEGERS, one.place, f"{one.numbers.size} times {one.numbers[0]}")
        elif one.place in limits:
            low, high = int(one.numbers.min()), int(one.numbers.max())
            if low < 0 or high >= limits[one.place]:
                text = f"{low} to {high}, where there are {limits[one.place]}"
                yield Finding(INTEGERS, one.place, text)


def holds_positions(name: str) -> bool:
    """Returns whether an argument holds positions, by its name."""
    words = name.lower().replace(".", "_").split("_")
    return any(word.startswith(POSITIONS) for word in words) and not {*words} & {*POINTERS}


def shared_whys(rows: Iterable[tuple[str, str, str]]) -> Iterator[tuple[str, Finding]]:
    """Yields the operators of which several cases have one reason, from the operator, the reason
    and the file and line of all cases."""
    lines: dict[tuple[str, str], list[str]] = {}
    for label, why, line in rows:
        lines.setdefault((label, why), []).append(line)
    for (label, why), found in lines.items():
        if len(found) > 1:
            text = f"{len(found)} times {why!r}: {', '.join(dict.fromkeys(found))}"
            yield label, Finding(SHARED_WHY, "", text)
