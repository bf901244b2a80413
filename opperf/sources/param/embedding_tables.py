"""The iterator and the data generator of PARAM for FBGEMM's tables of embeddings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

from opperf.errors import UsageError
from opperf.model import Fill, TensorSpec
from opperf.plurals import pluralize
from opperf.rules.values import below
from opperf.sources.param.arguments import values_of
from opperf.sources.param.macros import expand_spec
from opperf.sources.param.registering import DATA_GENERATORS, ITERATORS, Arguments
from opperf.sources.param.schema import Raw, Spec, convert

OPERATOR = "SplitTableBatchedEmbeddingBagsCodegen"

OF_BUILD = (0, 1, 2, 4, 5)
"""Positions of the build's arguments that inputs depend on: tables, rows, columns, whether samples
have weights, precision."""

GIVEN = 2
"""Arguments of an input: the batch size, and the number of indices that are pooled."""


def with_build(specs: Sequence[Raw], build: Spec | None, place: str) -> Iterable[tuple[str, Spec]]:
    """Yields inputs with what they need of the build. Raises `UsageError`; one that is of a single
    input is raised for it alone by `specs_of`."""
    if build is None or len(build.args) <= OF_BUILD[-1]:
        raise UsageError(f"{place}: the `build` has at least {OF_BUILD[-1] + 1} `args`")
    tables, rows, columns, weighted, precision = (build.args[i] for i in OF_BUILD)
    for i, raw in enumerate(specs):
        here = f"{place}[{i}]"
        for number, made in enumerate(expand_spec(convert(raw, Spec, here), here)):
            if len(made.args) != GIVEN:
                raise UsageError(f"{here}.args: expected the batch size and the pooling factor")
            args = [tables, rows, columns, *made.args, weighted, precision]
            yield f"{i}_{number}", Spec(args=args)


def indices(spec: Spec, place: str) -> Arguments:
    """Returns indices of all tables, the offsets of their bags, and weights of the indices or None.

    All indices are rows of the smallest table, as they are of one tensor. Raises `UsageError`.
    """
    unnamed, _ = values_of(spec, place)
    if len(unnamed) != len(OF_BUILD) + GIVEN:
        raise UsageError(f"{place}: expected args that the iterator of {OPERATOR} makes")
    tables, rows, _, batch, pooling, weighted, _ = unnamed
    if not isinstance(tables, int) or not isinstance(batch, int):
        raise UsageError(f"{place}: the numbers of tables and of samples are integers")
    pooled = _each(pooling, tables, f"{place}: pooling factors")
    lengths = [length for length in pooled for _ in range(batch)]
    offsets = [0, *accumulate(lengths)]
    count = offsets[-1]
    return [
        TensorSpec((count,), "int64", below(min(_each(rows, tables, f"{place}: rows")))),
        TensorSpec((len(offsets),), "int64", Fill("literal", data=offsets)),
        TensorSpec((count,)) if weighted else None,
    ], {}


def _each(value: Any, count: int, what: str) -> list[int]:
    """Returns a number of each table. Raises `UsageError`."""
    found = list(value) if isinstance(value, tuple) else [value] * count
    if len(found) != count or not all(isinstance(number, int) and number > 0 for number in found):
        tables = pluralize(count, "table")
        raise UsageError(f"{what} are a positive integer, or one for each of {tables}")
    return found


ITERATORS.add(f"{OPERATOR}InputIterator", with_build)
DATA_GENERATORS.add(f"{OPERATOR}InputDataGenerator", indices)
