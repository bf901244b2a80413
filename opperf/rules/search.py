"""Inputs for operators without a rule, by trial: proposals are made from the declared types, and
the framework accepts or refuses each.

A proposal chooses the first tensor's shape, how the other tensors' shapes follow from it, the
dtypes, the length of lists of tensors, and a value of every required plain parameter. The
alternatives of each choice are ordered by how often they succeed, and proposals by the sum of their
alternatives' ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from opperf.model import (
    UNKNOWN,
    Argument,
    Fill,
    Kind,
    Operator,
    Parameter,
    Struct,
    TensorSpec,
    map_tensors,
)
from opperf.rules.extents import Group, elements, groups, stretch
from opperf.rules.shapes import Shape, square
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    ABOVE_ONE,
    NORMAL,
    POSITIVE_DEFINITE,
    PROBABILITY,
    REQUESTED,
    Arguments,
    below,
)

LIMIT = 300
"""Maximum of proposals for an operator: nearly all accepted ones are among the first 200."""

DEATHS = 3
"""Crashes after which an operator's search ends: a new process for each takes seconds."""

SLOWEST_S = 1.0
"""Seconds that a first call may take at the measured size; slower inputs are made smaller."""

SHRINK = 4
"""Divisor of the number of elements where a call is refused or too slow."""

SHAPES: tuple[Shape, ...] = (
    *((2, 4), (2, 4, 6, 6), (4, 4), (8,), (2, 4, 6), (1,), (2, 4, 4)),
    *((2, 4, 6, 6, 6), (2, 8, 3)),
)
"""Shapes of the first tensor: a matrix, a batch of images, a square matrix, and so on. Extents
differ unless they have to be equal, and are even where an operator may divide them."""

FOLLOWERS: tuple[Callable[[Shape], Shape], ...] = (
    *(lambda shape: shape, lambda shape: UNKNOWN, lambda shape: shape[1:2] or shape),
    *(lambda shape: shape[-1:], lambda shape: shape[:1], lambda shape: (1,)),
    *(lambda shape: (4, *shape[1:]), lambda shape: (*shape[:-2], *shape[:-3:-1])),
    lambda shape: (2, 4),
)
"""Shape of the other tensors, from the first one's: the same; inferred by the framework; one
element for each channel, column or row; a single element; another number of rows; transposed;
always the same matrix."""

INDICES = "int32"
DTYPES: tuple[tuple[str, str], ...] = (
    *((REQUESTED, REQUESTED), (REQUESTED, INDICES), (INDICES, INDICES), (INDICES, REQUESTED)),
    *((dtype, REQUESTED) for dtype in ("int8", "uint8", "bool", "int64")),
    ("int8", "int8"),
)
"""Dtype of the first tensor, and of the others."""

LISTS: tuple[tuple[int, int], ...] = ((2, 2), (1, 1), (2, 1), (3, 1), (4, 1), (3, 3), (4, 2))
"""Length of a list of tensors, and of its counter: an update of one weight takes two tensors."""

FILLS: tuple[Fill, ...] = (NORMAL, PROBABILITY, ABOVE_ONE, POSITIVE_DEFINITE)
"""Fills that are tried in turn while an output has NaN."""

VALUES: dict[Kind, tuple[Argument, ...]] = {
    **{Kind.INT: (1, 2, 0, 4), Kind.FLOAT: (0.5, 1.0, 2.0), Kind.BOOL: (False, True)},
    **{Kind.FLOATS: ((0.5,), (0.5, 0.5)), Kind.STRING: ("float32",), Kind.OTHER: (1,)},
}
"""Values of a required plain parameter, by its kind; enums and shapes have other sources."""

NO_TENSORS: Shape = (2, 4)
"""Shape from which the shape parameters of an operator without tensors are made."""


class Outcome(Protocol):
    """A framework's response to a proposal."""

    @property
    def refusal(self) -> str: ...
    @property
    def arguments(self) -> Mapping[str, Argument]: ...
    @property
    def has_nan(self) -> bool: ...
    @property
    def seconds(self) -> float: ...
    @property
    def ended(self) -> bool: ...


Tries = Callable[[Arguments], Outcome]
"""Calls an operator once with some arguments."""


class SearchResult(Struct, frozen=True):
    """Small inputs that were accepted, or why there are none."""

    arguments: dict[str, Argument] | None = None
    reason: str = ""
    proposals: int = 0
    """Number of proposals up to the accepted one."""
    deaths: int = 0
    """Number of proposals that ended the process."""


