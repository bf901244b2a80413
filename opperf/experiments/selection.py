"""Which records and models are meant: by accelerator, test, and patterns of names or tiers, as
PyTorch/XLA's benchmarks have them.

The matrix of experiments: the models that are asked for, the axes, and their product. PyTorch/XLA's
words for axes mean settings.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from opperf.errors import UsageError, suggest, unknown
from opperf.formats.model_records import TESTS, TITLES
from opperf.matching import BoundedPattern
from opperf.model import DECLARED, Struct
from opperf.models.packages import TIERS
from opperf.plurals import pluralize
from opperf.sources.models import Candidate, ModelWord
from opperf.sources.varying import Axes, check_combinations

if TYPE_CHECKING:
    from opperf.formats.measured_models import ModelResult

NOTHING = r"(?!)"
"""A pattern that no name matches."""


def patterns_of(tiers: Iterable[int]) -> list[str]:
    """Returns a pattern for each tier, which matches its models' whole names, and no name for a
    number that is no tier."""
    return [
        f"^({'|'.join(map(re.escape, TIERS[tier]))})$" if tier in TIERS else NOTHING
        for tier in tiers
    ]


def joined(patterns: Iterable[str], option: str) -> BoundedPattern | None:
    """Returns the pattern that finds any of these, whatever the case; None without any. Raises
    `UsageError` for one that is no regular expression."""
    listed = list(patterns)
    for pattern in listed:
        try:
            re.compile(pattern)
        except re.error as error:
            raise UsageError(
                f"{option} {pattern!r} is no regular expression: {error}; put a \\ before signs "
                "that are meant as they are"
            ) from error
    return BoundedPattern(re.compile("|".join(listed), re.IGNORECASE)) if listed else None


USUAL = "v100"
"""The accelerator of several, where none is named: PyTorch/XLA's default."""


@dataclass(frozen=True)
class Selection:
    """A restriction of records by the options; without one, all are taken."""

    accelerator: str | None = None
    test: str | None = None
    filter: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    filter_by_tier: tuple[int, ...] = ()
    exclude_by_tier: tuple[int, ...] = ()

    def of(self, records: Iterable[ModelResult]) -> list[ModelResult]:
        """Returns the records that are meant, in their order. Raises `UsageError` for a wrong
        pattern."""
        filter = Filter(self)
        test = TESTS[self.test] if self.test else None
        word = (self.accelerator or "").casefold()
        models: dict[str, bool] = {}
        machines: dict[tuple[str, str], bool] = {}
        found = []
        for record in records:
            if test is not None and record.test != test:
                continue
            name = record.model_name
            # Few names and accelerators have many records.
            if name not in models:
                models[name] = filter.selects_name(name)
            machine = record.accelerator_model, record.accelerator
            if machine not in machines:
                machines[machine] = matches(word, *machine)
            if models[name] and machines[machine]:
                found.append(record)
        return found


def matches(word: str, model: str, kind: str) -> bool:
    """Whether a word, in small letters, is part of an accelerator's model, or is its kind."""
    return word in model.casefold() or word == kind.casefold()


def machine_of(record: ModelResult) -> str:
    """Returns what identifies the accelerator of a record."""
    return record.accelerator_model or record.accelerator


def only_accelerator(records: Iterable[ModelResult]) -> str:
    """Returns the accelerator of all records, or of several the usual one. Raises `UsageError` if
    that is not among them: times of two machines have no common baseline."""
    found = list(dict.fromkeys(map(machine_of, records)))
    if len(found) < 2:
        return found[0] if found else ""
    if any(USUAL in name.casefold() for name in found):
        return USUAL
    raise UsageError(
        f"the records are of several accelerators; name one with --accelerator: {listed(found)}"
    )


MOST_NAMES = 6
"""Most names that a message lists."""


def listed(names: Sequence[str]) -> str:
    """Returns names for a message."""
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f", and {more} more" if more > 0 else "")


def why_nothing(selection: Selection, records: Sequence[ModelResult]) -> str:
    """Returns why a selection has none of the records, for a message."""
    if not records:
        return "no results found: the files have no records"
    machines = list(dict.fromkeys(filter(None, map(machine_of, records))))
    tests = sorted({str(record.test) for record in records})
    what = [
        f"accelerator {selection.accelerator}" if selection.accelerator else "",
        f"test {selection.test}" if selection.test else "",
        "models by name or tier"
        if selection != Selection(selection.accelerator, selection.test)
        else "",
    ]
    return (
        f"no results found for {', '.join(filter(None, what))}; the files have "
        f"{pluralize(len(records), 'record')} of the accelerators {listed(machines) or 'unknown'} "
        f"and the tests {', '.join(tests)}"
    )


