"""Cases are fitted to a user's shapes and values, and those that do not fit are dropped."""

import pytest

from opperf.execution.planning import plan_cases
from opperf.execution.refitting import _Fitter
from opperf.model import Case, ObjectTarget, Settings, TensorSpec
from opperf.sources.overrides import Overrides
from opperf.sources.selecting import Selection
from opperf.worker.protocol import Trial


@pytest.fixture
def plan(in_process):
    said = []

    def made(*patterns, **options):
        selection = in_process.resolve_selection(Selection(patterns=patterns, **options))
        return plan_cases(in_process, "fake", selection, said.append)

    made.said = said
    return made


def test_what_does_not_fit_is_dropped_with_a_note(plan):
    made = plan("needs_vector", "mystery", shapes={"data": (3, 4)}, values={"charm": 2})
    assert [case.label for case in made.cases] == ["mystery"]
    options = "--shape data=3x4 --arg charm=2"
    assert made.excluded == {
        "needs_vector": f"no configuration fits {options}: expected a vector, got (3, 4)"
    }
    assert plan.said == [
        f"1 of 2 configurations does not fit {options} and will not be measured (needs_vector): "
        "expected a vector, got (3, 4)"
    ]


def test_operators_without_the_argument_are_named(plan):
    made = plan("mystery", "relu", "add", shapes={"data": (3, 4)}, values={"charm": 2})
    assert [case.label for case in made.cases] == ["mystery"]
    assert plan.said == [
        "excluded, without an argument of --shape data=3x4 --arg charm=2: add, relu"
    ]


def test_what_its_rule_makes_fail_too_is_measured(plan):
    """The record shows the failure, which is not the options'."""
    made = plan("refuses", shapes={"data": (3, 4)})
    assert [case.arguments["data"].shape for case in made.cases] == [(3, 4)]
    assert plan.said == []


def test_what_ends_the_process_is_measured(worker):
    selection = Selection(patterns=("segfaults",), shapes={"data": (3, 4)})
    made = plan_cases(worker, "fake", worker.resolve_selection(selection), print)
    assert [case.arguments["data"].shape for case in made.cases] == [(3, 4)]


class WritesToItsInput:
    """A worker whose layer takes no input with a gradient."""

    def try_call(self, case, timeout_s):
        takes_one = any(spec.gradient for _, spec in case.tensors())
        return Trial(refusal="an in-place operation" if takes_one else "", arguments=case.arguments)


def test_a_layer_that_writes_to_its_input_has_one_without_a_gradient():
    shapes = {"x": (3, 4)}
    case = Case(
        ObjectTarget("fake", "Net", {}, file="net.py"),
        {"x": TensorSpec((3, 4), gradient=True)},
        Settings(phase="train"),
    )
    fitter = _Fitter(WritesToItsInput(), Selection(shapes=shapes), {})
    fitted = fitter.fit(case, Overrides(shapes, {}))
    assert fitted.arguments == {"x": TensorSpec((3, 4))} and fitted.passes == case.passes
