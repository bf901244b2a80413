"""One operator's fault in a rule, a binding or a trace costs that operator, and not the run."""

import re

import fake_rules
import pytest

from opperf.execution.planning import plan_cases
from opperf.frameworks.call_capabilities import Inference
from opperf.model import Settings, Status
from opperf.operations import OPERATIONS
from opperf.operations.uses import Use
from opperf.rules import callers
from opperf.rules.engine import rules_module
from opperf.rules.values import tensor
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection

BROKEN = "relu"


@pytest.fixture
def families(monkeypatch):
    """The fake framework's, with which a test does as it likes."""
    rules_module("fake_rules")
    for name in ("by_name", "by_operation"):
        monkeypatch.setattr(fake_rules.FAMILIES, name, dict(getattr(fake_rules.FAMILIES, name)))
    return fake_rules.FAMILIES


@pytest.fixture
def fails():
    """Fails as a table does that lacks a new operator."""
    return lambda *arguments, **named: {}["amax"]


@pytest.fixture
def break_rule(families, fails):
    @families.add(BROKEN)
    def broken(operator, size):
        yield {"data": tensor(fails())}


@pytest.fixture
def break_binding(families, fails, monkeypatch):
    operation = next(iter(OPERATIONS))
    families.by_operation[operation] = lambda one, size: [dict.fromkeys(one.inputs, tensor(4))]
    use = Use(operation, apply=fails, to_arguments=fails)
    monkeypatch.setattr(fake_rules, "OPERATIONS", {BROKEN: use})


@pytest.fixture
def break_trace(fake, fails, monkeypatch):
    """Of the operator that calls it, of which it has its inputs."""
    caller = fake.resolve("negative")
    of = {BROKEN: (caller,)}
    monkeypatch.setattr(Inference, "callers", lambda self, one: of.get(one.name))
    monkeypatch.setattr(Inference, "steps", fails)
    monkeypatch.setattr(callers, "load", lambda name: fake)
    callers._index.cache_clear()
    yield
    callers._index.cache_clear()


@pytest.fixture
def break_case(fails, monkeypatch):
    def with_outputs(self, operator, arguments):
        return fails() if operator.name == BROKEN else arguments

    monkeypatch.setattr(Inference, "with_outputs", with_outputs)


REASONS = {
    "rule": r"its rule failed: .*/test_faults\.py:\d+: KeyError: 'amax', in a rule for the .* relu",
    "binding": r"its rule failed: rules/engine\.py:\d+: KeyError: 'amax'",
    "trace": r"the trace of its caller negative failed: rules/\w+\.py:\d+: KeyError: 'amax'",
    "case": r"its case could not be made: sources/registry\.py:\d+: KeyError: 'amax'",
}


@pytest.mark.parametrize("layer", REASONS)
def test_the_rest_is_planned_and_measured(layer, request, in_process):
    request.getfixturevalue(f"break_{layer}")
    said = []
    settings = Settings(device="", profiler="", warmup=0, runs=1)
    selection = Selection((BROKEN, "negative", "add"), size="small", settings=settings)
    planned = plan_cases(in_process, "fake", in_process.resolve_selection(selection), said.append)
    assert set(planned.excluded) == set(planned.faults) == {BROKEN}
    reason = planned.excluded[BROKEN]
    assert re.fullmatch(REASONS[layer], reason), reason
    assert said == [
        f"warning: 1 operator excluded, as opperf failed to make inputs: relu: {reason}"
    ]
    measured = [in_process.measure(case) for case in planned.cases]
    assert {one.case.label for one in measured} == {"negative", "add"}
    assert {one.status for one in measured} == {Status.OK}
    listed = {one.operator.name: one for one in in_process.listing().operators}
    assert listed["add"].rule and not listed["add"].reason
    # Listing makes inputs, and no case of them.
    assert listed[BROKEN].reason == ("" if layer == "case" else reason)


def test_a_caller_that_cannot_be_traced_leaves_the_others_to_be_asked(
    fake, break_trace, monkeypatch
):
    def steps(self, caller, arguments):
        if caller.name == "negative":
            raise KeyError("amax")
        yield {BROKEN: arguments} if caller.name == "rounded" else {}

    monkeypatch.setattr(Inference, "steps", steps)
    planned = plan(fake, Selection((BROKEN,), size="small"))
    assert {case.origin for case in planned.cases} == {"caller:rounded"} and not planned.faults
    # What keeps the tests of a whole registry from overlooking it.
    (fault,) = callers.failed_callers("fake").values()
    assert fault.is_fault and "KeyError: 'amax'" in fault.reason