def search(operator: Operator, tries: Tries) -> SearchResult:
    """The first proposal that a framework accepts, preferably one without NaN."""
    made, deaths, latest = 0, 0, "it takes no tensor and declares no required argument"
    poor: Arguments | None = None
    deadly: set[Shape] = set()
    for proposal in proposals(operator):
        shape = _first_shape(proposal)
        if shape in deadly:
            continue
        made += 1
        outcome = tries(proposal)
        if outcome.ended:
            deaths += 1
            latest = outcome.refusal
            # Another crash with the same shape would show nothing new.
            deadly.update([shape] if shape is not None else [])
            if deaths == DEATHS:
                reason = f"{deaths} of {made} proposals of the search ended the process: {latest}"
                return SearchResult(poor, reason, made, deaths)
        elif outcome.refusal:
            latest = outcome.refusal
        elif not outcome.has_nan:
            return SearchResult(_with_shapes(proposal, outcome), "", made, deaths)
        else:
            taken = _with_shapes(proposal, outcome)
            better = _without_nan(taken, tries)
            if better is not None:
                return SearchResult(better, "", made, deaths)
            poor = poor or taken
    if poor is not None:
        return SearchResult(poor, "", made, deaths)
    reason = f"none of {made} proposals of the search was accepted; last refusal: {latest}"
    return SearchResult(None, reason, made)


def _first_shape(proposal: Arguments) -> Shape | None:
    """Shape of the first tensor, or of the first of a list; None if there is no tensor."""
    for value in proposal.values():
        first = value[0] if isinstance(value, tuple) else value
        if isinstance(first, TensorSpec):
            return first.shape
    return None


def _with_shapes(proposal: Arguments, outcome: Outcome) -> Arguments:
    """The proposal with the shapes that the framework inferred."""

    def with_shape(value: Argument, passed: Argument) -> Argument:
        if isinstance(value, TensorSpec) and isinstance(passed, TensorSpec):
            return msgspec.structs.replace(value, shape=passed.shape)
        return value

    return {name: with_shape(value, outcome.arguments[name]) for name, value in proposal.items()}


def _without_nan(proposal: Arguments, tries: Tries) -> Arguments | None:
    """The proposal with a fill whose outputs have no NaN; None if no fill helps."""
    for fill in FILLS[1:]:
        filled = {name: _with_fill(value, fill) for name, value in proposal.items()}
        outcome = tries(filled)
        if outcome.ended:
            return None
        if not outcome.refusal and not outcome.has_nan:
            return filled
    return None


def _with_fill(value: Argument, fill: Fill) -> Argument:
    return map_tensors(
        value,
        lambda spec: msgspec.structs.replace(spec, fill=fill) if spec.fill == NORMAL else spec,
    )


def proposals(operator: Operator) -> Iterator[Arguments]:
    """Distinct proposals, the likeliest first, at most `LIMIT`."""
    dimensions = _dimensions(operator)
    seen: set[bytes] = set()
    for picked in index_choices([len(choices) for choices in dimensions.values()]):
        choice = {
            name: choices[i] for (name, choices), i in zip(dimensions.items(), picked, strict=True)
        }
        made = _proposal(operator, choice)
        key = msgspec.json.encode(made)
        if key not in seen:
            seen.add(key)
            yield made
        if len(seen) == LIMIT:
            return


SHAPE, FOLLOWER, DTYPE, LIST, TENSOR_COUNT = "shape", "follower", "dtype", "list", "tensor count"
"""Keys of the choices; plain parameters have keys of their own."""


def _dimensions(operator: Operator) -> dict[str, Sequence[Any]]:
    """The choices for an operator, each with its alternatives."""
    kinds = [parameter.kind for parameter in operator.tensors]
    several = len(kinds) > 1 or Kind.TENSORS in kinds
    dimensions: dict[str, Sequence[Any]] = {SHAPE: SHAPES}
    if kinds:
        dimensions[DTYPE] = DTYPES
    if several:
        dimensions[FOLLOWER] = FOLLOWERS
        # All tensors, or only the first ones: a registry may not say which are optional.
        dimensions[TENSOR_COUNT] = range(len(kinds), 0, -1)
    if Kind.TENSORS in kinds:
        dimensions[LIST] = LISTS
    for parameter in _plain(operator):
        omitted = () if parameter.required else (OMITTED,)
        dimensions[f"parameter {parameter.name}"] = (*omitted, *_values(parameter))
    return dimensions


