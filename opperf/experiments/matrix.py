"""The matrix of experiments: the models that are asked for, the axes, and their product."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from opperf.experiments.selection import joined, patterns_of
from opperf.experiments.xla_words import Words, product_of
from opperf.matching import BoundedPattern
from opperf.model import DECLARED, Struct
from opperf.sources.models import Candidate, ModelWord
from opperf.sources.varying import Axes, check_combinations

FIRST = ("python", "device", "env", "mode", "dtype", "autocast", "phase")
"""The outer axes of the product, in the order of PyTorch/XLA's benchmarks as far as these have
them; the others follow in the order of their declarations."""


class Matrix(Struct, frozen=True):
    """Models of experiments, and the axes that are no settings."""

    frameworks: tuple[str, ...]
    models: tuple[ModelWord, ...] = ()
    filter: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    filter_by_tier: tuple[int, ...] = ()
    exclude_by_tier: tuple[int, ...] = ()
    sizes: tuple[str, ...] = ("default",)
    batch_sizes: tuple[int | None, ...] = (None,)
    folders: dict[str, str] = {}
    """Folders of the files of suites that have some, by suite."""
    words: dict[str, tuple[str | None, ...]] = {}
    """PyTorch/XLA's axes, by name; empty if none of its words is used."""
    applies_rules: bool = True
    """Whether what cannot be is removed, and not measured to fail."""


class Settled(NamedTuple):
    """A point of the product of the axes: the settings that it sets, and the words of PyTorch/XLA
    that they are for."""

    settings: Mapping[str, Any]
    words: Words


def experiments(matrix: Matrix, axes: Axes) -> Iterator[Settled]:
    """Yields the product of the axes in order. What PyTorch/XLA's words set comes first. Raises
    `UsageError` for more than `MOST_POINTS`."""
    names = [name for name in FIRST if name in axes]
    names += [name for name in DECLARED if name in axes and name not in FIRST]
    check_combinations([*(axes[name] for name in names), *matrix.words.values()])
    combinations = list(itertools.product(*(axes[name] for name in names)))
    for words, by_words in product_of(matrix.words):
        for values in combinations:
            own = dict(zip(names, values, strict=True))
            env = {**by_words.get("env", {}), **own.get("env", {})}
            yield Settled({**own, **by_words, **({"env": env} if env else {})}, words)


class Filter:
    """Selects models by name and tier. Raises `UsageError` for a malformed pattern."""

    def __init__(self, matrix: Matrix) -> None:
        self._tiers, self._without = matrix.filter_by_tier, matrix.exclude_by_tier
        self._wanted = joined((*matrix.filter, *patterns_of(self._tiers)), "--filter")
        self._unwanted = joined((*matrix.exclude, *patterns_of(self._without)), "--exclude")

    def selects(self, candidate: Candidate) -> bool:
        """Whether a model is wanted: of a name or tier to measure, and of none to exclude."""
        return self.selects_name(candidate.listed.name, candidate.listed.tier)

    def selects_name(self, name: str, tier: int | None = None) -> bool:
        """Whether a name is wanted. `tier` is that of a suite that ranks its models itself."""
        by_tier, excluded = (tier is not None and tier in of for of in (self._tiers, self._without))
        wanted = self._wanted is None or by_tier or _finds(self._wanted, name)
        return wanted and not (excluded or _finds(self._unwanted, name))


def _finds(pattern: BoundedPattern | None, name: str) -> bool:
    return pattern is not None and pattern.search(name) is not None
