"""Completes the cases of sources that know no framework, as recordings and configurations.

Such a case has its target by a name that users know, some arguments by position, and tensors of
which only shape and dtype are known. In the framework's process they become the target under its
canonical name, arguments by name, and contents that suit the operator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from opperf.errors import UnknownOperatorError, UnsupportedError, UsageError
from opperf.frameworks import Framework
from opperf.model import Case, Struct
from opperf.sources.as_called import Known, as_called, with_names
from opperf.sources.batch import find_batch, scale

Completion = Literal["each", "all"]
"""Whether a case that cannot be completed is that case's record, or an error of the file."""


class Completed(Struct, frozen=True):
    """A case as the framework calls it, or as far as it is known, and why it cannot be called."""

    case: Case
    refusal: str = ""
    scaled: bool = False
    """Whether its batch was scaled."""


def complete(
    framework: Framework, cases: Sequence[Case], batch_factor: float = 1.0
) -> tuple[Completed, ...]:
    """Returns the cases as the framework calls them, with their batch scaled.

    Raises `UsageError` if it is to be scaled and the cases have none.
    """
    known: Known = {}
    made = [_named(framework, case, known) for case in cases]
    if batch_factor != 1.0:
        made = list(_in_batch(framework, made, batch_factor))
    return tuple(
        completed if completed.refusal else _called(framework, completed, known)
        for completed in made
    )


def _named(framework: Framework, case: Case, known: Known) -> Completed:
    """Returns a case with its target and arguments under the framework's names."""
    try:
        case = with_names(framework, case, known)
    except UnsupportedError:
        # A package that is not installed, as the case's record will say.
        return Completed(case)
    except UnknownOperatorError as error:
        return Completed(case, str(error))
    return Completed(case)


def _called(framework: Framework, completed: Completed, known: Known) -> Completed:
    try:
        return msgspec.structs.replace(completed, case=as_called(framework, completed.case, known))
    except UnsupportedError:
        return completed
    except (UnknownOperatorError, UsageError) as error:
        return msgspec.structs.replace(completed, refusal=str(error))


def _in_batch(
    framework: Framework, cases: Sequence[Completed], factor: float
) -> Iterator[Completed]:
    """Yields the cases with their batch scaled, where they have one. Raises `UsageError`."""
    batch = find_batch(completed.case for completed in cases)
    if batch is None:
        raise UsageError("--scale-batch: no call has a tensor of several axes")
    for completed in cases:
        made = (
            completed.case
            if completed.refusal
            else scale(completed.case, batch, factor, framework.output_shapes)
        )
        yield msgspec.structs.replace(completed, case=made, scaled=made != completed.case)


def merge(cases: Iterable[Case]) -> list[Case]:
    """Returns the cases without those that have the id of an earlier one, whose count they add
    to."""
    found: dict[str, Case] = {}
    for case in cases:
        earlier = found.get(case.id)
        count = case.count + (0 if earlier is None else earlier.count)
        found[case.id] = msgspec.structs.replace(earlier or case, count=count)
    return list(found.values())


def distinguish(cases: Iterable[Case]) -> list[Case]:
    """Returns the cases, each that equals earlier ones with their number."""
    seen: Counter[str] = Counter()
    made = []
    for case in cases:
        plain = msgspec.structs.replace(case, repeat=0)
        made.append(msgspec.structs.replace(case, repeat=seen[plain.id]))
        seen[plain.id] += 1
    return made
