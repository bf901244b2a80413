"""Calls measured in this process, and saved to a run file."""

import numpy as np
import pytest

from opperf.errors import OutputError, UsageError
from opperf.model import Status
from opperf.results.runfile import read_run
from opperf.utils.benchmark_utils import run_performance_test

FEW = {"warmup": 0, "runs": 3, "framework": "numpy"}


def test_results_are_saved_and_the_same(tmp_path):
    path = tmp_path / "saved.jsonl"
    inputs = [{"x": (4, 5)}, {"x": np.ones((2, 3))}]
    (made,) = run_performance_test([np.negative], inputs, save=path, **FEW)
    run, warnings = read_run(path)
    assert warnings == [] and run.closing is not None
    assert [record.status for record in run.records] == [Status.OK] * 2
    times = [record.summaries["forward"].mean / 1e6 for record in run.records]
    shown = [one["avg_time_forward_negative"] for one in made["negative"]]
    assert shown == pytest.approx(times, abs=1e-5)


def test_a_file_is_never_replaced(tmp_path):
    path = tmp_path / "saved.jsonl"
    path.write_text("mine")
    with pytest.raises(OutputError, match="exists; remove it, or save to another file"):
        run_performance_test(np.negative, [{"x": (2,)}], save=str(path), **FEW)
    assert path.read_text() == "mine"


def test_functions_of_one_name_are_not_saved_together(tmp_path):
    path = tmp_path / "saved.jsonl"
    both = [lambda x: -x, lambda x: x + 1]
    with pytest.raises(UsageError, match="several of the callables are .*<lambda>"):
        run_performance_test(both, [{"x": (2,)}], save=path, **FEW)
    assert not path.exists()
    first, second = run_performance_test(both, [{"x": (2,)}], **FEW)
    assert list(first) == list(second) == ["<lambda>"]


def test_what_is_no_path_is_refused():
    with pytest.raises(UsageError, match="save is a path, not 3"):
        run_performance_test(np.negative, [{"x": (2,)}], save=3, **FEW)
