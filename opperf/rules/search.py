"""Inputs for operators that no rule knows: proposals from declared types, for a framework to
accept or refuse.

A proposal is a choice of each of several things: the first tensor's shape, how the other tensors'
shapes follow from it, the dtypes, how long a list of tensors is, and a value for every plain
parameter that is required. Choices are ordered by how often they are right, and proposals are
made in the order of how unusual they are taken together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from opperf.model import UNKNOWN, Argument, Fill, Kind, Operator, Parameter, Struct, TensorSpec
from opperf.rules.extents import Group, elements, groups, stretched
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
"""Proposals made for an operator at most. Of those that are ever taken nearly all are among the
first two hundred, and a refusal costs less than a millisecond."""

DEATHS = 3
"""Proposals that may end the process before an operator is given up: each costs a new one, which
takes seconds."""

SLOWEST_S = 1.0
"""Seconds a first call may take at the size that is measured; one that is slower is made
smaller."""

SHRINK = 4
"""By what the elements wanted are divided where a call is refused or too slow."""

SHAPES: tuple[Shape, ...] = (
    (2, 4),
    (2, 4, 6, 6),
    (4, 4),
    (8,),
    (2, 4, 6),
    (1,),
    (2, 4, 4),
    (2, 4, 6, 6, 6),
    (2, 8, 3),
)
"""Of the first tensor: a matrix, a batch of images, a square, and so on. Extents differ where
nothing wants them equal, so that one which does shows; they are even where something may want to
divide them."""

FOLLOWERS: tuple[Callable[[Shape], Shape], ...] = (
    lambda shape: shape,
    lambda shape: UNKNOWN,
    lambda shape: shape[1:2] or shape,
    lambda shape: shape[-1:],
    lambda shape: shape[:1],
    lambda shape: (1,),
    lambda shape: (4, *shape[1:]),
    lambda shape: (*shape[:-2], *shape[:-3:-1]),
    lambda shape: (2, 4),
)
"""Shape of the other tensors, from the first one's: the same, as the framework says, one for each
channel, column or row, a single number, rows of another number, transposed, a matrix whatever the
first is."""

INDICES = "int32"
DTYPES: tuple[tuple[str, str], ...] = (
    (REQUESTED, REQUESTED),
    (REQUESTED, INDICES),
    (INDICES, INDICES),
    (INDICES, REQUESTED),
    ("int8", REQUESTED),
    ("uint8", REQUESTED),
    ("bool", REQUESTED),
    ("int64", REQUESTED),
    ("int8", "int8"),
)
"""Of the first tensor and of the others."""

LISTS: tuple[tuple[int, int], ...] = ((2, 2), (1, 1), (2, 1), (3, 1), (4, 1), (3, 3), (4, 2))
"""Tensors in a list, and the number that a parameter which counts says: weights and gradients are
two tensors and one weight."""

FILLS: tuple[Fill, ...] = (NORMAL, PROBABILITY, ABOVE_ONE, POSITIVE_DEFINITE)
"""Contents that are tried in turn while an output has NaN."""

VALUES: dict[Kind, tuple[Argument, ...]] = {
    Kind.INT: (1, 2, 0, 4),
    Kind.FLOAT: (0.5, 1.0, 2.0),
    Kind.BOOL: (False, True),
    Kind.FLOATS: ((0.5,), (0.5, 0.5)),
    Kind.STRING: ("float32",),
    Kind.OTHER: (1,),
}
"""Values of a required plain parameter, by its kind. Enums and shapes have their own."""

NO_TENSORS: Shape = (2, 4)
"""Shape that an operator without tensors is asked to make."""


class Outcome(Protocol):
    """What a framework makes of a proposal."""

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
"""Calls an operator once with these arguments."""


class Searched(Struct, frozen=True):
    """What a search has found: small inputs that were taken, or why there are none."""

    arguments: dict[str, Argument] | None = None
    reason: str = ""
    proposals: int = 0
    """How many were made until one was taken."""
    deaths: int = 0
    """How many of them ended the process."""


def search(operator: Operator, tries: Tries) -> Searched:
    """The first proposal that a framework takes, without NaN if there is any."""
    made, deaths, latest = 0, 0, "it takes no tensor, and nothing tells what it makes"
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
            # Whatever else it was, another death of the same shape would tell nothing new.
            deadly.update([shape] if shape is not None else [])
            if deaths == DEATHS:
                return Searched(
                    poor,
                    f"{deaths} of {made} proposals of the search ended the process: {latest}",
                    made,
                    deaths,
                )
        elif outcome.refusal:
            latest = outcome.refusal
        elif not outcome.has_nan:
            return Searched(_shaped(proposal, outcome), "", made, deaths)
        else:
            taken = _shaped(proposal, outcome)
            better = _without_nan(taken, tries)
            if better is not None:
                return Searched(better, "", made, deaths)
            poor = poor or taken
    if poor is not None:
        return Searched(poor, "", made, deaths)
    return Searched(
        None, f"none of {made} proposals of the search was taken, the last one: {latest}", made
    )


def _first_shape(proposal: Arguments) -> Shape | None:
    """Shape of the first tensor, or of the first of a list; None if there is no tensor."""
    for value in proposal.values():
        first = value[0] if isinstance(value, tuple) else value
        if isinstance(first, TensorSpec):
            return first.shape
    return None


def _shaped(proposal: Arguments, outcome: Outcome) -> Arguments:
    """The proposal with the shapes that the framework has told."""

    def shaped(value: Argument, passed: Argument) -> Argument:
        if isinstance(value, TensorSpec) and isinstance(passed, TensorSpec):
            return msgspec.structs.replace(value, shape=passed.shape)
        return value

    return {name: shaped(value, outcome.arguments[name]) for name, value in proposal.items()}


def _without_nan(proposal: Arguments, tries: Tries) -> Arguments | None:
    """The proposal with other contents that leave no NaN in the outputs."""
    for fill in FILLS[1:]:
        filled = {name: _filled(value, fill) for name, value in proposal.items()}
        outcome = tries(filled)
        if outcome.ended:
            return None
        if not outcome.refusal and not outcome.has_nan:
            return filled
    return None


def _filled(value: Argument, fill: Fill) -> Argument:
    if isinstance(value, tuple):
        return tuple(_filled(element, fill) for element in value)  # type: ignore[misc]
    if isinstance(value, TensorSpec) and value.fill == NORMAL:
        return msgspec.structs.replace(value, fill=fill)
    return value


def proposals(operator: Operator) -> Iterator[Arguments]:
    """Arguments worth trying, each once, the likeliest first, `LIMIT` of them at most."""
    dimensions = _dimensions(operator)
    seen: set[bytes] = set()
    for picked in by_rank([len(choices) for choices in dimensions.values()]):
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


SHAPE, FOLLOWER, DTYPE, LIST, GIVEN = "shape", "follower", "dtype", "list", "given"
"""Names of what is chosen; plain parameters have their own."""


def _dimensions(operator: Operator) -> dict[str, Sequence[Any]]:
    """What is chosen for an operator, each with its alternatives."""
    kinds = [parameter.kind for parameter in operator.tensors]
    several = len(kinds) > 1 or Kind.TENSORS in kinds
    dimensions: dict[str, Sequence[Any]] = {SHAPE: SHAPES}
    if kinds:
        dimensions[DTYPE] = DTYPES
    if several:
        dimensions[FOLLOWER] = FOLLOWERS
        # All tensors, or only the first ones: a registry may not say which are optional.
        dimensions[GIVEN] = range(len(kinds), 0, -1)
    if Kind.TENSORS in kinds:
        dimensions[LIST] = LISTS
    for parameter in _plain(operator):
        omitted = () if parameter.required else (OMITTED,)
        dimensions[f"parameter {parameter.name}"] = (*omitted, *_values(parameter))
    return dimensions


OMITTED = "omitted"
"""Stands for no value of a parameter that is not required."""

EMPTY = ("[]", "()", "None")
"""Defaults of a shape that stand for none: many operators then refuse."""


def _plain(operator: Operator) -> list[Parameter]:
    """The plain parameters that a proposal gives a value: those required, and shapes that are
    nothing by default."""
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
    lambda shape: (1,) * max(1, len(shape) - 2),
    lambda shape: shape,
    lambda shape: (0,),
    lambda shape: (2, 2),
    lambda shape: (1,) * len(shape),
    lambda shape: (0,) * len(shape),
    lambda shape: tuple(range(len(shape))),
)
"""Values of a shape parameter, from the first tensor's: one for each spatial axis, its own shape,
an axis, a pair, one for each axis, the beginning, the axes in order."""


def _proposal(operator: Operator, choice: dict[str, Any]) -> Arguments:
    """The arguments of one choice."""
    shape: Shape = choice[SHAPE] if operator.tensors else NO_TENSORS
    first_dtype, other_dtype = choice.get(DTYPE, DTYPES[0])
    length, count = choice.get(LIST, LISTS[0])
    follow = choice.get(FOLLOWER, FOLLOWERS[0])
    made: Arguments = {}
    for position, parameter in enumerate(operator.tensors[: choice.get(GIVEN)]):
        first = position == 0
        spec = _tensor(shape if first else follow(shape), first_dtype if first else other_dtype)
        if parameter.kind is Kind.TENSOR:
            made[parameter.name] = spec
        else:
            # A list has no names by which a framework could tell its shapes.
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
    """A tensor of that dtype; whole numbers are zeros and ones, which are in range as indices of
    any extent but one."""
    if dtype == REQUESTED:
        return TensorSpec(shape, dtype, NORMAL, gradient=True)
    return TensorSpec(shape, dtype, below(2))


def by_rank(lengths: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every choice of an index below each length, in the order of the indices' sum."""

    def of_sum(total: int, rest: Sequence[int]) -> Iterator[tuple[int, ...]]:
        if not rest:
            if total == 0:
                yield ()
            return
        # What the others cannot take, this one has to.
        least = max(0, total - sum(length - 1 for length in rest[1:]))
        for index in range(least, min(total, rest[0] - 1) + 1):
            for others in of_sum(total - index, rest[1:]):
                yield (index, *others)

    for total in range(sum(length - 1 for length in lengths) + 1):
        yield from of_sum(total, lengths)


def scaled(found: Arguments, tries: Tries, preset: Preset) -> Arguments:
    """Inputs that were taken, of a size as other operators are measured at, or as near to it as
    the framework takes and is quick with."""

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
        larger = stretched(found, shares, shares, wanted)
        if takes(larger):
            return larger
        wanted //= SHRINK
    return found