def check_backends(backends: Sequence[str], records: Sequence[ModelResult]) -> None:
    """Raises `UsageError` for a backend that nothing has, or that is named twice."""
    known = dict.fromkeys([*TITLES, *filter(None, (record.backend for record in records))])
    for backend in backends:
        if backend not in known:
            raise unknown("backend", backend, known)
        if backends.count(backend) > 1:
            raise UsageError(f"--backends has {backend} twice; name it once")


Words = Mapping[str, "str | None"]
"""A value of each of PyTorch/XLA's axes, by name; empty where none of its words is used."""

DEFAULT_WORDS: dict[str, tuple[str | None, ...]] = {
    "accelerator": ("cpu", "cuda", "tpu"),
    "xla": (None, "PJRT", "XRT"),
    "xla_flags": (None,),
    "dynamo": (None, "inductor", "openxla"),
    "torch_xla2": (None,),
    "test": ("eval", "train"),
    "enable_functionalization": (None,),
}
"""The values of each axis where it is not named, in the order of the product."""

NONE = "None"
"""How a command line writes no value."""

CHOICES: dict[str, tuple[str | None, ...]] = {
    **DEFAULT_WORDS,
    "torch_xla2": (None, "extract_jax", "torch_export"),
    "enable_functionalization": (None, "true"),
}
"""The values that each axis may have; any of `xla_flags`."""

DEVICES = {"cpu": "cpu", "cuda": "gpu", "tpu": "tpu"}

EAGER, COMPILE, OPENXLA, XLA = "eager", "compile", "compile:openxla", "xla"

MODES: dict[tuple[bool, str | None], str] = {
    (False, None): EAGER,
    (False, "inductor"): COMPILE,
    (False, "openxla"): OPENXLA,
    (True, None): XLA,
    (True, "inductor"): COMPILE,
    (True, "openxla"): OPENXLA,
}
"""Modes by whether XLA computes and by dynamo's back end. Rules remove what cannot be."""

PHASES = {"eval": "predict", "train": "train"}


def read_values(axis: str, texts: tuple[str, ...]) -> tuple[str | None, ...]:
    """Returns the values of an axis in the order in which they are named. Raises `UsageError` for
    one that it does not have."""
    found: dict[str | None, None] = {}
    for text in texts:
        value = None if text == NONE else text
        known = CHOICES[axis]
        if axis != "xla_flags" and value not in known:
            listed = [NONE if word is None else word for word in known]
            option = f"--{axis.replace('_', '-')}"
            raise UsageError(
                f"{option} {text}: not one of {', '.join(listed)}{suggest(text, listed)}"
            )
        found[value] = None
    return tuple(found)


def product_of(
    axes: Mapping[str, tuple[str | None, ...]],
) -> Iterator[tuple[Words, dict[str, Any]]]:
    """Yields each combination of PyTorch/XLA's axes, and the settings that it means; a single one
    without words or settings if no axis is named."""
    if not axes:
        yield {}, {}
        return
    choices = {**DEFAULT_WORDS, **axes}
    for values in itertools.product(*choices.values()):
        words = dict(zip(choices, values, strict=True))
        yield words, settings_of(words)


def settings_of(words: Words) -> dict[str, Any]:
    """Returns the settings that words mean."""
    accelerator, has_xla = words["accelerator"] or "cpu", words["xla"] is not None
    settings: dict[str, Any] = {
        "device": DEVICES[accelerator],
        "mode": MODES[has_xla, words["dynamo"]],
        "phase": PHASES[words["test"] or "eval"],
    }
    if has_xla:
        env = {"PJRT_DEVICE": accelerator.upper()}
        if words["xla_flags"]:
            env["XLA_FLAGS"] = words["xla_flags"]
        if not words["enable_functionalization"]:
            env["XLA_DISABLE_FUNCTIONALIZATION"] = "1"
        settings["env"] = env
    return settings


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

    def __init__(self, matrix: Matrix | Selection) -> None:
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
