"""The rules that remove experiments which cannot be: a table, each with its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from opperf.experiments.selection import OPENXLA, XLA, Words
from opperf.model import Case
from opperf.model.declaring import OFF
from opperf.plurals import pluralize
from opperf.sources.models import Candidate

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
    Rule(
        "xrt",
        "XRT is the runtime that PyTorch/XLA had before PJRT",
        _word("xla", "XRT"),
    ),
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
        "memory-format",
        "the framework has no such format",
        lambda one: one.lacks("memory_format"),
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
