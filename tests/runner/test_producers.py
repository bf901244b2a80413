"""What produces the metrics of other packages."""

from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest

from opperf.errors import UnsupportedError, UsageError
from opperf.metrics import FORWARD, metrics_by_name
from opperf.model import Case, Metric, MetricKind, NoteCode, OperatorTarget, Record, Status
from opperf.runner import producers as module

HEAT = Metric("heat", "J", MetricKind.DERIVED, title="Heat")


@pytest.fixture
def declare(monkeypatch):
    """Sets the producer that an installed package declares for a metric."""
    monkeypatch.setattr(module, "metrics_by_name", lambda: metrics_by_name() | {"heat": HEAT})
    module.producers.cache_clear()

    def set_one(produce, metric="heat"):
        monkeypatch.setattr(module, "produce", produce, raising=False)
        entry = EntryPoint(metric, f"{module.__name__}:produce", module.GROUP)
        monkeypatch.setattr(module, "declared", lambda group: (entry,))

    yield set_one
    module.producers.cache_clear()


@pytest.fixture
def record():
    case = Case(OperatorTarget("fake", "relu"), {})
    return Record(case=case, id=case.id, status=Status.OK, samples={"forward": [1.0, 2.0]})


@pytest.mark.parametrize(
    ("made", "samples"), [(3, [3.0]), ([1, 2.5], [1.0, 2.5]), (None, None), ([], None)]
)
def test_a_value_several_or_none(declare, record, made, samples):
    declare(lambda prepared, given: made)
    found = module.with_produced(SimpleNamespace(), record)
    assert found.samples.get("heat") == samples and found.notes == ()
    assert found.samples["forward"] == [1.0, 2.0]
    if samples:
        assert (found.summaries["heat"].unit, found.summaries["heat"].n) == ("J", len(samples))


def fail(error):
    def produce(prepared, record):
        raise error

    return produce


@pytest.mark.parametrize(
    ("produce", "message"),
    [
        (fail(UnsupportedError("no counter here")), "no counter here"),
        (fail(KeyError("forward")), "KeyError: 'forward'"),
        (lambda *given: float("nan"), "ValueError: not all of its values are finite numbers"),
        (lambda *given: "warm", "ValueError: could not convert string to float: 'w'"),
    ],
)
def test_one_that_fails_leaves_a_note(declare, record, produce, message):
    declare(produce)
    found = module.with_produced(SimpleNamespace(), record)
    (note,) = found.notes
    assert (note.metric, note.code, note.message) == ("heat", NoteCode.NOT_PRODUCED, message)
    assert found.samples == record.samples


@pytest.mark.parametrize(
    ("produce", "metric", "message"),
    [
        (lambda *given: 1, "haet", "is of an unknown metric 'haet'; did you mean heat"),
        (lambda *given: 1, FORWARD.name, "is of forward, which opperf measures"),
        ("text", "heat", "is not a function"),
    ],
)
def test_one_that_cannot_be_used_says_why(declare, produce, metric, message):
    declare(produce, metric)
    with pytest.raises(UsageError, match=message):
        module.producers()


def test_one_that_cannot_be_loaded(declare, monkeypatch):
    entry = EntryPoint("heat", "not_there:produce", module.GROUP)
    monkeypatch.setattr(module, "declared", lambda group: (entry,))
    with pytest.raises(UsageError, match="not_there:produce, an entry point of .* cannot be load"):
        module.producers()
