"""Traces of cases."""

from contextlib import contextmanager

import pytest

from opperf.errors import UnsupportedError
from opperf.frameworks import load
from opperf.model import Case, OperatorTarget, TensorSpec
from opperf.worker.answers import trace


def case(name, place):
    return Case(
        OperatorTarget("numpy", name),
        {"x": TensorSpec((2,))},
        source_id=f"numpy.{name}|0|0|{place}",
    )


def test_a_framework_without_traces_says_so():
    with pytest.raises(UnsupportedError, match="numpy writes no traces"):
        trace(load("numpy"), [case("exp", 0)], "", "")


def test_each_case_is_called_under_its_label_and_a_failing_one_costs_itself(monkeypatch, tmp_path):
    framework, labels, paths = load("numpy"), [], []

    @contextmanager
    def label(name):
        labels.append(name)
        yield

    @contextmanager
    def tracing(chrome, execution):
        paths.append((chrome, execution))
        yield label

    monkeypatch.setattr(framework.profilers, "tracing", tracing, raising=False)
    wrong = case("nothing", 1)
    failed = trace(framework, [case("exp", 0), wrong, case("log", 2)], str(tmp_path), "")
    assert labels == [f"[param|numpy.{one}]" for one in ("exp|0|0|0", "nothing|0|0|1", "log|0|0|2")]
    assert paths == [(tmp_path, None)]
    assert list(failed) == [wrong.id] and "no function 'nothing'" in failed[wrong.id]
