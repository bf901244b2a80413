"""What each format has no place for: exactly what is not there any more when an export is read
again."""

import math
from pathlib import Path

import msgspec
import pytest

from opperf.formats.exporting import Export, name_of
from opperf.formats.figures import Given, point_of_samples
from opperf.formats.forms import FORMS, WRITTEN, read_results
from opperf.formats.model import WHOLE, Entry, Point, SeriesFacts, SeriesKey, Submission
from opperf.model import MetricKind
from opperf.repository import Commit
from opperf.results.figures import distinct_names
from tests.formats.test_round_trip import write_export

FACTS = {
    "hostname": "box",
    "cpu": "A | B",
    "cores": 8,
    "architecture": "x86_64",
    "platform": "Linux 6.1.0",
    "memory": "64 GB",
    "python": "CPython 3.12.1",
    "versions": {"torch": "2.5"},
    "gpus": [{"model": "G"}],
}

BARE = " without quartiles"
"""Ending of words for figures that have none."""

HISTORY = Path(__file__).parents[2] / "docs" / "history.md"


def entry(case, metric, point, unit="ns", kind=MetricKind.WALL, **facts):
    more = {"category": "unary", "framework": "torch", "settings": "threads 2"}
    made = SeriesFacts(case, unit, kind, inputs="x: (2,)", command="again", **more, **facts)
    return Entry(SeriesKey(f"id of {case}", metric, "e0"), made, point)


def run_of(number):
    samples = [number + at for at in (97.0, 99.0, 100.0, 101.0, 102.5)]
    interval = Point(n=9, median=200.0 + number, low=190.0, high=220.0 + number)
    return Submission(
        f"run {number}",
        Commit(f"{number:x}" * 40, time=86_400.0 * number, author="someone", subject="faster"),
        "main",
        86_400.0 * number + 60,
        (
            entry("relu", "forward", point_of_samples(samples), relative_tolerance=0.1),
            entry("abs", "forward", interval),
            entry("abs", "memory", Point(n=1, median=4096.0 + number), "B", MetricKind.MEMORY),
            entry("abs", "rate", Point(n=1, median=7.5 + number), "items/s", lower_is_better=False),
            entry("exp", WHOLE, Point("failed", "no kernel"), ""),
        ),
        command="opperf run",
        labels={"label": "x"},
        environments={"e0": FACTS},
    )


def of_run(run):
    """What is known of a run, by the words of the formats' lists."""
    commit, facts = run.commit, next(iter(run.environments.values()), {})
    return {
        "commit": commit.sha,
        "time of the commit": commit.time,
        "author": commit.author,
        "subject": commit.subject,
        "branch": run.branch,
        "start": run.started,
        "command": run.command or None,
        "labels": run.labels or None,
        **{name: str(facts[name]) for name in facts if name in FACTS},
    }


def of_figure(found, which):
    point, facts = found.point, found.facts
    short, wide = sorted((point.high - point.median, point.median - point.low))
    return {
        "unit": facts.unit,
        "direction": facts.lower_is_better,
        "tolerances": facts.relative_tolerance,
        "category": facts.category,
        f"numbers of samples{which}": point.n,
        f"intervals{which}": wide,
        f"shorter halves of intervals{which}": short,
        "quartiles": (point.q25, point.q75),
        "samples": point.samples,
    }


def differing(before, after):
    return {
        word
        for word, value in before.items()
        if value is not None
        and not (
            after.get(word) == pytest.approx(value, nan_ok=True)
            if isinstance(value, (float, tuple))
            else after.get(word) == value
        )
    }


def lost(runs, found):
    """The words for what runs have and those that were read do not."""
    by_commit = {}
    for run in found:
        # A format may have several groups of figures of a commit.
        first = by_commit.setdefault(run.commit.sha, run)
        entries = (*first.entries, *run.entries) if first is not run else run.entries
        by_commit[run.commit.sha] = msgspec.structs.replace(first, entries=entries)
    found = [by_commit[sha] for sha in sorted(by_commit)]
    words = {"earlier runs"} if len(found) < len(runs) else set()
    for before, after in zip(runs[-len(found) :], found, strict=True):
        words |= differing(of_run(before), of_run(after))
        for one in before.entries:
            same = [
                other
                for other in after.entries
                if (other.key.metric == WHOLE) == (one.key.metric == WHOLE)
                and other.point.median == pytest.approx(one.point.median, nan_ok=True)
            ]
            if not same:
                words.add("failures" if one.key.metric == WHOLE else "other figures")
                continue
            (other,) = same
            told = f"{other.facts.name} {other.facts.inputs} {other.facts.settings}"
            name = name_of(one)
            words |= set() if name.called in told and name.parameters in told else {"names"}
            if one.key.metric == WHOLE:
                words |= set() if one.point.reason in other.point.reason else {"reasons"}
            else:
                which = BARE if math.isnan(one.point.q25) else ""
                words |= differing(of_figure(one, which), of_figure(other, which))
                told = f"{other.key.metric} {other.facts.name}"
                words |= set() if one.key.metric in told else {"metrics"}
    # Of two words, that which says more.
    words -= {f"{word}{BARE}" for word in words}
    words -= {f"shorter halves of {word}" for word in words}
    return words - {*FACTS} | {"machine"} if words >= {*FACTS} else words


@pytest.mark.parametrize("form", WRITTEN)
def test_what_is_lost_is_listed(form, tmp_path):
    runs = (run_of(1), run_of(2))
    named = {one.key.case: name_of(one) for run in runs for one in run.entries}
    export = Export("p", runs, distinct_names(named))
    path, _ = write_export(export, form, tmp_path)
    given = Given(Commit(runs[-1].commit.sha))
    found = read_results(path, form, given).submissions
    listed = FORMS[form].lost
    assert set(listed) == lost(runs, found)
    (row,) = [
        line for line in HISTORY.read_text().splitlines() if line.startswith(f"| `{form}` | no ")
    ]
    assert row.split("|")[2].strip() == f"no {', '.join(listed)}"
