"""What is shown of a case's inputs distinguishes it from every other case of its operator."""

from __future__ import annotations

from collections import defaultdict

import pytest

from opperf.frameworks import load
from opperf.model import Case, Settings, display_arguments
from opperf.profilers import find_profilers
from opperf.results.details import display_details
from opperf.results.table import INPUTS_WIDTH
from opperf.results.text import inputs_text, short_inputs
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection

FRAMEWORKS = ("mxnet", "numpy")


@pytest.fixture(scope="module", params=[(f, s) for f in FRAMEWORKS for s in ("small", "default")])
def planned(request: pytest.FixtureRequest) -> tuple[Case, ...]:
    """All cases of a registry at one size."""
    name, size = request.param
    framework = load(name)
    settings = Settings(profiler=next(iter(find_profilers(framework))))
    return plan(framework, Selection(size=size, settings=settings)).cases


def alike_in(planned, shown):
    """The texts that several cases have, with their operator and the phase, which reports show
    beside the inputs."""
    by_text = defaultdict(set)
    for case in planned:
        by_text[case.label, case.settings.phase, shown(case)].add(case.id)
    return [text for text, ids in by_text.items() if len(ids) > 1]


def test_no_two_cases_of_an_operator_have_the_same_text(planned):
    assert alike_in(planned, inputs_text) == []


def test_no_two_cases_of_an_operator_have_the_same_inputs_and_details_in_json_and_csv(planned):
    def shown(case: Case) -> str:
        return f"{display_arguments(case)} {display_details(case)}"

    assert alike_in(planned, shown) == []


@pytest.mark.parametrize("width", [20, INPUTS_WIDTH, 120])
def test_short_texts_distinguish_the_cases_that_long_ones_do(planned, width):
    short = short_inputs([(case.label, inputs_text(case)) for case in planned], width)
    assert alike_in(planned, lambda case: short[case.label, inputs_text(case)]) == []
