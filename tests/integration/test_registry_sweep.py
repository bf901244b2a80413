"""The whole registry, once, as a user runs it: what runs, and what the rules make of it. No call
writes to memory that is not its own: its process would be ended."""

import os
import re
import subprocess
import sys
from collections import Counter
from statistics import median

import pytest

from opperf.frameworks import load
from opperf.model import WITHOUT_FIGURE, NoteCode, Status
from opperf.results.runfile import read_run
from tests.integration.test_heap import CHECKED_IF_POSSIBLE

pytestmark = pytest.mark.sweep

INTERNAL = re.compile(r"Check failed: |\[\d\d:\d\d:\d\d\]|\.(cc|h|cu|cuh):\d+|Stack trace")
"""What a reader of a reason cannot act on: conditions in C++ as they are, times and places."""

LEAST_MEASURED = 0.97
"""Share of the registry's distinct operators that have to be measured."""


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "opperf",
            "--size",
            "small",
            "-w",
            "0",
            "-r",
            "1",
            "--quiet",
            "-f",
            "jsonl",
            "-o",
            "run.jsonl",
            "--timeout",
            "60",
        ],
        cwd=folder,
        env=os.environ | {"HOME": str(folder)} | CHECKED_IF_POSSIBLE,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    run, warnings = read_run(folder / "run.jsonl")
    assert not warnings
    return run


def test_every_planned_case_has_its_record(sweep):
    assert [record.id for record in sweep.records] == list(sweep.planned)
    assert len(set(sweep.planned)) == len(sweep.planned)


def test_every_operator_is_measured_or_told_why_not(sweep):
    told = {record.case.label for record in sweep.records} | set(sweep.header.excluded)
    assert told == {operator.name for operator in load("mxnet").operators()}
    assert all(sweep.header.excluded.values())


def test_what_the_rules_make_is_accepted(sweep):
    broken = {
        record.case.label: record.reason
        for record in sweep.records
        if record.status not in (Status.OK, Status.SKIPPED)
    }
    assert broken == {}


def test_nothing_that_is_not_ok_lacks_a_reason(sweep):
    assert all(record.reason for record in sweep.records if record.status is not Status.OK)


def test_reasons_have_nothing_of_mxnets_insides(sweep):
    said = [
        text
        for record in sweep.records
        for text in (record.reason, *(note.message for note in record.notes))
    ]
    assert [text for text in said if INTERNAL.search(text)] == []


def test_no_output_has_nan(sweep):
    assert [r.case.label for r in sweep.records if r.note("", NoteCode.NAN)] == []


def test_every_measured_case_has_a_time_and_a_memory_figure(sweep):
    measured = [record for record in sweep.records if record.status is Status.OK]
    # The profiler's clock has microseconds, within which the quickest begin and end.
    assert median(record.summaries["forward"].mean for record in measured) > 0
    for record in measured:
        assert record.summaries["forward"].mean >= 0, record.case
        assert record.summaries["memory"].median >= 0


def test_most_of_the_registry_has_a_benchmark(sweep):
    measured = {r.case.label for r in sweep.records if r.status is Status.OK}
    assert len(measured) >= LEAST_MEASURED * len(load("mxnet").operators())


def test_a_backward_time_or_the_reason_for_none(sweep):
    for record in sweep.records:
        if record.status is Status.OK:
            told = record.note("backward", *WITHOUT_FIGURE)
            assert ("backward" in record.summaries) == (told is None), record.case


def test_every_category_has_a_measured_operator(sweep):
    measured = Counter(r.case.category for r in sweep.records if r.status is Status.OK)
    wanted = {o.category for o in load("mxnet").operators() if o.public} - {"graph"}
    assert not wanted - set(measured)
