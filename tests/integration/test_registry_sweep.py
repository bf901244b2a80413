"""The whole registry, once, as a user runs it: what runs, and what the rules make of it."""

import os
import subprocess
import sys
from collections import Counter

import pytest

from opperf.frameworks import load
from opperf.model import Status
from opperf.results.runfile import read_run

MAY_HOLD_NAN = {"LeakyReLU"}
"""Operators with an output that is not written: the mask of random slopes, when predicting."""

REFUSED_BY_THIS_BUILD = {
    "_contrib_quantized_elemwise_mul",
    "_contrib_quantized_rnn",
    "_np_reshape",
}
"""Operators with valid inputs that one build or another of MXNet refuses all the same: a
shape inference that gives nothing back, a primitive this processor lacks, a registered name
without a function."""


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
        env=os.environ | {"HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    run, warnings = read_run(folder / "run.jsonl")
    assert not warnings
    return run


def test_every_planned_case_has_its_record(sweep):
    assert [record.id for record in sweep.records] == list(sweep.header.planned)
    assert len(set(sweep.header.planned)) == len(sweep.header.planned)


def test_every_operator_is_measured_or_told_why_not(sweep):
    told = {record.case.label for record in sweep.records} | set(sweep.header.no_benchmark)
    assert told == {operator.name for operator in load("mxnet").operators()}
    assert all(sweep.header.no_benchmark.values())


def test_what_the_rules_make_is_accepted(sweep):
    broken = {
        record.case.label: record.reason
        for record in sweep.records
        if record.status not in (Status.OK, Status.SKIPPED)
    }
    assert not set(broken) - REFUSED_BY_THIS_BUILD, broken


def test_nothing_that_is_not_ok_lacks_a_reason(sweep):
    assert all(record.reason for record in sweep.records if record.status is not Status.OK)


def test_no_output_has_nan(sweep):
    found = {record.case.label for record in sweep.records if "output" in record.notes}
    assert not found - MAY_HOLD_NAN


def test_every_measured_case_has_a_time_and_a_memory_figure(sweep):
    for record in sweep.records:
        if record.status is Status.OK:
            assert record.summaries["forward"].mean > 0, record.case
            assert record.summaries["memory"].median >= 0


def test_most_of_the_registry_has_a_benchmark(sweep):
    measured = {r.case.label for r in sweep.records if r.status is Status.OK}
    public = {operator.name for operator in load("mxnet").operators() if operator.public}
    assert len(measured & public) > 0.9 * len(public)


def test_a_backward_time_or_the_reason_for_none(sweep):
    for record in sweep.records:
        if record.status is Status.OK:
            assert ("backward" in record.summaries) != ("backward" in record.notes), record.case


def test_every_category_has_a_measured_operator(sweep):
    measured = Counter(r.case.category for r in sweep.records if r.status is Status.OK)
    wanted = {o.category for o in load("mxnet").operators() if o.public} - {"graph"}
    assert not wanted - set(measured)
