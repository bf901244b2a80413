"""Operators that end MXNet's process: each costs its own case, and no other."""

import msgspec
import mxnet as mx
import psutil
import pytest

from benchmarks.cost.worker_replacement import CRASHING, crashing_cases, healthy_cases
from opperf.execution.execute import execute_to_file
from opperf.execution.progress import Progress
from opperf.execution.run_header import make_header
from opperf.execution.workers import Workers
from opperf.model import Status
from opperf.results.runfile import read_run
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection
from opperf.worker.client import Worker

SIGNALS = ("SIGSEGV", "SIGABRT")
"""What ends the process: memory that is not its own, or an allocator that noticed."""


@pytest.mark.skipif(not mx.__version__.startswith("1."), reason="MXNet 2 mended most of these")
def test_each_crash_is_one_record_between_healthy_ones(tmp_path):
    healthy = healthy_cases()
    cases = [next(healthy)]
    for crashing in crashing_cases():
        cases += [crashing, next(healthy)]
    plan = Plan(cases=tuple(cases), excluded={})
    before = psutil.Process().children()
    head = make_header(plan, Selection(), "")
    with Workers() as workers:
        run = execute_to_file(
            tmp_path / "run.jsonl", head, cases, cases, workers, Progress(), lambda: 0.0
        )
    assert psutil.Process().children() == before
    assert read_run(tmp_path / "run.jsonl") == (run, [])
    assert [record.id for record in run.records] == [case.id for case in cases]
    assert [record.status for record in run.records[::2]] == [Status.OK] * (len(CRASHING) + 1)
    crashed = dict(zip(CRASHING, run.records[1::2], strict=True))
    assert {name: record.status for name, record in crashed.items()} == dict.fromkeys(
        CRASHING, Status.CRASHED
    )
    for record in crashed.values():
        assert any(f"the process was ended by {name}" in record.reason for name in SIGNALS)
        assert "\n" not in record.reason


@pytest.mark.skipif(not mx.__version__.startswith("1."), reason="MXNet 2 mended most of these")
def test_a_crash_in_a_fork_is_reported_as_one_in_a_worker():
    crashing = crashing_cases()[0]
    settings = msgspec.structs.replace(crashing.settings, memory=False)
    crashing = msgspec.structs.replace(crashing, settings=settings)
    with Worker("mxnet", settings) as worker:
        own = worker.measure(crashing)
        assert worker.begin_process([settings.device])
        forked = worker.measure(crashing)
    assert (forked.status, forked.reason) == (own.status, own.reason)
    assert own.status is Status.CRASHED
