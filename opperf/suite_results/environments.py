"""Environments of runs: benches that were run in several are a bench for each, and runs of other
machines or builds are no repeats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from opperf.errors import UsageError
from opperf.machine.environment import incomparable_facts
from opperf.model import BenchFacts, Environment, Run

OWN = "own"
"""Label of opperf's own environment."""

WITH = " + "
"""Between the label of a bench's own environment and what `--with` adds to it."""

MACHINE = frozenset({"cpu", "gpus", "cpus"})
"""Facts of a machine, whatever it measures."""


def benches_of(run: Run) -> list[BenchFacts]:
    """Returns the benches of a run, each with those of its cases that the run was to measure: a
    part of several runs has no others. A bench of several environments is one for each, `NAME
    (ENVIRONMENT)`."""
    labels = {case.id: case.settings.python for case in run.cases}
    found = [bench for whole in run.header.benches for bench in _by_environment(whole, labels)]
    names = [bench.name for bench in found]
    return [
        msgspec.structs.replace(bench, name=with_environment(bench.name, bench.env))
        if names.count(bench.name) > 1
        else bench
        for bench in found
    ]


def with_environment(name: str, label: str) -> str:
    """Returns the name of one of several benches that differ in their environment."""
    return f"{name} ({label or OWN})"


def _by_environment(bench: BenchFacts, labels: dict[str, str]) -> Iterator[BenchFacts]:
    here = [id for id in bench.cases if id in labels]
    if not here:
        is_elsewhere = bool(bench.cases) and not bench.why_not
        why = "not in this part of the run" if is_elsewhere else bench.why_not
        yield msgspec.structs.replace(bench, cases=(), why_not=why)
        return
    several = list(dict.fromkeys(labels[id] for id in here))
    for label in several:
        own = tuple(id for id in here if labels[id] == label)
        env = label if several[1:] else bench.env or label
        yield msgspec.structs.replace(bench, cases=own, env=env)


def check_same_machine(paths: Sequence[Path], runs: Sequence[Run]) -> None:
    """Raises `UsageError` for runs that are no repeats of the first one, as they are of
    another machine or build."""
    known = [(path, run) for path, run in zip(paths, runs, strict=True) if run.environments]
    for path, run in known[1:]:
        first_path, first = known[0]
        differing = next(filter(None, _differing(first, run)), None)
        if differing:
            raise UsageError(
                f"{path} and {first_path} are of different machines or builds, by "
                f"{', '.join(differing)}, and no repeats of one; `opperf suite compare` compares "
                "them"
            )


def _differing(first: Run, other: Run) -> Iterator[Sequence[str]]:
    """Yields the facts by which each environment of a run differs from those of the first."""
    environments = list(first.environments.values())
    for environment in other.environments.values():
        same = [known for known in environments if known.framework == environment.framework]
        differences = [incomparable_facts(known, environment) for known in same]
        if differences:
            yield min(differences, key=len)
        else:
            yield _of_machine(environments[0], environment)


def _of_machine(one: Environment, other: Environment) -> list[str]:
    return [fact for fact in incomparable_facts(one, other) if fact in MACHINE]