OMITTED = "omitted"
"""Stands for an optional parameter without a value."""

EMPTY = ("[]", "()", "None")
"""Defaults that stand for no shape, which many operators refuse."""


def _plain(operator: Operator) -> list[Parameter]:
    """The plain parameters with a value in a proposal: required ones, shapes without a default."""
    return [
        parameter
        for parameter in operator.parameters
        if parameter not in operator.tensors
        and parameter.name != operator.variadic
        and (parameter.required or (parameter.kind is Kind.SHAPE and parameter.default in EMPTY))
    ]


def _values(parameter: Parameter) -> Sequence[Any]:
    if parameter.kind is Kind.ENUM:
        return parameter.choices
    if parameter.kind is Kind.SHAPE:
        return SHAPE_VALUES
    return VALUES[parameter.kind]


SHAPE_VALUES: tuple[Callable[[Shape], Shape], ...] = (
    *(lambda shape: (1,) * max(1, len(shape) - 2), lambda shape: shape, lambda shape: (0,)),
    *(lambda shape: (2, 2), lambda shape: (1,) * len(shape), lambda shape: (0,) * len(shape)),
    lambda shape: tuple(range(len(shape))),
)
"""Values of a shape parameter, from the first tensor's shape: a one for each spatial axis; the same
shape; the first axis; a pair; a one for each axis; a zero for each axis; the axes in order."""


def _proposal(operator: Operator, choice: dict[str, Any]) -> Arguments:
    """The arguments of one combination of choices."""
    shape: Shape = choice[SHAPE] if operator.tensors else NO_TENSORS
    first_dtype, other_dtype = choice.get(DTYPE, DTYPES[0])
    length, count = choice.get(LIST, LISTS[0])
    follow = choice.get(FOLLOWER, FOLLOWERS[0])
    made: Arguments = {}
    for position, parameter in enumerate(operator.tensors[: choice.get(TENSOR_COUNT)]):
        first = position == 0
        spec = _tensor(shape if first else follow(shape), first_dtype if first else other_dtype)
        if parameter.kind is Kind.TENSOR:
            made[parameter.name] = spec
        else:
            # A framework infers shapes by name, and the elements of a list have none.
            others = follow(shape)
            rest = _tensor(shape if others == UNKNOWN else others, other_dtype)
            made[parameter.name] = (spec, *(rest for _ in range(length - 1)))
    counter = operator.parameter(operator.variadic) if operator.variadic else None
    if counter is not None and counter.required:
        made[counter.name] = count
    for parameter in _plain(operator):
        value = choice[f"parameter {parameter.name}"]
        if value is OMITTED:
            continue
        made[parameter.name] = value(shape) if parameter.kind is Kind.SHAPE else value
    return made


def _tensor(shape: Shape, dtype: str) -> TensorSpec:
    """A tensor of the dtype. Integers are zeros and ones, in range of any extent above one."""
    if dtype == REQUESTED:
        return TensorSpec(shape, dtype, NORMAL, gradient=True)
    return TensorSpec(shape, dtype, below(2))


def index_choices(lengths: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every tuple of indices below the lengths, ordered by their sum."""

    def of_sum(total: int, rest: Sequence[int]) -> Iterator[tuple[int, ...]]:
        if not rest:
            if total == 0:
                yield ()
            return
        # The other indices have a maximal sum; this index has to make up for the rest.
        least = max(0, total - sum(length - 1 for length in rest[1:]))
        for index in range(least, min(total, rest[0] - 1) + 1):
            for others in of_sum(total - index, rest[1:]):
                yield (index, *others)

    for total in range(sum(length - 1 for length in lengths) + 1):
        yield from of_sum(total, lengths)


def scale(found: Arguments, tries: Tries, preset: Preset) -> Arguments:
    """Accepted inputs scaled to the measured size, or as far as a call takes `SLOWEST_S`."""

    def takes(arguments: Arguments) -> bool:
        outcome = tries(arguments)
        return not outcome.refusal and not outcome.has_nan and outcome.seconds <= SLOWEST_S

    free: Iterable[Group] = groups(found, takes, least=1)
    shares = dict.fromkeys(free, 1.0)
    if not shares:
        return found
    rows, columns = square(preset)
    wanted = rows * columns
    while wanted > elements(found):
        larger = stretch(found, shares, shares, wanted)
        if takes(larger):
            return larger
        wanted //= SHRINK
    return found
