"""What is weak about a case, from its arguments, contents and line of why: it runs, and measures
something else than it says, or the work of another case."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from opperf.dtypes import element_bytes
from opperf.model import Argument, Case, Operator, TensorSpec, iter_tensors
from opperf.rules.configurations import TINY
from tests.conformance.judging import (
    CONSTANT_INPUT,
    EQUAL_EXTENTS,
    NOT_CAUSAL,
    OTHER_NUMBERS,
    RESIZED,
    SAME_CALL,
    SORTED_INPUT,
    Finding,
    Values,
    is_constant,
)

SORTS = re.compile(
    r"(^|[._])((arg|m|lex)?sort|(arg)?partition|(approx_)?top_?k|approx_m(ax|in)_k|kthvalue|"
    r"(nan)?(median|quantile|percentile)|unique\d*(_dim|_values|_all|_counts|_inverse)?|mode|isin|"
    r"in1d|searchsorted|bucketize|digitize)(\.|$)"
)
"""Operators whose time depends on the order of their inputs."""

IN_ORDER = frozenset({"sorted_sequence", "boundaries", "bins", "a", "q", "sorter", "test_elements"})
"""Arguments of theirs that are in order, or need not be drawn: that of `searchsorted` is `a`."""

FROM_ZERO = frozenset({"delta", "exp_avgs", "hx", "mean", "mom", "out", "state", "state_cell", "z"})
"""Arguments that are zero before a first step, or that a call writes to."""

CONTRACTIONS = re.compile(r"(^|[._])(einsum|multi_dot|chain_matmul)([._]|$)")
"""Operators whose order of products depends on the extents."""

POINTWISE = frozenset({"unary", "binary", "binary_scalar", "binary_elementwise", "rounding"})
"""Categories of operators whose time is by the number of elements."""


def judge_contents(case: Case, inputs: Iterable[Values]) -> Iterator[Finding]:
    """Yields what is weak about the contents of a call's tensors."""
    shapes = {place: spec.shape for place, spec in case.tensors()}
    sorts = SORTS.search(case.label.lower())
    for one in inputs:
        argument = one.place.partition("[")[0]
        if one.kind in "fc" and is_constant(one.numbers):
            if argument in FROM_ZERO and not one.numbers.any():
                continue
            text = f"{one.numbers.size} times {one.numbers[0]}"
            yield Finding(CONSTANT_INPUT, one.place, text)
            continue
        shape = shapes.get(one.place, ())
        if math.prod(shape) != one.numbers.size or not shape:
            continue
        if sorts and argument not in IN_ORDER and _in_order(one, shape):
            yield Finding(SORTED_INPUT, one.place, f"{shape}")
        if "causal" in case.why and "mask" in one.place and not _is_causal(one, shape):
            yield Finding(NOT_CAUSAL, one.place, f"{shape}")


def _in_order(values: Values, shape: Sequence[int]) -> bool:
    """Whether the numbers of each row rise, or of each fall."""
    rows = values.numbers.reshape(-1, shape[-1])
    if values.kind == "c" or shape[-1] < 3:
        return False
    before, after = rows[:, :-1], rows[:, 1:]
    return bool((before <= after).all() or (before >= after).all())


def _is_causal(values: Values, shape: Sequence[int]) -> bool:
    """Whether a mask lets each position see those before it alone; one of two axes at least."""
    if len(shape) < 2:
        return True
    numbers = values.numbers.reshape(-1, *shape[-2:])
    seen = numbers != 0 if values.kind in "biu" else np.exp(numbers.astype(np.float64)) > 0.5
    offset = shape[-1] - shape[-2]
    triangle = np.tril(np.ones(shape[-2:], bool), offset)
    return bool((seen == triangle).all() or (seen == ~triangle).all())


def judge_arguments(case: Case) -> Iterator[Finding]:
    """Yields what is weak about a call's shapes, and what its line of why says of them."""
    shapes = [spec.shape for _, spec in case.tensors()]
    extents = {extent for shape in shapes for extent in shape}
    if CONTRACTIONS.search(case.label) and len(shapes) > 2 and len(extents) == 1:
        yield Finding(EQUAL_EXTENTS, "", f"{len(shapes)} tensors of {extents} only")
    if "recorded" in case.origin:
        # Made of what was recorded, which may be too large for the size.
        return
    known = set(_numbers_of(case))
    other = [text for text in _numbers_in(case.why) if not _occurs(text, known)]
    if other:
        yield Finding(OTHER_NUMBERS, "", f"{', '.join(other)} in {case.why!r}")


