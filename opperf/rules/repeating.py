"""Repeats a configuration of an operator in another dtype that models run it in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opperf.model import TensorSpec, iter_tensors
from opperf.rules.configurations import Configuration
from opperf.rules.registering import Repetition
from opperf.rules.values import REQUESTED


def repeated(
    made: Sequence[Configuration], repetition: Repetition | None
) -> Iterable[Configuration]:
    """Yields the configuration that is repeated in another dtype: of those whose line of why begins
    as asked, the first that is contiguous, if any is."""
    if repetition is None:
        return
    begins = [
        one
        for one in made
        if not one.dtype and one.why.startswith(repetition.beginning) and _follows_request(one)
    ]
    begins.sort(key=lambda one: not _is_contiguous(one))
    for one in begins[:1]:
        why = f"{one.why}, in {repetition.dtype}"
        yield one._replace(why=why, dtype=repetition.dtype)


def _follows_request(one: Configuration) -> bool:
    """Whether a configuration has a tensor of the requested dtype."""
    return any(spec.dtype == REQUESTED for spec in _tensors(one))


def _is_contiguous(one: Configuration) -> bool:
    return all(
        spec.layout == "dense" and not spec.strides and not spec.memory_format
        for spec in _tensors(one)
    )


def _tensors(one: Configuration) -> Iterable[TensorSpec]:
    return (spec for value in one.arguments.values() for spec in iter_tensors(value))
