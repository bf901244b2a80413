"""The matrix of experiments: the models that are asked for, the axes, and their product, of
which rules remove what cannot be, each with its reason. PyTorch/XLA's words for axes mean
settings."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from opperf.errors import UsageError, suggest
from opperf.model import DECLARED, Case, Struct
from opperf.model.declaring import OFF
from opperf.plurals import pluralize
from opperf.sources.models import Candidate, ModelWord
from opperf.sources.varying import Axes, check_combinations

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
    """Returns the named values of an axis, in their order. Raises `UsageError`."""
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
    """A point of the product of the axes: settings, and PyTorch/XLA's words for them."""

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


Lacking = Mapping[tuple[str, str], str]
"""Why a framework, build or machine lacks a value of a setting, by its name and text."""


class Experiment(NamedTuple):
    """A case of the product, and what rules ask of it."""

    case: Case
    model: Candidate | None
    """Its model; None of any other case."""
    words: Words
    lacking: Lacking

    @property
    def mode(self) -> str:
        return self.case.settings.mode

    @property
    def is_xla(self) -> bool:
        return self.words.get("xla") is not None or self.mode in (XLA, OPENXLA)

    def lacks(self, name: str) -> str:
        """Returns why its value of a setting is lacking; empty if it is not."""
        value = getattr(self.case.settings, name)
        return self.lacking.get((name, str(value)), "")


class Rule(NamedTuple):
    """A reason to remove an experiment."""

    name: str
    why: str
    removes: Callable[[Experiment], object]
    """Whether it does; a text says why in place of `why`."""


def _word(name: str, *values: str | None) -> Callable[[Experiment], bool]:
    return lambda one: bool(one.words) and one.words[name] in values


RULES = (
    # PyTorch/XLA's own, before what this machine lacks.
    Rule("xrt", "XRT is the runtime that PyTorch/XLA had before PJRT", _word("xla", "XRT")),
    Rule(
        "torch_xla2-dynamo",
        "torch_xla2 has no mode of dynamo",
        lambda one: one.words.get("torch_xla2") is not None and one.words["dynamo"] is not None,
    ),
    Rule(
        "inductor-xla",
        "inductor compiles for CPUs and GPUs, not for XLA",
        lambda one: (
            _word("dynamo", "inductor")(one)
            and (one.words["xla"] is not None or one.words["accelerator"] == "tpu")
        ),
    ),
    Rule(
        "openxla-xla",
        "dynamo's back end openxla needs XLA",
        lambda one: _word("dynamo", "openxla")(one) and one.words["xla"] is None,
    ),
    Rule(
        "tpu-xla",
        "a TPU needs XLA",
        lambda one: _word("accelerator", "tpu")(one) and one.words["xla"] is None,
    ),
    Rule(
        "cuda-xla",
        "PyTorch/XLA has no builds for CUDA any more",
        lambda one: one.is_xla and one.case.settings.device.startswith(("gpu", "cuda")),
    ),
    Rule("mode", "the framework has no such mode", lambda one: one.lacks("mode")),
    Rule("device", "this machine lacks the device", lambda one: one.lacks("device")),
    Rule("dtype", "the framework has no such dtype", lambda one: one.lacks("dtype")),
    Rule("autocast", "the framework casts to no such dtype", lambda one: one.lacks("autocast")),
    Rule("profiler", "the framework has no such profiler", lambda one: one.lacks("profiler")),
    Rule(
        "memory-format", "the framework has no such format", lambda one: one.lacks("memory_format")
    ),
    Rule(
        "autocast-float64",
        "autocast casts what is in single precision, and leaves float64 as it is",
        lambda one: one.case.settings.autocast != OFF and one.case.settings.dtype == "float64",
    ),
    Rule(
        "graph-cpu",
        "a CUDA graph is captured on a GPU",
        lambda one: one.mode == "graph" and one.case.settings.device.startswith("cpu"),
    ),
    Rule(
        "graph-train",
        "a CUDA graph is captured of the forward pass alone",
        lambda one: (
            one.mode == "graph" and one.model is not None and one.case.settings.phase == "train"
        ),
    ),
    Rule(
        "phase",
        "the model has no such phase",
        lambda one: (
            one.model is not None and one.case.settings.phase not in one.model.listed.phases
        ),
    ),
    Rule(
        "size",
        "the model has no such size",
        lambda one: (
            one.model is not None
            and bool(one.model.listed.sizes)
            and one.model.target.size not in one.model.listed.sizes
        ),
    ),
)
"""The first one that applies counts."""


class Removed(NamedTuple):
    """Experiments that a rule removed."""

    rule: str
    why: str
    cases: int

    def text(self) -> str:
        return f"rule {self.rule} removed {pluralize(self.cases, 'case')}: {self.why}"


def apply_rules(
    experiments: Iterable[Experiment], rules: Iterable[Rule] = RULES
) -> tuple[list[Case], list[Removed]]:
    """Returns the cases that can be, in their order, and what was removed by which rule."""
    listed = tuple(rules)
    kept: list[Case] = []
    counts: Counter[tuple[str, str]] = Counter()
    for experiment in experiments:
        for rule in listed:
            found = rule.removes(experiment)
            if found:
                counts[rule.name, found if isinstance(found, str) else rule.why] += 1
                break
        else:
            kept.append(experiment.case)
    return kept, [Removed(name, why, number) for (name, why), number in counts.items()]