NUMBER = re.compile(
    r"(?<![\w.,/()+-])(?<!stage )(?<!below )(?<!above )"
    r"\d[\d,]*(\.\d+)?(?![\w.-]*[A-Za-z])(?!-)(?! (ms|k?Hz|seconds))"
)
"""A number that a line of why has by itself: not in a model's name, nor of a stage, a range or
seconds."""

LEAST = 6
"""Smaller numbers are of anything: two branches, a fifth."""


def _numbers_in(why: str) -> Iterator[str]:
    for found in NUMBER.finditer(why):
        before = why[: found.start()].rstrip().rpartition(" ")[2]
        if before[:1].isupper() or float(found[0].replace(",", "")) < LEAST:
            continue
        yield found[0].replace(",", "")


def _occurs(text: str, known: set[float]) -> bool:
    number = float(text)
    return any(math.isclose(number, one, rel_tol=0.01) for one in known)


def _numbers_of(case: Case) -> Iterator[float]:
    """Yields the numbers that a line of why may have of a case: extents, products of some, counts
    of elements, values, ranges and the bits of dtypes."""
    for value in case.arguments.values():
        specs = list(iter_tensors(value))
        yield float(len(specs))
        for spec in specs:
            yield from _numbers_of_tensor(spec)
        yield from _plain_numbers(value)
    shapes = [spec.shape for _, spec in case.tensors()]
    yield float(len(shapes))
    extents = {extent for shape in shapes for extent in shape if extent}
    yield from (one / other for one in extents for other in extents)
    yield float(sum(one for one in case.arguments.values() if type(one) is int))


def _numbers_of_tensor(spec: TensorSpec) -> Iterator[float]:
    shape = spec.shape
    for first in range(len(shape)):
        for last in range(first, len(shape)):
            part = math.prod(shape[first : last + 1])
            yield from (float(part), float(part - 1), float(part + 1))
    yield from (float(one) for one in (spec.fill.low, spec.fill.high, spec.fill.high - 1))
    yield 8.0 * element_bytes(spec.dtype or "float32")
    yield from (spec.density, 100 * spec.density)
    yield from map(float, spec.strides)


def _plain_numbers(value: Argument) -> Iterator[float]:
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from _plain_numbers(one)
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and value:
        yield from (float(value), 1 / value, 100 * value, 100 * (1 - value))


def tags_of(case: Case) -> set[str]:
    """Returns the tags of a case's row, where its plan has the places of rules."""
    return {tag for place in case.rules for tag in place.tags}


def judge_together(
    cases: Sequence[Case], operator: Operator | None
) -> Iterator[tuple[Case, Finding]]:
    """Yields what measures the work of another case, among the cases of one operator: one with the
    same arguments, but for those that have the values of defaults; of operators that work element
    by element, one whose tensors are contiguous too, and have at most `TIMES` the elements."""
    seen: dict[Any, list[tuple[Case, int]]] = {}
    for case in cases:
        if TINY in tags_of(case):
            continue
        size = sum(spec.size for _, spec in case.tensors())
        for key in _keys(case, operator):
            alike = [one for one, other in seen.get(key, ()) if _are_near(size, other)]
            seen.setdefault(key, []).append((case, size))
            if alike:
                yield case, Finding(key[0], "", f"as {alike[0].why!r}")
                break


TIMES = 2
"""Tensors with more than so many times the elements may be in another cache."""


def _are_near(size: int, other: int) -> bool:
    return max(size, other) <= TIMES * min(size, other)


def _keys(case: Case, operator: Operator | None) -> Iterator[Any]:
    named = {} if operator is None else {one.name: one.default for one in operator.parameters}
    arguments = {
        name: value
        for name, value in case.arguments.items()
        if name not in named or named[name] is None or str(value) != str(named[name])
    }
    of_run = (case.settings.phase, case.settings.dtype)
    yield (SAME_CALL, repr(sorted(arguments.items())), *of_run)
    tensors = [spec for _, spec in case.tensors()]
    shapes = {spec.shape for spec in tensors}
    # Recorded calls are those of models, whatever their shapes.
    if "recorded" in case.origin:
        return
    if case.category in POINTWISE and len(shapes) == 1 and all(map(_is_plain, tensors)):
        bare = {
            name: msgspec.structs.replace(value, shape=())
            if isinstance(value, TensorSpec)
            else value
            for name, value in arguments.items()
        }
        yield (RESIZED, repr(sorted(bare.items())), *of_run)


def _is_plain(spec: TensorSpec) -> bool:
    """Whether a tensor is contiguous, and no option."""
    is_contiguous = spec.layout == "dense" and not spec.is_view and not spec.memory_format
    return is_contiguous and spec.fill.distribution != "literal"
