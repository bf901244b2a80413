"""The benches of a run of a suite, each in its environment."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from opperf.model import BenchFacts, Run

OWN = "own"
"""Label of opperf's own environment."""


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
